"""The starting transcript: may the run begin with it? (checkpoint 07)"""

from typing import Final, cast, final

from msgspec import Struct

from kickwheel_agent_loop._arguments import arguments_fault
from kickwheel_agent_loop._limits import LoopLimits
from kickwheel_protocol import (
    AssistantMessage,
    Message,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    validate_transcript,
)


@final
class Start(Struct, frozen=True):
    """What a run begins with. With a fault, `messages` is what the failed run tells: the transcript, or
    nothing.
    """

    messages: tuple[Message, ...]
    call_ids: set[str]
    fault: str | None = None


_NOT_MESSAGES: Final = "the starting transcript must be a list or tuple of message records, within the limits"


def read_start(messages: tuple[object, ...] | None, limits: LoopLimits) -> Start:
    """Check the snapshot of the starting transcript: each entry, then the limits, then how calls and results
    link.

    `None` stands for what was no list or tuple, or too long. Nothing of an entry is trusted before its type
    is known.
    """
    # [solution 07.2]
    if messages is None or not all(map(_is_message, messages)):
        return Start((), set(), _NOT_MESSAGES)
    known = cast("tuple[Message, ...]", messages)
    call_ids: set[str] = set()
    for message in known:
        if type(message) is AssistantMessage:
            fault = message_fault(message, limits)
            if fault is not None:
                return Start((), set(), fault)
            call_ids.update(call.id for call in message.tool_calls)
    issues = validate_transcript(known)
    return Start(known, call_ids, issues[0].message if issues else None)
    # [/solution]


def message_fault(message: AssistantMessage, limits: LoopLimits) -> str | None:
    """Say which limit an assistant message exceeds: blocks, text, or the arguments of a call."""
    if len(message.content) > limits.max_model_blocks_per_step:
        return f"an assistant message has more than {limits.max_model_blocks_per_step} blocks"
    code_points = 0
    for block in message.content:
        if type(block) is TextBlock:
            code_points += len(block.text)
        elif type(block) is ToolCall:
            fault = arguments_fault(block.arguments, limits)
            if fault is not None:
                return fault
    if code_points > limits.max_model_text_code_points:
        return f"an assistant message has more than {limits.max_model_text_code_points} code points of text"
    return None


def _is_message(entry: object) -> bool:
    """Tell a real message record: the exact type, with all its fields (one made without its constructor has
    none).
    """
    try:
        if type(entry) is UserMessage:
            return type(entry.id) is str and type(entry.content) is str
        if type(entry) is ToolResultMessage:
            return type(entry.tool_call_id) is str and type(entry.content) is str
        if type(entry) is AssistantMessage:
            return all(map(_is_block, entry.content))
    except AttributeError:
        pass
    return False


def _is_block(block: TextBlock | ToolCall) -> bool:
    text: str = block.text if type(block) is TextBlock else block.id
    return type(text) is str
