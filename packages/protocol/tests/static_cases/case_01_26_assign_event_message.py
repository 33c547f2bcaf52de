"""01.26: an event's field cannot be assigned"""

from kickwheel_protocol import Message, MessageAccepted


def check(ev: MessageAccepted, m: Message) -> None:
    ev.message = m  # !
