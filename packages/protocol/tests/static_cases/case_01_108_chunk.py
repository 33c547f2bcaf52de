"""01.108: all classes of a chunk are handled"""

from typing import assert_never

from kickwheel_protocol import ModelChunk, TextDeltaChunk, ToolCallChunk


def check(k: ModelChunk) -> object:
    match k:
        case TextDeltaChunk(delta=delta):
            return delta
        case ToolCallChunk(tool_call=tool_call):
            return tool_call
        case _:
            assert_never(k)
