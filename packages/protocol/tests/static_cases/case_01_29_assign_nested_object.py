"""01.29: a nested object cannot be changed"""

from kickwheel_protocol import JsonObject, ToolCall


def check(c: ToolCall) -> None:
    n = c.arguments["o"]
    if isinstance(n, JsonObject):
        n["a"] = 1  # !
