"""01.108: all classes of a message are handled"""

from typing import assert_never

from kickwheel_protocol import AssistantMessage, Message, ToolResultMessage, UserMessage


def check(m: Message) -> object:
    match m:
        case UserMessage(content=content):
            return content
        case AssistantMessage(content=content):
            return content
        case ToolResultMessage(tool_name=tool_name):
            return tool_name
        case _:
            assert_never(m)
