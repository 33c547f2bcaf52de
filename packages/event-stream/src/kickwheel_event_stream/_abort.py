"""The abort signal: a stop request as data, its controller, and the callbacks that hear of it."""

import asyncio
import itertools
import sys
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Final, final

from kickwheel_event_stream._errors import AbortError

_order: Final = itertools.count()
"""Numbers the aborts of the process, so that of several aborted sources the first one can be told."""


def as_reason(value: object) -> Exception:
    """Turn what was given to `abort` into something that can be raised.

    The stop iterations are wrapped: raised inside a coroutine they would turn into something else.
    """
    kind = type(value)
    if (
        isinstance(value, Exception)
        and issubclass(kind, Exception)
        and not issubclass(kind, (StopIteration, StopAsyncIteration, asyncio.CancelledError))
    ):
        return value
    return AbortError(value)


class AbortSignal:
    """Tells whether a stop was requested, and why (checkpoint 02).

    It is read-only: only its `AbortController` can abort it, once. `aborted` and `reason` change together, inside
    `abort()`, before any callback runs. Nothing here waits for anything, and no event loop is needed except for
    `wait` and `timeout`. Not thread-safe.
    """

    __slots__ = ("__weakref__", "_aborted_at", "_callbacks", "_links", "_reason", "_trace")

    def __init__(self) -> None:
        self._reason: Exception | None = None
        self._trace: TracebackType | None = None
        self._aborted_at = -1
        self._callbacks: dict[_Registration, Callable[[], object]] = {}
        self._links: dict[_Link, None] | None = None

    @property
    def aborted(self) -> bool:
        """Whether the stop was requested. Never goes back to `False`."""
        return self._reason is not None

    @property
    def reason(self) -> Exception | None:
        """Why: the exception given to `abort`, or an `AbortError` around anything else; `None` before the abort."""
        return self._reason

    def raise_if_aborted(self) -> None:
        """Raise `reason`, the same object each time, if the stop was requested."""
        if self._reason is not None:
            raise self._reason.with_traceback(self._trace)

    def add_callback(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Have a function called, without arguments, inside `abort()`; the returned function takes that back.

        On a signal already aborted it runs before this returns. An `Exception` that it raises goes to the running
        loop's exception handler, or to `sys.unraisablehook`; it never reaches the one who aborts. Both this and the
        removal are O(1), and a removal that comes late or twice does nothing. Raises `TypeError` for anything that
        cannot be called.
        """
        if not callable(callback):
            raise TypeError(f"a callback must be callable, not {type(callback).__name__}")
        if self._reason is not None:
            _call(callback)
            return _nothing
        registration = _Registration(self)
        self._callbacks[registration] = callback
        return registration

    async def wait(self) -> None:
        """Return once the stop was requested, at once if it already was. Cancelling this leaves nothing behind."""
        if self._reason is not None:
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        remove = self.add_callback(lambda: _wake(woken))
        try:
            await woken
        finally:
            remove()

    @staticmethod
    def never() -> "AbortSignal":
        """Return the signal that never aborts. It keeps no callback, so any number of them costs nothing."""
        return _NEVER

    @staticmethod
    def any(*signals: "AbortSignal") -> "AbortSignal":
        """Return a signal that aborts with the first of the given ones, with the same reason object.

        Of several that are already aborted the earliest counts; of none at all it never aborts. The sources hold it
        weakly until somebody waits for it, so one made for a short piece of work leaves nothing at a long-lived source.
        """
        return _any(signals)

    @staticmethod
    def timeout(seconds: float) -> "AbortSignal":
        """Return a signal that aborts with a built-in `TimeoutError` once the running loop's clock is `seconds` on.

        Raises `ValueError` for a negative number or NaN, and `RuntimeError` without a running loop.
        """
        return _timeout(seconds)

    def __repr__(self) -> str:
        return f"<AbortSignal {'not aborted' if self._reason is None else f'aborted: {self._reason!r}'}>"

    def _remove(self, registration: "_Registration") -> None:
        self._callbacks.pop(registration, None)

    def _settle(self, reason: Exception, at: int) -> None:
        """Make the abort visible; whoever calls this runs the callbacks afterwards."""
        self._reason, self._trace, self._aborted_at = reason, reason.__traceback__, at

    def _run_callbacks(self) -> None:
        """Run and forget every callback. Once aborted no new one is registered, so the snapshot is complete."""
        callbacks = self._callbacks
        for registration in tuple(callbacks):
            callback = callbacks.pop(registration, None)  # gone if an earlier callback has removed it
            if callback is not None:
                _call(callback)


@final
class AbortController:
    """Holds the one `signal` that it can abort (checkpoint 02)."""

    __slots__ = ("__weakref__", "_signal")

    def __init__(self) -> None:
        self._signal = AbortSignal()

    @property
    def signal(self) -> AbortSignal:
        """The signal to hand out; the same object each time."""
        return self._signal

    def abort(self, reason: object = None) -> None:
        """Request the stop and run the callbacks, in the order of their registration, before this returns.

        An `Exception` instance becomes the signal's `reason` as it is; anything else, and nothing, is wrapped in an
        `AbortError`. Only the first call counts. A callback that raises stops neither this nor the other callbacks.
        """
        signal = self._signal
        if signal.aborted:
            return
        abort_signal(signal, as_reason(reason))


def abort_signal(signal: AbortSignal, reason: Exception) -> None:
    """Abort a signal and every signal made from it: first all of them are settled, then the callbacks run."""
    at = next(_order)
    signal._settle(reason, at)
    made = _detach(signal)
    for each in made:
        each._settle(reason, at)
        each._unlink()
    signal._run_callbacks()
    for each in made:
        each._run_callbacks()


@final
class _Registration:
    """The remover of one callback, and its key: two registrations of one function stay apart."""

    __slots__ = ("_signal",)

    def __init__(self, signal: AbortSignal) -> None:
        self._signal: AbortSignal | None = signal

    def __call__(self) -> None:
        signal, self._signal = self._signal, None  # a remover kept after its use keeps no signal alive
        if signal is not None:
            signal._remove(self)


@final
class _Link:
    """What a source knows of a signal made from it: a weak reference, and a strong one while somebody waits."""

    __slots__ = ("kept", "made")

    def __init__(self, made: "_MadeSignal", dropped: Callable[[object], None]) -> None:
        self.made = weakref.ref(made, dropped)
        self.kept: _MadeSignal | None = None


@final
class _NeverSignal(AbortSignal):
    """A signal without a controller. It checks what it is given and keeps none of it."""

    __slots__ = ()

    def add_callback(self, callback: Callable[[], object]) -> Callable[[], None]:
        if not callable(callback):
            raise TypeError(f"a callback must be callable, not {type(callback).__name__}")
        return _nothing


@final
class _MadeSignal(AbortSignal):
    """A signal made by `any`, linked to plain sources only: a made source stands for its own sources."""

    __slots__ = ("_link", "_sources")

    def __init__(self, sources: "tuple[AbortSignal, ...]") -> None:
        super().__init__()
        self._sources = sources
        weak = tuple(weakref.ref(source) for source in sources)

        def dropped(_dead: object) -> None:
            for reference in weak:
                source = reference()
                if source is not None and source._links is not None:
                    source._links.pop(link, None)

        link = self._link = _Link(self, dropped)
        for source in sources:
            if source._links is None:
                source._links = {}
            source._links[link] = None

    def add_callback(self, callback: Callable[[], object]) -> Callable[[], None]:
        remove = super().add_callback(callback)
        if self._callbacks:
            self._link.kept = self
        return remove

    def _remove(self, registration: _Registration) -> None:
        super()._remove(registration)
        if not self._callbacks:
            self._link.kept = None

    def _unlink(self) -> None:
        """Leave nothing at the sources: this signal has fired and needs them no longer."""
        for source in self._sources:
            if source._links is not None:
                source._links.pop(self._link, None)
        self._sources = ()
        self._link.kept = None

    def _roots(self) -> tuple[AbortSignal, ...]:
        return self._sources


def _detach(signal: AbortSignal) -> list[_MadeSignal]:
    """Take a source's links, and return the signals at their other end that have not fired."""
    links, signal._links = signal._links, None
    found = [link.made() for link in links or ()]
    return [made for made in found if made is not None and made._reason is None]


def _any(signals: tuple[AbortSignal, ...]) -> AbortSignal:
    for signal in signals:
        if not isinstance(signal, AbortSignal):
            raise TypeError(f"any() takes abort signals, not {type(signal).__name__}")
    aborted = [signal for signal in signals if signal._reason is not None]
    if aborted:
        first = min(aborted, key=lambda signal: signal._aborted_at)
        made = AbortSignal()
        made._settle(first._reason, first._aborted_at)
        return made
    roots: dict[int, AbortSignal] = {}
    for signal in signals:
        for root in signal._sources if isinstance(signal, _MadeSignal) else (signal,):
            if root is not _NEVER:
                roots[id(root)] = root
    return _MadeSignal(tuple(roots.values()))


def _timeout(seconds: float) -> AbortSignal:
    if type(seconds) not in (int, float):
        raise TypeError(f"timeout() takes seconds as a number, not {type(seconds).__name__}")
    if not seconds >= 0:
        raise ValueError(f"timeout() takes seconds from 0 up, not {seconds}")
    loop = asyncio.get_running_loop()
    signal = AbortSignal()
    if seconds != float("inf"):
        text = f"timed out after {seconds} s"
        loop.call_later(seconds, lambda: abort_signal(signal, TimeoutError(text)))
    return signal


def _nothing() -> None:
    """Remove a callback that is not there any more."""


def _wake(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


def _call(callback: Callable[[], object]) -> None:
    """Run a callback; its `Exception` is reported once and goes no further."""
    try:
        callback()
    except Exception as error:
        _report(callback, error)


def _report(callback: Callable[[], object], error: Exception) -> None:
    message = "an abort callback raised"
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        details = (type(error), error, error.__traceback__, message, callback)
        sys.unraisablehook(sys.UnraisableHookArgs(details))
    else:
        loop.call_exception_handler({"message": message, "exception": error, "callback": callback})


_NEVER: Final = _NeverSignal()
