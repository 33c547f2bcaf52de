"""01.22: an unknown role cannot be compared with"""

from kickwheel_protocol import Message


def check(m: Message) -> None:
    if m.role == "system":  # !
        print("never")
