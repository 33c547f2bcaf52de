"""The outcome of a tool's validator, and what a tool is told about its call."""

from collections.abc import Awaitable
from typing import ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar, final

from ._checks import check_id, is_blank, refuse
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

    def __deepcopy__(self, memo: dict[int, object], /) -> "Valid[T]":
        from copy import deepcopy  # here, since hardly anybody copies what cannot change

        return Valid(deepcopy(self.value, memo))


@final
class Invalid(Record, frozen=True):
    """A validator's no: `error` says why and is not blank (checkpoint 01)."""

    ok: ClassVar[Literal[False]] = False
    error: str

    def __post_init__(self) -> None:
        if type(self.error) is not str:
            refuse("error", "a string", self.error)
        if is_blank(self.error):
            raise ProtocolError("error", "must not be blank")


ToolValidation: TypeAlias = Valid[T] | Invalid


@final
class ToolContext(Record, frozen=True, gc=True):
    """What a tool is told about its call: the run's own signal, and the call's id (checkpoint 01)."""

    signal: Signal
    tool_call_id: ToolCallId

    def __deepcopy__(self, memo: dict[int, object], /) -> "ToolContext":
        from copy import deepcopy

        return ToolContext(deepcopy(self.signal, memo), self.tool_call_id)

    def __post_init__(self) -> None:
        if (
            type(self.tool_call_id) is not str
            or not self.tool_call_id.isascii()
            or not self.tool_call_id.strip()
        ):
            check_id(self.tool_call_id, "tool_call_id")


class Tool(Protocol[In, Out_co]):
    """A port: something that a model can call (checkpoints 01 and 06)."""

    @property
    def name(self) -> str:
        """The name under which calls refer to it: an id."""
        ...

    @property
    def description(self) -> str:
        """What it does, for the model."""
        ...

    def validate(self, value: object, /) -> ToolValidation[In]:
        """Narrow untrusted arguments to the input, or say what is wrong; bad data raises nothing."""
        ...

    def execute(self, value: In, context: ToolContext, /) -> Awaitable[Out_co]:
        """Do it, with an input that `validate` has passed; the outcome is awaited."""
        ...
