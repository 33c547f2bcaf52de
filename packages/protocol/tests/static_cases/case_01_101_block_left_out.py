"""01.101: a block class without a branch"""

from typing import assert_never

from kickwheel_protocol import AssistantBlock, TextBlock


def check(b: AssistantBlock) -> object:
    match b:
        case TextBlock():
            return b
        case _:
            assert_never(b)  # !
