"""The abort signal: its controller, its callbacks, and the signals made from others."""

import asyncio
import gc
import math
import pickle
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from kickwheel_event_stream import AbortController, AbortError, AbortSignal, StreamClosedError


async def turn() -> None:
    await asyncio.sleep(0)


@pytest.mark.criterion("02.A1")
def test_a_new_controller_has_one_signal_that_is_not_aborted() -> None:
    controller = AbortController()
    signal = controller.signal
    assert controller.signal is signal
    assert (signal.aborted, signal.reason) == (False, None)
    assert repr(signal) == "<AbortSignal, not aborted>"


@pytest.mark.criterion("02.A2")
def test_an_abort_without_a_reason_has_an_abort_error_as_its_reason() -> None:
    controller = AbortController()
    controller.abort()
    assert controller.signal.aborted
    assert isinstance(controller.signal.reason, AbortError)
    assert controller.signal.reason.reason is None
    assert repr(controller.signal) == "<AbortSignal, aborted by AbortError>"


@pytest.mark.criterion("02.A3")
@pytest.mark.parametrize("error", [ValueError("x"), AbortError("y"), ExceptionGroup("g", [ValueError()])])
def test_an_exception_is_the_reason_as_it_is(error: Exception) -> None:
    controller = AbortController()
    controller.abort(error)
    assert controller.signal.reason is error


class BothError(ValueError, asyncio.CancelledError):
    """An error that is a cancellation as well."""


class Pretender:
    """Claims to be an exception."""

    @property  # type: ignore[misc]
    def __class__(self) -> type[ValueError]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ValueError


WRAPPED: list[object] = [
    "text",
    0,
    ValueError,
    asyncio.CancelledError(),
    KeyboardInterrupt(),
    SystemExit(),
    StopIteration(),
    StopAsyncIteration(),
    BothError(),
    Pretender(),
]


@pytest.mark.criterion("02.A4")
@pytest.mark.parametrize("value", WRAPPED, ids=lambda value: type(value).__name__)
def test_any_other_value_is_wrapped(value: object) -> None:
    controller = AbortController()
    controller.abort(value)
    reason = controller.signal.reason
    assert type(reason) is AbortError
    assert reason.reason is value


@pytest.mark.criterion("02.A5")
def test_the_first_abort_wins() -> None:
    controller = AbortController()
    runs: list[int] = []
    controller.signal.add_callback(lambda: runs.append(1))
    first = ValueError("first")
    controller.abort(first)
    controller.abort(ValueError("second"))
    assert controller.signal.reason is first
    assert runs == [1]


@pytest.mark.criterion("02.A6")
def test_a_signal_cannot_be_aborted_by_those_who_hold_it() -> None:
    signal: Any = AbortController().signal
    with pytest.raises(AttributeError):
        signal.abort()
    for name in ("aborted", "reason", "other"):
        with pytest.raises(AttributeError):
            setattr(signal, name, True)
    assert (signal.aborted, signal.reason) == (False, None)


@pytest.mark.criterion("02.A7")
def test_raise_if_aborted_raises_the_same_reason_each_time() -> None:
    controller = AbortController()
    controller.signal.raise_if_aborted()
    controller.abort()
    caught: list[Exception] = []
    for _ in range(2):
        try:
            controller.signal.raise_if_aborted()
        except AbortError as error:
            caught.append(error)
    assert len(caught) == 2
    assert all(error is controller.signal.reason for error in caught)


@pytest.mark.criterion("02.A8")
def test_an_abort_error_is_an_ordinary_exception() -> None:
    assert issubclass(AbortError, Exception)
    assert not issubclass(AbortError, asyncio.CancelledError)
    assert AbortError().reason is None
    assert AbortError("user left").reason == "user left"
    assert "user left" in str(AbortError("user left"))


class Mute:
    def __repr__(self) -> str:
        raise ValueError("no words")


@pytest.mark.criterion("02.A8")
def test_a_reason_that_cannot_describe_itself_does_no_harm() -> None:
    assert str(AbortError(Mute())) == "aborted: a Mute"


@pytest.mark.criterion("02.A9")
def test_no_loop_is_needed() -> None:
    controller = AbortController()
    runs: list[str] = []
    remove = controller.signal.add_callback(lambda: runs.append("removed"))
    controller.signal.add_callback(lambda: runs.append("run"))
    remove()
    made = AbortSignal.any(controller.signal)
    made.add_callback(lambda: runs.append("made"))
    controller.abort()
    assert runs == ["run", "made"]


