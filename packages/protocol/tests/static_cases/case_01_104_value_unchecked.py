"""01.104: a value is there only if it is valid"""

from kickwheel_protocol import ToolValidation


def check(v: ToolValidation[int]) -> int:
    return v.value  # !
