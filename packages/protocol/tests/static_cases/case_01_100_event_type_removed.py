"""01.100: a value is missing from event_type"""

from typing import Literal, assert_type

from kickwheel_protocol import AgentEvent


def check(e: AgentEvent) -> None:
    assert_type(e.type, Literal["message.accepted", "model.chunk", "tool.started", "tool.finished"])  # !
