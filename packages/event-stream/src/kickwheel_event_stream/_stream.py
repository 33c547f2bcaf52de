"""The event stream: a buffer, one consumer, one terminal result."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import Final, Generic, Literal, NoReturn, TypeVar, cast, final

from kickwheel_event_stream._close import Cleanup
from kickwheel_event_stream._errors import AbortError, StreamBusyError, StreamClosedError

E = TypeVar("E")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

State = Literal["open", "finished", "failed"]

OPEN: Final = "open"
FINISHED: Final = "finished"
FAILED: Final = "failed"

# What wakes a read. An event itself is never handed over with the wake-up: it stays in the buffer until the read has
# really resumed, so a read that is cancelled meanwhile cannot lose it.
EVENT: Final = 0
ENDED: Final = 1
ERROR: Final = 2
CLOSED: Final = 3


@final
class EventStream(Generic[E, R]):
    """A single-consumer stream of events with one terminal result (checkpoint 02).

    A producer calls `push` any number of times and then `finish` or `fail` once. A consumer reads the events with
    `async for event in stream`, in the order of the pushes, and anybody awaits `stream.result`, any number of times.

    Without a `capacity` (a positive number of events) the buffer is unbounded: `push` never waits and never fails for
    want of room, so there is no backpressure. With one, `await stream.send(event)` waits for room.

    `on_close` is called once when the stream is closed by `async with stream:` or `aclose()`, without arguments; what it
    returns is awaited if it can be. It is the place to stop the producer and wait for it.

    No event loop is needed to build, push to and settle a stream. Not thread-safe, and bound to one loop while anybody
    waits. Raises `TypeError` for a capacity that is no integer or a hook that cannot be called, `ValueError` for a
    capacity below 1.
    """

    __slots__ = (
        "__weakref__",
        "_buffer",
        "_capacity",
        "_cleanup",
        "_error",
        "_iterator",
        "_reads",
        "_senders",
        "_served",
        "_state",
        "_trace",
        "_value",
        "_waiters",
    )

    def __init__(
        self, *, capacity: int | None = None, on_close: Callable[[], Awaitable[object] | None] | None = None
    ) -> None:
        if capacity is not None:
            if type(capacity) is not int:
                raise TypeError(f"capacity must be an integer or None, not {type(capacity).__name__}")
            if capacity < 1:
                raise ValueError(f"capacity must be at least 1, not {capacity}")
        self._capacity = capacity
        self._cleanup = Cleanup(on_close)
        self._state: State = OPEN
        self._value: R | None = None
        self._error: Exception | None = None
        self._trace: TracebackType | None = None
        self._buffer: deque[E] = deque()
        self._iterator: EventIterator[E] | None = None
        # Reads that wait, oldest first. The first `_served` of them have been woken for an event and not resumed yet.
        self._reads: deque[asyncio.Future[int]] = deque()
        self._served = 0
        self._senders: deque[tuple[asyncio.Future[bool], E]] = deque()
        self._waiters: dict[asyncio.Future[None], None] = {}

    @property
    def state(self) -> State:
        """`open`, `finished` or `failed`. A terminal state never changes again."""
        return self._state

    @property
    def capacity(self) -> int | None:
        """The number of events that wait in the buffer at most, or `None`: unbounded, no backpressure."""
        return self._capacity

    @property
    def result(self) -> "Result[R]":
        """The terminal value to await: by any number of tasks, any number of times, before and after the end.

        It is there as soon as the stream is settled, before the events are drained. Of a failed stream it raises the
        failure, the same object each time; nobody has to await it, and nothing is logged if nobody does. Cancelling one
        waiter leaves the others alone.
        """
        return Result(self)

    def push(self, event: E) -> None:
        """Append an event: to the oldest waiting read, or to the buffer. Never waits, and takes any value at all.

        Raises `StreamClosedError` on a terminal stream, and `asyncio.QueueFull` when a bounded stream has no room or
        a `send` is next in line; the refused event has changed nothing. Closing the iterator does not make it fail.
        """
        if self._state is not OPEN:
            raise StreamClosedError("push", self._state)
        if self._capacity is not None and not self._has_room():
            raise asyncio.QueueFull
        self._accept(event)

    def _accept(self, event: E) -> None:
        if self._cleanup.dropping:
            return
        self._buffer.append(event)
        if self._reads:
            self._serve()

    async def send(self, event: E) -> None:
        """As `push`, but wait for room in a bounded stream. Sends are accepted in the order they were called.

        Raises `StreamClosedError` if the stream is terminal or becomes so meanwhile. A cancelled send is not delivered.
        """
        if self._state is not OPEN:
            raise StreamClosedError("send", self._state)
        if self._capacity is None or self._has_room():
            self._accept(event)
            return
        entry = (asyncio.get_running_loop().create_future(), event)
        self._senders.append(entry)
        try:
            accepted = await entry[0]
        except BaseException:
            self._forget_sender(entry[0])
            raise
        if not accepted:
            raise StreamClosedError("send", self._state)

    def finish(self, result: R) -> None:
        """Settle the stream with its result. Buffered events are still read first; it needs no room.

        The result may be any value; an awaitable is not awaited. Raises `StreamClosedError` on a terminal stream.
        """
        if self._state is not OPEN:
            raise StreamClosedError("finish", self._state)
        self._value = result
        self._settle(FINISHED, ENDED)

    def fail(self, error: Exception) -> None:
        """Settle the stream with a failure: `result` and, after the buffered events, iteration raise this very object.

        Only instances of `Exception` are taken: `TypeError` for anything else, and the stream stays open. A stop
        iteration is wrapped in a `RuntimeError`, so that it never looks like a normal end. Raises `StreamClosedError` on
        a terminal stream.
        """
        if not issubclass(type(error), Exception) or isinstance(error, asyncio.CancelledError):
            raise TypeError(f"fail() takes an instance of Exception, not {_kind(error)}")
        if self._state is not OPEN:
            raise StreamClosedError("fail", self._state)
        if isinstance(error, (StopIteration, StopAsyncIteration)):
            cause, error = error, RuntimeError(f"the stream failed with {type(error).__name__}")
            error.__cause__ = cause
        self._error, self._trace = error, error.__traceback__
        self._settle(FAILED, ERROR)

    def _settle(self, state: State, outcome: int) -> None:
        self._state = state
        reads = self._reads
        if len(reads) > self._served:
            self._end_reads(outcome)
            self._release_slot(drained=True)
        elif state is FINISHED and len(self._buffer) == self._served:
            self._release_slot(drained=True)
        self._refuse_senders()
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters:
            _wake(waiter, None)

    # -- the consumer's side

    def __aiter__(self) -> "EventIterator[E]":
        """Claim the one consumer slot, at once, and return the iterator that holds it.

        Raises `StreamBusyError` while another iterator is active. The slot is free again when the iterator is closed
        or has reached the end.
        """
        if self._iterator is not None:
            raise StreamBusyError
        iterator: EventIterator[E] = EventIterator(cast("EventStream[E, object]", self))
        self._iterator = iterator
        return iterator

    def _serve(self) -> None:
        """Wake the oldest waiting read for an event in the buffer."""
        reads = self._reads
        while len(reads) > self._served:
            read = reads[self._served]
            if not read.done():
                self._served += 1
                read.set_result(EVENT)
                return
            del reads[self._served]  # cancelled; its task has not run yet

    def _end_reads(self, outcome: int) -> None:
        """Wake every read that waits without an event."""
        reads = self._reads
        while len(reads) > self._served:
            _wake(reads.pop(), outcome)

    def _release_slot(self, *, drained: bool = False) -> None:
        iterator, self._iterator = self._iterator, None
        if iterator is not None:
            iterator._detach(drained=drained)

    def _begin_read(self, iterator: "EventIterator[E]") -> "asyncio.Future[int] | None":
        """Register a read that has to wait. `None`: there is an event for it now."""
        spare = len(self._buffer) - self._served
        if iterator is not self._iterator:
            if iterator._drained and spare and self._iterator is None:
                return None  # an event that came back from a read cancelled as the stream finished
            iterator._drained = False
            raise StopAsyncIteration
        if not spare and self._state is not OPEN:
            self._release_slot()
            if self._state is FAILED:
                self._raise_error()
            raise StopAsyncIteration
        if spare and not self._reads:
            return None
        read: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._reads.append(read)
        if spare:
            self._serve()
            self._admit()
        return read

    def _end_read(self, read: "asyncio.Future[int]", outcome: int) -> E:
        """Give a resumed read its event, or end it."""
        if outcome == EVENT:
            self._drop_read(read)
            self._served -= 1
            return self._buffer.popleft()
        if outcome != CLOSED and len(self._buffer) > self._served:
            return self._buffer.popleft()  # an older read was cancelled in the turn of its event
        if outcome == ERROR:
            self._raise_error()
        raise StopAsyncIteration

    def _withdraw(self, read: "asyncio.Future[int]") -> None:
        """Forget a cancelled read; the event it was woken for goes to the next one or stays in the buffer."""
        if self._drop_read(read) and read.done() and not read.cancelled():
            self._served -= 1
            if self._cleanup.dropping:
                self._drop_events()
            elif len(self._reads) > self._served:
                self._serve()

    def _drop_read(self, read: "asyncio.Future[int]") -> bool:
        reads = self._reads
        if reads and reads[0] is read:
            reads.popleft()
            return True
        try:
            reads.remove(read)
        except ValueError:
            return False
        return True

    def _take(self) -> E:
        event = self._buffer.popleft()
        if self._senders:
            self._admit()
        return event

    def _raise_error(self) -> NoReturn:
        """Raise the failure without letting its traceback grow from one time to the next."""
        assert self._error is not None
        raise self._error.with_traceback(self._trace)

    # -- the bounded form

    def _has_room(self) -> bool:
        """Tell whether an event may be accepted now; nobody overtakes a send that waits."""
        assert self._capacity is not None
        return not self._senders and len(self._buffer) - self._served < self._capacity

    def _admit(self) -> None:
        """Accept the events of waiting sends, oldest first, as far as there is room."""
        senders, buffer = self._senders, self._buffer
        while senders and len(buffer) - self._served < cast("int", self._capacity):
            sender, event = senders.popleft()
            if not sender.done():
                self._accept(event)
                sender.set_result(True)

    def _refuse_senders(self, *, accepted: bool = False) -> None:
        senders, self._senders = self._senders, deque()
        for sender, _event in senders:
            if not sender.done():
                sender.set_result(accepted)

    def _forget_sender(self, sender: "asyncio.Future[bool]") -> None:
        for index, (other, _event) in enumerate(self._senders):
            if other is sender:
                del self._senders[index]
                return

    # -- closing both sides

    async def aclose(self) -> None:
        """Close the consumer, run the `on_close` hook, and leave the stream terminal, its unread events dropped.

        A stream still open after the hook fails with an `AbortError`. An `Exception` of the hook is raised once the
        stream is terminal. The hook is waited for even if the calling task is cancelled meanwhile; `CancelledError`
        propagates after it. Once closed, further calls do nothing; overlapping ones return after the one cleanup.
        """
        if self._cleanup.begun:
            await self._cleanup.join()
            return
        self._release_slot()
        self._end_reads(CLOSED)
        try:
            await self._cleanup.run(self._drop_pending)
        finally:
            if self._state is OPEN:
                self.fail(AbortError("the stream was closed"))
            self._drop_events()
            self._cleanup.end()

    def _drop_pending(self, hooked: bool) -> None:
        self._drop_events()
        if hooked:
            self._refuse_senders(accepted=True)

    def _drop_events(self) -> None:
        """Drop what nobody has read; an event that a read was woken for is that read's."""
        buffer = self._buffer
        while len(buffer) > self._served:
            buffer.pop()

    async def __aenter__(self) -> "EventStream[E, R]":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.aclose()
        except Exception:
            if error is None:
                raise

    def __repr__(self) -> str:
        return f"<EventStream {self._state}, {len(self._buffer) - self._served} buffered>"


