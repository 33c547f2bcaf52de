"""01.101: a event class without a branch"""

from typing import assert_never

from kickwheel_protocol import AgentEvent, MessageAccepted, ModelChunkReceived, ToolFinished, ToolStarted


def check(e: AgentEvent) -> object:
    match e:
        case MessageAccepted():
            return e
        case ModelChunkReceived():
            return e
        case ToolStarted():
            return e
        case ToolFinished():
            return e
        case _:
            assert_never(e)  # !
