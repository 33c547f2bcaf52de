"""The outcome of a tool's validator, and what a tool is told about its call."""

from collections.abc import Awaitable
from typing import ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar, final

from ._checks import check_id, check_text, id_fault
from ._errors import ProtocolError
from ._messages import ToolCallId
from ._ports import Signal
from ._record import Record

T = TypeVar("T")
In = TypeVar("In")
Out_co = TypeVar("Out_co", covariant=True)


@final
class Valid(Record, Generic[T], frozen=True, gc=True):
    """A validator's yes: `value` is the narrowed input, the same object (checkpoint 01)."""

    ok: ClassVar[Literal[True]] = True
    value: T


@final
class Invalid(Record, frozen=True):
    """A validator's no: `error` says why and is not blank (checkpoint 01)."""

    ok: ClassVar[Literal[False]] = False
    error: str

    def __post_init__(self) -> None:
        check_text(self.error, "error")
        if id_fault(self.error) == "must not be blank":
            raise ProtocolError("error", "must not be blank")


ToolValidation: TypeAlias = Valid[T] | Invalid


@final
class ToolContext(Record, frozen=True, gc=True):
    """What a tool is told about its call (checkpoint 01)."""

    signal: Signal
    tool_call_id: ToolCallId

    def __post_init__(self) -> None:
        check_id(self.tool_call_id, "tool_call_id")


class Tool(Protocol[In, Out_co]):
    """A tool."""

    @property
    def name(self) -> str:
        """Name."""
        ...

    @property
    def description(self) -> str:
        """Description."""
        ...

    def validate(self, value: object, /) -> ToolValidation[In]:
        """Validate."""
        ...

    def execute(self, value: In, context: ToolContext, /) -> Awaitable[Out_co]:
        """Execute."""
        ...
