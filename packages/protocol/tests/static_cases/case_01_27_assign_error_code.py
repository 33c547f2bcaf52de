"""01.27: a nested field cannot be assigned"""

from kickwheel_protocol import FailedRun


def check(f: FailedRun) -> None:
    f.error.code = "x"  # !
