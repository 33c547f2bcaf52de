"""The terminal call, the result and its waiters, awkward failures."""

import asyncio
import gc
import traceback
import weakref
from collections.abc import Awaitable, Callable

import pytest

from kickwheel_event_stream import EventStream, StreamClosedError


async def turn() -> None:
    await asyncio.sleep(0)


def finished() -> EventStream[str, int]:
    stream: EventStream[str, int] = EventStream()
    stream.finish(1)
    return stream


def failed(error: Exception | None = None) -> EventStream[str, int]:
    stream: EventStream[str, int] = EventStream()
    stream.fail(ValueError("broken") if error is None else error)
    return stream


CALLS: dict[str, Callable[[EventStream[str, int]], None]] = {
    "push": lambda stream: stream.push("late"),
    "finish": lambda stream: stream.finish(2),
    "fail": lambda stream: stream.fail(KeyError("late")),
}


@pytest.mark.parametrize(
    "call",
    [
        pytest.param("finish", marks=pytest.mark.criterion("02.10")),
        pytest.param("fail", marks=pytest.mark.criterion("02.10")),
        pytest.param("push", marks=pytest.mark.criterion("02.11")),
    ],
)
async def test_a_finished_stream_refuses_the_producer_and_keeps_its_result(call: str) -> None:
    stream: EventStream[str, int] = EventStream()
    stream.push("A")
    stream.finish(1)
    with pytest.raises(StreamClosedError, match=r"already terminal \(finished\)") as caught:
        CALLS[call](stream)
    assert isinstance(caught.value, RuntimeError)
    assert (stream.state, await stream.result) == ("finished", 1)
    assert [event async for event in stream] == ["A"]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param("finish", marks=pytest.mark.criterion("02.12")),
        pytest.param("fail", marks=pytest.mark.criterion("02.12")),
        pytest.param("push", marks=pytest.mark.criterion("02.11")),
    ],
)
async def test_a_failed_stream_refuses_the_producer_and_keeps_its_failure(call: str) -> None:
    error = ValueError("broken")
    stream: EventStream[str, int] = EventStream()
    stream.push("A")
    stream.fail(error)
    with pytest.raises(StreamClosedError, match=r"already terminal \(failed\)"):
        CALLS[call](stream)
    assert stream.state == "failed"
    iterator = aiter(stream)
    assert await anext(iterator) == "A"
    with pytest.raises(ValueError, match="broken") as caught:
        await anext(iterator)
    assert caught.value is error


@pytest.mark.criterion("02.13")
async def test_the_result_is_there_before_the_events_are_drained() -> None:
    stream: EventStream[str, int] = EventStream()
    stream.push("A")
    stream.finish(7)
    assert await stream.result == 7
    assert [event async for event in stream] == ["A"]


@pytest.mark.criterion("02.14")
async def test_the_failure_is_the_result_at_once_and_comes_after_the_events() -> None:
    error = ValueError("broken")
    stream: EventStream[str, int] = EventStream()
    stream.push("A")
    stream.fail(error)
    with pytest.raises(ValueError, match="broken") as caught:
        await stream.result
    assert caught.value is error
    received: list[str] = []
    with pytest.raises(ValueError, match="broken"):
        async for event in stream:
            received.append(event)
    assert received == ["A"]


@pytest.mark.criterion("02.15", "02.21")
async def test_every_waiting_read_and_the_result_raise_the_same_failure() -> None:
    error = ValueError("broken")
    stream: EventStream[str, int] = EventStream()
    iterator = aiter(stream)
    waiting = [asyncio.ensure_future(anext(iterator)) for _ in range(3)]
    result = asyncio.ensure_future(stream.result)
    await turn()
    stream.fail(error)
    await asyncio.wait([*waiting, result])
    assert [read.exception() is error for read in waiting] == [True] * 3
    assert result.exception() is error


@pytest.mark.criterion("02.16", "02.64")
async def test_an_iterator_that_delivered_the_failure_is_at_its_end() -> None:
    iterator = aiter(failed())
    with pytest.raises(ValueError, match="broken"):
        await anext(iterator)
    for _ in range(3):
        with pytest.raises(StopAsyncIteration):
            await anext(iterator)


@pytest.mark.criterion("02.17")
async def test_waiting_reads_end_when_the_stream_finishes() -> None:
    stream: EventStream[str, int] = EventStream()
    iterator = aiter(stream)
    waiting = [asyncio.ensure_future(anext(iterator)) for _ in range(3)]
    await turn()
    stream.finish(1)
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StopAsyncIteration] * 3


