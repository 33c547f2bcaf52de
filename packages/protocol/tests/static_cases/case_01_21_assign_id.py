"""01.21: a field cannot be assigned"""

from kickwheel_protocol import UserMessage


def check(u: UserMessage) -> None:
    u.id = "x"  # !
