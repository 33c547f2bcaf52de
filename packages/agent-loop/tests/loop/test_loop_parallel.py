"""Parallel tools: begun together, told in the order of the calls."""

import asyncio
import itertools
from collections.abc import Callable

import pytest
from loop_doubles import FakeModel, Gate, answers, call, collect, result_of, start, told, tools, turns

from kickwheel_agent_loop import NonRecoverableToolError, ToolRegistry
from kickwheel_event_stream import AbortController
from kickwheel_protocol import (
    AgentEvent,
    FailedRun,
    JsonObject,
    RunResult,
    ToolContext,
    ToolFinished,
    ToolResultMessage,
    validate_transcript,
)

NAMES = "abc"
CALLS = [call(1, name) for name in NAMES]


class Bench:
    """Three tools, each behind a gate of its own; a name in `fatal` or `bad` fails once it may go on."""

    def __init__(self, *, fatal: str = "", bad: str = "", stubborn: str = "") -> None:
        self.gates = {name: Gate(stubborn=name in stubborn) for name in NAMES}
        self.log: list[str] = []
        self._fatal, self._bad = fatal, bad

    def tool(self, name: str) -> Callable[[JsonObject, ToolContext], object]:
        async def work(_arguments: JsonObject, _context: ToolContext) -> object:
            self.log.append(f"{name} begins")
            try:
                await self.gates[name].wait()
            finally:
                self.log.append(f"{name} ends")
            if name in self._fatal:
                raise NonRecoverableToolError(f"{name} is fatal")
            if name in self._bad:
                raise ValueError(f"{name} failed")
            return name.upper()

        return work

    @property
    def registry(self) -> ToolRegistry:
        return tools(**{name: self.tool(name) for name in NAMES})

    async def all_reached(self) -> None:
        for gate in self.gates.values():
            await gate.reached.wait()

    async def open(self, names: str) -> None:
        """Open gate after gate, each outcome seen before the next."""
        for name in names:
            self.gates[name].open()
            await turns(6)


async def told_so_far(run_events: list[AgentEvent]) -> str:
    await turns(6)
    return told(run_events)


def reading(run: object, into: list[AgentEvent]) -> asyncio.Task[None]:
    async def read() -> None:
        async for event in run:  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType] - a run
            into.append(event)  # pyright: ignore[reportUnknownArgumentType] - as above

    return asyncio.ensure_future(read())


@pytest.mark.criterion("07.B1")
async def test_executors_that_wait_for_each_other_all_get_through() -> None:
    met = asyncio.Barrier(3)

    async def meet(_arguments: JsonObject, _context: ToolContext) -> object:
        await met.wait()
        return "met"

    registry = tools(**dict.fromkeys(NAMES, meet))
    events, result = await collect(
        start(FakeModel(answers(*CALLS), answers("ok")), registry=registry, parallel=True)
    )
    assert told(events) == "a0 c1 c2 c3 s4 s5 s6 f7 f8 f9 c10 R11"
    assert result.status == "completed"


@pytest.mark.criterion("07.B1")
async def test_calls_begin_in_assistant_order_after_all_of_them_were_told() -> None:
    bench, seen = Bench(), list[AgentEvent]()
    run = start(FakeModel(answers(*reversed(CALLS)), answers("ok")), registry=bench.registry, parallel=True)
    read = reading(run, seen)
    await bench.all_reached()
    assert bench.log == ["c begins", "b begins", "a begins"]
    assert await told_so_far(seen) == "a0 c1 c2 c3 s4 s5 s6"
    await bench.open("abc")
    await read


@pytest.mark.criterion("07.B1")
async def test_plain_executors_run_one_after_another() -> None:
    log: list[str] = []

    def plain(name: str) -> Callable[[JsonObject, ToolContext], object]:
        def work(_arguments: JsonObject, _context: ToolContext) -> object:
            log.extend((f"{name} begins", f"{name} ends"))
            return name

        return work

    registry = tools(**{name: plain(name) for name in NAMES})
    await start(FakeModel(answers(*CALLS), answers("ok")), registry=registry, parallel=True).result
    assert log == [f"{name} {what}" for name in NAMES for what in ("begins", "ends")]


