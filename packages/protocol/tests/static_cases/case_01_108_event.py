"""01.108: all classes of a event are handled"""

from typing import assert_never

from kickwheel_protocol import (
    AgentEvent,
    MessageAccepted,
    ModelChunkReceived,
    RunFinished,
    ToolFinished,
    ToolStarted,
)


def check(e: AgentEvent) -> object:
    match e:
        case MessageAccepted(message=message):
            return message
        case ModelChunkReceived(chunk=chunk):
            return chunk
        case ToolStarted(tool_call=tool_call):
            return tool_call
        case ToolFinished(message=message):
            return message
        case RunFinished(result=result):
            return result
        case _:
            assert_never(e)
