"""01.100: a value is missing from chunk_type"""

from typing import Literal, assert_type

from kickwheel_protocol import ModelChunk


def check(k: ModelChunk) -> None:
    assert_type(k.type, Literal["textDelta"])  # !
