"""Focused test of checkpoint 02: ordered progress, one terminal result, one consumer."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import TypeVar

import pytest

from kickwheel_event_stream import EventStream, StreamBusyError, StreamClosedError

T = TypeVar("T")
Stream = EventStream[str, int]
criterion = pytest.mark.criterion


def task(number: int) -> pytest.MarkDecorator:
    """Name the course task that a test belongs to."""
    return pytest.mark.task(number)


def run(coroutine: Coroutine[object, object, T]) -> T:
    """Run one bounded scenario on a loop of its own: nothing is reported to it and no task is left."""
    noise: list[object] = []

    async def bounded() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: noise.append(context))
        async with asyncio.timeout(5):
            value = await coroutine
            await turns()
        gc.collect()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return value

    value = asyncio.run(bounded(), debug=True)
    assert noise == []
    return value


async def turns() -> None:
    """Let the loop go round until everything that can happen has happened."""
    for _ in range(5):
        await asyncio.sleep(0)


def finished(*events: str) -> Stream:
    stream: Stream = EventStream()
    for event in events:
        stream.push(event)
    stream.finish(42)
    return stream


def failed(*events: str) -> Stream:
    stream: Stream = EventStream()
    for event in events:
        stream.push(event)
    stream.fail(BROKEN)
    return stream


BROKEN = ValueError("broken")
SETTLED = pytest.mark.parametrize("settled", [finished, failed], ids=["finished", "failed"])


# Task 1: push, and the one terminal call


@task(1)
@criterion("02.24")
def test_a_stream_is_open_and_then_terminal() -> None:
    stream: Stream = EventStream()
    stream.push("A")
    assert stream.state == "open"
    assert finished("A").state == "finished"
    assert failed("A").state == "failed"


@task(1)
@criterion("02.11")
@SETTLED
def test_push_after_the_end_is_refused(settled: Callable[[], Stream]) -> None:
    stream = settled()
    with pytest.raises(StreamClosedError, match=rf"already terminal \({stream.state}\)"):
        stream.push("late")


@task(1)
@criterion("02.10", "02.12")
@SETTLED
def test_a_second_terminal_call_is_refused_and_changes_nothing(settled: Callable[[], Stream]) -> None:
    stream = settled()
    state = stream.state
    with pytest.raises(StreamClosedError, match=rf"already terminal \({state}\)"):
        stream.finish(1)
    with pytest.raises(StreamClosedError, match=rf"already terminal \({state}\)"):
        stream.fail(KeyError("late"))
    assert stream.state == state


@task(1)
@criterion("02.57", "02.58")
@pytest.mark.parametrize("error", ["text", None, ValueError, asyncio.CancelledError(), KeyboardInterrupt()])
def test_fail_takes_only_instances_of_exception(error: object) -> None:
    stream: Stream = EventStream()
    refused: Callable[[object], None] = stream.fail  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType] # the wrong type is the test
    with pytest.raises(TypeError):
        refused(error)
    assert stream.state == "open"
    stream.finish(1)


@task(1)
@criterion("02.06", "02.60")
def test_pushing_needs_neither_a_consumer_nor_a_loop() -> None:
    stream: EventStream[int, int] = EventStream()
    for number in range(10_000):
        stream.push(number)
    stream.finish(1)
    assert stream.state == "finished"


# Task 2: the result, for any number of waiters


@task(2)
@criterion("02.13", "02.14")
def test_the_result_is_there_as_soon_as_the_stream_has_ended() -> None:
    async def scenario() -> None:
        assert await finished("unread").result == 42
        (outcome,) = await asyncio.gather(failed("unread").result, return_exceptions=True)
        assert outcome is BROKEN

    run(scenario())


@task(2)
@criterion("02.21", "02.23")
def test_every_waiter_gets_the_same_result() -> None:
    async def scenario() -> None:
        stream: Stream = EventStream()

        async def wait() -> tuple[str, int]:
            value = await stream.result
            return stream.state, value

        waiters = [asyncio.create_task(wait()) for _ in range(3)]
        await turns()
        assert not any(waiter.done() for waiter in waiters)
        stream.finish(7)
        assert await asyncio.gather(*waiters, wait()) == [("finished", 7)] * 4

    run(scenario())


@task(2)
@criterion("02.53")
def test_a_cancelled_waiter_leaves_the_others_alone() -> None:
    async def scenario() -> None:
        stream: Stream = EventStream()
        waiters = [asyncio.ensure_future(stream.result) for _ in range(3)]
        await turns()
        waiters[0].cancel()
        await turns()
        stream.finish(9)
        await asyncio.wait(waiters)
        assert [waiter.cancelled() for waiter in waiters] == [True, False, False]
        assert [waiter.result() for waiter in waiters[1:]] == [9, 9]

    run(scenario())


@task(2)
@criterion("02.22")
def test_a_failure_that_nobody_awaits_makes_no_noise() -> None:
    async def scenario() -> None:
        result = failed().result
        gc.collect()
        (outcome,) = await asyncio.gather(result, return_exceptions=True)
        assert outcome is BROKEN

    run(scenario())


# Task 3: one consumer, and reads that wait


@task(3)
@criterion("02.01", "02.05")
def test_events_come_in_order_and_before_the_end_or_the_failure() -> None:
    async def scenario() -> None:
        assert [event async for event in finished("A", "B")] == ["A", "B"]
        received: list[str] = []
        with pytest.raises(ValueError, match="broken"):
            async for event in failed("A", "B"):
                received.append(event)
        assert received == ["A", "B"]

    run(scenario())


@task(3)
@criterion("02.02", "02.03", "02.04")
def test_waiting_reads_are_served_in_the_order_they_were_started() -> None:
    async def scenario() -> None:
        stream: Stream = EventStream()
        iterator = aiter(stream)
        reads = [asyncio.ensure_future(anext(iterator)) for _ in range(3)]
        await turns()
        assert not any(read.done() for read in reads)
        stream.push("A")
        stream.push("B")
        stream.finish(1)
        await asyncio.wait(reads)
        assert [read.result() for read in reads[:2]] == ["A", "B"]
        assert isinstance(reads[2].exception(), StopAsyncIteration)

    run(scenario())


@task(3)
@criterion("02.15", "02.16")
def test_every_waiting_read_raises_the_same_failure_and_then_ends() -> None:
    async def scenario() -> None:
        stream: Stream = EventStream()
        iterator = aiter(stream)
        reads = [asyncio.ensure_future(anext(iterator)) for _ in range(2)]
        await turns()
        stream.fail(BROKEN)
        await asyncio.wait(reads)
        assert all(read.exception() is BROKEN for read in reads)
        with pytest.raises(StopAsyncIteration):
            await anext(iterator)

    run(scenario())


@task(3)
@criterion("02.30")
def test_a_second_consumer_is_refused_at_once() -> None:
    stream: Stream = EventStream()
    first = aiter(stream)
    with pytest.raises(StreamBusyError, match="single consumer"):
        aiter(stream)
    assert aiter(first) is first


@task(3)
@criterion("02.31", "02.32", "02.33")
def test_a_closed_iterator_ends_its_reads_and_makes_room_for_the_next() -> None:
    async def scenario() -> None:
        stream: Stream = EventStream()
        first = aiter(stream)
        read = asyncio.ensure_future(anext(first))
        await turns()
        await first.aclose()
        await asyncio.wait([read])
        assert isinstance(read.exception(), StopAsyncIteration)
        stream.push("A")
        second = aiter(stream)
        with pytest.raises(StopAsyncIteration):
            await anext(first)
        assert await anext(second) == "A"

    run(scenario())


# Task 4: readers that are cancelled


@task(4)
@criterion("02.50")
def test_the_event_goes_to_the_next_read_when_one_was_cancelled() -> None:
    async def scenario() -> None:
        stream: Stream = EventStream()
        iterator = aiter(stream)
        first, second = [asyncio.ensure_future(anext(iterator)) for _ in range(2)]
        await turns()
        first.cancel()
        await turns()
        stream.push("A")
        await asyncio.wait([first, second])
        assert first.cancelled()
        assert second.result() == "A"

    run(scenario())


@task(4)
@criterion("02.51")
def test_an_event_pushed_in_the_turn_of_the_cancellation_is_not_lost() -> None:
    async def scenario() -> None:
        stream: Stream = EventStream()
        iterator = aiter(stream)
        read = asyncio.ensure_future(anext(iterator))
        await turns()
        stream.push("A")
        read.cancel()
        await asyncio.wait([read])
        stream.push("B")
        stream.finish(1)
        assert read.cancelled()
        assert [event async for event in iterator] == ["A", "B"]

    run(scenario())


@task(4)
@criterion("02.52", "02.08")
def test_a_read_that_timed_out_loses_nothing() -> None:
    async def scenario() -> None:
        stream: Stream = EventStream()
        iterator = aiter(stream)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(iterator), 0.001)
        stream.push("A")
        assert await anext(iterator) == "A"

    run(scenario())
