"""How does the cost grow? Each cost line of the contract, at one size and at four times that size.

A ratio near 1 means that the size does not count, near 4 that the cost is linear, near 16 that it is
quadratic. Memory cases compare bytes instead of time. Nothing is asserted here: read the column.

    python benchmarks/growth.py [--quick] [--line 02.C1] [--json FILE]
"""

import argparse
import asyncio
import dataclasses
import gc
import json
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from pathlib import Path
from typing import NamedTuple

from kickwheel import run_prologue
from kickwheel_agent_loop import (
    NonRecoverableToolError,
    ToolRegistry,
    define_tool,
    execute_tool_call,
    run_to_end,
    tool,
)
from kickwheel_event_stream import AbortController, AbortSignal, EventStream, claim_iterator, race_abort
from kickwheel_protocol import (
    AssistantMessage,
    JsonObject,
    Message,
    ModelRequest,
    TextBlock,
    ToolCall,
    UserMessage,
    Valid,
    dump_json,
    freeze_json,
    parse_messages,
    to_wire,
    validate_transcript,
)
from kickwheel_provider_adapter import FixtureProviderAdapter, ResponseParser, dialects
from kickwheel_scripted_model import ScriptedModel, ScriptedModelError, StepClock, call, say

Work = Callable[[], object]
Make = Callable[[int], Work]


class Case(NamedTuple):
    """One cost line: what is done at size n, whether time or bytes are compared, and what to expect."""

    line: str
    what: str
    size: int
    make: Make
    expect: str = "1"
    memory: bool = False


def play(work: Callable[[], Coroutine[object, object, object]]) -> Work:
    """The work on a fresh loop. Its value takes a side way: asyncio would write it out as a text."""

    def once() -> object:
        kept: list[object] = []

        async def keep() -> None:
            kept.append(await work())

        asyncio.run(keep())
        return kept[0]

    return once


def tree(nodes: int) -> JsonObject:
    frozen = freeze_json({f"key-{n}": n for n in range(nodes)})
    assert isinstance(frozen, JsonObject)
    return frozen


def users(count: int) -> list[Message]:
    return [UserMessage(f"message-{n:06}", "hello") for n in range(count)]


REQUEST = ModelRequest("request-001", (UserMessage("message-001", "hi"),))

# --- 00, 01, 03: records


def record_around(n: int) -> Work:
    arguments = tree(n)
    return lambda: ToolCall("call-001", "add", arguments)


def request_from_list(n: int) -> Work:
    messages = users(n)
    return lambda: ModelRequest("request-001", messages)


def request_from_tuple(n: int) -> Work:
    messages = tuple(users(n))
    return lambda: ModelRequest("request-001", messages)


def record_bytes(n: int) -> Work:
    return lambda: [TextBlock("x") for _ in range(n)]


def freezing(n: int) -> Work:
    data = {"items": list(range(n))}
    return lambda: freeze_json(data)


def freezing_again(n: int) -> Work:
    frozen = tree(n)
    return lambda: freeze_json(frozen)


def frozen_bytes(n: int) -> Work:
    data = {f"key-{i}": i for i in range(n)}
    return lambda: freeze_json(data)


def parsing(n: int) -> Work:
    wire = [to_wire(message) for message in users(n)]
    return lambda: parse_messages(wire)


def parsing_records(n: int) -> Work:
    messages = tuple(users(n))
    return lambda: parse_messages(messages)


def checking(n: int) -> Work:
    message = AssistantMessage("message-001", (ToolCall("call-001", "add", tree(n)),))
    return lambda: validate_transcript((message,))


def text_of(n: int) -> Work:
    message = AssistantMessage("message-001", tuple(TextBlock("x") for _ in range(n)))
    return lambda: (message.text, message.tool_calls)


def dumping(n: int) -> Work:
    request = ModelRequest("request-001", tuple(users(n)))
    return lambda: dump_json(request)


# --- 02: streams and signals


def pushing(n: int) -> Work:
    async def work() -> None:
        stream: EventStream[int, None] = EventStream()
        for number in range(n):
            stream.push(number)
        stream.finish(None)
        async for _ in stream:
            pass

    return play(work)


def buffered_bytes(n: int) -> Work:
    async def work() -> object:
        stream: EventStream[None, None] = EventStream()
        for _ in range(n):
            stream.push(None)
        return stream

    return play(work)


def callbacks(n: int) -> Work:
    def nothing() -> None:
        return

    def work() -> None:
        signal = AbortController().signal
        for remove in [signal.add_callback(nothing) for _ in range(n)]:
            remove()

    return work


def races(n: int) -> Work:
    async def step() -> None:
        return

    async def work() -> None:
        signal = AbortController().signal
        for _ in range(n):
            await race_abort(step(), signal)

    return play(work)


