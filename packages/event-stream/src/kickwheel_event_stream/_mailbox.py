"""The buffer of a stream and the reads that wait for it."""

import asyncio
from asyncio import get_running_loop
from collections import deque
from collections.abc import Generator
from typing import Final, Generic, Protocol, TypeAlias, TypeVar, final

E = TypeVar("E")
T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

# What wakes a waiting read.
EVENT: Final = 0
ENDED: Final = 1
FAILED: Final = 2
CLOSED: Final = 3


class Waiter(Protocol[T_contra]):
    """What can be woken once: a future, or a read that has none yet."""

    def done(self) -> bool:
        """Tell whether it was woken or cancelled."""
        ...

    def set_result(self, result: T_contra, /) -> None:
        """Wake it."""
        ...


@final
class EarlyRead:
    """A read that was begun before the producer had its first turn, which already stands in the loop's queue.

    It queues up behind that turn itself. Usually the turn has brought an event, and neither a future nor a
    further turn of the loop is needed; if not, a future is made after all.
    """

    __slots__ = ("_future", "_outcome")

    def __init__(self) -> None:
        self._outcome: int | None = None
        self._future: asyncio.Future[int] | None = None

    def done(self) -> bool:
        """Tell whether it was woken, or cancelled while it waited with a future."""
        return self._outcome is not None or (self._future is not None and self._future.done())

    def set_result(self, outcome: int) -> None:
        """Wake it."""
        self._outcome = outcome
        if self._future is not None:
            self._future.set_result(outcome)

    def __await__(self) -> Generator[object, None, int]:
        yield None
        if self._outcome is not None:
            return self._outcome
        future: asyncio.Future[int] = get_running_loop().create_future()
        self._future = future
        return (yield from future)


Read: TypeAlias = asyncio.Future[int] | EarlyRead


class Mailbox(Generic[E]):
    """Events and waiting reads, both oldest first: the lower half of a stream's `Core`, which fills it in.

    A read that is woken for an event does not get it with the wake-up: the event stays in the buffer until
    the read has really resumed, so one that is cancelled in between cannot take it along. The first `served`
    of the reads are in that state, and as many events at the front of the buffer are theirs; the other events
    are spare. While a read waits unserved there is no spare event.
    """

    __slots__ = ("buffer", "late", "reads", "served")

    buffer: deque[E]
    late: int  # reads that are served, and woken in the loop's next turn
    reads: deque[Read]
    served: int

    def spare(self) -> int:
        """Count the events that belong to no read yet."""
        return len(self.buffer) - self.served

    def waiting(self) -> bool:
        """Tell whether a read waits unserved."""
        return len(self.reads) > self.served

    def serve(self) -> None:
        """Wake the oldest unserved read for a spare event."""
        # [solution 02.3]
        reads = self.reads
        while len(reads) > self.served:
            read = reads[self.served]
            if not read.done():
                self.served += 1
                if self.late:
                    self._wake_late(get_running_loop(), read)  # older ones are, and come first
                else:
                    read.set_result(EVENT)
                return
            del reads[self.served]  # cancelled, though its task has not run yet
        # [/solution]

    def enqueue(self) -> "asyncio.Future[int]":
        """Register a read behind the others; an event that is spare becomes its own."""
        loop = get_running_loop()
        read: asyncio.Future[int] = loop.create_future()
        self.reads.append(read)
        if len(self.buffer) > self.served:
            self.served += 1
            # Not now: a future that is done does not suspend its awaiter, who would overtake the older ones.
            self._wake_late(loop, read)
        return read

    def _wake_late(self, loop: asyncio.AbstractEventLoop, read: Read) -> None:
        def wake_now() -> None:
            self.late -= 1
            wake(read, EVENT)

        self.late += 1
        loop.call_soon(wake_now)

    def resume(self, read: Read, outcome: int) -> bool:
        """Tell whether a woken read may take the event at the front of the buffer now."""
        if outcome == EVENT:
            if self.reads[0] is read:
                self.reads.popleft()
            else:
                self.reads.remove(read)
            self.served -= 1
            return True
        # An older read may have been cancelled in the turn of its event, which then is spare.
        return outcome != CLOSED and len(self.buffer) > self.served

    def withdraw(self, read: Read) -> None:
        """Forget a cancelled read. An event it was woken for goes to the next read, or is spare."""
        # [solution 02.4]
        if read in self.reads:
            served = self.reads.index(read) < self.served
            self.reads.remove(read)
            if served:
                self.served -= 1
                self.serve()
        # [/solution]

    def end_waiting(self, outcome: int) -> None:
        """Wake every unserved read without an event."""
        reads = self.reads
        while len(reads) > self.served:
            wake(reads.pop(), outcome)

    def drop_spare(self) -> None:
        """Throw away the events that belong to no read."""
        while len(self.buffer) > self.served:
            self.buffer.pop()


def wake(waiter: "Waiter[T]", outcome: T) -> None:
    """Wake a waiter, unless it was cancelled."""
    if not waiter.done():
        waiter.set_result(outcome)
