"""01.108: all classes of a block are handled"""

from typing import assert_never

from kickwheel_protocol import AssistantBlock, TextBlock, ToolCall


def check(b: AssistantBlock) -> object:
    match b:
        case TextBlock(text=text):
            return text
        case ToolCall(arguments=arguments):
            return arguments
        case _:
            assert_never(b)
