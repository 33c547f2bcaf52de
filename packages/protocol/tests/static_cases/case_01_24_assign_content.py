"""01.24: content cannot be replaced"""

from kickwheel_protocol import AssistantMessage


def check(a: AssistantMessage) -> None:
    a.content = ()  # !
