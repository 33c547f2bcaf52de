"""01.35: a status without a branch"""

from typing import assert_never

from kickwheel_protocol import RunResult


def check(r: RunResult) -> object:
    if r.status == "completed":
        return r
    elif r.status == "cancelled":
        return r
    elif r.status == "maxSteps":
        return r
    else:
        assert_never(r)  # !