@pytest.mark.criterion("02.A10")
def test_callbacks_run_once_in_order_inside_the_abort_and_see_it() -> None:
    controller = AbortController()
    signal = controller.signal
    error = ValueError("stop")
    runs: list[tuple[int, bool, Exception | None]] = []
    for number in range(3):
        signal.add_callback(lambda number=number: runs.append((number, signal.aborted, signal.reason)))
    controller.abort(error)
    assert runs == [(0, True, error), (1, True, error), (2, True, error)]


def _raiser(error: BaseException) -> Callable[[], None]:
    def callback() -> None:
        raise error

    return callback


@pytest.mark.criterion("02.A11")
def test_an_error_of_a_callback_is_reported_to_the_running_loop_once() -> None:
    controller = AbortController()
    error = ValueError("callback")
    heard: list[dict[str, Any]] = []
    runs: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: heard.append(context))
        controller.signal.add_callback(_raiser(error))
        controller.signal.add_callback(lambda: runs.append("other"))
        controller.abort()
        controller.signal.add_callback(_raiser(error))

    asyncio.run(main())
    assert runs == ["other"]
    assert [context["exception"] for context in heard] == [error, error]


@pytest.mark.criterion("02.A11")
def test_an_error_of_a_callback_without_a_loop_goes_to_the_unraisable_hook_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    controller = AbortController()
    error = ValueError("callback")
    heard: list[BaseException | None] = []
    runs: list[str] = []

    def hear(args: "sys.UnraisableHookArgs") -> None:
        heard.append(args.exc_value)

    monkeypatch.setattr(sys, "unraisablehook", hear)
    controller.signal.add_callback(_raiser(error))
    controller.signal.add_callback(lambda: runs.append("other"))
    controller.abort()
    assert (heard, runs) == ([error], ["other"])


@pytest.mark.criterion("02.A12", "02.A13")
def test_on_an_aborted_signal_a_callback_runs_at_once() -> None:
    controller = AbortController()
    controller.abort()
    runs: list[int] = []
    remove = controller.signal.add_callback(lambda: runs.append(1))
    assert runs == [1]
    remove()
    remove()


@pytest.mark.criterion("02.A13")
def test_a_removed_callback_does_not_run_and_late_removals_do_nothing() -> None:
    controller = AbortController()
    runs: list[str] = []
    remove = controller.signal.add_callback(lambda: runs.append("removed"))
    late = controller.signal.add_callback(lambda: runs.append("kept"))
    remove()
    remove()
    controller.abort()
    late()
    remove()
    assert runs == ["kept"]


@pytest.mark.criterion("02.A14")
def test_two_registrations_of_one_function_stay_apart() -> None:
    for removed in (0, 1):
        controller = AbortController()
        runs: list[int] = []

        def callback(runs: list[int] = runs) -> None:
            runs.append(1)

        removers = [controller.signal.add_callback(callback) for _ in range(2)]
        removers[removed]()
        removers[removed]()
        controller.abort()
        assert runs == [1]
    controller = AbortController()
    twice: list[int] = []
    for _ in range(2):
        controller.signal.add_callback(lambda: twice.append(1))
    controller.abort()
    assert twice == [1, 1]


@pytest.mark.criterion("02.A15")
def test_a_callback_may_remove_add_and_abort() -> None:
    controller = AbortController()
    signal = controller.signal
    runs: list[str] = []

    def meddle() -> None:
        runs.append("first")
        remove()
        signal.add_callback(lambda: runs.append("new"))
        controller.abort("again")
        runs.append("first is over")

    signal.add_callback(meddle)
    remove = signal.add_callback(lambda: runs.append("removed"))
    signal.add_callback(lambda: runs.append("last"))
    controller.abort("once")
    assert runs == ["first", "new", "first is over", "last"]
    assert isinstance(signal.reason, AbortError)
    assert signal.reason.reason == "once"


class Listener:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1


@pytest.mark.criterion("02.A16")
def test_an_aborted_signal_holds_no_callback() -> None:
    controller = AbortController()
    listener = Listener()
    remove = controller.signal.add_callback(listener)
    controller.abort()
    controller.signal.add_callback(listener)
    assert listener.calls == 2
    reference = weakref.ref(listener)
    del listener
    gc.collect()
    assert reference() is None
    remove()


@pytest.mark.criterion("02.A17")
async def test_every_waiter_returns_on_the_abort_and_at_once_afterwards() -> None:
    controller = AbortController()
    waiters = [asyncio.ensure_future(controller.signal.wait()) for _ in range(3)]
    await turn()
    assert not any(waiter.done() for waiter in waiters)
    controller.abort()
    await asyncio.gather(*waiters)
    by_hand = controller.signal.wait()
    with pytest.raises(StopIteration):
        by_hand.send(None)


