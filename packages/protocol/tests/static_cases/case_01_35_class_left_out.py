"""01.35: a run class without a branch"""

from typing import assert_never

from kickwheel_protocol import CancelledRun, CompletedRun, MaxStepsRun, RunResult


def check(r: RunResult) -> object:
    match r:
        case CompletedRun():
            return r
        case CancelledRun():
            return r
        case MaxStepsRun():
            return r
        case _:
            assert_never(r)  # !
