"""Production of an `EventStream` from a source: for authors of models and of other event sources
(checkpoint 04).

A *source* is what the events come from: an async iterable, or an exact `list` or `tuple`. A `Producer` says
how the source is opened, what becomes of each item and what the terminal value is; `start_production` does
the rest, the same way for every model:

* One task a stream. It begins at the next turn of the event loop, is held strongly while it runs, and is
  gone once the stream has settled and the source has cleaned up. No task, future or callback is made for a
  single item.
* One callback on the signal, removed when the stream settles. An abort fails the stream at once with the
  abort error and cancels the step at work exactly once: a source that waits for something leaves that wait,
  its `finally` runs, and an asynchronous cleanup is not interrupted a second time. Nothing is published
  afterwards, and the abort wins every tie with a result or with an error.
* A source that has not said that it ended is asked to close exactly once (`aclose()`, where it has one),
  whatever the outcome was. Readers do not wait for that; `async with stream` and `stream.aclose()` do. What
  goes wrong after the stream has settled is silent.
* A cancelled production task (also by a loop that shuts down) settles the stream with an `AbortError`,
  closes the source and stays cancelled. A `CancelledError` that a source raises although nobody cancelled
  is an error like any other: a `RuntimeError` with it as the cause.

*Abort error* means the reason itself if it is an exception, else an `AbortError` that carries it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar, cast

from kickwheel_event_stream import AbortError, EventStream, StreamClosedError

__all__ = ["Producer", "SignalLike", "start_production"]

E = TypeVar("E")
R = TypeVar("R")
E_co = TypeVar("E_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)


class SignalLike(Protocol):
    """What production needs of an abort signal; `AbortSignal` fits, and so does the protocol's `Signal`."""

    @property
    def aborted(self) -> bool:
        """Whether the abort has happened; looked at before the source is opened and around every step."""
        ...

    @property
    def reason(self) -> Exception | None:
        """Why, once aborted."""
        ...

    def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
        """Call `callback` inside the abort, at once if it has happened; give a function that removes it."""
        ...


class Producer(Protocol[E_co, R_co]):
    """The part of a production that differs from model to model. One instance serves one stream.

    The methods are synchronous and are called by the stream's one task, in this order: `open`, `own` (async
    sources only), `accept` once an item, `finish`; `source_error` if the source itself fails; and once, at
    the end, `settled`. Derive from this class to inherit the three that have a default.
    """

    __slots__ = ()

    def open(self) -> object:
        """Give the source; the first act of production, after the abort has been looked at.

        This is the place to take from a queue: an abort before it leaves the queue alone. The source is an
        async iterable, or an exact `list` or `tuple`, which is played in one turn and never closed.
        Whatever this raises fails the stream, as it is.
        """
        ...

    def own(self, iterator: object, /) -> None:
        """Take ownership of what the source's `__aiter__` gave; it is called once, and this has `__anext__`.

        Raise to refuse it: the stream fails with that error and the iterator is neither stepped nor closed.
        `claim_iterator` is meant for this place. The default accepts.
        """

    def accept(self, item: object, /) -> E_co | None:
        """Make an item of the source into one event, or into `None` for no event.

        Whatever this raises fails the stream after the events delivered so far, and closes the source.
        """
        ...

    def finish(self) -> R_co:
        """Give the terminal value, once the source has ended. Whatever this raises fails the stream."""
        ...

    def source_error(self, error: Exception, /) -> Exception:
        """Choose what the stream fails with when the source does: its type, its `__aiter__` or a step.

        `error` is what the source raised (a `BaseException` that is no `Exception` comes as the cause of a
        `RuntimeError`), or a `TypeError` for a source that cannot be iterated. The default gives it back.
        """
        return error

    def settled(self, error: Exception | None, aborted: bool, /) -> None:
        """Hear of the outcome, once, before any reader does; the default does nothing.

        `error` is what the stream failed with, `None` for success. `aborted` tells that it was stopped from
        outside: by its signal, by a close, or by the cancellation of its task.
        """


