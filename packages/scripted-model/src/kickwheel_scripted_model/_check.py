"""The stream check: does the terminal say what was streamed?"""

from kickwheel_protocol import (
    AssistantMessage,
    JsonObject,
    JsonValue,
    ModelChunk,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
)


def stream_fault(streamed: list[ModelChunk], message: AssistantMessage) -> str | None:
    """Compare the chunks of a call with its message; give the first difference in words, or `None`."""
    sent_text: list[str] = []
    sent: list[ToolCall] = []
    for chunk in streamed:
        if type(chunk) is TextDeltaChunk:
            sent_text.append(chunk.delta)
        else:
            sent.append(chunk.tool_call)
    told_text: list[str] = []
    told: list[ToolCall] = []
    for block in message.content:
        if type(block) is TextBlock:
            told_text.append(block.text)
        else:
            told.append(block)
    left, right = "".join(sent_text), "".join(told_text)
    if left != right:
        return f"the {len(left)} characters streamed are not the {len(right)} of the message"
    if len(sent) != len(told):
        return f"{len(sent)} tool calls were streamed, and the message holds {len(told)}"
    for index, call in enumerate(sent):
        if not _same_call(call, told[index]):
            return f"tool call {index} was streamed otherwise than the message holds it"
    return None


def _same_call(sent: ToolCall, told: ToolCall) -> bool:
    if sent is told:
        return True
    return sent.id == told.id and sent.name == told.name and same_json(sent.arguments, told.arguments)


def same_json(left: JsonValue, right: JsonValue) -> bool:
    """Compare as JSON: the order of keys does not matter, and `1` is not `true`, as Python would have it."""
    if left is right:
        return True
    if isinstance(left, JsonObject) and isinstance(right, JsonObject):
        return left.keys() == right.keys() and all(
            same_json(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same_json, left, right))
    return (type(left) is bool) == (type(right) is bool) and left == right
