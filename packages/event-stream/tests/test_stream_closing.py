"""`async with stream` and `aclose()`: consumer and producer are closed, once, and nothing is left."""

import asyncio
import contextlib
import gc
import weakref
from collections.abc import Awaitable, Callable
from types import TracebackType

import pytest

from kickwheel_event_stream import AbortError, EventStream, StreamClosedError


async def turn() -> None:
    await asyncio.sleep(0)


class Producer:
    """A task that pushes until it is cancelled, with a cleanup that takes some turns."""

    def __init__(self) -> None:
        self.stream: EventStream[str, int] = EventStream(on_close=self.stop)
        self.task = asyncio.ensure_future(self._run())
        self.log: list[str] = []

    async def _run(self) -> None:
        try:
            while True:
                self.stream.push("tick")
                await turn()
        finally:
            for _ in range(3):
                await turn()
            self.log.append("cleaned up")

    async def stop(self) -> None:
        self.log.append("hook")
        self.task.cancel()
        await asyncio.wait([self.task])


@pytest.mark.criterion("02.W1")
async def test_entering_claims_nothing_and_starts_nothing() -> None:
    calls: list[str] = []
    stream: EventStream[str, int] = EventStream(on_close=lambda: calls.append("hook"))
    before = asyncio.all_tasks()
    async with stream as entered:
        assert entered is stream
        aiter(stream)
        assert (calls, asyncio.all_tasks()) == ([], before)


@pytest.mark.criterion("02.W2")
async def test_leaving_ends_the_waiting_reads_and_frees_the_slot() -> None:
    stream: EventStream[str, int] = EventStream()
    async with stream:
        iterator = aiter(stream)
        reads = [asyncio.ensure_future(anext(iterator)) for _ in range(2)]
        await turn()
    outcomes = await asyncio.gather(*reads, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StopAsyncIteration] * 2
    aiter(stream)


async def by_its_end(stream: EventStream[str, int]) -> None:
    async with stream:
        stream.push("A")


async def by_break(stream: EventStream[str, int]) -> None:
    stream.push("A")
    while True:
        async with stream:
            async for _event in stream:
                break
            break


async def by_return(stream: EventStream[str, int]) -> None:
    async with stream:
        return


async def by_an_exception(stream: EventStream[str, int]) -> None:
    with contextlib.suppress(KeyError):
        async with stream:
            raise KeyError("body")


async def by_aclose(stream: EventStream[str, int]) -> None:
    await stream.aclose()


async def by_aclosing(stream: EventStream[str, int]) -> None:
    async with contextlib.aclosing(stream):
        stream.push("A")


WAYS = [
    pytest.param(by_its_end, marks=pytest.mark.criterion("02.W3")),
    pytest.param(by_break, marks=pytest.mark.criterion("02.W3")),
    pytest.param(by_return, marks=pytest.mark.criterion("02.W3")),
    pytest.param(by_an_exception, marks=pytest.mark.criterion("02.W3")),
    pytest.param(by_aclose, marks=pytest.mark.criterion("02.W14")),
    pytest.param(by_aclosing, marks=pytest.mark.criterion("02.W14")),
]


@pytest.mark.parametrize("leave", WAYS)
async def test_every_way_out_calls_the_hook_once_and_awaits_what_it_returns(
    leave: Callable[[EventStream[str, int]], Awaitable[None]],
) -> None:
    log: list[str] = []

    async def later() -> None:
        for _ in range(3):
            await turn()
        log.append("awaited")

    def hook() -> Awaitable[None]:
        log.append("called")
        return later()

    stream: EventStream[str, int] = EventStream(on_close=hook)
    await leave(stream)
    assert log == ["called", "awaited"]
    assert stream.state == "failed"
    with pytest.raises(AbortError):
        await stream.result


class Awaits:
    """An awaitable that is neither a coroutine nor a future."""

    def __init__(self, future: "asyncio.Future[int]") -> None:
        self.future = future

    def __await__(self):  # type: ignore[no-untyped-def]
        return self.future.__await__()


def _itself(future: "asyncio.Future[int]") -> "asyncio.Future[int]":
    return future


