"""Tool-call arguments: are they within the limits, and do two sides of a model turn mean the same ones?"""

from collections.abc import Iterable

from kickwheel_agent_loop._limits import LoopLimits
from kickwheel_protocol import JsonObject, JsonValue


def arguments_fault(arguments: JsonObject, limits: LoopLimits) -> str | None:
    """Say which limit the arguments of one call exceed; `None` if they are within all of them.

    Walks without recursion and stops at the first limit, so the work is bounded by the limits.
    """
    entries = 0
    code_points = 0
    container: JsonObject | tuple[JsonValue, ...] = arguments
    depth = 0
    waiting: list[tuple[JsonObject | tuple[JsonValue, ...], int]] = []
    while True:
        if depth > limits.max_tool_argument_depth:
            return f"tool arguments are deeper than {limits.max_tool_argument_depth} containers"
        entries += len(container)
        # Every entry is one value, and the root is the one value that is no entry.
        if entries > limits.max_tool_argument_entries or entries + 1 > limits.max_tool_argument_nodes:
            return "tool arguments hold too many values"
        values: Iterable[JsonValue] = container
        if type(container) is JsonObject:
            code_points += sum(map(len, container))
            values = container.values()
        for value in values:
            if type(value) is str:
                code_points += len(value)
            elif isinstance(value, (JsonObject, tuple)):  # a union would be built anew for every value
                waiting.append((value, depth + 1))
        if code_points > limits.max_tool_argument_string_code_points:
            return "tool arguments hold too much text"
        if not waiting:
            return None
        container, depth = waiting.pop()


def same_json(left: JsonValue, right: JsonValue) -> bool:
    """Compare two frozen values: key order does not count, and `True` is not `1` (which Python's `==` says it
    is).
    """
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if one is other:
            continue
        if isinstance(one, JsonObject) and isinstance(other, JsonObject):
            if one.keys() != other.keys():
                return False
            pairs.extend((value, other[key]) for key, value in one.items())
        elif isinstance(one, tuple) and isinstance(other, tuple):
            if len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif isinstance(one, bool) is not isinstance(other, bool) or one != other:
            return False
    return True
