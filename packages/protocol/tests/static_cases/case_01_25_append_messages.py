"""01.25: messages cannot grow"""

from kickwheel_protocol import Message, ModelRequest


def check(q: ModelRequest, m: Message) -> None:
    q.messages.append(m)  # !
