"""01.100: a value too many for chunk_type"""

from typing import Literal, assert_type

from kickwheel_protocol import ModelChunk


def check(k: ModelChunk) -> None:
    assert_type(k.type, Literal["textDelta", "toolCall", "usage"])  # !
