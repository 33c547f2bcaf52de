"""01.100: a value too many for role"""

from typing import Literal, assert_type

from kickwheel_protocol import Message


def check(m: Message) -> None:
    assert_type(m.role, Literal["user", "assistant", "toolResult", "system"])  # !
