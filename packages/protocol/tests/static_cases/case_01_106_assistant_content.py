"""01.106: content holds blocks"""

from kickwheel_protocol import AssistantMessage, UserMessage


def check(u: UserMessage) -> None:
    AssistantMessage(id="a", content=[u])  # !
