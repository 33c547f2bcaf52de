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
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from types import AsyncGeneratorType
from typing import Generic, Protocol, TypeVar, cast

from kickwheel_event_stream import AbortError, AbortSignal, EventStream, StreamClosedError
from kickwheel_event_stream._stream import core_of

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
        return  # a body of its own: without one mypy takes the method of a `Protocol` for abstract


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
    work.send(None)  # up to its first line: a task cancelled before its first turn then settles it too
    # The loop's task factory is passed by: an eager one would produce inside this call.
    production.task = asyncio.Task(work, loop=loop, name="kickwheel production")
    return stream


_running: set[object] = set()
"""The productions at work: a loop holds its tasks weakly, and one that waits must survive a collection."""


class _Turn:
    """Awaited, it gives the loop one turn."""

    def __await__(self) -> Generator[None, None, None]:
        yield


_FIRST_TURN = _Turn()
_generator_step: Callable[[object], Awaitable[object]] = vars(AsyncGeneratorType)["__anext__"]


class _Production(Generic[E, R]):
    """One stream being produced. `over` means that it has settled: nothing may be published any more."""

    __slots__ = (
        "_cancel_sent",
        "_cancel_waits",
        "_core",
        "_iterator",
        "_lazy",
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
        self._core = core_of(self.stream)
        self._producer = producer
        self._signal = signal
        self._lazy = signal is not None and type(signal) is not AbortSignal  # may not call back at once
        self._remove: Callable[[], object] | None = None
        self._iterator: object | None = None  # what is to be closed at the end
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
        if self._remove is not None:
            self._remove()
            self._remove = None

    def fail(self, error: BaseException, aborted: bool = False) -> None:
        if self.over:
            return
        self.leave()
        failure = _ordinary(error)
        with suppress(StreamClosedError):  # whoever holds the stream may have ended it
            self.stream.fail(failure)
        self._producer.settled(failure, aborted)

    def stop(self, why: str) -> None:
        if not self.over:
            self.fail(AbortError(why), aborted=True)

    def _finish(self) -> None:
        if self.over or (self._lazy and self._aborted()):
            return
        try:
            self.stream.finish(self._producer.finish())
        except Exception as error:
            self.fail(error)
        else:
            self.leave()
            self._producer.settled(None, False)

    # Stopping

    def _aborted(self) -> bool:
        """Look at the signal itself: a foreign one may be aborted and call back later, or never."""
        if not self.over and self._signal is not None and self._signal.aborted:
            self._abort()
        return self.over

    def _abort(self) -> None:
        if not self.over:
            reason: object = self._signal.reason if self._signal is not None else None
            self._cut_short(reason if isinstance(reason, Exception) else AbortError(reason))

    def _cut_short(self, error: Exception) -> None:
        self.fail(error, aborted=True)
        if self._stepping and self.task is not None:
            self._cancel_sent = self._cancel_waits = True
            self.task.cancel()

    def close(self) -> Awaitable[object] | None:
        """The stream's own hook: stop, and give what waits for the end of the cleanup."""
        if not self.over:
            self._cut_short(AbortError("the stream was closed"))
        task = self.task
        if task is None or task.done() or task is asyncio.current_task():
            return None
        return asyncio.wait((task,))

    # Producing

    async def run(self) -> None:
        """Produce. `start_production` goes up to the first `await`; the task goes on from there."""
        _running.add(self)
        try:
            self._core.starting = True
            await _FIRST_TURN
            self._core.starting = False
            step = self._begin()
            if step is not None:
                # Walk the iterator. One that came to its own end has nothing left to close.
                iterator, lazy = self._iterator, self._lazy
                accept, push = self._producer.accept, self.stream.push
                self._stepping = True
                while True:
                    try:
                        item = await step(iterator)
                    except StopAsyncIteration:
                        self._iterator = None
                        self._finish()
                        break
                    except BaseException as error:
                        self._step_failed(error)
                        break
                    if self.over or (lazy and self._aborted()):
                        break
                    try:
                        event = accept(item)
                        if event is not None:
                            push(event)
                    except Exception as error:
                        self.fail(error)
                        break
                self._stepping = False
            if self._iterator is not None:
                await self._close_source(self._iterator)
        except GeneratorExit:  # thrown away with its loop: there is no turn left to close the source in
            self.stop("the task that produces this stream was destroyed")
        except BaseException:
            self.stop("the task that produces this stream was cancelled")
            raise
        finally:
            _running.discard(self)
            self.task = None
            self._core.starting = False
            del self.stream, self._core  # they know us, by a hook; a circle would wait for the collector

    def _begin(self) -> Callable[[object], Awaitable[object]] | None:
        """Open the source and play it if it is an array; else give the step function of its iterator."""
        if self.over or (self._lazy and self._aborted()):
            return None
        try:
            source = self._producer.open()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self.fail(error)
            return None
        iterator: object = source
        step: Callable[[object], Awaitable[object]] | None
        kind = type(source)
        if kind is AsyncGeneratorType:  # the usual one, and its own iterator
            step = _generator_step
        elif kind is list or kind is tuple:
            self._play(cast("list[object] | tuple[object, ...]", source))
            return None
        else:
            try:
                iterator = _iterator_of(source)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                self._source_failed(error)
                return None
            step = getattr(type(iterator), "__anext__", None)
            if step is None:
                self._iterator = iterator
                self._source_failed(TypeError(f"{_name(iterator)} is not an async iterator"))
                return None
        try:
            self._producer.own(iterator)
        except Exception as error:
            self.fail(error)
            return None
        self._iterator = iterator
        return None if self.over or (self._lazy and self._aborted()) else step

    def _play(self, items: list[object] | tuple[object, ...]) -> None:
        accept, push = self._producer.accept, self.stream.push
        for item in items:
            if self.over or (self._lazy and self._aborted()):
                return
            try:
                event = accept(item)
                if event is not None:
                    push(event)
            except Exception as error:
                self.fail(error)
                return
        self._finish()

    def _step_failed(self, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
            raise error
        if isinstance(error, asyncio.CancelledError):
            self._cancel_waits = False
            if self._cancelled_by_others():
                self.stop("the task that produces this stream was cancelled")
        if not self._aborted():
            self._source_failed(error)

    def _source_failed(self, error: BaseException) -> None:
        if not self.over:
            self.fail(self._producer.source_error(_ordinary(error)))

    async def _close_source(self, iterator: object) -> None:
        self._iterator = None
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
    if isinstance(error, Exception) and not isinstance(error, asyncio.CancelledError):
        return error
    ordinary = RuntimeError(f"the source raised {type(error).__name__}, and nobody had asked it to stop")
    ordinary.__cause__ = error
    return ordinary


def _name(value: object) -> str:
    return f"an object of type {type(value).__name__}"