@final
class EventIterator(Generic[E]):
    """The consumer's end of a stream: what `aiter(stream)` returns (checkpoint 02).

    Several reads may wait at once; events go to the oldest. A cancelled read loses no event.
    """

    __slots__ = ("__weakref__", "_buffer", "_drained", "_stream")

    def __init__(self, stream: EventStream[E, object]) -> None:
        self._stream = stream
        self._buffer: deque[E] | tuple[()] = stream._buffer
        self._drained = False

    def __aiter__(self) -> "EventIterator[E]":
        """Return itself: no second claim is made."""
        return self

    async def __anext__(self) -> E:
        """Return the next event; wait for it if there is none. Raises the stream's failure after the last event."""
        stream = self._stream
        if self._buffer and not stream._reads:
            return stream._take()
        read = stream._begin_read(self)
        if read is None:
            return stream._take()
        try:
            outcome = await read
        except BaseException:
            stream._withdraw(read)
            raise
        return stream._end_read(read, outcome)

    async def aclose(self) -> None:
        """Free the slot; waiting reads end. The stream stays as it is, and unread events stay for the next iterator.

        The producer is not told. Closing twice does nothing, and an old iterator never frees a newer one's slot.
        """
        stream = self._stream
        self._drained = False
        if stream._iterator is self:
            stream._release_slot()
            stream._end_reads(CLOSED)

    def _detach(self, *, drained: bool) -> None:
        self._buffer = ()
        self._drained = drained


@final
class Result(Generic[R_co]):
    """What `stream.result` is: await it to get the terminal value, or the failure (checkpoint 02)."""

    __slots__ = ("_stream",)

    def __init__(self, stream: EventStream[object, R_co]) -> None:
        self._stream = stream

    def __await__(self) -> Generator[object, object, R_co]:
        stream = self._stream
        if stream._state is OPEN:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            stream._waiters[waiter] = None
            try:
                yield from waiter
            finally:
                stream._waiters.pop(waiter, None)
        if stream._state is FAILED:
            stream._raise_error()
        return cast("R_co", stream._value)


def _wake(future: "asyncio.Future[T]", outcome: "T") -> None:
    if not future.done():
        future.set_result(outcome)


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


T = TypeVar("T")
