"""The four ways a run ends."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, final

from msgspec.structs import force_setattr

from ._checks import MAX_COUNT, check_id, refuse, refuse_count
from ._messages import Message, checked_messages
from ._record import Record


@final
class RunError(Record, frozen=True):
    """Why a run failed: a stable code and a text for people (checkpoint 01)."""

    code: str
    message: str

    def __post_init__(self) -> None:
        if type(self.code) is not str or not self.code.isascii() or not self.code.strip():
            check_id(self.code, "code")
        if type(self.message) is not str:
            refuse("message", "a string", self.message)


@final
class CompletedRun(Record, tag_field="status", tag="completed", frozen=True):
    """The model gave its final answer (checkpoint 01)."""

    status: ClassVar[Literal["completed"]] = "completed"
    messages: tuple[Message, ...]
    final_text: str

    if TYPE_CHECKING:

        def __init__(self, messages: Sequence[Message], final_text: str) -> None: ...

    def __post_init__(self) -> None:
        # [solution 01.2]
        _keep_messages(self)
        if type(self.final_text) is not str:
            refuse("final_text", "a string", self.final_text)
        # [/solution]


@final
class CancelledRun(Record, tag_field="status", tag="cancelled", frozen=True):
    """The caller aborted (checkpoint 01)."""

    status: ClassVar[Literal["cancelled"]] = "cancelled"
    messages: tuple[Message, ...]
    reason: str

    if TYPE_CHECKING:

        def __init__(self, messages: Sequence[Message], reason: str) -> None: ...

    def __post_init__(self) -> None:
        # [solution 01.2]
        _keep_messages(self)
        if type(self.reason) is not str:
            refuse("reason", "a string", self.reason)
        # [/solution]


@final
class MaxStepsRun(Record, tag_field="status", tag="maxSteps", frozen=True):
    """The step budget was used up (checkpoint 01)."""

    status: ClassVar[Literal["maxSteps"]] = "maxSteps"
    messages: tuple[Message, ...]
    max_steps: int

    if TYPE_CHECKING:

        def __init__(self, messages: Sequence[Message], max_steps: int) -> None: ...

    def __post_init__(self) -> None:
        # [solution 01.2]
        _keep_messages(self)
        if type(self.max_steps) is not int or not 0 <= self.max_steps <= MAX_COUNT:
            refuse_count("max_steps", self.max_steps)
        # [/solution]


@final
class FailedRun(Record, tag_field="status", tag="failed", frozen=True):
    """Something broke (checkpoint 01)."""

    status: ClassVar[Literal["failed"]] = "failed"
    messages: tuple[Message, ...]
    error: RunError

    if TYPE_CHECKING:

        def __init__(self, messages: Sequence[Message], error: RunError) -> None: ...

    def __post_init__(self) -> None:
        # [solution 01.2]
        _keep_messages(self)
        if type(self.error) is not RunError:
            refuse("error", "a RunError", self.error)
        # [/solution]


RunResult: TypeAlias = CompletedRun | CancelledRun | MaxStepsRun | FailedRun


def _keep_messages(run: RunResult) -> None:
    messages = checked_messages(run.messages)
    if messages is not run.messages:
        force_setattr(run, "messages", messages)
