"""What an abort signal knows: its reason, its callbacks, and the signals made from it."""

import asyncio
import itertools
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Final, TypeAlias, final

from kickwheel_event_stream._errors import AbortError

_UNRAISABLE: Final = (StopIteration, StopAsyncIteration, asyncio.CancelledError)

Callback: TypeAlias = Callable[[], object]

_turns: Final = itertools.count()
"""Numbers the aborts of the process, so that of several aborted sources the first one can be told."""


class AbortState:
    """The state behind one signal. Aborted means that there is a reason."""

    __slots__ = ("__weakref__", "aborted_at", "callbacks", "links", "reason", "trace")

    def __init__(self) -> None:
        self.reason: Exception | None = None
        self.trace: TracebackType | None = None
        self.aborted_at: int = -1
        self.callbacks: dict[Registration, Callback] = {}
        self.links: dict[Link, None] = {}

    def add(self, callback: Callback) -> Callable[[], None]:
        """Register a callback, or run it if the abort is over."""
        if not callable(callback):
            raise TypeError(f"a callback must be callable, not {type(callback).__name__}")
        if self.reason is not None:
            call(callback)
            return nothing
        registration = Registration(self)
        self.callbacks[registration] = callback
        return registration

    def remove(self, registration: "Registration") -> None:
        """Forget one callback."""
        self.callbacks.pop(registration, None)

    def settle(self, reason: Exception, at: int) -> None:
        """Make the abort visible; the callbacks come afterwards."""
        self.reason, self.trace, self.aborted_at = reason, reason.__traceback__, at

    def abort(self, reason: Exception) -> None:
        """Abort this one, and all made from it: each is settled first, then callbacks run. Called once."""
        at = next(_turns)
        self.settle(reason, at)
        links, self.links = self.links, {}
        made = [state for link in links if (state := link.made()) is not None]
        for state in made:
            state.settle(reason, at)
            state.unlink()
        self.run_callbacks()
        for state in made:
            state.run_callbacks()

    def run_callbacks(self) -> None:
        """Run and forget every callback. After the abort none is registered: the snapshot is complete."""
        callbacks = self.callbacks
        for registration in tuple(callbacks):
            callback = callbacks.pop(registration, None)  # gone if an earlier callback has removed it
            if callback is not None:
                call(callback)

    def roots(self) -> "tuple[AbortState, ...]":
        """Return the states that can abort this one."""
        return (self,)


@final
class NeverState(AbortState):
    """The state that nobody aborts. It checks a callback and does not keep it."""

    __slots__ = ()

    def add(self, callback: Callback) -> Callable[[], None]:
        """Take a callback that will never run."""
        if not callable(callback):
            raise TypeError(f"a callback must be callable, not {type(callback).__name__}")
        return nothing

    def roots(self) -> tuple[AbortState, ...]:
        """Return nothing: no abort comes from here."""
        return ()


@final
class MadeState(AbortState):
    """A state that follows its sources.

    It is linked to their roots, never to another made state, so a chain of made signals costs no more than
    one.
    """

    __slots__ = ("link", "sources")

    def __init__(self, sources: tuple[AbortState, ...]) -> None:
        super().__init__()
        self.sources = sources
        self.link: Final = Link(self, sources)
        for source in sources:
            source.links[self.link] = None

    def add(self, callback: Callback) -> Callable[[], None]:
        """Register a callback; from the first one on the sources keep this state alive."""
        remove = super().add(callback)
        if self.callbacks:
            self.link.kept = self
        return remove

    def remove(self, registration: "Registration") -> None:
        """Forget one callback; after the last one the sources let go."""
        super().remove(registration)
        if not self.callbacks:
            self.link.kept = None

    def unlink(self) -> None:
        """Leave nothing at the sources."""
        for source in self.sources:
            source.links.pop(self.link, None)
        self.sources = ()
        self.link.kept = None

    def roots(self) -> tuple[AbortState, ...]:
        """Return the sources."""
        return self.sources


@final
class Link:
    """What a source holds of a state made from it: weakly, and strongly while somebody waits."""

    __slots__ = ("kept", "made")

    def __init__(self, made: MadeState, sources: tuple[AbortState, ...]) -> None:
        weak = [weakref.ref(source) for source in sources]

        def died(_made: object) -> None:
            for reference in weak:
                source = reference()
                if source is not None:
                    source.links.pop(self, None)

        self.made: Final = weakref.ref(made, died)
        self.kept: MadeState | None = None


@final
class Registration:
    """The remover of one callback, and its key: two registrations of one function stay apart."""

    __slots__ = ("_state",)

    def __init__(self, state: AbortState) -> None:
        self._state: AbortState | None = state

    def __call__(self) -> None:
        """Remove the callback, once; a remover kept afterwards keeps no signal alive."""
        state, self._state = self._state, None
        if state is not None:
            state.remove(self)


def make_any(states: tuple[AbortState, ...]) -> AbortState:
    """Make a state that follows the given ones; of those already aborted the earliest counts."""
    aborted = [(state.aborted_at, state.reason) for state in states if state.reason is not None]
    if aborted:
        at, reason = min(aborted, key=lambda pair: pair[0])
        settled = AbortState()
        settled.settle(reason, at)
        return settled
    return MadeState(tuple(dict.fromkeys(root for state in states for root in state.roots())))


def as_reason(value: object) -> Exception:
    """Make what was given to `abort` something that can be raised.

    Stop iterations are wrapped: raised in a coroutine they turn into something else. So are cancellations,
    which are control flow.
    """
    kinds = type(value).__mro__  # not `isinstance` alone, which believes what a value says of itself
    if Exception in kinds and isinstance(value, Exception) and not isinstance(value, _UNRAISABLE):
        return value
    return AbortError(value)


def nothing() -> None:
    """Remove a callback that is not there any more."""


def call(callback: Callback) -> None:
    """Run a callback. Its `Exception` is reported once, and reaches neither the aborter nor the others."""
    try:
        callback()
    except Exception as error:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            AbortCallbackFailure(error)
        else:
            message = "an abort callback raised"
            loop.call_exception_handler({"message": message, "exception": error, "callback": callback})


class AbortCallbackFailure:
    """Brings an error to `sys.unraisablehook`, whose argument only the interpreter can build."""

    __slots__ = ("_error",)

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __del__(self) -> None:
        """Raise where nobody can catch it."""
        raise self._error
