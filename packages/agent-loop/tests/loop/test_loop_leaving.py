"""Cancellation as control flow: leaving `async with`, cancelling tasks, shutting a loop down."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from loop_doubles import (
    USER,
    FakeModel,
    FakeStream,
    Gate,
    answers,
    call,
    collect,
    result_of,
    start,
    steps,
    tools,
    turns,
)

from kickwheel_event_stream import AbortController, AbortError, EventStream
from kickwheel_protocol import (
    AgentEvent,
    CancelledRun,
    FailedRun,
    JsonObject,
    ModelRequest,
    RunResult,
    Signal,
    ToolContext,
    ToolResultMessage,
    ToolStarted,
)

ADD = call()
SLOW = call(1, "slow")


class Cleanup:
    """A tool that waits at a gate and takes a while to clean up."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.log: list[str] = []

    async def slow(self, _arguments: JsonObject, _context: ToolContext) -> object:
        try:
            await self.gate.wait()
        finally:
            for number in range(3):
                await asyncio.sleep(0)
                self.log.append(f"cleaning {number}")
        return "late"

    @property
    def done(self) -> bool:
        return len(self.log) == 3


def others() -> set[asyncio.Task[object]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


@pytest.mark.criterion("07.79", "07.81")
async def test_leaving_normally_stops_a_tool_and_waits_for_its_cleanup() -> None:
    work, controller, before = Cleanup(), AbortController(), others()
    model = FakeModel(answers(ADD, SLOW))
    registry = tools(add=lambda _a, _c: {"sum": 42}, slow=work.slow)
    async with start(model, registry=registry, controller=controller) as run:
        await work.gate.reached.wait()
    assert work.done
    assert others() == before
    assert controller.signal.aborted is False
    assert model.signals[0].aborted
    assert isinstance(model.signals[0].reason, AbortError)
    result = await run.result
    assert type(result) is CancelledRun
    assert result.reason.strip()
    assert result.messages[2:] == (result_of(ADD, '{"sum":42}'),)
    assert [event async for event in run] == []
    assert work.gate.cancellations == 1


@pytest.mark.criterion("07.79")
async def test_leaving_by_an_exception_lets_that_very_exception_go_on() -> None:
    work, error = Cleanup(), LookupError("mine")
    with pytest.raises(LookupError) as caught:
        async with start(FakeModel(answers(SLOW)), registry=tools(slow=work.slow)):
            await work.gate.reached.wait()
            raise error
    assert caught.value is error
    assert work.done


@pytest.mark.criterion("07.79", "07.81")
async def test_leaving_stops_the_model_and_waits_for_its_cleanup() -> None:
    class SlowToLeave(FakeStream):
        log: list[str]

        async def __anext__(self) -> object:
            try:
                return await super().__anext__()
            finally:
                await asyncio.sleep(0)
                self.log.append("read ended")

        async def aclose(self) -> None:
            await super().aclose()
            await asyncio.sleep(0)
            self.log.append("closed")

        async def __aexit__(self, *_: object) -> None:
            await super().__aexit__(None, None, None)
            for _turn in range(3):
                await asyncio.sleep(0)
            self.log.append("left")

    gate, before = Gate(), others()
    stream = SlowToLeave([gate], [])
    stream.log = []
    async with start(FakeModel(lambda _request, _signal: stream)) as run:
        await gate.reached.wait()
    assert sorted(stream.log) == ["closed", "left", "read ended"]
    assert (stream.closed, stream.left, gate.cancellations) == (1, 1, 1)
    assert others() == before
    assert (await run.result).status == "cancelled"


@pytest.mark.criterion("07.79")
async def test_leaving_at_once_asks_nobody() -> None:
    model = FakeModel()
    async with start(model) as run:
        pass
    assert model.calls == 0
    result = await run.result
    assert type(result) is CancelledRun
    assert result.messages == (USER,)


@pytest.mark.criterion("07.79", "07.17")
async def test_leaving_at_once_with_an_invalid_transcript_still_tells_that() -> None:
    async with start(FakeModel(), messages=[USER, result_of(ADD, "42")]) as run:
        pass
    result = await run.result
    assert type(result) is FailedRun
    assert result.error.code == "INVALID_TRANSCRIPT"


@pytest.mark.criterion("07.79")
@pytest.mark.parametrize("parallel", [False, True])
async def test_a_tool_that_ignores_cancellation_holds_up_leaving_and_not_the_result(parallel: bool) -> None:
    gate = Gate(stubborn=True)

    async def slow(_arguments: JsonObject, _context: ToolContext) -> object:
        await gate.wait()
        return "late"

    calls = [SLOW, call(2, "slow")] if parallel else [SLOW]
    run = start(FakeModel(answers(*calls)), registry=tools(slow=slow), parallel=parallel)

    async def leave() -> None:
        async with run:
            await gate.reached.wait()

    leaving = asyncio.ensure_future(leave())
    result = await run.result
    assert type(result) is CancelledRun
    assert not any(isinstance(message, ToolResultMessage) for message in result.messages)
    await turns()
    assert not leaving.done()
    gate.open()
    await leaving
    assert others() == set()
    assert await run.result is result


@pytest.mark.criterion("07.80")
async def test_cancelling_the_task_inside_the_block_propagates_after_cleanup() -> None:
    work = Cleanup()
    run = start(FakeModel(answers(SLOW)), registry=tools(slow=work.slow))

    async def hold() -> None:
        async with run:
            await asyncio.Event().wait()

    holding = asyncio.ensure_future(hold())
    await work.gate.reached.wait()
    holding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holding
    assert work.done
    assert holding.cancelled()
    assert others() == set()
    assert (await run.result).status == "cancelled"


@pytest.mark.criterion("07.80")
async def test_a_timeout_around_the_block_comes_out_after_cleanup() -> None:
    work = Cleanup()
    run = start(FakeModel(answers(SLOW)), registry=tools(slow=work.slow))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            async with run:
                await asyncio.Event().wait()
    assert work.done
    assert others() == set()


@pytest.mark.criterion("07.80")
@pytest.mark.parametrize("where", ["before", "model", "between", "tool"])
async def test_the_block_may_be_cancelled_at_any_point_of_a_run(where: str) -> None:
    reading, working, told_first = Gate(), Gate(), asyncio.Event()

    async def slow(_arguments: JsonObject, _context: ToolContext) -> object:
        if where == "tool":
            await working.wait()
        return "ok"

    model = FakeModel(steps(SLOW, reading) if where == "model" else answers(SLOW), steps(reading))
    run = start(model, registry=tools(slow=slow))

    async def hold() -> None:
        async with run:
            if where == "before":
                told_first.set()
            async for event in run:
                if where == "between" and isinstance(event, ToolStarted):
                    told_first.set()

    holding = asyncio.ensure_future(hold())
    await {"before": told_first, "model": reading.reached, "between": told_first, "tool": working.reached}[
        where
    ].wait()
    holding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holding
    assert others() == set()
    assert (await run.result).status == "cancelled"
    assert all(stream.left == stream.entered for stream in model.streams)


@pytest.mark.criterion("07.81")
async def test_leaving_after_the_end_changes_no_result() -> None:
    async with start(FakeModel(answers("hi"))) as run:
        result = await run.result
    assert await run.result is result
    assert result.status == "completed"
    assert others() == set()


@pytest.mark.criterion("07.81", "07.83")
async def test_leaving_after_an_abort_waits_for_the_cleanup_still_going_on() -> None:
    work, controller = Cleanup(), AbortController()
    async with start(FakeModel(answers(SLOW)), registry=tools(slow=work.slow), controller=controller) as run:
        await work.gate.reached.wait()
        controller.abort("enough")
        result = await run.result
        assert not work.done
    assert work.done
    assert work.gate.cancellations == 1
    assert await run.result is result
    assert others() == set()


@pytest.mark.criterion("07.81", "07.63")
async def test_leaving_after_the_answer_waits_for_the_models_cleanup() -> None:
    gate = Gate()

    class SlowToLeave(FakeStream):
        async def __aexit__(self, *_: object) -> None:
            await gate.wait()
            await super().__aexit__(None, None, None)

    def answer(request: ModelRequest, signal: Signal) -> FakeStream:
        plain = answers("hi")(request, signal)
        assert isinstance(plain, FakeStream)
        return SlowToLeave(plain.steps, plain.ending)

    model = FakeModel(answer)
    run = start(model)

    async def hold() -> None:
        async with run:
            assert (await run.result).status == "completed"

    holding = asyncio.ensure_future(hold())
    await gate.reached.wait()
    await turns()
    assert not holding.done()
    gate.open()
    await holding
    assert model.streams[0].left == 1


@pytest.mark.criterion("07.83")
async def test_an_interrupted_tool_survives_a_collection_until_it_has_ended() -> None:
    ended: list[str] = []
    controller, gate = AbortController(), Gate()

    async def slow(_arguments: JsonObject, _context: ToolContext) -> object:
        try:
            await gate.wait()
        finally:
            forgotten: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_later(0.01, forgotten.set_result, None)
            del gate.__dict__["reached"]
            await forgotten
            ended.append("cleaned up")
        return None

    run = start(FakeModel(answers(SLOW)), registry=tools(slow=slow), controller=controller)
    await gate.reached.wait()
    controller.abort()
    await run.result
    del run
    for _ in range(20):
        gc.collect()
        await asyncio.sleep(0.001)
    assert ended == ["cleaned up"]


@pytest.mark.criterion("07.84")
async def test_cancelling_a_task_that_only_reads_or_waits_does_not_touch_the_run() -> None:
    gate = Gate()
    run = start(FakeModel(steps("one", gate), answers("never")))

    async def read() -> list[AgentEvent]:
        return [event async for event in run]

    async def wait() -> RunResult:
        return await run.result

    reading, waiting = asyncio.ensure_future(read()), asyncio.ensure_future(wait())
    await gate.reached.wait()
    for task in (reading, waiting):
        task.cancel()
    await asyncio.wait([reading, waiting])
    gate.open()
    assert (await run.result).status == "completed"
    assert gate.cancellations == 0


def own_task(before: set[asyncio.Task[object]]) -> asyncio.Task[object]:
    (task,) = others() - before
    return task


@pytest.mark.criterion("07.85")
async def test_cancelling_the_runs_own_task_before_its_first_turn_ends_the_run() -> None:
    before, model = others(), FakeModel()
    run = start(model)
    task = own_task(before)
    task.cancel()
    events, result = await collect(run)
    assert [event.type for event in events] == ["run.finished"]
    assert type(result) is CancelledRun
    assert result.messages == (USER,)
    assert result.reason.strip()
    assert model.calls == 0
    await turns(2)
    assert task.cancelled()


@pytest.mark.criterion("07.85")
@pytest.mark.parametrize("stubborn", [False, True])
async def test_cancelling_the_runs_own_task_while_it_reads_stops_the_model(stubborn: bool) -> None:
    before, gate = others(), Gate(stubborn=stubborn)
    model = FakeModel(steps("one", gate, "two"))
    run = start(model)
    await gate.reached.wait()
    task = own_task(before)
    task.cancel()
    await turns(2)
    if stubborn:
        gate.open()  # the read swallows the cancellation and goes on: it is noticed all the same
    result = await run.result
    assert type(result) is CancelledRun
    assert model.signals[0].aborted
    await turns(6)
    assert task.cancelled()
    assert (model.streams[0].closed, model.streams[0].left, gate.cancellations) == (1, 1, 1)


@pytest.mark.criterion("07.85")
@pytest.mark.parametrize("parallel", [False, True])
async def test_cancelling_the_runs_own_task_while_tools_run_stops_them(parallel: bool) -> None:
    work, before = Cleanup(), others()
    calls = [SLOW, call(1, "add")] if parallel else [SLOW]
    run = start(
        FakeModel(answers(*calls)),
        registry=tools(slow=work.slow, add=lambda _a, _c: 42),
        parallel=parallel,
    )
    first = {task for task in others() - before if "_walk" in repr(task.get_coro())}
    await work.gate.reached.wait()
    (task,) = first
    task.cancel()
    result = await run.result
    assert type(result) is CancelledRun
    await asyncio.wait([task])
    await turns(8)
    assert task.cancelled()
    assert work.done
    assert others() == before


def shut_down(scene: Callable[[], Awaitable[None]]) -> list[str]:
    """Run something that leaves a run behind, let `asyncio.run` shut the loop down, and hear what it says."""
    heard: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: heard.append(str(context)))
        await scene()

    with asyncio.Runner(debug=True) as runner:
        runner.run(main())
    gc.collect()
    return heard


