"""01.100: a value too many for event_type"""

from typing import Literal, assert_type

from kickwheel_protocol import AgentEvent


def check(e: AgentEvent) -> None:
    assert_type(
        e.type,  # !
        Literal[
            "message.accepted", "model.chunk", "tool.started", "tool.finished", "run.finished", "run.started"
        ],
    )
