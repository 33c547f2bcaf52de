"""What goes to a model and what comes back: request, chunks, usage, response."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, final

from msgspec.structs import force_setattr

from ._checks import MAX_COUNT, TUPLE, check_id, refuse, refuse_count
from ._errors import ProtocolError
from ._messages import AssistantMessage, Message, ToolCall, checked_messages
from ._record import Record

ModelRequestId: TypeAlias = str
"""Names one request to a model. An alias: it documents, and claims no validation."""
ModelResponseId: TypeAlias = str
"""Names one response of a model. An alias: it documents, and claims no validation."""

StopReason: TypeAlias = Literal["stop", "toolCall"]
"""Why a model stopped: its answer is complete, or it waits for tool results."""


@final
class ModelRequest(Record, frozen=True):
    """Everything a model is shown for one answer (checkpoint 01)."""

    id: ModelRequestId
    messages: tuple[Message, ...]

    if TYPE_CHECKING:

        def __init__(self, id: ModelRequestId, messages: Sequence[Message]) -> None: ...  # noqa: A002

    def __post_init__(self) -> None:
        if type(self.id) is not str or not self.id.isascii() or not self.id.strip():
            check_id(self.id, "id")
        given = self.messages
        if type(given) is TUPLE and not given:
            return
        messages = checked_messages(given)
        if messages is not given:
            force_setattr(self, "messages", messages)

    def followed_by(self, id: ModelRequestId, *messages: Message) -> "ModelRequest":  # noqa: A002
        """Return the next request of a run: these messages and the new ones (checkpoint 01).

        What is there is shared and not looked at again, which costs one pointer a message. Raises
        `ProtocolError` for the id or a new message; its index counts from the first message of the whole.
        """
        # [solution 01.3]
        request = ModelRequest(id, ())
        added = checked_messages(messages, start=len(self.messages))
        force_setattr(request, "messages", self.messages + added)  # checked before, each half once
        return request
        # [/solution]


@final
class TextDeltaChunk(Record, tag_field="type", tag="textDelta", frozen=True):
    """A piece of text as it arrives (checkpoint 01)."""

    type: ClassVar[Literal["textDelta"]] = "textDelta"
    request_id: ModelRequestId
    delta: str

    def __post_init__(self) -> None:
        if type(self.request_id) is not str or not self.request_id.isascii() or not self.request_id.strip():
            check_id(self.request_id, "request_id")
        if type(self.delta) is not str:
            refuse("delta", "a string", self.delta)


@final
class ToolCallChunk(Record, tag_field="type", tag="toolCall", frozen=True):
    """A completed tool call as it arrives (checkpoint 01)."""

    type: ClassVar[Literal["toolCall"]] = "toolCall"
    request_id: ModelRequestId
    tool_call: ToolCall

    def __post_init__(self) -> None:
        if type(self.request_id) is not str or not self.request_id.isascii() or not self.request_id.strip():
            check_id(self.request_id, "request_id")
        if type(self.tool_call) is not ToolCall:
            refuse("tool_call", "a ToolCall", self.tool_call)


ModelChunk: TypeAlias = TextDeltaChunk | ToolCallChunk


@final
class Usage(Record, frozen=True):
    """Tokens read and written (checkpoint 01)."""

    input_tokens: int
    output_tokens: int

    def __post_init__(self) -> None:
        if type(self.input_tokens) is not int or not 0 <= self.input_tokens <= MAX_COUNT:
            refuse_count("input_tokens", self.input_tokens)
        if type(self.output_tokens) is not int or not 0 <= self.output_tokens <= MAX_COUNT:
            refuse_count("output_tokens", self.output_tokens)


@final
class ModelResponse(Record, frozen=True):
    """The complete answer of a model (checkpoint 01)."""

    id: ModelResponseId
    request_id: ModelRequestId
    message: AssistantMessage
    stop_reason: StopReason
    usage: Usage

    def __post_init__(self) -> None:
        if type(self.id) is not str or not self.id.isascii() or not self.id.strip():
            check_id(self.id, "id")
        if type(self.request_id) is not str or not self.request_id.isascii() or not self.request_id.strip():
            check_id(self.request_id, "request_id")
        if type(self.message) is not AssistantMessage:
            refuse("message", "an AssistantMessage", self.message)
        stop_reason = self.stop_reason
        if type(stop_reason) is not str:
            refuse("stop_reason", "a string", stop_reason)
        if stop_reason != "stop" and stop_reason != "toolCall":
            raise ProtocolError("stop_reason", "must be stop or toolCall")
        if type(self.usage) is not Usage:
            refuse("usage", "a Usage", self.usage)