@pytest.mark.criterion("02.A18")
async def test_a_cancelled_wait_leaves_nothing_and_harms_nobody() -> None:
    controller = AbortController()
    waiters = [asyncio.ensure_future(controller.signal.wait()) for _ in range(3)]
    await turn()
    waiters[1].cancel()
    await asyncio.wait([waiters[1]])
    waiters[2].cancel()
    controller.abort()
    await waiters[0]
    await asyncio.wait([waiters[2]])
    assert [waiter.cancelled() for waiter in waiters] == [False, True, True]


@pytest.mark.criterion("02.A18", "02.A24")
async def test_a_cancelled_wait_lets_a_made_signal_die() -> None:
    controller = AbortController()
    made = AbortSignal.any(controller.signal)
    waiter = asyncio.ensure_future(made.wait())
    await turn()
    waiter.cancel()
    await asyncio.wait([waiter])
    reference = weakref.ref(made)
    del made, waiter
    gc.collect()
    assert reference() is None


@pytest.mark.criterion("02.A19")
@pytest.mark.parametrize("aborted", [False, True])
def test_a_callback_must_be_callable(aborted: bool) -> None:
    controller = AbortController()
    if aborted:
        controller.abort()
    for signal in (controller.signal, AbortSignal.never(), AbortSignal.any(controller.signal)):
        with pytest.raises(TypeError, match="callable"):
            signal.add_callback("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.criterion("02.A20")
async def test_never_aborts_and_keeps_no_callback() -> None:
    never = AbortSignal.never()
    listeners = [Listener() for _ in range(10_000)]
    removers = [never.add_callback(listener) for listener in listeners]
    references = [weakref.ref(listener) for listener in listeners]
    del listeners
    gc.collect()
    assert all(reference() is None for reference in references)
    removers[0]()
    never.raise_if_aborted()
    assert (never.aborted, never.reason) == (False, None)
    waiter = asyncio.ensure_future(never.wait())
    await turn()
    assert not waiter.done()
    waiter.cancel()
    await asyncio.wait([waiter])


@pytest.mark.criterion("02.A21")
def test_a_made_signal_follows_the_first_source() -> None:
    first, second = AbortController(), AbortController()
    made = AbortSignal.any(first.signal, second.signal, AbortSignal.never())
    runs: list[Exception | None] = []
    made.add_callback(lambda: runs.append(made.reason))
    assert not made.aborted
    error = ValueError("second")
    second.abort(error)
    first.abort()
    assert made.reason is error
    assert runs == [error]


@pytest.mark.criterion("02.A21")
def test_a_signal_made_from_made_signals_follows_their_sources() -> None:
    first, second = AbortController(), AbortController()
    inner = AbortSignal.any(first.signal)
    outer = AbortSignal.any(inner, second.signal, first.signal)
    del inner
    gc.collect()
    runs: list[str] = []
    outer.add_callback(lambda: runs.append("outer"))
    first.abort("first")
    assert runs == ["outer"]
    assert outer.reason is first.signal.reason


@pytest.mark.criterion("02.A21")
def test_all_signals_are_settled_before_a_callback_runs() -> None:
    controller = AbortController()
    made = AbortSignal.any(controller.signal)
    seen: list[bool] = []
    controller.signal.add_callback(lambda: seen.append(made.aborted))
    controller.abort()
    assert seen == [True]


@pytest.mark.criterion("02.A22")
def test_the_reason_of_a_made_signal_is_that_of_the_abort_that_came_first() -> None:
    a, b = AbortController(), AbortController()
    made = AbortSignal.any(a.signal, b.signal)
    b.abort("b")
    a.abort("a")
    assert made.reason is b.signal.reason


@pytest.mark.criterion("02.A23")
def test_of_aborted_sources_the_earliest_counts() -> None:
    a, b = AbortController(), AbortController()
    b.abort("b")
    a.abort("a")
    for made in (AbortSignal.any(a.signal, b.signal), AbortSignal.any(AbortSignal.any(a.signal, b.signal))):
        assert made.aborted
        assert made.reason is b.signal.reason
    assert not AbortSignal.any().aborted


@pytest.mark.criterion("02.A24")
def test_a_made_signal_that_nobody_listens_to_dies_before_its_sources() -> None:
    controller = AbortController()
    made = AbortSignal.any(controller.signal, AbortController().signal)
    remove = made.add_callback(lambda: None)
    other = made.add_callback(lambda: None)
    remove()
    other()
    reference = weakref.ref(made)
    del made
    gc.collect()
    assert reference() is None
    assert "links" in dir(controller.signal._state)  # pyright: ignore[reportPrivateUsage]
    assert not controller.signal._state.links  # pyright: ignore[reportPrivateUsage]


@pytest.mark.criterion("02.A25")
def test_a_made_signal_with_a_callback_lives_although_nobody_holds_it() -> None:
    controller = AbortController()
    listener = Listener()
    AbortSignal.any(controller.signal, AbortController().signal).add_callback(listener)
    gc.collect()
    controller.abort()
    assert listener.calls == 1


@pytest.mark.criterion("02.A25")
async def test_a_made_signal_with_a_waiter_lives_although_nobody_holds_it() -> None:
    controller = AbortController()
    waiter = asyncio.ensure_future(AbortSignal.any(controller.signal).wait())
    await turn()
    gc.collect()
    controller.abort()
    await waiter


@pytest.mark.criterion("02.A26")
def test_a_fired_signal_leaves_nothing_at_the_other_sources() -> None:
    fires, waits = AbortController(), AbortController()
    listener = Listener()
    made = AbortSignal.any(fires.signal, waits.signal)
    made.add_callback(listener)
    fires.abort()
    assert not waits.signal._state.links  # pyright: ignore[reportPrivateUsage]
    assert not waits.signal._state.callbacks  # pyright: ignore[reportPrivateUsage]
    references = [weakref.ref(made), weakref.ref(listener)]
    del made, listener
    gc.collect()
    assert [reference() for reference in references] == [None, None]


@pytest.mark.criterion("02.A21")
def test_a_made_signal_lives_on_when_its_sources_are_gone() -> None:
    source = AbortController()
    made = AbortSignal.any(source.signal)
    del source
    gc.collect()
    assert not made.aborted


def test_any_takes_signals_only() -> None:
    with pytest.raises(TypeError, match="signal"):
        AbortSignal.any("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.criterion("02.A27")
def test_a_timeout_aborts_when_the_clock_of_the_loop_is_there_and_not_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> tuple[bool, AbortSignal]:
        loop = asyncio.get_running_loop()
        now = [loop.time()]
        monkeypatch.setattr(loop, "time", lambda: now[0])
        signal = AbortSignal.timeout(60)
        signal.add_callback(lambda: runs.append("aborted"))
        now[0] += 59.9
        await turn()
        await turn()
        early = signal.aborted
        now[0] += 0.2
        await turn()
        await turn()
        return early, signal

    runs: list[str] = []
    early, signal = asyncio.run(main())
    assert (early, signal.aborted, runs) == (False, True, ["aborted"])
    assert type(signal.reason) is TimeoutError


@pytest.mark.criterion("02.A27")
async def test_a_timeout_of_zero_aborts_in_a_later_turn_and_one_without_end_never() -> None:
    zero, endless = AbortSignal.timeout(0), AbortSignal.timeout(math.inf)
    assert not zero.aborted
    await zero.wait()
    assert isinstance(zero.reason, TimeoutError)
    assert not endless.aborted


@pytest.mark.criterion("02.A28")
def test_a_timeout_needs_a_running_loop() -> None:
    with pytest.raises(RuntimeError):
        AbortSignal.timeout(1)


@pytest.mark.criterion("02.A28")
@pytest.mark.parametrize(
    ("seconds", "error"),
    [(-1, ValueError), (-0.001, ValueError), (math.nan, ValueError), ("1", TypeError), (True, TypeError)],
)
async def test_a_timeout_is_a_number_from_zero_up(seconds: float, error: type[Exception]) -> None:
    with pytest.raises(error):
        AbortSignal.timeout(seconds)


@pytest.mark.criterion("02.A12", "02.A26")
def test_a_callback_added_to_a_fired_made_signal_runs_at_once_and_is_not_kept() -> None:
    controller = AbortController()
    made = AbortSignal.any(controller.signal)
    controller.abort()
    runs: list[str] = []
    made.add_callback(lambda: runs.append("run"))
    assert runs == ["run"]
    reference = weakref.ref(made)
    del made
    gc.collect()
    assert reference() is None


@pytest.mark.criterion("02.A8")
def test_the_errors_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(AbortError("user left")))
    assert (type(error), error.reason, str(error)) == (AbortError, "user left", "aborted: user left")
    closed = pickle.loads(pickle.dumps(StreamClosedError("push", "failed")))
    assert (type(closed), str(closed)) == (StreamClosedError, str(StreamClosedError("push", "failed")))