def settled(n: int) -> Work:
    async def work() -> None:
        stream: EventStream[int, str] = EventStream()
        for number in range(n):
            stream.push(number)
        stream.finish("done")
        for _ in range(2000):
            await stream.result

    return play(work)


def any_of(n: int) -> Work:
    sources = [AbortController().signal for _ in range(n)]
    return lambda: AbortSignal.any(*sources).aborted


async def _nothing() -> AsyncIterator[int]:
    yield 1


def claims(n: int) -> Work:
    def work() -> None:
        for _ in range(n):
            claim_iterator(_nothing())

    return work


# --- 04: the scripted model


async def drain(model: ScriptedModel | FixtureProviderAdapter, request: ModelRequest = REQUEST) -> object:
    stream = model.stream(request)
    async for _ in stream:
        pass
    return await stream.result


def capturing(n: int) -> Work:
    request = ModelRequest("request-001", tuple(users(n)))
    return play(lambda: drain(ScriptedModel([say("x")]), request))


def requests_twice(n: int) -> Work:
    async def work() -> ScriptedModel:
        model = ScriptedModel([say("x")] * n)
        for _ in range(n):
            await drain(model)
        return model

    model = asyncio.run(work())
    assert len(model.requests) == n
    return lambda: model.requests


def forwarding(n: int) -> Work:
    arguments = {f"key-{i}": i for i in range(n)}
    factory = call("add", arguments)
    return play(lambda: drain(ScriptedModel([factory])))


def long_queue(n: int) -> Work:
    model = ScriptedModel([say("x")] * n)
    return play(lambda: drain(model)) if n else lambda: None


def checked(n: int) -> Work:
    factory = say(*["word "] * n)
    return play(lambda: drain(ScriptedModel([factory], check_stream=True)))


def exhausted_error(n: int) -> Work:
    async def work() -> object:
        model = ScriptedModel([say("x")] * n)
        for _ in range(n):
            await drain(model)
        return model

    model = asyncio.run(work())

    async def once_more() -> object:
        try:
            return await drain(model)  # type: ignore[arg-type]
        except ScriptedModelError as error:
            return error.script

    return play(once_more)


def clock(n: int) -> Work:
    async def work() -> None:
        steps = StepClock()
        waiting = [asyncio.ensure_future(steps.point("here")) for _ in range(n)]
        for _ in range(n):
            await steps.step("here")
        await asyncio.gather(*waiting)

    return play(work)


# --- 05: parser, adapter, dialects


def records(n: int) -> list[dict[str, object]]:
    start: dict[str, object] = {"type": "response_start", "responseId": "response-001", "role": "assistant"}
    usage = {"inputTokens": 1, "outputTokens": n}
    end: dict[str, object] = {
        "type": "response_end",
        "responseId": "response-001",
        "stopReason": "stop",
        "usage": usage,
    }
    return [start, *({"type": "text_delta", "text": "word "} for _ in range(n)), end]


def fixture(rows: object) -> dict[str, object]:
    return {"schemaVersion": 1, "responses": [{"records": rows}]}


def constructing(n: int) -> Work:
    data = fixture(records(n))
    return lambda: FixtureProviderAdapter(data)


def feeding(n: int) -> Work:
    rows = records(n)

    def work() -> object:
        parser = ResponseParser("request-001")
        for row in rows:
            parser.feed(row)
        return parser.close()

    return work


def shared_arguments(n: int) -> Work:
    arguments = {f"key-{i}": i for i in range(n)}
    rows = records(0)
    rows[1:1] = [{"type": "tool_call", "id": "call-001", "name": "add", "arguments": arguments}]
    rows[-1]["stopReason"] = "tool_call"

    def work() -> object:
        parser = ResponseParser("request-001")
        chunks = [parser.feed(row) for row in rows]
        return chunks, parser.close()

    return work


async def _endless(n: int) -> AsyncIterator[dict[str, object]]:
    rows = records(1)
    yield rows[0]
    for _ in range(n):
        yield {"type": "text_delta", "text": ""}
    yield rows[-1]


def async_source(n: int) -> Work:
    async def work() -> None:
        await drain(FixtureProviderAdapter(fixture(_endless(n))))

    return play(work)


def from_file(n: int) -> Work:
    path = Path(tempfile.mkdtemp()) / "fixture.json"
    path.write_text(json.dumps(fixture(records(n))), "utf-8")
    return lambda: FixtureProviderAdapter.from_file(path)


def chat(n: int, delta: dict[str, object]) -> list[bytes]:
    rows = [{"id": "x", "choices": [{"index": 0, "delta": delta}]} for _ in range(n)]
    return [f"data: {json.dumps(row)}\n\n".encode() for row in rows]


