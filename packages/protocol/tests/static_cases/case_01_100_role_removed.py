"""01.100: a value is missing from role"""

from typing import Literal, assert_type

from kickwheel_protocol import Message


def check(m: Message) -> None:
    assert_type(m.role, Literal["user", "assistant"])  # !
