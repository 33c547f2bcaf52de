"""01.30: a nested array cannot be changed"""

from kickwheel_protocol import ToolCall


def check(c: ToolCall) -> None:
    n = c.arguments["o"]
    if isinstance(n, tuple):
        n.append(1)  # !
        n[0] = 1  # !