@pytest.mark.criterion("07.85")
@pytest.mark.parametrize("where", ["start", "model", "response", "leave", "tool", "parallel"])
def test_a_loop_that_shuts_down_stops_the_run_in_silence(where: str) -> None:
    runs: list[EventStream[AgentEvent, RunResult]] = []
    streams: list[FakeStream] = []
    cleaned: list[str] = []

    class Leaves(FakeStream):
        async def __aexit__(self, *_: object) -> None:
            await asyncio.sleep(0)
            await super().__aexit__(None, None, None)
            cleaned.append("model")

    async def scene() -> None:
        gate = Gate()

        async def slow(_arguments: JsonObject, _context: ToolContext) -> object:
            try:
                await gate.wait()
            finally:
                await asyncio.sleep(0)
                cleaned.append("tool")
            return None

        def answer(request: ModelRequest, signal: Signal) -> FakeStream:
            plain = {
                "start": steps(gate),
                "model": steps(gate),
                "response": steps(ending=[gate]),
                "tool": answers(SLOW),
                "parallel": answers(SLOW, call(2, "slow")),
            }.get(where, answers("hi"))(request, signal)
            assert isinstance(plain, FakeStream)
            stream = Leaves(plain.steps, plain.ending)
            streams.append(stream)
            return stream

        runs.append(start(FakeModel(answer), registry=tools(slow=slow), parallel=where == "parallel"))
        if where == "leave":
            await runs[0].result
        elif where != "start":
            await gate.reached.wait()
            await turns()

    assert shut_down(scene) == []

    async def look() -> RunResult:
        return await runs[0].result

    result = asyncio.run(look())
    assert result.status == ("completed" if where == "leave" else "cancelled")
    expected = {"tool": ["model", "tool"], "parallel": ["model", "tool", "tool"]}.get(where, ["model"])
    assert cleaned == (expected if streams else [])
    assert all(stream.left == 1 for stream in streams)