def single_bytes(n: int) -> Work:
    body = b"".join(chat(n, {"content": "word "}))

    def work() -> object:
        decoder = dialects.decoder("openai-chat")
        return [decoder.feed(body[i : i + 1]) for i in range(len(body))]

    return work


def fragments(n: int) -> Work:
    piece: dict[str, object] = {"tool_calls": [{"index": 0, "function": {"arguments": " "}}]}
    first: dict[str, object] = {
        "tool_calls": [{"index": 0, "id": "call-001", "function": {"name": "add", "arguments": "{}"}}]
    }
    reads = chat(1, first) + chat(n, piece)

    def work() -> object:
        decoder = dialects.decoder("openai-chat")
        return [decoder.feed(read) for read in reads]

    return work


def comments(n: int) -> Work:
    def work() -> object:
        decoder = dialects.decoder("openai-chat")
        for _ in range(n):
            decoder.feed(b": ping\n\n")
        return decoder

    return work


def past_frames(n: int) -> Work:
    reads = chat(1, {"content": "word "}) * n

    def work() -> object:
        decoder = dialects.decoder("openai-chat")
        for read in reads:
            decoder.feed(read)
        return decoder

    return work


# --- 06, 07: tools and the loop


def registry(n: int) -> ToolRegistry:
    def approve(_value: object) -> Valid[None]:
        return Valid(None)

    return ToolRegistry(
        [define_tool(f"tool-{i}", "Nothing.", approve, lambda _value, _context: None) for i in range(n)]
    )


def lookup(n: int) -> Work:
    tools = registry(n)
    return lambda: [tools.get("tool-0") for _ in range(200)]


def executing(n: int) -> Work:
    tools = registry(n)
    one = ToolCall("call-001", "tool-0", {})
    return play(lambda: execute_tool_call(tools, one))


def large_output(n: int) -> Work:
    items = list(range(n))

    @tool(description="Gives a long list.")
    def long() -> list[int]:
        return items

    tools = ToolRegistry([long])
    return play(lambda: execute_tool_call(tools, ToolCall("call-001", "long", {})))


def failed_group(n: int) -> Work:
    @tool(description="Fails many times at once.")
    def fail() -> None:
        raise ExceptionGroup("many", [*(ValueError("x") for _ in range(n)), NonRecoverableToolError("stop")])

    tools = ToolRegistry([fail])

    async def work() -> object:
        try:
            return await execute_tool_call(tools, ToolCall("call-001", "fail", {}))
        except (NonRecoverableToolError, ExceptionGroup) as error:
            return error

    return play(work)


def run_after(earlier: int, turns: int, texts: int = 1) -> Work:
    @tool(description="Adds two numbers.")
    def add(left: int, right: int) -> int:
        return left + right

    messages = users(earlier)
    script = [call("add", {"left": 20, "right": 22})] * turns + [say(*["word "] * texts)]

    async def work() -> object:
        model = ScriptedModel(script)
        return await run_to_end(messages=messages, model=model, tools=[add], max_steps=turns + 1)

    return play(work)


