"""Reads that begin before the producer has had its first turn: they behave as all others do."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from kickwheel_event_stream import AbortController, EventStream
from kickwheel_event_stream.production import Producer, start_production

Source = Callable[[], AsyncIterator[str]]


class Plain(Producer[str, str]):
    """Deliver the items of a source as they are."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def open(self) -> object:
        return self.source()

    def accept(self, item: object, /) -> str:
        assert isinstance(item, str)
        return item

    def finish(self) -> str:
        return "done"


async def two() -> AsyncIterator[str]:
    yield "a"
    yield "b"


async def nothing() -> AsyncIterator[str]:
    return
    yield


async def broken() -> AsyncIterator[str]:
    raise LookupError("no source today")
    yield


class Gated:
    """A source that waits for its gate before its events."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    async def __call__(self) -> AsyncIterator[str]:
        await self.gate.wait()
        yield "a"
        yield "b"


class Early:
    """A stream with `reads` reads that all begin in the turn before the producer's first.

    The first reader starts the production and the others stand in the loop's queue already. `between` is
    called after the producer's first turn and before any reader resumes.
    """

    def __init__(self, source: Source, reads: int = 1, controller: AbortController | None = None) -> None:
        self.source = source
        self.signal = None if controller is None else controller.signal
        self.between: Callable[[], object] = lambda: None
        self.tasks = [asyncio.Task(self._read(first=number == 0)) for number in range(reads)]

    async def _read(self, *, first: bool) -> str:
        if first:
            self.stream: EventStream[str, str] = start_production(Plain(self.source), self.signal)
            self.iterator = aiter(self.stream)
            asyncio.get_running_loop().call_soon(lambda: self.between())
        return await anext(self.iterator)

    async def outcomes(self) -> list[str | BaseException]:
        return await asyncio.gather(*self.tasks, return_exceptions=True)


def kinds(outcomes: list[str | BaseException]) -> list[object]:
    return [each if isinstance(each, str) else type(each) for each in outcomes]


@pytest.mark.criterion("02.54")
async def test_events_go_to_the_oldest_read() -> None:
    early = Early(two, reads=3)
    assert kinds(await early.outcomes()) == ["a", "b", StopAsyncIteration]
    assert await early.stream.result == "done"


async def test_a_read_of_an_empty_source_ends() -> None:
    early = Early(nothing, reads=2)
    assert kinds(await early.outcomes()) == [StopAsyncIteration] * 2


async def test_every_read_raises_the_failure_and_the_slot_is_free() -> None:
    early = Early(broken, reads=2)
    outcomes = await early.outcomes()
    assert kinds(outcomes) == [LookupError] * 2
    assert outcomes[0] is outcomes[1]
    aiter(early.stream)


async def test_an_abort_before_the_first_turn_reaches_every_read() -> None:
    controller = AbortController()
    reason = TimeoutError("too slow")
    early = Early(two, reads=2, controller=controller)
    asyncio.get_running_loop().call_soon(controller.abort, reason)
    outcomes = await early.outcomes()
    assert outcomes == [reason, reason]


async def test_a_source_that_waits_keeps_the_reads_waiting_in_their_order() -> None:
    source = Gated()
    early = Early(source, reads=2)
    early.between = source.gate.set
    assert await early.outcomes() == ["a", "b"]


@pytest.mark.criterion("02.51")
async def test_a_read_cancelled_in_the_turn_of_its_event_leaves_it_to_the_next() -> None:
    early = Early(two, reads=2)
    early.between = early.tasks[0].cancel
    assert kinds(await early.outcomes()) == [asyncio.CancelledError, "a"]
    assert await anext(early.iterator) == "b"


@pytest.mark.criterion("02.51")
async def test_the_only_read_cancelled_in_the_turn_of_its_event_loses_nothing() -> None:
    early = Early(two)
    early.between = early.tasks[0].cancel
    assert kinds(await early.outcomes()) == [asyncio.CancelledError]
    assert [event async for event in early.iterator] == ["a", "b"]


@pytest.mark.criterion("02.50")
async def test_a_read_cancelled_while_the_source_waits_loses_nothing() -> None:
    source = Gated()
    early = Early(source, reads=2)
    for _ in range(5):  # far enough for every read to find that there is nothing yet
        await asyncio.sleep(0)
    early.tasks[0].cancel()
    source.gate.set()
    assert kinds(await early.outcomes()) == [asyncio.CancelledError, "a"]
    assert await anext(early.iterator) == "b"


@pytest.mark.criterion("02.55")
async def test_closing_the_iterator_ends_the_reads_and_frees_the_slot() -> None:
    source = Gated()
    early = Early(source, reads=2)
    closing: list[asyncio.Task[None]] = []
    early.between = lambda: closing.append(asyncio.Task(early.iterator.aclose()))
    assert kinds(await early.outcomes()) == [StopAsyncIteration] * 2
    await closing[0]
    source.gate.set()
    assert [event async for event in early.stream] == ["a", "b"]


async def test_closing_the_stream_ends_the_reads() -> None:
    source = Gated()
    early = Early(source, reads=2)
    closing: list[asyncio.Task[None]] = []
    early.between = lambda: closing.append(asyncio.Task(early.stream.aclose()))
    assert kinds(await early.outcomes()) == [StopAsyncIteration] * 2
    await closing[0]
    assert early.stream.state == "failed"