@pytest.mark.criterion("07.85")
def test_a_loop_closed_without_shutdown_leaves_no_noise() -> None:
    loop = asyncio.new_event_loop()
    heard: list[str] = []
    loop.set_exception_handler(lambda _loop, context: heard.append(str(context)))
    controller, gates = AbortController(), list[Gate]()

    async def scene() -> EventStream[AgentEvent, RunResult]:
        gates.append(Gate())
        run = start(FakeModel(steps(gates[0])), controller=controller)
        await gates[0].reached.wait()
        return run

    run = loop.run_until_complete(scene())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    controller.abort()
    assert run.state == "finished"
    assert heard == []


async def test_a_tool_that_closes_its_own_run_does_not_wait_for_itself() -> None:
    runs: list[EventStream[AgentEvent, RunResult]] = []

    async def closing(_arguments: JsonObject, _context: ToolContext) -> object:
        await runs[0].aclose()
        return "unreached"

    def plain(_arguments: JsonObject, _context: ToolContext) -> object:
        return "ok"

    runs.append(start(FakeModel(answers(call(1, "closing"))), registry=tools(closing=closing, plain=plain)))
    assert (await runs[0].result).status == "cancelled"
    await turns(8)


async def test_a_run_whose_stream_was_settled_by_hand_stops_quietly() -> None:
    gate = Gate()
    model = FakeModel(steps("one", gate, "two"))
    run = start(model)
    await gate.reached.wait()
    run.finish(CancelledRun((), "by hand"))
    gate.open()
    await turns(8)
    assert await run.result == CancelledRun((), "by hand")
    assert model.streams[0].left == 1


async def test_a_model_that_is_an_async_iterator_of_its_own_kind_is_stopped_too() -> None:
    """A stream without `async with` and without `aclose`: there is nothing to call, and nothing hangs."""
    gate = Gate()

    class Bare:
        def __aiter__(self) -> AsyncIterator[object]:
            return self  # pyright: ignore[reportReturnType] - bare on purpose

        async def __anext__(self) -> object:
            await gate.wait()
            raise StopAsyncIteration

        @property
        def result(self) -> object:
            raise AssertionError("not read")

    async with start(FakeModel(lambda _request, _signal: Bare())) as run:
        await gate.reached.wait()
    assert (await run.result).status == "cancelled"
