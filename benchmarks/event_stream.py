"""Delivering events from one producer to one consumer, beside the channels people use for it.

Cases: `buffered` (everything is pushed, then drained), `lock-step` (the consumer already waits when an event
arrives), `bursts of 16` (16 events a turn of the loop), `memory` (bytes a buffered event, container only).
The floor is a bare async generator: it has no second task and no buffer, so it takes no part in `memory`.

    python benchmarks/event_stream.py [--rounds N] [--case NAME] [--json FILE] [--quick]
"""

import asyncio
import contextlib
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from _harness import Run, main, version

from kickwheel_event_stream import EventStream

EVENTS = 30_000
BURST = {"buffered": 0, "lock-step": 1, "bursts of 16": 16, "memory": 0}
END = object()

Pushed = Callable[[object], None]
Drained = Callable[[], Awaitable[int]]
Channel = tuple[Pushed, Callable[[], None], Drained, Callable[[], Awaitable[None]]]
"""Push, finish, drain to the end with the result awaited, and close."""


async def nothing() -> None:
    """Most channels need no closing."""


def kickwheel_unbounded() -> Channel:
    stream: EventStream[object, str] = EventStream()

    async def drain() -> int:
        count = 0
        async for _ in stream:
            count += 1
        await stream.result
        return count

    return stream.push, lambda: stream.finish("done"), drain, nothing


def kickwheel_bounded() -> Channel:
    """A capacity that is never reached: the price of the bounded form alone."""
    stream: EventStream[object, str] = EventStream(capacity=EVENTS + 1)

    async def drain() -> int:
        count = 0
        async for _ in stream:
            count += 1
        await stream.result
        return count

    return stream.push, lambda: stream.finish("done"), drain, nothing


def _queue_like(
    put: Pushed, get: Callable[[], Awaitable[object]], close: Callable[[], Awaitable[None]] = nothing
) -> Channel:
    """Make a channel of a queue: an end marker, and a future for the result."""
    result: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def finish() -> None:
        put(END)
        result.set_result("done")

    async def drain() -> int:
        count = 0
        while await get() is not END:
            count += 1
        await result
        return count

    return put, finish, drain, close


def asyncio_queue() -> Channel:
    queue: asyncio.Queue[object] = asyncio.Queue()
    return _queue_like(queue.put_nowait, queue.get)


def anyio_stream() -> Channel:
    import anyio

    send, receive = anyio.create_memory_object_stream[object](float("inf"))
    result: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def finish() -> None:
        result.set_result("done")
        send.close()

    async def drain() -> int:
        count = 0
        async with receive:
            async for _ in receive:
                count += 1
        await result
        return count

    return send.send_nowait, finish, drain, nothing


def janus_queue() -> Channel:
    import janus

    queue: Any = janus.Queue()

    async def close() -> None:
        queue.close()
        await queue.wait_closed()

    return _queue_like(queue.async_q.put_nowait, queue.async_q.get, close)


def aiologic_queue() -> Channel:
    import aiologic

    queue: Any = aiologic.SimpleQueue()
    return _queue_like(queue.green_put, queue.async_get)


async def _push_then_drain(make: Callable[[], Channel], events: list[object]) -> float:
    push, finish, drain, close = make()
    started = time.perf_counter()
    for event in events:
        push(event)
    finish()
    assert await drain() == len(events)
    taken = time.perf_counter() - started
    await close()
    return taken / len(events)


async def _push_in_bursts(make: Callable[[], Channel], events: list[object], burst: int) -> float:
    push, finish, drain, close = make()

    async def produce() -> None:
        left = burst
        for event in events:
            push(event)
            left -= 1
            if not left:
                left = burst
                await asyncio.sleep(0)
        finish()

    started = time.perf_counter()
    consumer = asyncio.ensure_future(drain())
    await asyncio.sleep(0)
    producer = asyncio.ensure_future(produce())
    assert await consumer == len(events)
    await producer
    taken = time.perf_counter() - started
    await close()
    return taken / len(events)


async def _memory(make: Callable[[], Channel], events: list[object]) -> float:
    push, finish, drain, close = make()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for event in events:
        push(event)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    finish()
    await drain()
    await close()
    return (after - before) / len(events) / 1e6  # the table multiplies by a million: bytes an event


def channel(make: Callable[[], Channel], *needs: str) -> Callable[[str], Run | None]:
    def contender(case: str) -> Run | None:
        version(*needs)  # an absent peer is named and left out

        def run() -> float:
            events: list[object] = [object() for _ in range(EVENTS)]
            work: Coroutine[object, object, float]
            if case == "memory":
                work = _memory(make, events)
            elif BURST[case]:
                work = _push_in_bursts(make, events, BURST[case])
            else:
                work = _push_then_drain(make, events)
            return asyncio.run(work)

        return run

    return contender


async def _source(events: list[object], burst: int) -> AsyncIterator[object]:
    left = burst
    for event in events:
        left -= 1
        if not left:
            left = burst
            await asyncio.sleep(0)
        yield event


async def _count(source: AsyncIterator[object]) -> int:
    count = 0
    async for _ in source:
        count += 1
    return count


async def _count_by_aiostream(source: AsyncIterator[object]) -> int:
    from aiostream import stream

    async with stream.iterate(source).stream() as streamed:
        return await _count(streamed)


def pulled(
    count: Callable[[AsyncIterator[object]], Awaitable[int]], *needs: str
) -> Callable[[str], Run | None]:
    def contender(case: str) -> Run | None:
        version(*needs)
        if case == "memory":
            return None

        async def work() -> float:
            events: list[object] = [object() for _ in range(EVENTS)]
            async with contextlib.aclosing(_source(events, BURST[case])) as source:  # type: ignore[type-var]
                started = time.perf_counter()
                assert await count(source) == EVENTS
                return (time.perf_counter() - started) / EVENTS

        return lambda: asyncio.run(work())

    return contender


CONTENDERS = {
    "bare async generator": pulled(_count),
    "kickwheel EventStream": channel(kickwheel_unbounded),
    "kickwheel EventStream(capacity=n)": channel(kickwheel_bounded),
    "asyncio.Queue": channel(asyncio_queue),
    "anyio memory stream": channel(anyio_stream, "anyio"),
    "janus.Queue": channel(janus_queue, "janus"),
    "aiologic.SimpleQueue": channel(aiologic_queue, "aiologic"),
    "aiostream iterate": pulled(_count_by_aiostream, "aiostream"),
}

TARGETS = {
    "buffered": "at most 3.0 times the floor (stretch 2.5) and 0.6 of asyncio.Queue",
    "lock-step": "at most 2.0 times the floor and no slower than asyncio.Queue",
    "bursts of 16": "at most 2.2 times the floor",
    "memory": "about one reference an event; the column says bytes",
}

if __name__ == "__main__":
    main(
        "Event stream: one producer, one consumer, one result",
        list(BURST),
        CONTENDERS,
        "bare async generator",
        targets=TARGETS,
    )