@pytest.mark.criterion("02.18")
async def test_finish_frees_the_slot_of_an_idle_iterator_at_once() -> None:
    stream: EventStream[str, int] = EventStream()
    idle = aiter(stream)
    stream.finish(1)
    fresh = aiter(stream)
    for iterator in (idle, fresh):
        with pytest.raises(StopAsyncIteration):
            await anext(iterator)


@pytest.mark.criterion("02.19", "02.36")
async def test_an_idle_iterator_is_still_owed_the_failure() -> None:
    error = ValueError("broken")
    stream: EventStream[str, int] = EventStream()
    idle = aiter(stream)
    stream.fail(error)
    with pytest.raises(RuntimeError, match="single consumer"):
        aiter(stream)
    with pytest.raises(ValueError, match="broken") as caught:
        await anext(idle)
    assert caught.value is error
    aiter(stream)


@pytest.mark.criterion("02.20")
async def test_a_fresh_iterator_of_a_drained_failed_stream_raises_once_and_ends() -> None:
    stream = failed()
    for _ in range(2):
        iterator = aiter(stream)
        with pytest.raises(ValueError, match="broken"):
            await anext(iterator)
        with pytest.raises(StopAsyncIteration):
            await anext(iterator)


@pytest.mark.criterion("02.20", "02.64")
async def test_a_fresh_iterator_of_a_drained_finished_stream_ends_every_time() -> None:
    stream = finished()
    iterator = aiter(stream)
    for _ in range(3):
        with pytest.raises(StopAsyncIteration):
            await anext(iterator)
    assert [event async for event in stream] == []


@pytest.mark.criterion("02.21")
async def test_everybody_gets_the_same_result_however_it_is_awaited() -> None:
    value = object()
    stream: EventStream[str, object] = EventStream()
    kept = stream.result

    async def wait() -> object:
        return await stream.result

    async def together() -> object:
        return await asyncio.gather(stream.result, kept, kept)

    early: list[asyncio.Future[object]] = [
        asyncio.ensure_future(wait()),
        asyncio.ensure_future(wait()),
        asyncio.ensure_future(together()),
        asyncio.ensure_future(asyncio.wait_for(stream.result, 5)),
    ]
    await turn()
    stream.finish(value)
    assert await asyncio.gather(*early) == [value, value, [value, value, value], value]
    assert await kept is value
    assert await stream.result is value
    assert await asyncio.wait_for(kept, 5) is value
    assert await asyncio.gather(kept, stream.result) == [value, value]


@pytest.mark.criterion("02.22")
async def test_a_failure_that_nobody_awaits_makes_no_noise() -> None:
    stream = failed()
    result = stream.result
    del stream
    gc.collect()
    await turn()
    with pytest.raises(ValueError, match="broken"):
        await result
    stream = failed()
    aiter(stream)
    del stream, result
    gc.collect()
    await turn()


@pytest.mark.criterion("02.23")
@pytest.mark.parametrize("settle", ["finish", "fail"])
async def test_whoever_is_woken_by_the_end_finds_the_stream_terminal(settle: str) -> None:
    stream: EventStream[str, int] = EventStream()
    seen: list[tuple[str, object]] = []

    async def look(awaitable: object) -> None:
        try:
            await awaitable  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues] # both kinds
        except Exception:
            pass
        outcome = (await asyncio.gather(stream.result, return_exceptions=True))[0]
        seen.append((stream.state, outcome))

    tasks = [asyncio.ensure_future(look(anext(aiter(stream)))), asyncio.ensure_future(look(stream.result))]
    await turn()
    error = ValueError("broken")
    if settle == "finish":
        stream.finish(5)
    else:
        stream.fail(error)
    await asyncio.gather(*tasks)
    assert seen == [("finished", 5)] * 2 if settle == "finish" else seen == [("failed", error)] * 2


@pytest.mark.criterion("02.24")
def test_the_state_is_open_and_then_terminal_and_cannot_be_assigned() -> None:
    stream: EventStream[str, int] = EventStream()
    assert stream.state == "open"
    with pytest.raises(AttributeError):
        stream.state = "failed"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    assert stream.state == "open"
    assert (finished().state, failed().state) == ("finished", "failed")


@pytest.mark.criterion("02.56")
@pytest.mark.parametrize("kind", [StopIteration, StopAsyncIteration])
async def test_a_stop_iteration_as_failure_never_looks_like_an_end(kind: type[Exception]) -> None:
    original = kind()
    stream = failed(original)
    for observe in (stream.result, anext(aiter(stream))):
        with pytest.raises(RuntimeError) as caught:
            await observe
        assert caught.value.__cause__ is original


class BothError(ValueError, asyncio.CancelledError):
    """An ordinary error that is a cancellation as well."""


class Pretender:
    """Claims to be an exception."""

    @property  # type: ignore[misc]
    def __class__(self) -> type[ValueError]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ValueError


