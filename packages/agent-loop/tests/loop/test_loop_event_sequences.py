"""The table of event sequences, row by row: events, result and messages, as whole values, and twice."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest
from loop_doubles import (
    USER,
    Answer,
    FakeModel,
    Gate,
    Part,
    add,
    answers,
    call,
    collect,
    echo,
    result_of,
    start,
    steps,
    told,
    tools,
)

from kickwheel_agent_loop import NonRecoverableToolError, ToolRegistry
from kickwheel_event_stream import AbortController
from kickwheel_protocol import (
    AgentEvent,
    AssistantMessage,
    CancelledRun,
    CompletedRun,
    FailedRun,
    JsonObject,
    MaxStepsRun,
    Message,
    RunFinished,
    RunResult,
    TextBlock,
    TextDeltaChunk,
    ToolContext,
    ToolResultMessage,
    UserMessage,
)

ADD = call()
ECHOES = [call(number, "echo", {"text": text}) for number, text in enumerate(("ONE", "TWO", "THREE"), 1)]
FIRST, SECOND = call(1, "first"), call(1, "second")


def said(step: int, *parts: Part) -> AssistantMessage:
    """The assistant message of a flawless turn of the double."""
    content = [TextBlock(part) if isinstance(part, str) else part for part in parts]
    return AssistantMessage(f"assistant-of-request-{step:03d}", content)


@dataclass
class Scene:
    """What a row needs while it runs."""

    gates: dict[str, Gate] = field(default_factory=dict[str, Gate])
    controller: AbortController = field(default_factory=AbortController)

    def gate(self, name: str) -> Gate:
        return self.gates.setdefault(name, Gate())

    def waits_at(self, name: str, output: str) -> Callable[[JsonObject, ToolContext], object]:
        async def tool(_arguments: JsonObject, _context: ToolContext) -> object:
            await self.gate(name).wait()
            return output

        return tool


Act: TypeAlias = Callable[[Scene], Awaitable[None]]
"""What happens from outside while the row runs."""


def abort_at(*names: str) -> Act:
    """Abort once everything waits at these gates."""

    async def act(scene: Scene) -> None:
        for name in names:
            await scene.gate(name).reached.wait()
        scene.controller.abort("caller stopped")

    return act


async def nothing(_scene: Scene) -> None:
    """Just let it run."""


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    events: str
    result: type[RunResult]
    messages: Sequence[Message]
    model: Callable[[Scene], FakeModel]
    detail: str
    """Final text, reason, code or step budget."""
    tools: Callable[[Scene], ToolRegistry] = lambda _scene: tools(add=add, echo=echo)
    act: Act = nothing
    max_steps: int = 8
    start: Sequence[Message] = (USER,)
    before: bool = False
    parallel: bool = False


def model(*given: Answer) -> Callable[[Scene], FakeModel]:
    return lambda _scene: FakeModel(*given)


def fatal(_arguments: JsonObject, _context: ToolContext) -> object:
    raise NonRecoverableToolError("the disk is gone")


def texts(count: int) -> tuple[str, ...]:
    return tuple(f"{number} " for number in range(count))


HISTORY = (
    UserMessage("m1", "Hi."),
    AssistantMessage("m2", [TextBlock("Hello.")]),
    UserMessage("m3", "Go on."),
)
ORPHAN = (USER, ToolResultMessage("m2", "call-none", "add", "1"))


def two_tools(scene: Scene) -> ToolRegistry:
    return tools(first=lambda _a, _c: "FIRST", second=scene.waits_at("second", "SECOND"))


ROWS = {
    "1": Row("a0 c1 R2", CompletedRun, (USER, said(1, "hi")), model(answers("hi")), "hi"),
    "1b": Row(
        "a0 a1 a2 c3 c4 R5",
        CompletedRun,
        (*HISTORY, said(1, "one ", "two")),
        model(answers("one ", "two")),
        "one two",
        start=HISTORY,
    ),
    "2": Row(
        "a0 c1 s2 f3 c4 R5",
        CompletedRun,
        (USER, said(1, ADD), result_of(ADD, '{"sum":42}'), said(2, "42")),
        model(answers(ADD), answers("42")),
        "42",
        max_steps=2,
    ),
    "3": Row(
        "a0 c1 c2 s3 f4 s5 f6 c7 R8",
        CompletedRun,
        (USER, said(1, FIRST, SECOND), result_of(FIRST, "FIRST"), result_of(SECOND, "SECOND"), said(2, "ok")),
        model(answers(FIRST, SECOND), answers("ok")),
        "ok",
        tools=lambda _scene: tools(first=lambda _a, _c: "FIRST", second=lambda _a, _c: "SECOND"),
    ),
    "4": Row(
        "a0 c1 s2 f3 c4 R5",
        CompletedRun,
        (
            USER,
            said(1, call(1, "missing")),
            result_of(
                call(1, "missing"),
                '{"error":{"code":"TOOL_NOT_FOUND","message":"Unknown Tool \\"missing\\""}}',
                is_error=True,
            ),
            said(2, "sorry"),
        ),
        model(answers(call(1, "missing")), answers("sorry")),
        "sorry",
    ),
    "5": Row(
        "a0 c1 c2 c3 s4 f5 s6 f7 s8 f9 R10",
        MaxStepsRun,
        (USER, said(1, *ECHOES), *[result_of(one, str(one.arguments["text"])) for one in ECHOES]),
        model(answers(*ECHOES), answers("never asked")),
        "1",
        max_steps=1,
    ),
    "6": Row("R0", CancelledRun, (USER,), model(), "caller stopped", before=True),
    "7": Row(
        "a0 c1 R2",
        CancelledRun,
        (USER,),
        lambda scene: FakeModel(steps("partial", scene.gate("chunk"), "never")),
        "caller stopped",
        act=abort_at("chunk"),
    ),
    "8": Row(
        "a0 c1 s2 R3",
        CancelledRun,
        (USER, said(1, SECOND)),
        model(answers(SECOND)),
        "caller stopped",
        tools=two_tools,
        act=abort_at("second"),
    ),
    "9": Row(
        "a0 c1 c2 s3 f4 s5 R6",
        CancelledRun,
        (USER, said(1, FIRST, SECOND), result_of(FIRST, "FIRST")),
        model(answers(FIRST, SECOND)),
        "caller stopped",
        tools=two_tools,
        act=abort_at("second"),
    ),
    "10": Row(
        "a0 R1",
        FailedRun,
        (USER,),
        model(steps(RuntimeError("provider offline"))),
        "MODEL_STREAM_FAILED",
    ),
    "11": Row(
        "a0 R1",
        FailedRun,
        (USER,),
        model(steps(TextDeltaChunk("request-999", "hi"))),
        "MODEL_PROTOCOL_ERROR",
    ),
    "12": Row("a0 c1 R2", FailedRun, (USER,), model(steps("hi", says=["bye"])), "MODEL_PROTOCOL_ERROR"),
    "13": Row(
        " ".join(["a0", *[f"c{number}" for number in range(1, 1025)], "R1025"]),
        FailedRun,
        (USER,),
        model(steps(*texts(1025))),
        "MODEL_PROTOCOL_ERROR",
    ),
    "14": Row("a0 c1 c2 R3", FailedRun, (USER,), model(answers(ADD, ADD)), "MODEL_PROTOCOL_ERROR"),
    "15": Row(
        "a0 c1 s2 R3",
        FailedRun,
        (USER, said(1, FIRST)),
        model(answers(FIRST)),
        "TOOL_EXECUTION_FAILED",
        tools=lambda _scene: tools(first=fatal),
    ),
    "16": Row("R0", FailedRun, ORPHAN, model(), "INVALID_TRANSCRIPT", start=ORPHAN),
    "17": Row(
        "a0 c1 s2 f3 R4",
        FailedRun,
        (USER, said(1, ADD), result_of(ADD, '{"sum":42}')),
        model(answers(ADD)),
        "MODEL_STREAM_FAILED",
    ),
}


def release(name: str) -> Act:
    async def act(scene: Scene) -> None:
        for gate in name:
            await scene.gate(gate).reached.wait()
        for gate in name:
            scene.gate(gate).open()

    return act


ABC = [call(1, name) for name in "abc"]


def gated(*, fatal_at: str = "") -> Callable[[Scene], ToolRegistry]:
    """Tools `a`, `b`, `c`, each behind its gate; one of them may be fatal."""

    def make(scene: Scene) -> ToolRegistry:
        def one(name: str) -> Callable[[JsonObject, ToolContext], object]:
            async def work(_arguments: JsonObject, _context: ToolContext) -> object:
                await scene.gate(name).wait()
                if name == fatal_at:
                    raise NonRecoverableToolError("the disk is gone")
                return name.upper()

            return work

        return tools(**{name: one(name) for name in "abc"})

    return make


async def second_then_first(scene: Scene) -> None:
    """The last call ends first."""
    for gate in "ab":
        await scene.gate(gate).reached.wait()
    scene.gate("b").open()
    await asyncio.sleep(0)
    scene.gate("a").open()


async def fatal_second(scene: Scene) -> None:
    """The second is fatal while the first still runs; the first then runs to its end."""
    for gate in "abc":
        await scene.gate(gate).reached.wait()
    scene.gate("b").open()
    for _ in range(5):
        await asyncio.sleep(0)
    assert scene.gate("c").cancellations == 1
    assert scene.gate("a").cancellations == 0
    scene.gate("a").open()


async def fatal_first(scene: Scene) -> None:
    for gate in "abc":
        await scene.gate(gate).reached.wait()
    scene.gate("a").open()


def abort_after(*done: str) -> Act:
    async def act(scene: Scene) -> None:
        for gate in "ab":
            await scene.gate(gate).reached.wait()
        for gate in done:
            scene.gate(gate).open()
        for _ in range(5):
            await asyncio.sleep(0)
        scene.controller.abort("caller stopped")

    return act


AB = ABC[:2]
PARALLEL_ROWS = {
    "P1": Row(
        "a0 c1 c2 s3 s4 f5 f6 c7 R8",
        CompletedRun,
        (USER, said(1, *AB), result_of(AB[0], "A"), result_of(AB[1], "B"), said(2, "ok")),
        model(answers(*AB), answers("ok")),
        "ok",
        tools=gated(),
        act=second_then_first,
        parallel=True,
    ),
    "P2": Row(
        "a0 c1 c2 c3 s4 s5 s6 f7 f8 f9 R10",
        MaxStepsRun,
        (USER, said(1, *ABC), *[result_of(one, one.name.upper()) for one in ABC]),
        model(answers(*ABC), answers("never asked")),
        "1",
        tools=gated(),
        act=release("abc"),
        max_steps=1,
        parallel=True,
    ),
    "P3": Row(
        "a0 c1 c2 c3 s4 s5 s6 f7 R8",
        FailedRun,
        (USER, said(1, *ABC), result_of(ABC[0], "A")),
        model(answers(*ABC)),
        "TOOL_EXECUTION_FAILED",
        tools=gated(fatal_at="b"),
        act=fatal_second,
        parallel=True,
    ),
    "P4": Row(
        "a0 c1 c2 c3 s4 s5 s6 R7",
        FailedRun,
        (USER, said(1, *ABC)),
        model(answers(*ABC)),
        "TOOL_EXECUTION_FAILED",
        tools=gated(fatal_at="a"),
        act=fatal_first,
        parallel=True,
    ),
    "P5": Row(
        "a0 c1 c2 s3 s4 R5",
        CancelledRun,
        (USER, said(1, *AB)),
        model(answers(*AB)),
        "caller stopped",
        tools=gated(),
        act=abort_after(),
        parallel=True,
    ),
    "P6": Row(
        "a0 c1 c2 s3 s4 f5 R6",
        CancelledRun,
        (USER, said(1, *AB), result_of(AB[0], "A")),
        model(answers(*AB)),
        "caller stopped",
        tools=gated(),
        act=abort_after("a"),
        parallel=True,
    ),
    "P7": Row(
        "a0 c1 c2 s3 s4 R5",
        CancelledRun,
        (USER, said(1, *AB)),
        model(answers(*AB)),
        "caller stopped",
        tools=gated(),
        act=abort_after("b"),
        parallel=True,
    ),
}


async def play(row: Row) -> tuple[list[AgentEvent], RunResult]:
    scene = Scene()
    if row.before:
        scene.controller.abort("caller stopped")
    run = start(
        row.model(scene),
        messages=row.start,
        registry=row.tools(scene),
        max_steps=row.max_steps,
        controller=scene.controller,
        parallel=row.parallel,
    )
    acting = asyncio.ensure_future(row.act(scene))
    events, result = await collect(run)
    await acting
    return events, result


def detail(result: RunResult) -> str:
    match result:
        case CompletedRun(final_text=text):
            return text
        case CancelledRun(reason=reason):
            return reason
        case MaxStepsRun(max_steps=steps_allowed):
            return str(steps_allowed)
        case FailedRun(error=error):
            return error.code


async def check(row: Row) -> None:
    events, result = await play(row)
    assert told(events) == row.events
    assert type(result) is row.result
    assert result.messages == tuple(row.messages)
    assert detail(result) == row.detail
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.result is result
    again, result_again = await play(row)
    assert again == events
    assert result_again == result


@pytest.mark.criterion("07.89", "07.70")
@pytest.mark.parametrize("number", ROWS)
async def test_a_scenario_gives_exactly_the_events_of_its_row_twice(number: str) -> None:
    await check(ROWS[number])


@pytest.mark.criterion("07.B8", "07.B1", "07.B2")
@pytest.mark.parametrize("number", PARALLEL_ROWS)
async def test_a_parallel_scenario_gives_exactly_the_events_of_its_row_twice(number: str) -> None:
    await check(PARALLEL_ROWS[number])