@pytest.mark.criterion("02.W3")
@pytest.mark.parametrize("wrap", [_itself, Awaits], ids=["future", "awaitable"])
async def test_any_awaitable_of_the_hook_is_awaited(
    wrap: "Callable[[asyncio.Future[int]], Awaitable[int]]",
) -> None:
    gate: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    stream: EventStream[str, int] = EventStream(on_close=lambda: wrap(gate))
    closing = asyncio.ensure_future(stream.aclose())
    for _ in range(5):
        await turn()
    assert not closing.done()
    gate.set_result(1)
    await closing


@pytest.mark.criterion("02.W3")
def test_a_hook_is_a_callable() -> None:
    with pytest.raises(TypeError, match="on_close"):
        EventStream[str, int](on_close="hook")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.criterion("02.W4")
async def test_the_producer_has_cleaned_up_and_no_task_is_left() -> None:
    before = asyncio.all_tasks()
    producer = Producer()
    async with producer.stream as stream:
        async for event in stream:
            assert event == "tick"
            break
    assert producer.log == ["hook", "cleaned up"]
    assert producer.task.cancelled()
    assert asyncio.all_tasks() == before


@pytest.mark.criterion("02.W4")
async def test_a_hook_may_return_the_producer_it_has_cancelled() -> None:
    gate = asyncio.Event()
    producer: asyncio.Task[object] = asyncio.create_task(gate.wait())
    await turn()

    def stop() -> asyncio.Task[object]:
        producer.cancel()
        return producer

    async with EventStream[str, int](on_close=stop) as stream:
        stream.push("A")
    assert producer.cancelled()
    assert stream.state == "failed"


@pytest.mark.criterion("02.W4", "02.W15")
@pytest.mark.parametrize("capacity", [None, 1])
async def test_a_producer_that_does_nothing_but_send_leaves_the_hook_its_turn(capacity: int | None) -> None:
    sent = 0

    async def produce() -> None:
        nonlocal sent
        while True:
            await stream.send("tick")
            sent += 1
            if capacity is None:
                await started.wait()

    async def stop() -> None:
        started.set()
        await turn()
        producer.cancel()
        await asyncio.wait([producer])

    started = asyncio.Event()
    stream: EventStream[str, int] = EventStream(capacity=capacity, on_close=stop)
    producer = asyncio.ensure_future(produce())
    await turn()
    async with stream:
        async for event in stream:
            assert event == "tick"
            break
    assert producer.cancelled()
    assert sent < 100


@pytest.mark.criterion("02.W5")
@pytest.mark.parametrize("settle", ["finish", "fail"])
async def test_an_outcome_given_by_the_hook_stands(settle: str) -> None:
    error = ValueError("stopped")

    async def hook() -> None:
        await turn()
        if settle == "finish":
            stream.finish(5)
        else:
            stream.fail(error)

    stream: EventStream[str, int] = EventStream(on_close=hook)
    async with stream:
        stream.push("A")
    (outcome,) = await asyncio.gather(stream.result, return_exceptions=True)
    assert outcome == 5 if settle == "finish" else outcome is error


@pytest.mark.criterion("02.W6")
@pytest.mark.parametrize("hook", [None, lambda: None])
async def test_an_open_stream_fails_with_an_abort_error(hook: Callable[[], None] | None) -> None:
    stream: EventStream[str, int] = EventStream(on_close=hook)
    waiting = asyncio.ensure_future(stream.result)
    await turn()
    async with stream:
        pass
    with pytest.raises(AbortError):
        await waiting
    with pytest.raises(AbortError):
        await stream.result
    assert stream.state == "failed"


@pytest.mark.criterion("02.W7")
@pytest.mark.parametrize("settle", ["finish", "fail"])
async def test_a_settled_stream_keeps_its_outcome_and_its_hook_is_still_awaited(settle: str) -> None:
    error = ValueError("broken")
    log: list[str] = []

    async def hook() -> None:
        await turn()
        log.append("hook")

    stream: EventStream[str, int] = EventStream(on_close=hook)
    async with stream:
        if settle == "finish":
            stream.finish(3)
        else:
            stream.fail(error)
    assert log == ["hook"]
    (outcome,) = await asyncio.gather(stream.result, return_exceptions=True)
    assert outcome == 3 if settle == "finish" else outcome is error


