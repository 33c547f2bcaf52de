"""01.105: an argument can be any JSON value"""

from kickwheel_protocol import ToolCall


def check(c: ToolCall) -> int:
    return c.arguments["left"]  # !
