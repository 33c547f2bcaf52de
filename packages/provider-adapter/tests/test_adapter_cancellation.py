"""An abort is seen at every step, wins every tie, and leaves nothing behind (section G)."""

import asyncio
import contextlib
import gc
import weakref
from collections.abc import AsyncIterator, Callable
from typing import Final

import pytest

from kickwheel_event_stream import AbortController, AbortError, AbortSignal, EventStream
from kickwheel_protocol import ModelChunk, ModelRequest, ModelResponse, TextDeltaChunk
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError

REQUEST = ModelRequest("request-001", ())
Record = dict[str, object]
USAGE: Final = {"inputTokens": 1, "outputTokens": 2}
START: Final[Record] = {"type": "response_start", "responseId": "r1", "role": "assistant"}
TEXT: Final[Record] = {"type": "text_delta", "text": "hello"}
END: Final[Record] = {"type": "response_end", "responseId": "r1", "stopReason": "stop", "usage": USAGE}
RECORDS: Final[list[object]] = [START, TEXT, END]


def adapter_of(*sources: object) -> FixtureProviderAdapter:
    return FixtureProviderAdapter(
        {"schemaVersion": 1, "responses": [{"records": source} for source in sources]}
    )


async def failure_of(
    stream: EventStream[ModelChunk, ModelResponse],
) -> tuple[list[ModelChunk], Exception]:
    chunks: list[ModelChunk] = []
    with pytest.raises(Exception) as by_iteration:
        async for chunk in stream:
            chunks.append(chunk)
    with pytest.raises(Exception) as by_result:
        await stream.result
    assert by_iteration.value is by_result.value
    return chunks, by_result.value


@pytest.mark.criterion("05.76")
@pytest.mark.parametrize("source", ["array", "async"])
async def test_an_aborted_signal_leaves_the_response_queued(source: str) -> None:
    async def records() -> AsyncIterator[object]:
        for record in RECORDS:
            yield record

    adapter = adapter_of(RECORDS if source == "array" else records())
    controller = AbortController()
    controller.abort()
    for count in (1, 2):
        chunks, error = await failure_of(adapter.stream(REQUEST, controller.signal))
        assert isinstance(error, AbortError)
        assert (chunks, adapter.call_count, adapter.pending_response_count) == ([], count, 1)
    assert (await adapter.stream(REQUEST, AbortController().signal).result).id == "r1"
    assert (adapter.call_count, adapter.pending_response_count) == (3, 0)


@pytest.mark.criterion("05.76")
async def test_an_aborted_signal_is_reported_rather_than_an_empty_queue() -> None:
    controller = AbortController()
    controller.abort("too late")
    _, error = await failure_of(adapter_of().stream(REQUEST, controller.signal))
    assert isinstance(error, AbortError)
    assert error.reason == "too late"


@pytest.mark.criterion("05.77")
async def test_a_stalled_source_is_left_promptly_and_its_cleanup_runs() -> None:
    closed = asyncio.Event()

    async def stalled() -> AsyncIterator[object]:
        try:
            yield START
            yield TEXT
            await asyncio.Event().wait()
        finally:
            closed.set()

    controller = AbortController()
    stream = adapter_of(stalled()).stream(REQUEST, controller.signal)
    reads = aiter(stream)
    assert await anext(reads) == TextDeltaChunk("request-001", "hello")
    read = asyncio.ensure_future(anext(reads))
    result = asyncio.ensure_future(_result_of(stream))
    await asyncio.sleep(0)
    controller.abort()
    for waiting in (read, result):
        with pytest.raises(AbortError):
            await waiting
    await closed.wait()
    await stream.aclose()


async def _result_of(stream: EventStream[ModelChunk, ModelResponse]) -> ModelResponse:
    return await stream.result


@pytest.mark.criterion("05.78")
async def test_an_exception_given_as_reason_is_the_failure_itself() -> None:
    reason = KeyError("user left")

    async def stalled() -> AsyncIterator[object]:
        yield START
        controller.abort(reason)
        yield TEXT

    controller = AbortController()
    async with adapter_of(stalled()).stream(REQUEST, controller.signal) as stream:
        _, error = await failure_of(stream)
    assert error is reason
    early = AbortController()
    early.abort(reason)
    _, error = await failure_of(adapter_of(RECORDS).stream(REQUEST, early.signal))
    assert error is reason


@pytest.mark.criterion("05.79")
@pytest.mark.parametrize("at", range(4))
async def test_an_abort_inside_a_step_stops_everything_that_step_would_do(at: int) -> None:
    """`at` is the step that aborts: of three records, and of the end after them."""

    async def records() -> AsyncIterator[object]:
        for index, record in enumerate(RECORDS):
            if index == at:
                controller.abort()
            yield record
        if at == len(RECORDS):
            controller.abort()

    controller = AbortController()
    async with adapter_of(records()).stream(REQUEST, controller.signal) as stream:
        chunks, error = await failure_of(stream)
    assert isinstance(error, AbortError)
    assert len(chunks) == (1 if at > 1 else 0)


@pytest.mark.criterion("05.79")
async def test_an_abort_between_the_terminal_and_the_end_of_the_source_still_fails() -> None:
    ended, gate = asyncio.Event(), asyncio.Event()

    async def records() -> AsyncIterator[object]:
        for record in RECORDS:
            yield record
        ended.set()
        await gate.wait()

    controller = AbortController()
    async with adapter_of(records()).stream(REQUEST, controller.signal) as stream:
        await ended.wait()
        controller.abort()
        gate.set()
        chunks, error = await failure_of(stream)
    assert isinstance(error, AbortError)
    assert len(chunks) == 1


