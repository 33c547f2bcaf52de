"""01.28: an argument cannot be deleted"""

from kickwheel_protocol import ToolCall


def check(c: ToolCall) -> None:
    del c.arguments["left"]  # !
