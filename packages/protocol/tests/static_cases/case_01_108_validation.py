"""01.108: all classes of a validation are handled"""

from typing import assert_never

from kickwheel_protocol import Invalid, ToolValidation, Valid


def check(v: ToolValidation[int]) -> object:
    match v:
        case Valid(value=value):
            return value
        case Invalid(error=error):
            return error
        case _:
            assert_never(v)