@pytest.mark.criterion("07.B1")
@pytest.mark.parametrize("parallel", [False, True])
async def test_a_turn_with_one_call_is_the_same_in_both(parallel: bool) -> None:
    run = start(FakeModel(answers(call()), answers("ok")), parallel=parallel)
    assert told([event async for event in run]) == "a0 c1 s2 f3 c4 R5"


@pytest.mark.criterion("07.B2")
async def test_a_result_is_told_as_soon_as_all_before_it_are_and_not_earlier() -> None:
    bench, seen = Bench(), list[AgentEvent]()
    run = start(FakeModel(answers(*CALLS), answers("ok")), registry=bench.registry, parallel=True)
    read = reading(run, seen)
    await bench.all_reached()
    await bench.open("c")
    assert await told_so_far(seen) == "a0 c1 c2 c3 s4 s5 s6"
    await bench.open("a")
    assert await told_so_far(seen) == "a0 c1 c2 c3 s4 s5 s6 f7"
    await bench.open("b")
    assert await told_so_far(seen) == "a0 c1 c2 c3 s4 s5 s6 f7 f8 f9 c10 R11"
    await read
    assert (await run.result).messages[2:5] == tuple(result_of(one, one.name.upper()) for one in CALLS)


@pytest.mark.criterion("07.B3")
async def test_a_recoverable_failure_touches_no_other_call_and_the_batch_is_one_step() -> None:
    bench = Bench(bad="b")
    model = FakeModel(answers(*CALLS), answers("never asked"))
    run = start(model, registry=bench.registry, parallel=True, max_steps=1)
    await bench.all_reached()
    await bench.open("bca")
    result = await run.result
    assert result.status == "maxSteps"
    results = [message for message in result.messages if isinstance(message, ToolResultMessage)]
    assert [message.is_error for message in results] == [False, True, False]
    assert [gate.cancellations for gate in bench.gates.values()] == [0, 0, 0]
    assert validate_transcript(result.messages) == ()
    assert model.calls == 1


async def fatal_run(bench: Bench, order: str) -> tuple[str, FailedRun]:
    run = start(FakeModel(answers(*CALLS), answers("never")), registry=bench.registry, parallel=True)
    seen: list[AgentEvent] = []
    read = reading(run, seen)
    await bench.all_reached()
    await bench.open(order)
    await read
    result = await run.result
    assert type(result) is FailedRun
    assert result.error.code == "TOOL_EXECUTION_FAILED"
    return told(seen), result


@pytest.mark.criterion("07.B4")
async def test_calls_after_a_fatal_one_are_cancelled_at_once_and_those_before_it_end_well() -> None:
    bench = Bench(fatal="b")
    run = start(FakeModel(answers(*CALLS)), registry=bench.registry, parallel=True)
    await bench.all_reached()
    await bench.open("b")
    assert "c ends" in bench.log
    assert "a ends" not in bench.log
    assert run.state == "open"
    await bench.open("a")
    result = await run.result
    assert type(result) is FailedRun
    assert result.error.message == "b is fatal"
    assert result.messages[2:] == (result_of(CALLS[0], "A"),)


@pytest.mark.criterion("07.B4")
async def test_of_several_fatal_calls_the_lowest_position_decides() -> None:
    events, result = await fatal_run(Bench(fatal="ab"), "ba")
    assert events == "a0 c1 c2 c3 s4 s5 s6 R7"
    assert result.error.message == "a is fatal"
    assert len(result.messages) == 2


@pytest.mark.criterion("07.B4")
async def test_results_after_the_fatal_call_are_dropped_even_if_they_came_before_it() -> None:
    events, result = await fatal_run(Bench(fatal="b"), "cab")
    assert events == "a0 c1 c2 c3 s4 s5 s6 f7 R8"
    assert result.messages[2:] == (result_of(CALLS[0], "A"),)


@pytest.mark.criterion("07.B4")
async def test_a_cancelled_sibling_is_waited_for() -> None:
    bench = Bench(fatal="a", stubborn="c")
    run = start(FakeModel(answers(*CALLS)), registry=bench.registry, parallel=True)
    await bench.all_reached()
    await bench.open("a")
    assert run.state == "open"
    assert bench.gates["c"].cancellations == 1
    await bench.open("c")
    assert (await run.result).status == "failed"
    assert bench.gates["c"].cancellations == 1


