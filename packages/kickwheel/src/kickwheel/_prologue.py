"""One complete agent run as data: a question, a tool call, its result, the answer (checkpoint 00).

No model is called and no tool runs: the trace is a constant. Later checkpoints replace each step by a real
one and keep this order and these links between identities.

The records protect against accidents: assignment, deletion and new attributes raise. What
`object.__setattr__` and its like can do to them is nobody's promise.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, Self, TypeAlias, final

from kickwheel_protocol import JsonObject, thaw_json


class _Record:
    """What the records share: no `__dict__`, no descendants, and copies that are the record itself."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        for base in cls.__bases__:
            if base is not _Record:
                raise TypeError(f"{base.__name__} is final and cannot be subclassed")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object], /) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), tuple([getattr(self, name) for name in self.__match_args__]))


@final
@dataclass(frozen=True, slots=True)
class UserMessageAccepted(_Record):
    """The user asked something (checkpoint 00)."""

    type: ClassVar[Literal["user_message_accepted"]] = "user_message_accepted"
    sequence: int
    text: str


@final
@dataclass(frozen=True, slots=True)
class ModelStreamOpened(_Record):
    """The model began to answer (checkpoint 00)."""

    type: ClassVar[Literal["model_stream_opened"]] = "model_stream_opened"
    sequence: int
    stream_id: str


@final
@dataclass(frozen=True, slots=True)
class ToolCallCompleted(_Record):
    """The model has finished writing a tool call; `arguments` is deeply frozen (checkpoint 00)."""

    type: ClassVar[Literal["tool_call_completed"]] = "tool_call_completed"
    sequence: int
    tool_call_id: str
    tool_name: str
    arguments: JsonObject


@final
@dataclass(frozen=True, slots=True)
class ToolExecutionStarted(_Record):
    """The tool began to run (checkpoint 00)."""

    type: ClassVar[Literal["tool_execution_started"]] = "tool_execution_started"
    sequence: int
    tool_call_id: str
    tool_name: str


@final
@dataclass(frozen=True, slots=True)
class ToolResultAppended(_Record):
    """The tool's result joined the transcript; the call id alone links it to its call (checkpoint 00)."""

    type: ClassVar[Literal["tool_result_appended"]] = "tool_result_appended"
    sequence: int
    tool_call_id: str
    result: int


@final
@dataclass(frozen=True, slots=True)
class FinalTextCompleted(_Record):
    """The model has finished its answer (checkpoint 00)."""

    type: ClassVar[Literal["final_text_completed"]] = "final_text_completed"
    sequence: int
    text: str


@final
@dataclass(frozen=True, slots=True)
class AgentEnded(_Record):
    """The run is over (checkpoint 00)."""

    type: ClassVar[Literal["agent_ended"]] = "agent_ended"
    sequence: int
    status: Literal["completed"]


PrologueEvent: TypeAlias = (
    UserMessageAccepted
    | ModelStreamOpened
    | ToolCallCompleted
    | ToolExecutionStarted
    | ToolResultAppended
    | FinalTextCompleted
    | AgentEnded
)
"""The seven things that happen in the trace."""


@final
@dataclass(frozen=True, slots=True)
class PrologueResult(_Record):
    """What the run came to (checkpoint 00)."""

    status: Literal["completed"]
    final_text: str


@final
@dataclass(frozen=True, slots=True)
class PrologueRun(_Record):
    """The whole run: eight events in order, and the result (checkpoint 00)."""

    events: tuple[PrologueEvent, ...]
    result: PrologueResult

    def to_wire(self) -> dict[str, object]:
        """Return the run as plain built-ins: camelCase keys, a fresh value at each call. O(size)."""
        return {"events": [_wire(event) for event in self.events], "result": _wire(self.result)}


def _wire(record: PrologueEvent | PrologueResult) -> dict[str, object]:
    plain: dict[str, object] = {} if isinstance(record, PrologueResult) else {"type": record.type}
    for name in record.__match_args__:
        plain[_camel(name)] = thaw_json(getattr(record, name))
    return plain


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join([word.capitalize() for word in rest])


def _build_events() -> tuple[PrologueEvent, ...]:
    """Write down what happened. One variable holds the call's id, so that it cannot differ by accident."""
    # [solution 00.1]
    call_id = "call-add-001"
    return (
        UserMessageAccepted(0, "What is 20 + 22?"),
        ModelStreamOpened(1, "model-stream-001"),
        ToolCallCompleted(2, call_id, "add", JsonObject({"left": 20, "right": 22})),
        ToolExecutionStarted(3, call_id, "add"),
        ToolResultAppended(4, call_id, 42),
        ModelStreamOpened(5, "model-stream-002"),
        FinalTextCompleted(6, "The sum is 42."),
        AgentEnded(7, "completed"),
    )
    # [/solution]


def _sum_up(events: tuple[PrologueEvent, ...]) -> PrologueResult:
    """Say what the run came to: its last event's status, and the text that the model finished with."""
    # [solution 00.2]
    ended = next(event for event in events if event.type == "agent_ended")
    answer = next(event for event in events if event.type == "final_text_completed")
    return PrologueResult(ended.status, answer.text)
    # [starter]
    # return PrologueResult("completed", f"{len(events)} events, but what was the answer?")
    # [/solution]


def _build_run() -> PrologueRun:
    events = _build_events()
    return PrologueRun(events, _sum_up(events))


_kept: Final[dict[str, PrologueRun]] = {}


def run_prologue() -> PrologueRun:
    """Return the trace: the same deeply immutable object at every call (checkpoint 00)."""
    run = _kept.get("run")
    return run if run is not None else _kept.setdefault("run", _build_run())
