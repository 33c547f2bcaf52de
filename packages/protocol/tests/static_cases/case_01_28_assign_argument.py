"""01.28: an argument cannot be assigned"""

from kickwheel_protocol import ToolCall


def check(c: ToolCall) -> None:
    c.arguments["left"] = 1  # !
