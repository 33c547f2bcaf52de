"""Blocks and messages: what stands in a transcript."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, final

from msgspec.structs import force_setattr

from ._checks import LIST, TUPLE, check_id, refuse
from ._json import JsonObject, freeze_object
from ._record import Record

MessageId: TypeAlias = str
"""Names one message of a transcript. An alias: it documents, and claims no validation."""
ToolCallId: TypeAlias = str
"""Links a tool call to its result. An alias: it documents, and claims no validation."""


@final
class TextBlock(Record, tag_field="type", tag="text", frozen=True):
    """A piece of assistant text; may be empty (checkpoint 01)."""

    type: ClassVar[Literal["text"]] = "text"
    text: str

    def __post_init__(self) -> None:
        if type(self.text) is not str:
            refuse("text", "a string", self.text)


@final
class ToolCall(Record, tag_field="type", tag="toolCall", frozen=True):
    """A tool call of the assistant: the arguments are a JSON object, copied and frozen (checkpoint 01)."""

    type: ClassVar[Literal["toolCall"]] = "toolCall"
    id: ToolCallId
    name: str
    arguments: JsonObject

    if TYPE_CHECKING:

        def __init__(self, id: ToolCallId, name: str, arguments: object) -> None: ...  # noqa: A002

    def __post_init__(self) -> None:
        # [solution 01.1]
        if type(self.id) is not str or not self.id.isascii() or not self.id.strip():
            check_id(self.id, "id")
        if type(self.name) is not str or not self.name.isascii() or not self.name.strip():
            check_id(self.name, "name")
        if type(self.arguments) is not JsonObject:
            force_setattr(self, "arguments", freeze_object(self.arguments, "arguments"))
        # [/solution]


AssistantBlock: TypeAlias = TextBlock | ToolCall


@final
class UserMessage(Record, tag_field="role", tag="user", frozen=True):
    """What a user said (checkpoint 01)."""

    role: ClassVar[Literal["user"]] = "user"
    id: MessageId
    content: str

    def __post_init__(self) -> None:
        if type(self.id) is not str or not self.id.isascii() or not self.id.strip():
            check_id(self.id, "id")
        if type(self.content) is not str:
            refuse("content", "a string", self.content)


@final
class AssistantMessage(Record, tag_field="role", tag="assistant", frozen=True):
    """What a model said: blocks in their order, stored as a tuple (checkpoint 01)."""

    role: ClassVar[Literal["assistant"]] = "assistant"
    id: MessageId
    content: tuple[AssistantBlock, ...]

    if TYPE_CHECKING:

        def __init__(self, id: MessageId, content: Sequence[AssistantBlock]) -> None: ...  # noqa: A002

    def __post_init__(self) -> None:
        # [solution 01.1]
        if type(self.id) is not str or not self.id.isascii() or not self.id.strip():
            check_id(self.id, "id")
        content = checked_blocks(self.content)
        if content is not self.content:
            force_setattr(self, "content", content)
        # [/solution]

    @property
    def text(self) -> str:
        """The texts of the text blocks in order, joined without a separator."""
        return "".join([block.text for block in self.content if type(block) is TextBlock])

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in order: the same objects."""
        return tuple([block for block in self.content if type(block) is ToolCall])


@final
class ToolResultMessage(Record, tag_field="role", tag="toolResult", frozen=True):
    """The answer to one tool call (checkpoint 01)."""

    role: ClassVar[Literal["toolResult"]] = "toolResult"
    id: MessageId
    tool_call_id: ToolCallId
    tool_name: str
    content: str
    is_error: bool = False

    def __post_init__(self) -> None:
        if type(self.id) is not str or not self.id.isascii() or not self.id.strip():
            check_id(self.id, "id")
        if (
            type(self.tool_call_id) is not str
            or not self.tool_call_id.isascii()
            or not self.tool_call_id.strip()
        ):
            check_id(self.tool_call_id, "tool_call_id")
        if type(self.tool_name) is not str or not self.tool_name.isascii() or not self.tool_name.strip():
            check_id(self.tool_name, "tool_name")
        if type(self.content) is not str:
            refuse("content", "a string", self.content)
        if type(self.is_error) is not bool:
            refuse("is_error", "true or false", self.is_error)


Message: TypeAlias = UserMessage | AssistantMessage | ToolResultMessage


def is_message(value: object) -> bool:
    """Tell whether a value is one of the three message records."""
    kind = type(value)
    return kind is UserMessage or kind is AssistantMessage or kind is ToolResultMessage


def checked_blocks(value: object) -> tuple[AssistantBlock, ...]:
    """Return the blocks of a list or tuple as a tuple, the same one if it is a tuple; refuse anything
    else.
    """
    if type(value) is LIST:
        blocks = (*value,)
    elif type(value) is TUPLE:
        blocks = value
    else:
        refuse("content", "a list or tuple", value)
    for block in blocks:
        if type(block) is not TextBlock and type(block) is not ToolCall:
            index = next(at for at, other in enumerate(blocks) if other is block)
            refuse(f"content[{index}]", "a TextBlock or a ToolCall", block)
    checked: tuple[Any, ...] = blocks
    return checked


def checked_messages(value: object, field: str = "messages", start: int = 0) -> tuple[Message, ...]:
    """Return the messages of a list or tuple as a tuple, the same one if it is a tuple; refuse anything else.

    `start` is the index of the first one in the whole.
    """
    if type(value) is LIST:
        messages = (*value,)
    elif type(value) is TUPLE:
        messages = value
    else:
        refuse(field, "a list or tuple", value)
    for message in messages:
        kind = type(message)
        if kind is not UserMessage and kind is not AssistantMessage and kind is not ToolResultMessage:
            index = next(at for at, other in enumerate(messages, start) if other is message)
            refuse(f"{field}[{index}]", "a message", message)
    checked: tuple[Any, ...] = messages
    return checked
