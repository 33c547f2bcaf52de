"""What an agent run tells about itself while it goes on."""

from typing import ClassVar, Literal, TypeAlias, final

from ._checks import MAX_COUNT, refuse, refuse_count
from ._messages import Message, ToolCall, ToolResultMessage, is_message
from ._model import ModelChunk, TextDeltaChunk, ToolCallChunk
from ._record import Record
from ._runs import CancelledRun, CompletedRun, FailedRun, MaxStepsRun, RunResult


@final
class MessageAccepted(Record, tag_field="type", tag="message.accepted", frozen=True):
    """A message entered the transcript (checkpoint 01)."""

    type: ClassVar[Literal["message.accepted"]] = "message.accepted"
    sequence: int
    message: Message

    def __post_init__(self) -> None:
        if type(self.sequence) is not int or not 0 <= self.sequence <= MAX_COUNT:
            refuse_count("sequence", self.sequence)
        if not is_message(self.message):
            refuse("message", "a message", self.message)


@final
class ModelChunkReceived(Record, tag_field="type", tag="model.chunk", frozen=True):
    """The model sent a chunk (checkpoint 01)."""

    type: ClassVar[Literal["model.chunk"]] = "model.chunk"
    sequence: int
    chunk: ModelChunk

    def __post_init__(self) -> None:
        if type(self.sequence) is not int or not 0 <= self.sequence <= MAX_COUNT:
            refuse_count("sequence", self.sequence)
        kind = type(self.chunk)
        if kind is not TextDeltaChunk and kind is not ToolCallChunk:
            refuse("chunk", "a chunk", self.chunk)


@final
class ToolStarted(Record, tag_field="type", tag="tool.started", frozen=True):
    """A tool is about to run (checkpoint 01)."""

    type: ClassVar[Literal["tool.started"]] = "tool.started"
    sequence: int
    tool_call: ToolCall

    def __post_init__(self) -> None:
        if type(self.sequence) is not int or not 0 <= self.sequence <= MAX_COUNT:
            refuse_count("sequence", self.sequence)
        if type(self.tool_call) is not ToolCall:
            refuse("tool_call", "a ToolCall", self.tool_call)


@final
class ToolFinished(Record, tag_field="type", tag="tool.finished", frozen=True):
    """A tool has ended, well or not (checkpoint 01)."""

    type: ClassVar[Literal["tool.finished"]] = "tool.finished"
    sequence: int
    message: ToolResultMessage

    def __post_init__(self) -> None:
        if type(self.sequence) is not int or not 0 <= self.sequence <= MAX_COUNT:
            refuse_count("sequence", self.sequence)
        if type(self.message) is not ToolResultMessage:
            refuse("message", "a ToolResultMessage", self.message)


@final
class RunFinished(Record, tag_field="type", tag="run.finished", frozen=True):
    """The run is over; always the last event (checkpoint 01)."""

    type: ClassVar[Literal["run.finished"]] = "run.finished"
    sequence: int
    result: RunResult

    def __post_init__(self) -> None:
        if type(self.sequence) is not int or not 0 <= self.sequence <= MAX_COUNT:
            refuse_count("sequence", self.sequence)
        kind = type(self.result)
        if (
            kind is not CompletedRun
            and kind is not CancelledRun
            and kind is not MaxStepsRun
            and kind is not FailedRun
        ):
            refuse("result", "a run result", self.result)


AgentEvent: TypeAlias = MessageAccepted | ModelChunkReceived | ToolStarted | ToolFinished | RunFinished
