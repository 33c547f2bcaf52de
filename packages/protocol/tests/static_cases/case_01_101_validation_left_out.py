"""01.101: a validation class without a branch"""

from typing import assert_never

from kickwheel_protocol import ToolValidation, Valid


def check(v: ToolValidation[int]) -> object:
    match v:
        case Valid():
            return v
        case _:
            assert_never(v)  # !