@pytest.mark.criterion("07.B4")
async def test_a_fatal_call_in_its_first_step_keeps_later_calls_from_going_on() -> None:
    bench = Bench()

    def fatal(_arguments: JsonObject, _context: ToolContext) -> object:
        raise NonRecoverableToolError("at once")

    registry = tools(a=fatal, b=bench.tool("b"), c=bench.tool("c"))
    events, result = await collect(start(FakeModel(answers(*CALLS)), registry=registry, parallel=True))
    assert told(events) == "a0 c1 c2 c3 s4 s5 s6 R7"
    assert type(result) is FailedRun
    assert result.error.message == "at once"


@pytest.mark.criterion("07.B5")
@pytest.mark.parametrize("done", ["", "a", "c", "bc"])
async def test_an_abort_interrupts_all_and_keeps_only_what_was_released(done: str) -> None:
    bench, controller = Bench(stubborn="a"), AbortController()
    run = start(FakeModel(answers(*CALLS)), registry=bench.registry, parallel=True, controller=controller)
    await bench.all_reached()
    await bench.open(done)
    controller.abort("enough")
    result = await run.result
    assert result.status == "cancelled"
    released = [result_of(CALLS[0], "A")] if "a" in done else []
    assert list(result.messages[2:]) == released
    await turns()
    expected = {name: 0 if name in done else 1 for name in NAMES}
    assert {name: gate.cancellations for name, gate in bench.gates.items()} == expected
    await bench.open("abc")


@pytest.mark.criterion("07.B5")
async def test_an_abort_in_the_turn_of_the_last_result_wins() -> None:
    bench, controller = Bench(), AbortController()
    run = start(FakeModel(answers(*CALLS)), registry=bench.registry, parallel=True, controller=controller)
    await bench.all_reached()
    for gate in bench.gates.values():
        gate.open()
    controller.abort()
    events, result = await collect(run)
    assert result.status == "cancelled"
    assert not [event for event in events if isinstance(event, ToolFinished)]


@pytest.mark.criterion("07.B5")
async def test_an_abort_while_a_fatal_sibling_is_waited_for_wins() -> None:
    bench, controller = Bench(fatal="a", stubborn="c"), AbortController()
    run = start(FakeModel(answers(*CALLS)), registry=bench.registry, parallel=True, controller=controller)
    await bench.all_reached()
    await bench.open("a")
    controller.abort("enough")
    assert (await run.result).status == "cancelled"
    await bench.open("c")


@pytest.mark.criterion("07.B6")
async def test_leaving_cancels_and_awaits_every_call_of_the_batch() -> None:
    bench = Bench()
    async with start(FakeModel(answers(*CALLS)), registry=bench.registry, parallel=True) as run:
        await bench.all_reached()
    assert sorted(bench.log[3:]) == ["a ends", "b ends", "c ends"]
    assert [gate.cancellations for gate in bench.gates.values()] == [1, 1, 1]
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert (await run.result).status == "cancelled"


async def outcome(order: str, *, parallel: bool, fatal: str = "") -> tuple[list[AgentEvent], RunResult]:
    bench = Bench(fatal=fatal, bad="b")
    run = start(FakeModel(answers(*CALLS), answers("ok")), registry=bench.registry, parallel=parallel)
    seen: list[AgentEvent] = []
    read = reading(run, seen)
    if parallel:
        await bench.all_reached()
    await bench.open(order)
    await read
    return seen, await run.result


@pytest.mark.criterion("07.B7")
@pytest.mark.parametrize("fatal", ["", "c", "ac"])
async def test_any_order_of_delays_gives_equal_events_and_the_result_of_the_sequential_run(
    fatal: str,
) -> None:
    orders = ["".join(order) for order in itertools.permutations(NAMES)]
    outcomes = [await outcome(order, parallel=True, fatal=fatal) for order in orders]
    assert all(events == outcomes[0][0] for events, _ in outcomes)
    assert all(result == outcomes[0][1] for _, result in outcomes)
    _, sequential = await outcome("abc", parallel=False, fatal=fatal)
    assert sequential == outcomes[0][1]
