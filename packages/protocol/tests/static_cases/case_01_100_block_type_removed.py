"""01.100: a value is missing from block_type"""

from typing import Literal, assert_type

from kickwheel_protocol import AssistantBlock


def check(b: AssistantBlock) -> None:
    assert_type(b.type, Literal["text"])  # !