CASES: Sequence[Case] = [
    Case("00.C1", "run_prologue()", 1, lambda n: lambda: [run_prologue() for _ in range(100)]),
    Case(
        "00.C2",
        "to_wire of n traces",
        50,
        lambda n: lambda: [run_prologue().to_wire() for _ in range(n)],
        "4",
    ),
    Case("01.C1", "a record around a tree of n nodes", 10_000, record_around),
    Case("01.C2", "a request of a list of n messages", 5_000, request_from_list, "4"),
    Case("01.C2", "a request of a tuple of n messages", 5_000, request_from_tuple, "4"),
    Case("01.C3", "bytes of n records", 5_000, record_bytes, "4", memory=True),
    Case("02.C1", "push and read n events", 10_000, pushing, "4"),
    Case("02.C2", "bytes of n buffered events", 20_000, buffered_bytes, "4", memory=True),
    Case("02.C3", "n callbacks added and removed", 5_000, callbacks, "4"),
    Case("02.C3", "n races on one signal", 500, races, "4"),
    Case("02.C4", "a settled result awaited 2000 times", 1, settled),
    Case("02.C4", "any() of n signals", 500, any_of, "4"),
    Case("02.C5", "n claims of iterators that die", 2_000, claims, "4"),
    Case("02.C5", "bytes after n claims of iterators that died", 2_000, claims, "1", memory=True),
    Case("03.C1", "freezing n values", 10_000, freezing, "4"),
    Case("03.C1", "parsing n messages", 2_000, parsing, "4"),
    Case("03.C2", "freezing a frozen tree of n nodes", 25_000, freezing_again),
    Case("03.C3", "checking a record with n nodes of arguments", 25_000, checking),
    Case("03.C4", "parsing a tuple of n records", 5_000, parsing_records, "4"),
    Case("03.C5", "text and calls of n blocks", 5_000, text_of, "4"),
    Case("03.C5", "dumping n messages", 2_000, dumping, "4"),
    Case("03.C6", "bytes of a frozen object of n keys", 5_000, frozen_bytes, "4", memory=True),
    Case("04.C1", "a call with n messages", 5_000, capturing),
    Case("04.C2", "requests read again after n calls", 100, requests_twice),
    Case("04.C3", "a call chunk with n nodes of arguments", 5_000, forwarding),
    Case("04.C4", "one call on a queue of n responses", 20_000, long_queue),
    Case("04.C5", "checking n streamed texts", 1_000, checked, "4"),
    Case("04.C6", "the error after n calls", 50, exhausted_error),
    Case("04.C7", "n arrivals at one point", 200, clock, "4"),
    Case("05.C1", "construction from n records", 5_000, constructing, "4"),
    Case("05.C2", "feeding n records", 5_000, feeding, "4"),
    Case("05.C3", "a call with n nodes of arguments, shared", 5_000, shared_arguments, "4"),
    Case("05.C4", "bytes left by an async response of n records", 5_000, async_source, "1", memory=True),
    Case("05.C5", "n records through the parser", 5_000, feeding, "4"),
    Case("05.C6", "from_file of n records", 5_000, from_file, "4"),
    Case("05D.C1", "n events in single bytes", 50, single_bytes, "4"),
    Case("05D.C2", "one call in n fragments", 2_000, fragments, "4"),
    Case("05D.C3", "bytes of a decoder after n text frames", 2_000, past_frames, "1", memory=True),
    Case("05D.C4", "bytes of a decoder after n comments", 5_000, comments, "1", memory=True),
    Case("06.C1", "200 lookups among n tools", 200, lookup),
    Case("06.C2", "a tool call among n tools", 200, executing),
    Case("06.C3", "an output of n numbers, cut at the budget", 50_000, large_output),
    Case("06.C4", "a failed group of n leaves", 2_000, failed_group, "4"),
    Case("07.C1", "8 turns after n messages", 100, lambda n: run_after(n, 8), "< 4"),
    Case("07.C2", "a run of n turns", 25, lambda n: run_after(1, n), "4"),
    Case("07.C3", "the check of n starting messages", 10_000, lambda n: run_after(n, 0), "4"),
    Case("07.C4", "agreement of n deltas with the response", 1_000, lambda n: run_after(1, 0, n), "4"),
    Case("07.C5", "tasks and time of n tool calls", 25, lambda n: run_after(1, n), "4"),
    Case("07.C6", "the result of n messages", 10_000, lambda n: run_after(n, 0), "4"),
]


def seconds(work: Work, rounds: int) -> float:
    work()
    found: list[float] = []
    for _ in range(rounds):
        times, started = 0, time.perf_counter()
        while times == 0 or time.perf_counter() - started < 0.01:
            work()
            times += 1
        found.append((time.perf_counter() - started) / times)
    return statistics.median(found)


def held(work: Work) -> float:
    """Bytes that live on while the result of the work is held."""
    work()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    kept = work()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return float(max(after - before, 1))


@dataclasses.dataclass
class Row:
    """One measured case."""

    line: str
    what: str
    size: int
    once: float
    ratio: float
    expect: str
    unit: str


def measure(case: Case, rounds: int, divisor: int) -> Row:
    size = max(1, case.size // divisor)
    gauge: Callable[[Work], float] = held if case.memory else lambda work: seconds(work, rounds)
    small, large = gauge(case.make(size)), gauge(case.make(size * 4))
    unit = "bytes" if case.memory else "µs"
    return Row(
        case.line, case.what, size, small * (1 if case.memory else 1e6), large / small, case.expect, unit
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="How the cost grows from n to 4 n.")
    parser.add_argument("--line", help="only this cost line")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    chosen = [case for case in CASES if options.line in (None, case.line)]
    print("| line | case | n | at n | 4 n / n | expected |\n| --- | --- | ---: | ---: | ---: | ---: |")
    rows: list[Row] = []
    for case in chosen:
        row = measure(case, 1 if options.quick else options.rounds, 20 if options.quick else 1)
        rows.append(row)
        print(
            f"| {row.line} | {row.what} | {row.size} | {row.once:.1f} {row.unit} "
            f"| {row.ratio:.2f} | {row.expect} |",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps([dataclasses.asdict(row) for row in rows], indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
