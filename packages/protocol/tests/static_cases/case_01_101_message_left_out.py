"""01.101: a message class without a branch"""

from typing import assert_never

from kickwheel_protocol import AssistantMessage, Message, UserMessage


def check(m: Message) -> object:
    match m:
        case UserMessage():
            return m
        case AssistantMessage():
            return m
        case _:
            assert_never(m)  # !
