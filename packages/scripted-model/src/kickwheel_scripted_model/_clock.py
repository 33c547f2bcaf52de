"""`StepClock`: a script is held at named points, and a test lets it go on."""

import asyncio
from collections import OrderedDict
from typing import TypeAlias

_Arrival: TypeAlias = asyncio.Future[None]
"""One parked `point`: done once it was released, or once its task was cancelled."""


class StepClock:
    """Hold scripts at named points, so that a test can look at the state between two chunks (checkpoint 04).

    A script writes `await clock.point("after first")`; a test writes `await clock.step("after first")`, or
    `reached` and `release`. Only order counts: nothing here waits for a duration. One clock may serve several
    models and streams. Names are not blank; another type is a `TypeError`, a blank name a `ValueError`.
    """

    def __init__(self) -> None:
        self._open = False
        self._parked: OrderedDict[_Arrival, str] = OrderedDict()
        self._by_name: dict[str, OrderedDict[_Arrival, None]] = {}
        self._watchers: dict[str, list[asyncio.Future[None]]] = {}
        self._passed: list[str] = []

    @property
    def waiting(self) -> tuple[str, ...]:
        """The names parked at now, in order of arrival."""
        return tuple(name for arrival, name in self._parked.items() if not arrival.done())

    @property
    def passed(self) -> tuple[str, ...]:
        """The names released so far, in order of release."""
        return tuple(self._passed)

    async def point(self, name: str) -> None:
        """Park here until released; the script's side. On an open clock this passes at once.

        A cancelled script (an abort, a closed stream) leaves the point: it is then neither waiting nor
        passed.
        """
        _check(name)
        if self._open:
            self._passed.append(name)
            return
        arrival: _Arrival = asyncio.get_running_loop().create_future()
        self._parked[arrival] = name
        self._by_name.setdefault(name, OrderedDict())[arrival] = None
        self._wake(name)
        try:
            await arrival
        finally:
            self._forget(arrival)

    async def reached(self, name: str) -> None:
        """Return when somebody is parked at `name`. Raises `RuntimeError` if the clock is or becomes open."""
        _check(name)
        if self._first(name) is None:
            await self._arrival_at(name)

    def release(self, name: str) -> None:
        """Let the longest-parked arrival at `name` go on, at a later turn of the loop.

        Raises `RuntimeError` with the names parked now if nobody is there: nothing is released in advance.
        """
        _check(name)
        arrival = self._first(name)
        if arrival is None:
            raise RuntimeError(f"nobody is parked at {name!r}; parked now: {list(self.waiting)!r}")
        self._let_go(arrival)

    async def step(self, name: str) -> None:
        """Wait until somebody is parked at `name`, and release exactly one arrival."""
        _check(name)
        arrival = self._first(name)
        while arrival is None:  # another step may have been faster
            await self._arrival_at(name)
            arrival = self._first(name)
        self._let_go(arrival)

    def open(self) -> None:
        """Release everybody in order of arrival; from now on no point parks. Again, it does nothing.

        Whoever waits in `reached` or `step` gets a `RuntimeError`: what they wait for cannot come any more.
        """
        self._open = True
        for arrival in list(self._parked):
            if not arrival.done():
                self._let_go(arrival)
        watchers, self._watchers = self._watchers, {}
        for name, futures in watchers.items():
            for watcher in futures:
                if not watcher.done():
                    watcher.set_exception(_never(name))
                    watcher.exception()  # a watcher cancelled in this very turn must not be reported

    def _first(self, name: str) -> _Arrival | None:
        """The longest-parked arrival; one whose task was cancelled in this very turn does not count."""
        return next((arrival for arrival in self._by_name.get(name, ()) if not arrival.done()), None)

    def _let_go(self, arrival: _Arrival) -> None:
        self._passed.append(self._forget(arrival))
        arrival.set_result(None)

    def _forget(self, arrival: _Arrival) -> str:
        name = self._parked.pop(arrival, "")
        at_name = self._by_name.get(name)
        if at_name is not None:
            del at_name[arrival]
            if not at_name:
                del self._by_name[name]
        return name

    async def _arrival_at(self, name: str) -> None:
        if self._open:
            raise _never(name)
        watcher: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        watchers = self._watchers.setdefault(name, [])
        watchers.append(watcher)
        try:
            await watcher
        finally:
            if watcher.cancelled():
                watchers.remove(watcher)

    def _wake(self, name: str) -> None:
        for watcher in self._watchers.pop(name, ()):
            if not watcher.done():
                watcher.set_result(None)


def _never(name: str) -> RuntimeError:
    return RuntimeError(f"the clock is open: nobody will be parked at {name!r}")


def _check(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a name must be a string, not {type(name).__name__}")
    if not name.strip():
        raise ValueError("a name must not be blank")