def start_production(producer: Producer[E, R], signal: SignalLike | None = None) -> EventStream[E, R]:
    """Make a stream and start the task that produces into it; the task begins at the next loop turn.

    A signal that is aborted already fails the stream before this returns, and the source is never opened.
    Raises `RuntimeError` without a running loop; nothing has happened then.
    """
    loop = asyncio.get_running_loop()
    production = _Production(producer, signal)
    stream = production.stream
    if signal is not None:
        production.listen(signal)
        if production.over:
            return stream
    work = production.run()
    try:
        task = loop.create_task(work)
    except BaseException:
        work.close()
        production.leave()
        raise
    production.task = task
    _running.add(task)
    task.add_done_callback(production.ended)
    return stream


_running: set[asyncio.Task[None]] = set()
"""The tasks at work: a loop holds its tasks weakly, and a production that waits must survive a collection."""


class _Production(Generic[E, R]):
    """One stream being produced. `over` means that it has settled: nothing may be published any more."""

    __slots__ = (
        "_cancel_sent",
        "_cancel_waits",
        "_producer",
        "_remove",
        "_signal",
        "_stepping",
        "over",
        "stream",
        "task",
    )

    def __init__(self, producer: Producer[E, R], signal: SignalLike | None) -> None:
        self.over = False
        self.stream: EventStream[E, R] = EventStream(on_close=self.close)
        self.task: asyncio.Task[None] | None = None
        self._producer = producer
        self._signal = signal
        self._remove: Callable[[], object] | None = None
        self._stepping = False
        self._cancel_sent = False  # we have cancelled the task, because of an abort or a close
        self._cancel_waits = False  # … and the source has not met that cancellation yet

    # Settling

    def listen(self, signal: SignalLike) -> None:
        remove = signal.add_callback(self._abort)
        if self.over:
            remove()
        else:
            self._remove = remove

    def leave(self) -> None:
        """Settle without an outcome: forget the signal and publish nothing more."""
        self.over = True
        remove, self._remove = self._remove, None
        if remove is not None:
            remove()

    def fail(self, error: Exception, aborted: bool = False) -> None:
        if self.over:
            return
        self.leave()
        with suppress(StreamClosedError):  # whoever holds the stream may have ended it
            self.stream.fail(error)
        self._producer.settled(error, aborted)

    def stop(self, why: str) -> None:
        if not self.over:
            self.fail(AbortError(why), aborted=True)

    def _finish(self) -> None:
        if self._aborted():
            return
        try:
            result = self._producer.finish()
            self.stream.finish(result)
        except Exception as error:
            self.fail(error)
        else:
            self.leave()
            self._producer.settled(None, False)

    # Stopping

    def _aborted(self) -> bool:
        """Look at the signal itself: the callback has told us, unless the signal is a lazy foreign one."""
        if not self.over and self._signal is not None and self._signal.aborted:
            self._abort()
        return self.over

    def _abort(self) -> None:
        if not self.over:
            reason: object = self._signal.reason if self._signal is not None else None
            self._stop(reason if isinstance(reason, Exception) else AbortError(reason))

    def _stop(self, error: Exception) -> None:
        self.fail(error, aborted=True)
        if self._stepping and self.task is not None:
            self._cancel_sent = self._cancel_waits = True
            self.task.cancel()

    def close(self) -> Awaitable[object] | None:
        """The stream's own hook: stop, and give what waits for the end of the cleanup."""
        if not self.over:
            self._stop(AbortError("the stream was closed"))
        task = self.task
        if task is None or task.done() or task is asyncio.current_task():
            return None
        return asyncio.wait((task,))

    def ended(self, task: asyncio.Task[None]) -> None:
        """The task is done; one that was cancelled before its first turn has not run a line of ours."""
        _running.discard(task)
        if not task.cancelled():
            task.exception()  # the loop has raised it already: only what must not be swallowed comes here
        self.stop("the task that produces this stream was cancelled")
        self.task = None

    # Producing

    async def run(self) -> None:
        try:
            if not self._aborted():
                await self._produce()
        except GeneratorExit:  # thrown away with its loop: there is no turn left to close the source in
            self.stop("the task that produces this stream was destroyed")
        except BaseException:
            self.stop("the task that produces this stream was cancelled")
            raise

    async def _produce(self) -> None:
        try:
            source = self._producer.open()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self.fail(_ordinary(error))
            return
        if type(source) is list or type(source) is tuple:
            self._play(cast("list[object] | tuple[object, ...]", source))
            return
        try:
            iterator = _iterator_of(source)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self.fail(self._producer.source_error(_ordinary(error)))
            return
        if not await self._consume(iterator):
            await self._close_source(iterator)

    async def _consume(self, iterator: object) -> bool:
        """Own the iterator and walk it; say whether nothing is to close: it is not ours, or at its end."""
        step = getattr(type(iterator), "__anext__", None)
        if step is None:
            self.fail(self._producer.source_error(TypeError(f"{_name(iterator)} is not an async iterator")))
            return False
        try:
            self._producer.own(iterator)
        except Exception as error:
            self.fail(error)
            return True
        return not self._aborted() and await self._step_through(iterator, step)

    def _play(self, items: list[object] | tuple[object, ...]) -> None:
        accept, push = self._producer.accept, self.stream.push
        for item in items:
            if self._aborted():
                return
            try:
                event = accept(item)
                if event is not None:
                    push(event)
            except Exception as error:
                self.fail(error)
                return
        self._finish()

    async def _step_through(self, iterator: object, step: Callable[[object], Awaitable[object]]) -> bool:
        """Walk the iterator; say whether it came to its own end, so that there is nothing to close."""
        accept, push, signal = self._producer.accept, self.stream.push, self._signal
        self._stepping = True
        try:
            while True:
                try:
                    item = await step(iterator)
                except StopAsyncIteration:
                    self._finish()
                    return True
                except BaseException as error:
                    self._step_failed(error)
                    return False
                if self.over or (signal is not None and self._aborted()):
                    return False
                try:
                    event = accept(item)
                    if event is not None:
                        push(event)
                except Exception as error:
                    self.fail(error)
                    return False
        finally:
            self._stepping = False

    def _step_failed(self, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
            raise error
        if isinstance(error, asyncio.CancelledError):
            self._cancel_waits = False
            if self._cancelled_by_others():
                self.stop("the task that produces this stream was cancelled")
        if not self._aborted():
            self.fail(self._producer.source_error(_ordinary(error)))

    async def _close_source(self, iterator: object) -> None:
        if self._cancel_sent:
            await self._take_back_cancellation()
        try:
            aclose = getattr(iterator, "aclose", None)
            if aclose is not None:
                await aclose()
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException:
            pass  # a failing cleanup never replaces the outcome
        if self._cancelled_by_others():
            raise asyncio.CancelledError

    async def _take_back_cancellation(self) -> None:
        """Our cancellation has done its work; one that the source has not met must not hit its cleanup."""
        if self._cancel_waits:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
        self._cancel_sent = False
        _this_task().uncancel()

    def _cancelled_by_others(self) -> bool:
        return _this_task().cancelling() > self._cancel_sent


def _this_task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None  # only called from inside the producing task
    return task


def _iterator_of(source: object) -> object:
    make = getattr(type(source), "__aiter__", None)
    if make is None:
        if asyncio.iscoroutine(source):
            source.close()  # nobody will await it
        raise TypeError(f"{_name(source)} is not async iterable")
    return make(source)


def _ordinary(error: BaseException) -> Exception:
    """An error as a stream may carry it: what would look like control flow becomes a cause."""
    if isinstance(error, Exception):
        return error
    ordinary = RuntimeError(f"the source raised {type(error).__name__} although nobody cancelled it")
    ordinary.__cause__ = error
    return ordinary


def _name(value: object) -> str:
    return f"an object of type {type(value).__name__}"
