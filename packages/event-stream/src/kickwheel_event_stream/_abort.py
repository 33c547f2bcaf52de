"""The abort signal, a stop request as data, and its controller."""

import asyncio
from collections.abc import Callable
from typing import Final, final

from kickwheel_event_stream._abort_state import AbortState, NeverState, as_reason, make_any


@final
class AbortSignal:
    """Tells whether a stop was requested, and why (checkpoint 02).

    It is read-only: only its `AbortController` can abort it, once. `aborted` and `reason` change together,
    inside `abort()`, before any callback runs. No event loop is needed except for `wait` and `timeout`. Not
    thread-safe.
    """

    __slots__ = ("__weakref__", "_state")

    def __init__(self, state: AbortState | None = None, /) -> None:
        self._state: Final = AbortState() if state is None else state

    @property
    def aborted(self) -> bool:
        """Whether the stop was requested. Never goes back to `False`."""
        return self._state.reason is not None

    @property
    def reason(self) -> Exception | None:
        """Why: the exception given to `abort`, or an `AbortError` around anything else; `None` before."""
        return self._state.reason

    def raise_if_aborted(self) -> None:
        """Raise `reason`, the same object each time, if the stop was requested."""
        state = self._state
        if state.reason is not None:
            raise state.reason.with_traceback(state.trace)

    def add_callback(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Have a function called, without arguments, inside `abort()`; the returned function takes that back.

        On a signal already aborted it runs before this returns. An `Exception` that it raises goes to the
        running loop's exception handler, or to `sys.unraisablehook`; it never reaches the one who aborts.
        Adding and removing are O(1), and a removal that comes late or twice does nothing. Raises `TypeError`
        for anything that cannot be called.
        """
        return self._state.add(callback)

    async def wait(self) -> None:
        """Return once the stop was requested, at once if it already was. A cancelled wait leaves nothing."""
        if self._state.reason is not None:
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        remove = self._state.add(wake)
        try:
            await woken
        finally:
            remove()

    @classmethod
    def never(cls) -> "AbortSignal":
        """Return the signal that never aborts. It keeps no callback, so any number of them costs nothing."""
        return _NEVER

    @classmethod
    def any(cls, *signals: "AbortSignal") -> "AbortSignal":
        """Return a signal that aborts with the first of the given ones, with the same reason object.

        Of several that are already aborted the earliest counts; of none at all it never aborts. The sources
        hold it weakly until it has a callback or a waiter, so one made for a short piece of work leaves
        nothing at a signal that lives long. Costs O(number of sources).
        """
        try:
            states = tuple([signal._state for signal in signals])
        except AttributeError:
            raise TypeError("any() takes abort signals") from None
        return cls(make_any(states))

    @classmethod
    def timeout(cls, seconds: float) -> "AbortSignal":
        """Return a signal that aborts with a `TimeoutError` once the running loop's clock is `seconds` on.

        Raises `TypeError` for what is no number, `ValueError` for a negative number or NaN, and
        `RuntimeError` without a running loop.
        """
        if type(seconds) not in (int, float):
            raise TypeError(f"timeout() takes a number of seconds, not {type(seconds).__name__}")
        if not seconds >= 0:
            raise ValueError(f"timeout() takes seconds from 0 up, not {seconds}")
        loop = asyncio.get_running_loop()
        state = AbortState()
        if seconds != float("inf"):
            loop.call_later(seconds, lambda: state.abort(TimeoutError(f"timed out after {seconds} s")))
        return cls(state)

    def __repr__(self) -> str:
        """Show whether it is aborted."""
        reason = self._state.reason
        return f"<AbortSignal, {'not aborted' if reason is None else f'aborted by {type(reason).__name__}'}>"


@final
class AbortController:
    """Holds the one signal that it can abort (checkpoint 02)."""

    __slots__ = ("__weakref__", "_signal", "_state")

    def __init__(self) -> None:
        self._state: Final = AbortState()
        self._signal: Final = AbortSignal(self._state)

    @property
    def signal(self) -> AbortSignal:
        """The signal to hand out; the same object each time."""
        return self._signal

    def abort(self, reason: object = None) -> None:
        """Request the stop and run the callbacks, in the order of their registration, before this returns.

        An `Exception` instance becomes the signal's `reason` as it is; anything else, and nothing, is wrapped
        in an `AbortError`. Only the first call counts. A callback that raises stops neither this nor the
        others.
        """
        if self._state.reason is None:
            self._state.abort(as_reason(reason))


_NEVER: Final = AbortSignal(NeverState())
