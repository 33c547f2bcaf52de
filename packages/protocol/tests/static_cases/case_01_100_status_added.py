"""01.100: a value too many for status"""

from typing import Literal, assert_type

from kickwheel_protocol import RunResult


def check(r: RunResult) -> None:
    assert_type(r.status, Literal["completed", "cancelled", "maxSteps", "failed", "running"])  # !
