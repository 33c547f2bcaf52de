"""The event stream: a buffer, one consumer, one terminal result."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Generic, TypeVar, final

from kickwheel_event_stream._close import Cleanup
from kickwheel_event_stream._core import Core, State
from kickwheel_event_stream._errors import AbortError, StreamClosedError
from kickwheel_event_stream._iterator import EventIterator, Result

E = TypeVar("E")
R = TypeVar("R")

_CONTROL_FLOW = (asyncio.CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit)


@final
class EventStream(Generic[E, R]):
    """A single-consumer stream of events with one terminal result (checkpoint 02).

    A producer calls `push` any number of times and then `finish` or `fail` once. A consumer reads the events
    with `async for event in stream`, in the order of the pushes, and anybody awaits `stream.result`, any
    number of times.

    Without a `capacity` (a positive number of events) the buffer is unbounded: `push` never waits and never
    fails for want of room, so there is no backpressure. With one, `await stream.send(event)` waits for room.

    `on_close` is called once when the stream is closed by `async with stream:` or `aclose()`, without
    arguments; what it returns is awaited if it can be. It is the place to stop the producer and wait for it.

    No event loop is needed to build, push to and settle a stream. Not thread-safe, and bound to one loop
    while anybody waits. Raises `TypeError` for a capacity that is no integer or a hook that cannot be called,
    and `ValueError` for a capacity below 1.
    """

    __slots__ = ("__weakref__", "_buffer", "_cleanup", "_core", "_on_close", "_reads")

    def __init__(
        self, *, capacity: int | None = None, on_close: Callable[[], Awaitable[object] | None] | None = None
    ) -> None:
        if capacity is not None and type(capacity) is not int:
            raise TypeError(f"capacity must be an integer or None, not {type(capacity).__name__}")
        if capacity is not None and capacity < 1:
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        if on_close is not None and not callable(on_close):
            raise TypeError(f"on_close must be callable or None, not {type(on_close).__name__}")
        self._on_close = on_close
        self._cleanup: Cleanup | None = None  # there once the stream is being closed
        core: Core[E] = Core(capacity)
        self._core = core
        self._buffer = core.buffer
        self._reads = core.reads

    @property
    def state(self) -> State:
        """`open`, `finished` or `failed`. A terminal state never changes again."""
        return self._core.state

    @property
    def capacity(self) -> int | None:
        """The number of events that wait in the buffer at most, or `None`: unbounded, no backpressure."""
        return self._core.capacity

    @property
    def result(self) -> Result[R]:
        """The terminal value to await: by any number of tasks, any number of times, before and after the end.

        It is there as soon as the stream is settled, before the events are drained. Of a failed stream it
        raises the failure, the same object each time; nobody has to await it, and nothing is logged if nobody
        does. Cancelling one waiter leaves the others alone.
        """
        return Result(self._core)

    def push(self, event: E) -> None:
        """Append an event: for the oldest waiting read, or to the buffer. Never waits, and takes any value at
        all.

        Raises `StreamClosedError` on a terminal stream, and `asyncio.QueueFull` when a bounded stream has no
        room or a `send` is next in line; the refused event has changed nothing. A closed iterator does not
        make it fail.
        """
        core = self._core
        # [solution 02.1]
        if core.state != "open":
            raise StreamClosedError("push", core.state)
        if core.guarded:
            if not core.has_room():
                raise asyncio.QueueFull
            core.accept(event)
            return
        self._buffer.append(event)
        if self._reads and len(self._reads) > core.served:
            core.serve()
        # [/solution]

    async def send(self, event: E) -> None:
        """As `push`, but wait for room in a bounded stream. Sends are accepted in the order they were called.

        Raises `StreamClosedError` if the stream is terminal or becomes so meanwhile; the event is not
        delivered then, and neither is that of a cancelled send.
        """
        core = self._core
        if core.state != "open":
            raise StreamClosedError("send", core.state)
        if core.has_room():
            core.accept(event)
            if core.dropping:  # a producer that never waits would keep the hook from stopping it
                await asyncio.sleep(0)
            return
        sender: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        core.add_sender(sender, event)
        try:
            accepted = await sender
        except BaseException:
            core.forget_sender(sender)
            raise
        if not accepted:
            raise StreamClosedError("send", core.state)

    def finish(self, result: R) -> None:
        """Settle the stream with its result. Buffered events are still read first; it needs no room.

        The result may be any value; an awaitable is not awaited. Raises `StreamClosedError` on a terminal
        stream.
        """
        core = self._core
        if core.state != "open":
            raise StreamClosedError("finish", core.state)
        core.finish(result)

    def fail(self, error: Exception) -> None:
        """Settle the stream with a failure: `result`, and iteration after the last event, raise this very
        object.

        Only instances of `Exception` are taken: `TypeError` for anything else, and the stream stays open. A
        stop iteration is wrapped in a `RuntimeError`, so that it never looks like a normal end. Raises
        `StreamClosedError` on a terminal stream.
        """
        failure = _as_failure(error)
        core = self._core
        if core.state != "open":
            raise StreamClosedError("fail", core.state)
        core.fail(failure)

    def __aiter__(self) -> EventIterator[E]:
        """Claim the one consumer slot, at once, and return the iterator that holds it.

        Raises `StreamBusyError` while another iterator is active. The slot is free again when that one is
        closed or has reached the end.
        """
        return EventIterator(self._core)

    async def aclose(self) -> None:
        """Close the consumer, run the `on_close` hook, and leave the stream terminal, its unread events
        dropped.

        A stream still open after the hook fails with an `AbortError`. An `Exception` of the hook is raised
        once the stream is terminal. The hook is waited for even if the calling task is cancelled meanwhile;
        `CancelledError` propagates after it. Once closed, further calls do nothing; overlapping ones return
        after the one cleanup.
        """
        core = self._core
        if self._cleanup is not None:
            await self._cleanup.join()
            return
        cleanup = self._cleanup = Cleanup()
        hook, self._on_close = self._on_close, None  # the producer it knows is not held any longer
        core.drop(refuse=hook is None)
        try:
            if hook is not None:
                await cleanup.run(hook)
        finally:
            if core.state == "open":
                core.fail(AbortError("the stream was closed"))
            cleanup.end()

    async def __aenter__(self) -> "EventStream[E, R]":
        """Return the stream itself: nothing is claimed and nothing starts."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close both sides. An exception of the body goes on as it is, also if the hook raises one."""
        try:
            await self.aclose()
        except Exception:
            if error is None:
                raise

    def __repr__(self) -> str:
        return f"<EventStream {self._core.state}, {self._core.spare()} buffered>"


def core_of(stream: EventStream[E, R]) -> Core[E]:
    """Give the inside of a stream, for the producers of this package."""
    return stream._core  # pyright: ignore[reportPrivateUsage] - the same module


def _as_failure(error: object) -> Exception:
    """Check what was given to `fail`; control flow is refused, for it would stop somebody else's task."""
    kinds = type(error).__mro__  # not `isinstance`, which believes what a value says of itself
    if Exception not in kinds or not isinstance(error, Exception) or isinstance(error, _CONTROL_FLOW):
        kind = f"the class {error.__name__}" if isinstance(error, type) else f"a {type(error).__name__}"
        raise TypeError(f"fail() takes an instance of Exception, not {kind}")
    if isinstance(error, (StopIteration, StopAsyncIteration)):
        failure = RuntimeError(f"the stream failed with a {type(error).__name__}")
        failure.__cause__ = error
        return failure
    return error
