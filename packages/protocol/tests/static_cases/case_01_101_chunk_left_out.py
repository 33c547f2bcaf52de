"""01.101: a chunk class without a branch"""

from typing import assert_never

from kickwheel_protocol import ModelChunk, TextDeltaChunk


def check(k: ModelChunk) -> object:
    match k:
        case TextDeltaChunk():
            return k
        case _:
            assert_never(k)  # !