BAD_FAILURES = [
    pytest.param("text", marks=pytest.mark.criterion("02.57")),
    pytest.param(None, marks=pytest.mark.criterion("02.57")),
    pytest.param(ValueError, marks=pytest.mark.criterion("02.57")),
    pytest.param(Pretender(), marks=pytest.mark.criterion("02.57")),
    pytest.param(asyncio.CancelledError(), marks=pytest.mark.criterion("02.58")),
    pytest.param(KeyboardInterrupt(), marks=pytest.mark.criterion("02.58")),
    pytest.param(SystemExit(), marks=pytest.mark.criterion("02.58")),
    pytest.param(GeneratorExit(), marks=pytest.mark.criterion("02.58")),
    pytest.param(BaseExceptionGroup("", [KeyboardInterrupt()]), marks=pytest.mark.criterion("02.58")),
    pytest.param(BothError(), marks=pytest.mark.criterion("02.58")),
]


@pytest.mark.parametrize("error", BAD_FAILURES)
async def test_fail_takes_only_instances_of_exception(error: object) -> None:
    stream: EventStream[str, int] = EventStream()
    with pytest.raises(TypeError):
        stream.fail(error)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert stream.state == "open"
    stream.finish(3)
    assert await stream.result == 3


@pytest.mark.criterion("02.59")
async def test_the_traceback_of_a_failure_does_not_grow() -> None:
    def fail_from_somewhere() -> Exception:
        try:
            raise ValueError("broken")
        except ValueError as error:
            return error

    error = fail_from_somewhere()
    stream = failed(error)
    lengths: list[int] = []
    same: list[bool] = []
    for _ in range(50):
        for observe in (stream.result, anext(aiter(stream))):
            try:
                await observe
            except ValueError as caught:
                same.append(caught is error)
            lengths.append(len(traceback.extract_tb(error.__traceback__)))
    assert same == [True] * 100
    assert lengths[-1] <= lengths[9]


@pytest.mark.criterion("02.59")
async def test_the_traceback_of_a_failure_is_as_long_wherever_it_is_met() -> None:
    async def observed(read: Awaitable[object]) -> int:
        try:
            await read
        except ValueError as error:
            return len(traceback.extract_tb(error.__traceback__))
        raise AssertionError

    stream: EventStream[str, int] = EventStream()
    waiting = asyncio.ensure_future(observed(anext(aiter(stream))))
    await turn()
    stream.fail(ValueError("broken"))
    lengths = {await waiting, await observed(stream.result), await observed(anext(aiter(stream)))}
    assert len(lengths) == 1


@pytest.mark.criterion("02.60")
def test_a_stream_needs_no_loop_until_somebody_waits() -> None:
    stream: EventStream[str, int] = EventStream()
    stream.push("A")
    stream.finish(1)

    async def drain() -> tuple[list[str], int]:
        return [event async for event in stream], await stream.result

    assert asyncio.run(drain()) == (["A"], 1)


@pytest.mark.criterion("02.61")
async def test_an_awaitable_result_is_not_awaited() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    stream: EventStream[str, asyncio.Future[int]] = EventStream()
    stream.finish(future)
    assert await stream.result is future
    assert not future.done()


@pytest.mark.criterion("02.65")
@pytest.mark.parametrize("error", [None, ValueError("broken")])
async def test_a_settled_stream_and_its_iterator_die(error: Exception | None) -> None:
    async def use() -> list[weakref.ref[object]]:
        stream: EventStream[str, int] = EventStream()
        iterator = aiter(stream)
        read = asyncio.ensure_future(anext(iterator))
        await turn()
        stream.push("A")
        assert await read == "A"
        if error is None:
            stream.finish(1)
            assert await stream.result == 1
        else:
            stream.fail(error)
        outcomes = await asyncio.gather(anext(iterator), return_exceptions=True)
        assert isinstance(outcomes[0], Exception)
        return [weakref.ref(stream), weakref.ref(iterator)]

    references = await use()
    await turn()
    if error is not None:
        error.__traceback__ = None
    gc.collect()
    assert [reference() for reference in references] == [None, None]


class PricklyError(Exception):
    """Every look at it raises."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("the error was looked at")

    def __hash__(self) -> int:
        raise AssertionError("the error was looked at")

    def __str__(self) -> str:
        raise AssertionError("the error was looked at")

    def __bool__(self) -> bool:
        raise AssertionError("the error was looked at")


@pytest.mark.criterion("02.66")
async def test_a_failure_arrives_by_identity() -> None:
    error = PricklyError()
    stream = failed(error)
    for observe in (stream.result, anext(aiter(stream))):
        (outcome,) = await asyncio.gather(observe, return_exceptions=True)
        assert outcome is error
