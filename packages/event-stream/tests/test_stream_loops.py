"""The same behaviour on every loop: asyncio's own, uvloop, eager tasks, inside the structures of asyncio."""

import asyncio
import sys
from collections.abc import Callable, Coroutine

import pytest
from loop_guard import run

from kickwheel_event_stream import AbortController, AbortError, EventStream, race_abort


def _uvloop() -> asyncio.AbstractEventLoop:
    uvloop = pytest.importorskip("uvloop")
    return uvloop.new_event_loop()


def _eager() -> asyncio.AbstractEventLoop:
    if sys.version_info < (3, 12):
        pytest.skip("eager tasks came with Python 3.12")
    loop = asyncio.new_event_loop()
    loop.set_task_factory(asyncio.eager_task_factory)
    return loop


LOOPS = pytest.mark.parametrize(
    "loop", [asyncio.new_event_loop, _uvloop, _eager], ids=["asyncio", "uvloop", "eager"]
)


async def delivery() -> None:
    stream: EventStream[int, str] = EventStream()

    async def produce() -> None:
        for number in range(50):
            stream.push(number)
            if number % 7 == 0:
                await asyncio.sleep(0)
        stream.finish("done")

    producer = asyncio.ensure_future(produce())
    result = asyncio.ensure_future(stream.result)
    assert [event async for event in stream] == list(range(50))
    assert await result == "done"
    await producer


async def cancelled_reads() -> None:
    stream: EventStream[str, int] = EventStream()
    iterator = aiter(stream)
    first, second = [asyncio.ensure_future(anext(iterator)) for _ in range(2)]
    await asyncio.sleep(0)
    stream.push("A")
    first.cancel()
    assert await second == "A"
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(iterator), 0.001)
    stream.push("B")
    assert await anext(iterator) == "B"


async def backpressure() -> None:
    stream: EventStream[int, None] = EventStream(capacity=3)

    async def produce() -> None:
        for number in range(50):
            await stream.send(number)
        stream.finish(None)

    async with asyncio.TaskGroup() as group:
        group.create_task(produce())
        assert [event async for event in stream] == list(range(50))


async def races() -> None:
    controller = AbortController()
    stream: EventStream[str, int] = EventStream()
    iterator = aiter(stream)
    stream.push("A")
    assert await race_abort(anext(iterator), controller.signal) == "A"
    asyncio.get_running_loop().call_soon(controller.abort)
    with pytest.raises(AbortError):
        await race_abort(anext(iterator), controller.signal)
    stream.push("B")
    assert await anext(iterator) == "B"


async def closing() -> None:
    log: list[str] = []

    async def produce() -> None:
        try:
            while True:
                stream.push(1)
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            log.append("cleaned up")

    async def stop() -> None:
        producer.cancel()
        await asyncio.wait([producer])

    stream: EventStream[int, None] = EventStream(on_close=stop)
    producer = asyncio.ensure_future(produce())
    async with stream:
        async for _event in stream:
            break
    assert log == ["cleaned up"]
    assert producer.done()


@LOOPS
@pytest.mark.parametrize(
    ("scenario"),
    [
        pytest.param(delivery, marks=pytest.mark.criterion("02.04", "02.21")),
        pytest.param(cancelled_reads, marks=pytest.mark.criterion("02.51", "02.52")),
        pytest.param(backpressure, marks=pytest.mark.criterion("02.B14")),
        pytest.param(races, marks=pytest.mark.criterion("02.A40")),
        pytest.param(closing, marks=pytest.mark.criterion("02.W4")),
    ],
)
@pytest.mark.parametrize("debug", [False, True])
def test_a_stream_behaves_alike_on_every_loop(
    scenario: Callable[[], Coroutine[object, object, None]],
    loop: Callable[[], asyncio.AbstractEventLoop],
    debug: bool,
) -> None:
    made = loop()
    run(scenario(), loop_factory=lambda: made, debug=debug)


@pytest.mark.criterion("02.15", "02.W4")
async def test_a_failing_producer_ends_its_group_and_the_consumer_gets_the_failure() -> None:
    stream: EventStream[str, int] = EventStream()
    error = ValueError("broken")

    async def produce() -> None:
        stream.push("A")
        await asyncio.sleep(0)
        stream.fail(error)

    received: list[str] = []

    async def consume() -> None:
        async for event in stream:
            received.append(event)

    with pytest.raises(ExceptionGroup) as caught:
        async with asyncio.TaskGroup() as group:
            group.create_task(produce())
            group.create_task(consume())
    assert caught.value.exceptions == (error,)
    assert received == ["A"]


@pytest.mark.criterion("02.50", "02.W13")
async def test_a_sibling_that_fails_in_a_task_group_takes_the_reader_down_and_no_event() -> None:
    stream: EventStream[str, int] = EventStream()
    iterator = aiter(stream)

    outcomes: list[str] = []

    async def read() -> None:
        outcomes.append(await anext(iterator))

    async def fail() -> None:
        await asyncio.sleep(0)
        stream.push("A")
        raise KeyError("sibling")

    with pytest.raises(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(read())
            group.create_task(fail())
    if outcomes:
        assert outcomes == ["A"]
    else:
        assert await anext(iterator) == "A"


@pytest.mark.criterion("02.52", "02.W13")
async def test_a_timeout_around_the_loop_closes_the_stream_and_its_producer() -> None:
    log: list[str] = []

    async def stop() -> None:
        await asyncio.sleep(0)
        log.append("stopped")

    stream: EventStream[str, int] = EventStream(on_close=stop)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            async with stream:
                async for _event in stream:
                    pass
    assert log == ["stopped"]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.criterion("02.A36")
async def test_a_cancelled_parent_stops_the_race_of_its_child() -> None:
    log: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append("cleaned up")

    async def parent() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(race_abort(work(), AbortController().signal))

    task = asyncio.ensure_future(parent())
    for _ in range(4):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert log == ["cleaned up"]
