"""01.103: content of any message is not a text"""

from kickwheel_protocol import Message


def check(m: Message) -> str:
    return m.content  # !