class LazySignal:
    """A foreign signal that aborts without telling anybody: only a look at it shows the abort."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def aborted(self) -> bool:
        self.looks -= 1
        return self.looks < 0

    @property
    def reason(self) -> Exception | None:
        return KeyError("lazy")

    def raise_if_aborted(self) -> None:
        raise AssertionError("not needed")

    async def wait(self) -> None:
        raise AssertionError("not needed")

    def add_callback(self, callback: Callable[[], object]) -> Callable[[], None]:
        return lambda: None


@pytest.mark.criterion("05.79")
@pytest.mark.parametrize("source", ["array", "async"])
async def test_the_signal_itself_is_looked_at_before_taking_and_at_every_step(source: str) -> None:
    async def records() -> AsyncIterator[object]:
        for record in RECORDS:
            yield record

    taken: list[int] = []
    for looks in range(30):
        adapter = adapter_of(RECORDS if source == "array" else records())
        async with adapter.stream(REQUEST, LazySignal(looks)) as stream:
            try:
                await stream.result
            except KeyError:
                taken.append(adapter.pending_response_count)
            else:
                break
    else:
        pytest.fail("the stream never got through")
    assert taken[0] == 1  # the first look comes before the queue is touched
    assert taken[-1] == 0
    assert len(taken) >= 4  # before the queue, at each of the records, before settling


@pytest.mark.criterion("05.80")
@pytest.mark.parametrize("how", ["because of it", "after it", "at once"])
async def test_the_abort_wins_over_a_failure_of_the_source(how: str) -> None:
    reason = KeyError("reason")

    async def records() -> AsyncIterator[object]:
        yield START
        if how == "at once":
            controller.abort(reason)
            raise ValueError(how)
        try:
            waiting.set()
            await asyncio.Event().wait()
        finally:
            if how == "after it":
                await asyncio.sleep(0)
            raise ValueError(how)

    controller, waiting = AbortController(), asyncio.Event()
    async with adapter_of(records()).stream(REQUEST, controller.signal) as stream:
        if how != "at once":
            await waiting.wait()
            controller.abort(reason)
        _, error = await failure_of(stream)
    assert error is reason


@pytest.mark.criterion("05.80")
async def test_the_abort_wins_over_a_bad_record_of_the_same_step() -> None:
    async def records() -> AsyncIterator[object]:
        yield START
        controller.abort()
        yield None

    controller = AbortController()
    async with adapter_of(records()).stream(REQUEST, controller.signal) as stream:
        _, error = await failure_of(stream)
    assert isinstance(error, AbortError)


@pytest.mark.criterion("05.81")
async def test_an_abort_after_the_end_changes_nothing() -> None:
    controller = AbortController()
    good = adapter_of(RECORDS).stream(REQUEST, controller.signal)
    bad = adapter_of([None]).stream(REQUEST, controller.signal)
    response = await good.result
    with pytest.raises(FixtureProviderError):
        await bad.result
    controller.abort()
    assert await good.result is response
    assert len([chunk async for chunk in good]) == 1
    _, error = await failure_of(bad)
    assert isinstance(error, FixtureProviderError)


class CountingSignal(LazySignal):
    """A signal that never aborts and counts the callbacks it holds."""

    def __init__(self) -> None:
        super().__init__(10**9)
        self.held: list[Callable[[], object]] = []
        self.most = 0

    def add_callback(self, callback: Callable[[], object]) -> Callable[[], None]:
        self.held.append(callback)
        self.most = max(self.most, len(self.held))
        return lambda: self.held.remove(callback)


@pytest.mark.criterion("05.82")
async def test_no_callback_stays_on_the_signal() -> None:
    async def many() -> AsyncIterator[object]:
        yield START
        for _ in range(1_000):
            yield TEXT
        yield END

    signal = CountingSignal()
    for source in (RECORDS, [None], many()):
        with contextlib.suppress(FixtureProviderError):
            await adapter_of(source).stream(REQUEST, signal).result
        assert signal.held == []
    assert signal.most == 1


@pytest.mark.criterion("05.82")
async def test_a_long_lived_signal_keeps_no_stream_alive() -> None:
    controller = AbortController()
    stream = adapter_of(RECORDS).stream(REQUEST, controller.signal)
    await stream.result
    await asyncio.sleep(0)
    dead = weakref.ref(stream)
    del stream
    gc.collect()
    assert dead() is None
    assert not controller.signal.aborted


@pytest.mark.criterion("05.96")
@pytest.mark.parametrize("signals", ["one", "any"])
async def test_an_abort_in_the_turn_of_the_call_leaves_the_response_queued(signals: str) -> None:
    controller = AbortController()
    signal = (
        controller.signal if signals == "one" else AbortSignal.any(controller.signal, AbortSignal.never())
    )
    adapter = adapter_of(RECORDS)
    stream = adapter.stream(REQUEST, signal)
    controller.abort()
    _, error = await failure_of(stream)
    assert isinstance(error, AbortError)
    for _ in range(5):
        await asyncio.sleep(0)
    assert (adapter.call_count, adapter.pending_response_count) == (1, 1)
