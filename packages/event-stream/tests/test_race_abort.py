"""`race_abort`: the outcome, or the reason of the abort, and nothing left over."""

import asyncio
import gc
import weakref
from collections.abc import Awaitable

import pytest
from loop_guard import run

from kickwheel_event_stream import AbortController, AbortError, AbortSignal, EventStream, race_abort


async def turn() -> None:
    await asyncio.sleep(0)


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await turn()


async def give(value: object, after: int = 1) -> object:
    await turns(after)
    return value


async def fail(error: BaseException, after: int = 1) -> object:
    await turns(after)
    raise error


class Work:
    """Blocks until it is cancelled, then cleans up behind a gate of its own."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.cleanup = asyncio.Event()
        self.outcome: object = None

    async def run(self) -> object:
        self.log.append("started")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.log.append("asked to stop")
            try:
                await self.cleanup.wait()
            except asyncio.CancelledError:
                self.log.append("interrupted")
            self.log.append("cleaned up")
            if isinstance(self.outcome, Exception):
                raise self.outcome from None
            if self.outcome is not None:
                return self.outcome
            raise
        raise AssertionError


def holds_nothing(signal: AbortSignal) -> bool:
    return not signal._state.callbacks  # pyright: ignore[reportPrivateUsage]


SIGNALS = pytest.mark.parametrize("with_signal", [True, False])


@pytest.mark.criterion("02.A30")
@SIGNALS
@pytest.mark.parametrize("after", [0, 3])
async def test_the_value_or_the_error_of_the_awaitable_is_the_outcome(with_signal: bool, after: int) -> None:
    signal = AbortController().signal if with_signal else None
    value, error = object(), ValueError("broken")
    assert await race_abort(give(value, after), signal) is value
    with pytest.raises(ValueError, match="broken") as caught:
        await race_abort(fail(error, after), signal)
    assert caught.value is error
    assert signal is None or holds_nothing(signal)


class Awaits:
    def __init__(self, value: object) -> None:
        self.value = value

    def __await__(self):  # type: ignore[no-untyped-def]
        yield from asyncio.sleep(0).__await__()
        return self.value


@pytest.mark.criterion("02.A30")
async def test_futures_tasks_and_other_awaitables_can_be_raced() -> None:
    signal = AbortController().signal
    done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    done.set_result(1)
    assert await race_abort(done, signal) == 1
    assert await race_abort(asyncio.ensure_future(give(2)), signal) == 2
    assert await race_abort(Awaits(3), signal) == 3


@pytest.mark.criterion("02.A31")
async def test_on_an_aborted_signal_nothing_starts() -> None:
    controller = AbortController()
    controller.abort("early")
    work = Work()
    coroutine = work.run()
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    other = Work()
    task = asyncio.ensure_future(other.run())
    await turn()
    awaitables: list[Awaitable[object]] = [coroutine, future, task, Awaits(1)]
    for awaitable in awaitables:
        with pytest.raises(AbortError) as caught:
            await race_abort(awaitable, controller.signal)
        assert caught.value is controller.signal.reason
    assert work.log == []
    assert future.cancelled()
    other.cleanup.set()
    await asyncio.wait([task])
    assert other.log == ["started", "asked to stop", "cleaned up"]


@pytest.mark.criterion("02.A31")
async def test_on_an_aborted_signal_a_finished_future_is_dropped_without_noise() -> None:
    controller = AbortController()
    controller.abort()
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    future.set_exception(ValueError("lost"))
    with pytest.raises(AbortError):
        await race_abort(future, controller.signal)


@pytest.mark.criterion("02.A32")
async def test_an_abort_raises_at_once_and_asks_the_awaitable_to_stop_once() -> None:
    controller, work = AbortController(), Work()
    race = asyncio.ensure_future(race_abort(work.run(), controller.signal))
    await turns()
    controller.abort(ValueError("stop"))
    await turns()
    assert race.exception() is controller.signal.reason
    assert work.log == ["started", "asked to stop"]
    gc.collect()
    work.cleanup.set()
    await turns()
    assert work.log == ["started", "asked to stop", "cleaned up"]
    assert holds_nothing(controller.signal)


@pytest.mark.criterion("02.A33")
@pytest.mark.parametrize("abort_first", [True, False])
@pytest.mark.parametrize("lost", [1, ValueError("lost")])
async def test_the_abort_wins_a_tie(abort_first: bool, lost: object) -> None:
    controller = AbortController()
    future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    race = asyncio.ensure_future(race_abort(future, controller.signal))
    await turn()

    def settle() -> None:
        if future.done():
            return
        if isinstance(lost, Exception):
            future.set_exception(lost)
        else:
            future.set_result(lost)

    for act in (controller.abort, settle) if abort_first else (settle, controller.abort):
        act()
    await asyncio.wait([race])
    assert race.exception() is controller.signal.reason


@pytest.mark.criterion("02.A33")
@pytest.mark.parametrize("lost", [1, ValueError("lost")])
async def test_the_abort_wins_when_it_comes_from_the_last_step_of_the_awaitable(lost: object) -> None:
    controller = AbortController()

    async def abort_and_end() -> object:
        await turn()
        controller.abort()
        if isinstance(lost, Exception):
            raise lost
        return lost

    with pytest.raises(AbortError):
        await race_abort(abort_and_end(), controller.signal)
    await turns()


@pytest.mark.criterion("02.A34", "02.A35")
@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(ValueError("cleanup"), marks=pytest.mark.criterion("02.A34")),
        pytest.param("swallowed", marks=pytest.mark.criterion("02.A35")),
    ],
)
async def test_what_a_loser_comes_to_reaches_nobody(outcome: object) -> None:
    controller, work = AbortController(), Work()
    work.outcome = outcome
    cleanup, log = work.cleanup, work.log
    race = asyncio.ensure_future(race_abort(work.run(), controller.signal))
    reference = weakref.ref(work)
    del work
    await turns()
    controller.abort()
    await turns()
    assert race.exception() is controller.signal.reason
    gc.collect()
    assert reference() is not None
    cleanup.set()
    await turns()
    assert log == ["started", "asked to stop", "cleaned up"]
    if not isinstance(outcome, Exception):  # a future keeps the traceback of its error, and so its frames
        gc.collect()
        assert reference() is None


@pytest.mark.criterion("02.A36")
@SIGNALS
async def test_a_cancelled_race_waits_for_the_cleanup_and_stays_cancelled(with_signal: bool) -> None:
    controller, work = AbortController(), Work()
    race = asyncio.ensure_future(race_abort(work.run(), controller.signal if with_signal else None))
    await turns()
    race.cancel()
    await turns()
    assert not race.done()
    work.cleanup.set()
    await asyncio.wait([race])
    assert race.cancelled()
    assert work.log == ["started", "asked to stop", "cleaned up"]
    assert holds_nothing(controller.signal)


@pytest.mark.criterion("02.A36")
@pytest.mark.parametrize("abort_first", [True, False])
async def test_a_cancellation_in_the_turn_of_the_abort_propagates_after_the_cleanup(
    abort_first: bool,
) -> None:
    controller, work = AbortController(), Work()
    race = asyncio.ensure_future(race_abort(work.run(), controller.signal))
    await turns()
    for act in (controller.abort, race.cancel) if abort_first else (race.cancel, controller.abort):
        act()
    await turns()
    assert not race.done()
    work.cleanup.set()
    await asyncio.wait([race])
    assert race.cancelled()
    assert work.log == ["started", "asked to stop", "cleaned up"]


@pytest.mark.criterion("02.A36")
async def test_a_second_cancellation_is_passed_on_to_the_cleanup() -> None:
    work = Work()
    work.outcome = ValueError("lost")
    race = asyncio.ensure_future(race_abort(work.run(), AbortController().signal))
    await turns()
    race.cancel()
    await turns()
    race.cancel()
    await asyncio.wait([race])
    assert race.cancelled()
    assert work.log == ["started", "asked to stop", "interrupted", "cleaned up"]


@pytest.mark.criterion("02.A36", "02.A32")
async def test_an_abort_during_the_cleanup_of_a_cancelled_race_does_not_interrupt_it() -> None:
    controller, work = AbortController(), Work()
    race = asyncio.ensure_future(race_abort(work.run(), controller.signal))
    await turns()
    race.cancel()
    await turns()
    controller.abort()
    await turns()
    assert work.log == ["started", "asked to stop"]
    assert not race.done()
    assert holds_nothing(controller.signal)
    work.cleanup.set()
    with pytest.raises(asyncio.CancelledError):
        await race
    assert work.log == ["started", "asked to stop", "cleaned up"]


@pytest.mark.criterion("02.A37")
@SIGNALS
async def test_a_cancellation_that_nobody_asked_for_is_a_runtime_error(with_signal: bool) -> None:
    signal = AbortController().signal if with_signal else None
    error = asyncio.CancelledError("from nowhere")
    with pytest.raises(RuntimeError) as caught:
        await race_abort(fail(error), signal)
    assert caught.value.__cause__ is error
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.cancel)
    with pytest.raises(RuntimeError) as caught:
        await race_abort(future, signal)
    assert isinstance(caught.value.__cause__, asyncio.CancelledError)


@pytest.mark.slow
@pytest.mark.criterion("02.A38")
def test_ten_thousand_races_leave_nothing() -> None:
    run(ten_thousand_races(), debug=False, timeout=60)


async def ten_thousand_races() -> None:
    controller = AbortController()
    signal = controller.signal
    before = asyncio.all_tasks()
    for number in range(10_000):
        kind = number % 3
        if kind == 0:
            assert await race_abort(give(number), signal) == number
        elif kind == 1:
            with pytest.raises(ValueError, match="broken"):
                await race_abort(fail(ValueError("broken")), signal)
        else:
            race = asyncio.ensure_future(race_abort(asyncio.Event().wait(), signal))
            await turn()
            race.cancel()
            await asyncio.wait([race])
    assert holds_nothing(signal)
    races = [asyncio.ensure_future(race_abort(asyncio.Event().wait(), signal)) for _ in range(1000)]
    await turn()
    controller.abort()
    await asyncio.wait(races)
    assert {race.exception() for race in races} == {signal.reason}
    await turns()
    assert holds_nothing(signal)
    assert asyncio.all_tasks() == before


@pytest.mark.criterion("02.A39")
@SIGNALS
async def test_what_cannot_be_awaited_is_a_type_error(with_signal: bool) -> None:
    controller = AbortController()
    controller.abort()
    with pytest.raises(TypeError, match="awaitable"):
        await race_abort(5, controller.signal if with_signal else None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.criterion("02.A40")
@pytest.mark.parametrize("push_in_the_same_turn", [True, False])
async def test_a_read_that_lost_loses_no_event(push_in_the_same_turn: bool) -> None:
    controller = AbortController()
    stream: EventStream[str, int] = EventStream()
    iterator = aiter(stream)
    race = asyncio.ensure_future(race_abort(anext(iterator), controller.signal))
    await turns()
    controller.abort()
    if not push_in_the_same_turn:
        await asyncio.wait([race])
    stream.push("A")
    stream.push("B")
    await asyncio.wait([race])
    assert race.exception() is controller.signal.reason
    assert [await anext(iterator), await anext(iterator)] == ["A", "B"]


@pytest.mark.criterion("02.A40")
async def test_an_event_handed_over_in_the_turn_of_the_abort_is_not_lost_either() -> None:
    controller = AbortController()
    stream: EventStream[str, int] = EventStream()
    iterator = aiter(stream)
    race = asyncio.ensure_future(race_abort(anext(iterator), controller.signal))
    await turns()
    stream.push("A")
    controller.abort()
    await asyncio.wait([race])
    assert race.exception() is controller.signal.reason
    assert await anext(iterator) == "A"


@pytest.mark.criterion("02.A40")
async def test_a_read_can_be_raced_over_and_over() -> None:
    signal = AbortController().signal
    stream: EventStream[int, None] = EventStream()
    for number in range(100):
        stream.push(number)
    iterator = aiter(stream)
    assert [await race_abort(anext(iterator), signal) for _ in range(100)] == list(range(100))
