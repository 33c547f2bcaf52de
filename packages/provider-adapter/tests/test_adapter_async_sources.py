"""Async record sources are strangers: opened once, owned once, closed once (section F)."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Awaitable
from typing import Final, NoReturn

import pytest

from kickwheel_event_stream import AbortController, AbortError, EventStream, claim_iterator
from kickwheel_protocol import (
    ModelChunk,
    ModelRequest,
    ModelResponse,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
)
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError, FixtureProviderErrorCode

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
    stream: EventStream[ModelChunk, ModelResponse], code: FixtureProviderErrorCode
) -> FixtureProviderError:
    """The one error of both channels, checked for its code; the records come before the failure."""
    with pytest.raises(FixtureProviderError) as by_iteration:
        _ = [chunk async for chunk in stream]
    with pytest.raises(FixtureProviderError) as by_result:
        await stream.result
    assert by_iteration.value is by_result.value
    assert (by_result.value.code, by_result.value.provider_code) == (code, None)
    return by_result.value


class Steps:
    """A hand-written iterator that counts what is asked of it."""

    def __init__(self, *records: object, fails: BaseException | None = None) -> None:
        self.left = list(records)
        self.fails = fails
        self.steps = self.opened = self.closed = 0

    def __aiter__(self) -> "Steps":
        self.opened += 1
        return self

    async def __anext__(self) -> object:
        self.steps += 1
        if self.left:
            return self.left.pop(0)
        raise self.fails if self.fails is not None else StopAsyncIteration

    async def aclose(self) -> None:
        self.closed += 1


class Handing:
    """A source that hands out the iterator it was given."""

    def __init__(self, iterator: object) -> None:
        self.iterator = iterator

    def __aiter__(self) -> AsyncIterator[object]:
        return self.iterator  # pyright: ignore[reportReturnType] - anything at all, on purpose


@pytest.mark.criterion("05.62")
async def test_a_reusable_source_makes_one_iterator_for_each_response() -> None:
    made: list[Steps] = []

    class Reusable:
        def __aiter__(self) -> AsyncIterator[object]:
            made.append(Steps(*RECORDS))
            return made[-1]

    source = Reusable()
    adapter = adapter_of(source, source)
    for count in (1, 2):
        assert (await adapter.stream(REQUEST).result).message.text == "hello"
        assert len(made) == count


@pytest.mark.criterion("05.63")
@pytest.mark.parametrize("error", [ValueError("no"), StopAsyncIteration(), StopIteration(), KeyError()])
async def test_a_source_that_cannot_be_opened_is_an_invalid_fixture(error: Exception) -> None:
    class Closed:
        def __aiter__(self) -> NoReturn:
            raise error

    failure = await failure_of(adapter_of(Closed()).stream(REQUEST), "PROVIDER_INVALID_FIXTURE")
    assert failure.record_index is None
    assert error in (failure.__cause__, getattr(failure.__cause__, "__cause__", None))


@pytest.mark.criterion("05.64")
@pytest.mark.parametrize("iterator", [None, 5, "x", [START], object(), iter([START]), Handing(None)])
async def test_a_source_that_gives_no_iterator_is_an_invalid_fixture(iterator: object) -> None:
    await failure_of(adapter_of(Handing(iterator)).stream(REQUEST), "PROVIDER_INVALID_FIXTURE")


class Closing:
    def __init__(self) -> None:
        self.closed = 0

    async def aclose(self) -> None:
        self.closed += 1
        raise OSError("cleanup fails too")


class NoStep(Closing):
    pass


class StepIsNoMethod(Closing):
    __anext__ = 5


class StepIsNone(Closing):
    __anext__ = None


class StepRaises(Closing):
    @property
    def __anext__(self) -> NoReturn:
        raise ValueError("no step for you")


@pytest.mark.criterion("05.65")
@pytest.mark.parametrize("kind", [NoStep, StepIsNoMethod, StepIsNone, StepRaises])
async def test_an_iterator_without_a_usable_step_is_closed_once(kind: type[Closing]) -> None:
    iterator = kind()
    async with adapter_of(Handing(iterator)).stream(REQUEST) as stream:
        await failure_of(stream, "PROVIDER_INVALID_FIXTURE")
    assert iterator.closed == 1


@pytest.mark.criterion("05.66")
@pytest.mark.parametrize("error", [ValueError("source"), OSError(5, "read"), TypeError(), StopIteration(3)])
async def test_a_failing_step_is_kept_as_the_cause_whatever_the_cleanup_does(error: Exception) -> None:
    class Failing(Steps):
        async def aclose(self) -> None:
            await super().aclose()
            raise RuntimeError("cleanup")

    source = Failing(START, TEXT, fails=error)
    async with adapter_of(source).stream(REQUEST) as stream:
        failure = await failure_of(stream, "PROVIDER_INVALID_FIXTURE")
    assert error in (failure.__cause__, getattr(failure.__cause__, "__cause__", None))
    assert (source.closed, failure.record_index) == (1, None)


@pytest.mark.criterion("05.66")
async def test_the_cause_is_the_very_exception_of_a_generator() -> None:
    error = ValueError("source")

    async def records() -> AsyncIterator[object]:
        yield START
        raise error

    failure = await failure_of(adapter_of(records()).stream(REQUEST), "PROVIDER_INVALID_FIXTURE")
    assert failure.__cause__ is error


@pytest.mark.criterion("05.67")
async def test_an_error_of_our_class_from_a_source_is_no_error_of_ours() -> None:
    forged = FixtureProviderError("PROVIDER_TRANSPORT_ERROR", "forged", provider_code="FORGED_UPSTREAM")

    async def records() -> AsyncIterator[object]:
        yield START
        raise forged

    failure = await failure_of(adapter_of(records()).stream(REQUEST), "PROVIDER_INVALID_FIXTURE")
    assert failure is not forged
    assert failure.__cause__ is forged

    class ForgedOpening:
        def __aiter__(self) -> NoReturn:
            raise forged

    failure = await failure_of(adapter_of(ForgedOpening()).stream(REQUEST), "PROVIDER_INVALID_FIXTURE")
    assert failure is not forged


class Untouchable:
    def _touched(self, *_: object) -> NoReturn:
        raise AssertionError("the value was looked at")

    __repr__ = __str__ = __bool__ = __await__ = _touched

    def __eq__(self, other: object) -> bool:
        self._touched()

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as strange as can be


@pytest.mark.criterion("05.68")
async def test_a_value_carried_by_the_end_is_not_looked_at() -> None:
    source = Steps(*RECORDS, fails=StopAsyncIteration(Untouchable()))
    assert (await adapter_of(source).stream(REQUEST).result).id == "r1"


@pytest.mark.criterion("05.69")
@pytest.mark.parametrize("step", [None, 5, START, Untouchable])
async def test_a_step_that_cannot_be_awaited_is_an_invalid_fixture(step: object) -> None:
    class Plain:
        def __aiter__(self) -> "Plain":
            return self

        def __anext__(self) -> Awaitable[object]:
            return step  # pyright: ignore[reportReturnType] - on purpose

    await failure_of(adapter_of(Plain()).stream(REQUEST), "PROVIDER_INVALID_FIXTURE")


@pytest.mark.criterion("05.70", "05.73")
async def test_an_iterator_in_use_is_refused_and_its_owner_is_untouched() -> None:
    gate = asyncio.Event()
    closed: list[str] = []

    async def records() -> AsyncIterator[object]:
        try:
            yield START
            await gate.wait()
            yield TEXT
            yield END
        finally:
            closed.append("closed")

    shared = records()
    adapter = adapter_of(Handing(shared), Handing(shared), RECORDS)
    first = adapter.stream(ModelRequest("request-first", ()))
    await asyncio.sleep(0)
    await failure_of(adapter.stream(ModelRequest("request-second", ())), "PROVIDER_ITERATOR_REUSED")
    assert adapter.pending_response_count == 1  # the refused response is lost, the next one is not
    assert closed == []
    gate.set()
    assert [chunk async for chunk in first] == [TextDeltaChunk("request-first", "hello")]
    assert (await first.result).request_id == "request-first"
    assert (await adapter.stream(REQUEST).result).id == "r1"


@pytest.mark.criterion("05.71")
async def test_a_used_iterator_is_refused_by_every_adapter_ever_after() -> None:
    shared = Steps(*RECORDS)
    assert (await adapter_of(Handing(shared)).stream(REQUEST).result).id == "r1"
    steps = shared.steps
    for _ in range(2):
        failure = await failure_of(adapter_of(shared).stream(REQUEST), "PROVIDER_ITERATOR_REUSED")
        assert failure.record_index is None
    assert (shared.steps, shared.closed) == (steps, 0)


@pytest.mark.criterion("05.72")
async def test_an_iterator_owned_elsewhere_in_the_process_is_refused() -> None:
    shared = Steps(*RECORDS)
    assert claim_iterator(shared)  # as any other model's stream does
    await failure_of(adapter_of(shared).stream(REQUEST), "PROVIDER_ITERATOR_REUSED")
    assert (shared.steps, shared.closed) == (0, 0)
    ours = Steps(*RECORDS)
    await adapter_of(ours).stream(REQUEST).result
    assert not claim_iterator(ours)


BAD_ENDINGS: Final[list[tuple[str, list[object]]]] = [
    ("bad record", [START, None]),
    ("after the end", [START, END, TEXT]),
    ("transport error", [{"type": "transport_error", "code": "X", "message": "y"}]),
]


@pytest.mark.criterion("05.74")
@pytest.mark.parametrize(("name", "records"), BAD_ENDINGS, ids=[name for name, _ in BAD_ENDINGS])
async def test_a_source_that_has_not_ended_is_closed_exactly_once(name: str, records: list[object]) -> None:
    source = Steps(*records, *RECORDS)
    async with adapter_of(source).stream(REQUEST) as stream:
        with pytest.raises(FixtureProviderError):
            await stream.result
    assert (source.closed, source.steps) == (1, len(records))


@pytest.mark.criterion("05.74")
@pytest.mark.parametrize("records", [RECORDS, [START]], ids=["success", "no terminal"])
async def test_a_source_that_said_it_ended_is_not_closed(records: list[object]) -> None:
    source = Steps(*records)
    async with adapter_of(source).stream(REQUEST) as stream:
        if records is RECORDS:
            await stream.result
        else:
            await failure_of(stream, "PROVIDER_MISSING_TERMINAL")
    assert source.closed == 0


@pytest.mark.criterion("05.74")
async def test_a_failing_stream_does_not_wait_for_the_cleanup() -> None:
    cleaning, gate = asyncio.Event(), asyncio.Event()

    class Slow(Steps):
        async def aclose(self) -> None:
            cleaning.set()
            await gate.wait()
            await super().aclose()
            raise RuntimeError("cleanup")

    source = Slow(START, None)
    stream = adapter_of(source).stream(REQUEST)
    with pytest.raises(FixtureProviderError):
        await stream.result
    await cleaning.wait()
    assert source.closed == 0
    gate.set()
    await stream.aclose()
    assert source.closed == 1


@pytest.mark.criterion("05.74")
@pytest.mark.parametrize("aclose", [None, 5, "x", lambda: None, lambda: 5])
async def test_a_cleanup_that_is_none_changes_nothing(aclose: object) -> None:
    source = Steps(START, None)
    source.__dict__["aclose"] = aclose
    async with adapter_of(source).stream(REQUEST) as stream:
        await failure_of(stream, "PROVIDER_INVALID_EVENT")


@pytest.mark.criterion("05.75")
async def test_an_array_has_nothing_to_close() -> None:
    for records in ([START, None], RECORDS, (START, TEXT, END)):
        async with adapter_of(records).stream(REQUEST) as stream:
            with contextlib.suppress(FixtureProviderError):
                await stream.result
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.criterion("05.93")
async def test_a_cancellation_nobody_asked_for_is_an_invalid_fixture() -> None:
    source = Steps(START, TEXT, fails=asyncio.CancelledError())
    async with adapter_of(source).stream(REQUEST) as stream:
        await failure_of(stream, "PROVIDER_INVALID_FIXTURE")
    assert source.closed == 1


@pytest.mark.criterion("05.93")
async def test_a_cancelled_producer_settles_the_stream_and_closes_the_source() -> None:
    waiting, closed = asyncio.Event(), asyncio.Event()

    async def records() -> AsyncIterator[object]:
        try:
            yield START
            waiting.set()
            await asyncio.Event().wait()
        finally:
            closed.set()

    stream = adapter_of(records()).stream(REQUEST)
    await waiting.wait()
    (producer,) = asyncio.all_tasks() - {asyncio.current_task()}
    producer.cancel()
    with pytest.raises(AbortError):
        await stream.result
    await closed.wait()
    await asyncio.wait([producer])
    assert producer.cancelled()


@pytest.mark.criterion("05.94")
async def test_a_record_changed_after_it_was_yielded_shows_what_it_was() -> None:
    arguments: dict[str, object] = {"list": [1]}
    call: Record = {"type": "tool_call", "id": "c1", "name": "add", "arguments": arguments}
    start, end = dict(START), END | {"stopReason": "tool_call", "usage": dict(USAGE)}

    async def records() -> AsyncIterator[object]:
        yield start
        start["responseId"] = "changed"
        yield call
        call["id"] = "changed"
        arguments["list"] = "changed"
        yield end
        end["usage"] = None

    stream = adapter_of(records()).stream(REQUEST)
    tool = ToolCall("c1", "add", {"list": [1]})
    assert [chunk async for chunk in stream] == [ToolCallChunk("request-001", tool)]
    response = await stream.result
    assert (response.id, response.message.content, response.usage.input_tokens) == ("r1", (tool,), 1)


@pytest.mark.criterion("05.95")
@pytest.mark.parametrize("way", ["break", "error", "unread"])
async def test_leaving_the_block_early_closes_the_source_and_leaves_no_task(way: str) -> None:
    closed: list[str] = []

    async def records() -> AsyncIterator[object]:
        try:
            yield START
            while True:
                yield TEXT
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            closed.append("closed")

    async def leave() -> None:
        async with adapter_of(records()).stream(REQUEST) as stream:
            if way == "unread":
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                return
            async for _ in stream:
                if way == "error":
                    raise KeyError(way)
                break

    try:
        await leave()
    except KeyError:
        assert way == "error"
    assert closed == ["closed"]
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.criterion("05.95")
async def test_a_source_left_before_its_first_step_is_closed_too() -> None:
    controller = AbortController()
    source = Steps(*RECORDS)
    async with adapter_of(source).stream(REQUEST, controller.signal):
        pass
    assert (source.opened, source.closed) in {(0, 0), (1, 1)}
    gc.collect()
    assert len(asyncio.all_tasks()) == 1