@pytest.mark.criterion("02.W8")
@pytest.mark.parametrize("settle", ["finish", "fail", "nothing"])
async def test_unread_events_are_dropped(settle: str) -> None:
    stream: EventStream[str, int] = EventStream()
    async with stream:
        stream.push("A")
        stream.push("B")
        if settle == "finish":
            stream.finish(1)
        elif settle == "fail":
            stream.fail(ValueError("broken"))
    iterator = aiter(stream)
    if settle != "finish":
        with pytest.raises(ValueError if settle == "fail" else AbortError):
            await anext(iterator)
    with pytest.raises(StopAsyncIteration):
        await anext(iterator)


@pytest.mark.criterion("02.W8")
async def test_an_event_on_its_way_to_a_cancelled_read_is_dropped_too() -> None:
    stream: EventStream[str, int] = EventStream()
    served, cancelled = (asyncio.ensure_future(anext(aiter(stream))), None)
    await turn()
    stream.push("A")
    await stream.aclose()
    assert await served == "A"
    other: EventStream[str, int] = EventStream()
    cancelled = asyncio.ensure_future(anext(aiter(other)))
    await turn()
    other.push("A")
    other.finish(1)
    cancelled.cancel()
    await other.aclose()
    await asyncio.wait([cancelled])
    assert [event async for event in other] == []


@pytest.mark.criterion("02.W9")
@pytest.mark.parametrize("capacity", [None, 1])
async def test_events_during_the_hook_are_accepted_and_dropped(capacity: int | None) -> None:
    log: list[str] = []

    async def hook() -> None:
        for _ in range(3):
            stream.push("late")
            await stream.send("late")
        log.append("accepted")
        stream.finish(1)
        with pytest.raises(StreamClosedError):
            stream.push("too late")
        with pytest.raises(StreamClosedError):
            await stream.send("too late")
        log.append("refused")

    stream: EventStream[str, int] = EventStream(capacity=capacity, on_close=hook)
    stream.push("unread")
    await stream.aclose()
    assert log == ["accepted", "refused"]
    assert [event async for event in stream] == []
    assert await stream.result == 1


@pytest.mark.criterion("02.W10")
async def test_closing_again_does_nothing() -> None:
    calls: list[str] = []
    stream: EventStream[str, int] = EventStream(on_close=lambda: calls.append("hook"))
    await stream.aclose()
    newer = aiter(stream)
    await stream.aclose()
    async with stream:
        pass
    assert calls == ["hook"]
    with pytest.raises(AbortError):
        await anext(newer)


