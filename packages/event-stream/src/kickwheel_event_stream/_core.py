"""The state of a stream, shared by the stream, its iterator and its result."""

import asyncio
from asyncio import get_running_loop
from collections import deque
from types import TracebackType
from typing import Any, Final, Generic, Literal, NoReturn, TypeVar, cast, final

from kickwheel_event_stream._errors import StreamBusyError
from kickwheel_event_stream._mailbox import CLOSED, ENDED, FAILED, EarlyRead, Mailbox, Read, wake

E = TypeVar("E")

State = Literal["open", "finished", "failed"]


@final
class Ticket(Generic[E]):
    """The consumer slot, held by one iterator. `buffer` is empty for ever once the slot is given back."""

    __slots__ = ("buffer", "drained")

    def __init__(self, buffer: deque[E]) -> None:
        self.buffer: deque[E] | tuple[()] = buffer
        self.drained: bool = False  # given back because the stream finished, and no read has met the end yet


@final
class Core(Mailbox[E]):
    """One stream without its surface: a mailbox, a state and the consumer slot.

    What type the terminal value has, only the surface knows. `guarded` says that accepting an event needs a
    second look, `starting` that the first turn of the producer already stands in the loop's queue.
    """

    __slots__ = (
        "capacity",
        "dropping",
        "error",
        "guarded",
        "owner",
        "senders",
        "starting",
        "state",
        "trace",
        "value",
        "waiters",
    )

    def __init__(self, capacity: int | None) -> None:
        self.buffer: deque[E] = deque()
        self.reads: deque[Read] = deque()
        self.served: int = 0
        self.late: int = 0
        self.capacity: Final = capacity
        self.guarded: bool = capacity is not None
        self.dropping: bool = False
        self.starting: bool = False
        self.state: State = "open"
        self.value: Any = None
        self.error: Exception | None = None
        self.trace: TracebackType | None = None
        self.owner: Ticket[E] | None = None
        self.senders: deque[tuple[asyncio.Future[bool], E]] | None = None  # made by the first that waits
        self.waiters: dict[asyncio.Future[None], None] = {}

    # The terminal call

    def finish(self, value: object) -> None:
        """Settle with a value; the slot is free at once if nothing is left to read."""
        # [solution 02.1]
        self.value = value
        self.state = "finished"
        if len(self.buffer) == self.served:
            if self.reads:
                self.end_waiting(ENDED)
            self.release(drained=True)
        if self.waiters or self.senders:
            self._tell_waiters()
        # [/solution]

    def fail(self, error: Exception) -> None:
        """Settle with a failure; an idle iterator stays, for it is still owed the error."""
        # [solution 02.1]
        self.error, self.trace = error, error.__traceback__
        self.state = "failed"
        if self.waiting():
            self.end_waiting(FAILED)
            self.release()
        if self.waiters or self.senders:
            self._tell_waiters()
        # [/solution]

    def outcome(self) -> Any:
        """Return the terminal value, or raise the failure."""
        if self.state == "failed":
            self.raise_error()
        return self.value

    def raise_error(self) -> NoReturn:
        """Raise the failure, with the traceback it had at first: it must not grow each time."""
        assert self.error is not None
        raise self.error.with_traceback(self.trace)

    def _tell_waiters(self) -> None:
        self.refuse_senders()
        waiters, self.waiters = self.waiters, {}
        for waiter in waiters:
            wake(waiter, None)

    # The consumer slot

    def claim(self) -> Ticket[E]:
        """Take the slot."""
        # [solution 02.3]
        if self.owner is not None:
            raise StreamBusyError
        ticket = self.owner = Ticket(self.buffer)
        return ticket
        # [/solution]

    def release(self, *, drained: bool = False) -> None:
        """Give the slot back."""
        ticket, self.owner = self.owner, None
        if ticket is not None:
            ticket.buffer = ()
            ticket.drained = drained

    def close_iterator(self, ticket: Ticket[E]) -> None:
        """Close an iterator: its reads end and the slot is free. An old one leaves a newer one alone."""
        # [solution 02.3]
        ticket.drained = False
        if ticket is self.owner:
            self.release()
            self.end_waiting(CLOSED)
        # [/solution]

    # Reads

    def begin_read(self, ticket: Ticket[E]) -> Read | None:
        """Register a read that has to wait; `None` says that an event is there for it. Raises at the end."""
        # [solution 02.3]
        if not self.buffer and ticket is self.owner and self.state == "open":
            waits: Read = EarlyRead() if self.starting else get_running_loop().create_future()
            self.reads.append(waits)
            return waits
        spare = self.spare()
        if ticket is not self.owner:
            # A read cancelled in the turn in which the stream finished has left its event behind.
            if not (ticket.drained and spare and self.owner is None):
                ticket.drained = False
                raise StopAsyncIteration
        elif not spare and self.state != "open":
            self.release()
            if self.state == "failed":
                self.raise_error()  # from here, so that its traceback is as long as that of `result`
            raise StopAsyncIteration
        if spare and not self.reads:
            return None
        read = self.enqueue()
        self.admit()
        return read
        # [/solution]

    def end(self, *, failed: bool) -> NoReturn:
        """End an iteration: with the failure, or as usual."""
        if failed:
            self.raise_error()
        raise StopAsyncIteration

    def withdraw(self, read: Read) -> None:
        """Forget a cancelled read; of a stream that drops its events, the one it was woken for goes too."""
        super().withdraw(read)
        if self.dropping:
            self.drop_spare()

    def take(self) -> E:
        """Take the oldest event of a bounded stream, and let a waiting send follow."""
        event = self.buffer.popleft()
        self.admit()
        return event

    # Events

    def accept(self, event: E) -> None:
        """Append an event; a stream that is being closed drops it."""
        if self.dropping:
            return
        self.buffer.append(event)
        if self.reads:
            self.serve()

    def has_room(self) -> bool:
        """Tell whether an event is accepted at once; nobody overtakes a send that waits."""
        if self.capacity is None or self.dropping:
            return True
        return not self.senders and self.spare() < self.capacity

    def admit(self) -> None:
        """Accept the events of waiting sends, oldest first, as far as there is room."""
        senders = self.senders
        while senders and self.spare() < cast("int", self.capacity):
            sender, event = senders.popleft()
            if not sender.done():
                self.accept(event)
                sender.set_result(True)

    def refuse_senders(self, *, accepted: bool = False) -> None:
        """Wake every waiting send without taking its event."""
        senders, self.senders = self.senders, None
        for sender, _event in senders or ():
            wake(sender, accepted)

    def add_sender(self, sender: "asyncio.Future[bool]", event: E) -> None:
        """Put a send that waits for room at the end of the line."""
        if self.senders is None:
            self.senders = deque()
        self.senders.append((sender, event))

    def forget_sender(self, sender: "asyncio.Future[bool]") -> None:
        """Take a cancelled send out of the line."""
        senders = self.senders
        for index, (other, _event) in enumerate(senders or ()):
            if senders is not None and other is sender:
                del senders[index]
                return

    def drop(self, *, refuse: bool) -> None:
        """Begin to close: no event gets in or out any more. Waiting sends return, unless they are refused."""
        self.dropping = self.guarded = True
        self.release()
        self.end_waiting(CLOSED)
        self.drop_spare()
        if not refuse:
            self.refuse_senders(accepted=True)
