"""What does one tool call cost, and does its cost grow with what it should not?

06.C1 registry: cases `1 tool` and `1,000 tools`. 06.C2 calls: the same, and the cases of arguments. 06.C3
content: the cases `output: …`. 06.C4 groups: the two cases of leaves.

The floor is the least that could be called a tool call: decode the arguments' JSON, call the function, encode
what it gave. Cases come in pairs of sizes: equal figures mean that the size does not count.

    python benchmarks/tools.py [--rounds N] [--quick] [--case NAME] [--json FILE]
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from _harness import Contender, Run, main, seconds

from kickwheel_agent_loop import ToolDefinition, ToolRegistry, define_tool, execute_tool_call, tool
from kickwheel_event_stream import AbortController
from kickwheel_protocol import ToolCall, Valid

FLOOR = "json and a call"
CALLS = 200  # per measurement, on one loop

Work = Callable[[], Coroutine[object, object, object]]


@dataclass
class Row:
    """A converted output."""

    number: int
    text: str


def group_of(leaves: int) -> Exception:
    """A group as a task group raises it."""
    return ExceptionGroup("g", [ValueError(f"leaf {number}") for number in range(leaves)])


OUTPUTS: dict[str, object] = {
    "a number": 42,
    "a small dict": {"sum": 42, "exact": True},
    "a nested dict": {"rows": [{"a": 1, "b": [True, None]}, {"a": 2, "b": ["x"]}], "count": 2},
    "a list of 1,000 numbers": [0] * 1_000,
    "a list of 1,000,000 numbers": [0] * 1_000_000,
    "a dict of 1,000 keys": {str(number): 0 for number in range(1_000)},
    "a dict of 1,000,000 keys": {str(number): 0 for number in range(1_000_000)},
    "a text of 10,000 characters": "x" * 10_000,
    "a text of 10,000,000 characters": "x" * 10_000_000,
    "10 dataclasses": [Row(number, "row") for number in range(10)],
    "50 dataclasses": [Row(number, "row") for number in range(50)],
}
REGISTRIES = {"1 tool": 1, "1,000 tools": 1_000}
ARGUMENTS: dict[str, dict[str, object]] = {
    "2 arguments": {"left": 20, "right": 22},
    "an argument of 10 items": {"left": 20, "right": 22, "more": list(range(10))},
    "an argument of 1,000 items": {"left": 20, "right": 22, "more": list(range(1_000))},
}
GROUPS = {"a group of 100 leaves": 100, "a group of 10,000 leaves": 10_000}


def timed(work: Work) -> Run:
    """Seconds per call, many calls on one event loop."""

    async def many() -> None:
        for _ in range(CALLS):
            await work()

    return lambda: seconds(lambda: asyncio.run(many()), CALLS)


def add(left: int, right: int, more: list[int] | None = None) -> int:
    """Add two numbers."""
    return left + right


async def add_at_once(left: int, right: int, more: list[int] | None = None) -> int:
    """Add two numbers, in a coroutine that cannot wait."""
    return left + right


async def add_awaiting(left: int, right: int, more: list[int] | None = None) -> int:
    """Add two numbers, in a coroutine that could wait."""
    return await add_at_once(left, right)


def output_of(case: str) -> object:
    """What the tool of a case gives back."""
    return OUTPUTS[case.removeprefix("output: ")]


def floor(case: str) -> Run:
    """Decode, call, encode; of an output only what fits is encoded, as if its size were known beforehand."""
    arguments = json.dumps(ARGUMENTS.get(case, {"left": 20, "right": 22}))
    output = output_of(case) if case.startswith("output: ") else None

    async def call() -> str:
        given = json.loads(arguments)
        if case in GROUPS:
            return json.dumps({"error": "leaf 0; leaf 1"})
        answer = add(**given)
        if isinstance(output, str):
            return output[:4096]
        if isinstance(output, list) and len(output) > 100:
            return json.dumps([0] * 128)
        if isinstance(output, dict) and len(output) > 100:
            return "{"
        if isinstance(output, list):
            return json.dumps([vars(row) for row in output])
        return json.dumps(answer if output is None else output, sort_keys=True)

    return timed(call)


FUNCTIONS: dict[str, Callable[..., object]] = {
    "@tool, plain": add,
    "@tool, async": add_at_once,
    "@tool, async with await": add_awaiting,
}


def kickwheel(how: str) -> Contender:
    """One call through `execute_tool_call`."""

    def contender(case: str) -> Run | None:
        signal = AbortController().signal
        call = ToolCall("call-1", "t", ARGUMENTS.get(case, {"left": 20, "right": 22}))
        if case.startswith("output: ") or case in GROUPS:
            if how != "define_tool, plain":
                return None
            group = group_of(GROUPS.get(case, 1))
            output = None if case in GROUPS else output_of(case)

            def execute(_value: object, _context: object) -> object:
                if case in GROUPS:
                    raise group.with_traceback(None)
                return output

            definition = define_tool("t", "d", Valid, execute)
        elif how == "define_tool, plain":
            definition = define_tool("t", "d", Valid, lambda _value, _context: 42)
        else:
            definition = tool(name="t")(FUNCTIONS[how])
        registry = ToolRegistry([*filling(REGISTRIES.get(case, 1) - 1), definition])
        return timed(lambda: execute_tool_call(registry, call, signal))

    return contender


def filling(count: int) -> list[ToolDefinition[object, object]]:
    """Make tools that only fill a registry."""
    return [define_tool(f"t{number}", "d", Valid, lambda value, _context: value) for number in range(count)]


def registry_work(how: str) -> Contender:
    """Registering, looking up and copying, per tool or per lookup."""

    def contender(case: str) -> Run | None:
        if case not in REGISTRIES:
            return None
        count = REGISTRIES[case]
        definitions = filling(count)
        registry = ToolRegistry(definitions)
        if how == "register_many, per tool":
            return lambda: seconds(lambda: ToolRegistry(definitions), count)
        if how == "snapshot, per tool":
            return lambda: seconds(registry.snapshot, count)
        return lambda: seconds(lambda: [registry.get("t0") for _ in range(100)], 100)

    return contender


CONTENDERS: dict[str, Contender] = {
    FLOOR: floor,
    **{f"kickwheel {how}": kickwheel(how) for how in ("define_tool, plain", *FUNCTIONS)},
    **{
        f"kickwheel {how}": registry_work(how)
        for how in ("get", "register_many, per tool", "snapshot, per tool")
    },
}
CASES = [*ARGUMENTS, *REGISTRIES, *(f"output: {name}" for name in OUTPUTS), *GROUPS]

if __name__ == "__main__":
    main("One tool call", CASES, CONTENDERS, FLOOR)