@pytest.mark.criterion("02.W10")
async def test_overlapping_closings_return_after_the_one_cleanup() -> None:
    calls: list[str] = []
    gate = asyncio.Event()

    async def hook() -> None:
        calls.append("hook")
        await gate.wait()

    stream: EventStream[str, int] = EventStream(on_close=hook)
    closings = [asyncio.ensure_future(stream.aclose()) for _ in range(3)]
    for _ in range(5):
        await turn()
    assert not any(closing.done() for closing in closings)
    closings[2].cancel()
    for _ in range(5):
        await turn()
    assert not closings[2].done()
    gate.set()
    outcomes = await asyncio.gather(*closings, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [type(None), type(None), asyncio.CancelledError]
    assert calls == ["hook"]


@pytest.mark.criterion("02.W10")
async def test_a_hook_that_closes_the_stream_again_does_not_wait_for_itself() -> None:
    async def hook() -> None:
        await turn()
        await stream.aclose()

    stream: EventStream[str, int] = EventStream(on_close=hook)
    await stream.aclose()
    assert stream.state == "failed"


class HookError(Exception):
    """What a hook raises."""


async def _raise_later() -> None:
    await turn()
    raise HookError


def _raise_now() -> None:
    raise HookError


HOOKS = pytest.mark.parametrize("hook", [_raise_now, _raise_later])


@pytest.mark.criterion("02.W11")
@HOOKS
async def test_an_exception_of_the_body_propagates_as_it_is(hook: Callable[[], None]) -> None:
    error = KeyError("body")
    stream: EventStream[str, int] = EventStream(on_close=hook)
    with pytest.raises(KeyError) as caught:
        async with stream:
            raise error
    assert caught.value is error
    assert stream.state == "failed"


@pytest.mark.criterion("02.W11")
async def test_a_base_exception_of_the_body_propagates_after_the_cleanup() -> None:
    producer = Producer()
    error = SystemExit(3)
    caught: list[BaseException] = []
    try:
        async with producer.stream:
            await turn()
            raise error
    except SystemExit as raised:
        caught.append(raised)
    assert caught[0] is error
    assert producer.log == ["hook", "cleaned up"]


@pytest.mark.criterion("02.W12")
@HOOKS
@pytest.mark.parametrize("settled", [False, True])
async def test_an_exception_of_the_hook_propagates_and_the_stream_is_terminal(
    hook: Callable[[], Awaitable[None] | None], settled: bool
) -> None:
    def settle_and_raise() -> Awaitable[None] | None:
        if settled:
            stream.finish(4)
        return hook()

    stream: EventStream[str, int] = EventStream(on_close=settle_and_raise)
    with pytest.raises(HookError):
        async with stream:
            pass
    (outcome,) = await asyncio.gather(stream.result, return_exceptions=True)
    assert outcome == 4 if settled else isinstance(outcome, AbortError)
    await stream.aclose()


@pytest.mark.criterion("02.W13")
async def test_a_cancelled_body_cleans_up_and_stays_cancelled() -> None:
    producer = Producer()

    async def body() -> None:
        async with producer.stream as stream:
            async for _event in stream:
                pass

    task = asyncio.ensure_future(body())
    await turn()
    await turn()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert producer.log == ["hook", "cleaned up"]
    with pytest.raises(AbortError):
        await producer.stream.result


@pytest.mark.criterion("02.W13")
@pytest.mark.parametrize("failing", [False, True])
async def test_a_cancellation_during_the_cleanup_does_not_cut_it_short(failing: bool) -> None:
    gate = asyncio.Event()
    log: list[str] = []

    async def hook() -> None:
        try:
            await gate.wait()
        except asyncio.CancelledError:
            log.append("cut short")
            raise
        log.append("done")
        if failing:
            raise HookError

    stream: EventStream[str, int] = EventStream(on_close=hook)
    task = asyncio.ensure_future(stream.aclose())
    await turn()
    await turn()
    task.cancel()
    for _ in range(5):
        await turn()
    assert (task.done(), log) == (False, [])
    gate.set()
    await asyncio.wait([task])
    assert task.cancelled()
    assert log == ["done"]
    assert stream.state == "failed"


@pytest.mark.criterion("02.W13")
async def test_a_second_cancellation_reaches_a_cleanup_that_hangs() -> None:
    stream: EventStream[str, int] = EventStream(on_close=asyncio.Event().wait)
    task = asyncio.ensure_future(stream.aclose())
    await turn()
    await turn()
    task.cancel()
    await turn()
    await turn()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert stream.state == "failed"


@pytest.mark.criterion("02.W15")
async def test_waiting_sends_are_refused_when_there_is_no_hook() -> None:
    stream: EventStream[str, int] = EventStream(capacity=1)
    stream.push("A")
    send = asyncio.ensure_future(stream.send("B"))
    await turn()
    await stream.aclose()
    with pytest.raises(StreamClosedError, match="failed"):
        await send


@pytest.mark.criterion("02.W15")
async def test_a_producer_blocked_in_send_does_not_hang_its_own_cleanup() -> None:
    log: list[str] = []

    async def produce() -> None:
        for event in "ABC":
            await stream.send(event)
            log.append(event)

    async def hook() -> None:
        await producer
        log.append("hook is done")

    stream: EventStream[str, int] = EventStream(capacity=1, on_close=hook)
    producer = asyncio.ensure_future(produce())
    await turn()
    await turn()
    assert log == ["A"]
    await stream.aclose()
    assert log == ["A", "B", "C", "hook is done"]
    assert stream.state == "failed"


@pytest.mark.criterion("02.W4", "02.65")
async def test_a_closed_stream_holds_neither_its_hook_nor_its_events() -> None:
    class Thing:
        def hook(self) -> None:
            """Do nothing."""

    thing, event = Thing(), Thing()
    stream: EventStream[Thing, int] = EventStream(on_close=thing.hook)
    stream.push(event)
    references = [weakref.ref(thing), weakref.ref(event)]
    await stream.aclose()
    del thing, event
    gc.collect()
    assert [reference() for reference in references] == [None, None]


@pytest.mark.criterion("02.W13")
async def test_the_exit_returns_nothing_so_that_no_exception_is_swallowed() -> None:
    stream: EventStream[str, int] = EventStream()
    arguments: tuple[type[BaseException], BaseException, TracebackType | None] = (KeyError, KeyError(), None)
    assert await stream.__aexit__(*arguments) is None  # type: ignore[func-returns-value]
