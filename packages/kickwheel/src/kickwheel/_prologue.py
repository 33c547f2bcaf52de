"""One complete agent run as data: a question, a tool call, its result, the answer (checkpoint 00).

No model is called and no tool runs: the trace is a constant. Later checkpoints replace each step by a real
one and keep this order and these links between identities.

The records protect against accidents: assignment, deletion and new attributes raise. What
`object.__setattr__` and its like can do to them is nobody's promise.
"""

from typing import ClassVar, Final, Literal, TypeAlias, cast, final

import msgspec
from msgspec import Struct

from kickwheel_protocol import JsonObject, thaw_json


class _Record(Struct, frozen=True, gc=False, rename="camel"):
    """A frozen value with slots; like the records of the protocol it has no descendants."""

    def __init_subclass__(cls) -> None:
        for base in cls.__bases__:
            if base is not _Record:
                raise TypeError(f"{base.__name__} is final and cannot be subclassed")


@final
class UserMessageAccepted(_Record, tag_field="type", tag="user_message_accepted", frozen=True):
    """The user asked something (checkpoint 00)."""

    type: ClassVar[Literal["user_message_accepted"]] = "user_message_accepted"
    sequence: int
    text: str


@final
class ModelStreamOpened(_Record, tag_field="type", tag="model_stream_opened", frozen=True):
    """The model began to answer (checkpoint 00)."""

    type: ClassVar[Literal["model_stream_opened"]] = "model_stream_opened"
    sequence: int
    stream_id: str


@final
class ToolCallCompleted(_Record, tag_field="type", tag="tool_call_completed", frozen=True):
    """The model has finished writing a tool call; `arguments` is deeply frozen (checkpoint 00)."""

    type: ClassVar[Literal["tool_call_completed"]] = "tool_call_completed"
    sequence: int
    tool_call_id: str
    tool_name: str
    arguments: JsonObject


@final
class ToolExecutionStarted(_Record, tag_field="type", tag="tool_execution_started", frozen=True):
    """The tool began to run (checkpoint 00)."""

    type: ClassVar[Literal["tool_execution_started"]] = "tool_execution_started"
    sequence: int
    tool_call_id: str
    tool_name: str


@final
class ToolResultAppended(_Record, tag_field="type", tag="tool_result_appended", frozen=True):
    """The tool's result joined the transcript; the call id alone links it to its call (checkpoint 00)."""

    type: ClassVar[Literal["tool_result_appended"]] = "tool_result_appended"
    sequence: int
    tool_call_id: str
    result: int


@final
class FinalTextCompleted(_Record, tag_field="type", tag="final_text_completed", frozen=True):
    """The model has finished its answer (checkpoint 00)."""

    type: ClassVar[Literal["final_text_completed"]] = "final_text_completed"
    sequence: int
    text: str


@final
class AgentEnded(_Record, tag_field="type", tag="agent_ended", frozen=True):
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
class PrologueResult(_Record, frozen=True):
    """What the run came to (checkpoint 00)."""

    status: Literal["completed"]
    final_text: str


@final
class PrologueRun(_Record, frozen=True):
    """The whole run: eight events in order, and the result (checkpoint 00)."""

    events: tuple[PrologueEvent, ...]
    result: PrologueResult

    def to_wire(self) -> dict[str, object]:
        """Return the run as plain built-ins: camelCase keys, a fresh value at each call. O(size)."""
        plain: object = msgspec.to_builtins(self)
        return cast(dict[str, object], thaw_json(plain))


def _build_events() -> tuple[PrologueEvent, ...]:
    """Write down what happened. One variable holds the call's id, so that call and result cannot drift
    apart.
    """
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
    """Return the trace: the same deeply immutable object at every call, from whatever thread (checkpoint
    00).
    """
    run = _kept.get("run")
    return run if run is not None else _kept.setdefault("run", _build_run())
