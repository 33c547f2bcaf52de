"""01.108: all classes of a run are handled"""

from typing import assert_never

from kickwheel_protocol import CancelledRun, CompletedRun, FailedRun, MaxStepsRun, RunResult


def check(r: RunResult) -> object:
    match r:
        case CompletedRun(final_text=final_text):
            return final_text
        case CancelledRun(reason=reason):
            return reason
        case MaxStepsRun(max_steps=max_steps):
            return max_steps
        case FailedRun(error=error):
            return error
        case _:
            assert_never(r)
