"""01.34: an unknown status cannot be compared with"""

from kickwheel_protocol import RunResult


def check(r: RunResult) -> None:
    if r.status == "running":  # !
        print("never")
