"""01.23: content cannot grow"""

from kickwheel_protocol import AssistantMessage, ToolCall


def check(a: AssistantMessage, c: ToolCall) -> None:
    a.content.append(c)  # !
