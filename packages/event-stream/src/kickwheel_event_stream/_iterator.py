"""The consumer's end of a stream, and its result."""

import asyncio
from collections.abc import Generator
from typing import Any, Generic, TypeVar, final

from kickwheel_event_stream._core import Core
from kickwheel_event_stream._mailbox import FAILED

E = TypeVar("E")
R_co = TypeVar("R_co", covariant=True)


@final
class EventIterator(Generic[E]):
    """What `aiter(stream)` returns: the holder of the one consumer slot (checkpoint 02).

    Several reads may wait at once; events go to the oldest. A cancelled read loses no event.
    """

    __slots__ = ("__weakref__", "_core", "_plain", "_reads", "_ticket")

    def __init__(self, core: Core[E]) -> None:
        self._core = core
        self._ticket = core.claim()
        self._reads = core.reads
        self._plain = core.capacity is None  # nobody waits for room, so a read is a bare `popleft`

    def __aiter__(self) -> "EventIterator[E]":
        """Return itself: no second claim is made."""
        return self

    async def __anext__(self) -> E:
        """Return the next event; wait for it if there is none. A failure comes after the last event."""
        buffer = self._ticket.buffer
        if buffer and not self._reads:
            return buffer.popleft() if self._plain else self._core.take()
        core = self._core
        read = core.begin_read(self._ticket)
        if read is None:
            return core.take()
        try:
            outcome = await read
        except BaseException:
            core.withdraw(read)
            raise
        if not core.resume(read, outcome):
            core.end(failed=outcome == FAILED)
        return core.buffer.popleft() if self._plain else core.take()

    async def aclose(self) -> None:
        """Free the slot; waiting reads end. Unread events stay, for the next iterator.

        The producer is not told. Closing twice does nothing, and an old iterator never frees a newer one's
        slot.
        """
        self._core.close_iterator(self._ticket)


@final
class Result(Generic[R_co]):
    """What `stream.result` is: await it to get the terminal value, or the failure (checkpoint 02)."""

    __slots__ = ("_core",)

    def __init__(self, core: Core[Any]) -> None:
        self._core = core

    def __await__(self) -> Generator[object, None, R_co]:
        """Wait for the end of the stream. Each waiter has its own future, so none can cancel another's."""
        # [solution 02.2]
        core = self._core
        if core.state == "open":
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            core.waiters[waiter] = None
            try:
                yield from waiter
            finally:
                core.waiters.pop(waiter, None)
        value: R_co = core.outcome()
        return value
        # [/solution]
