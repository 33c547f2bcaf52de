"""A model's stream as the loop handles it: opened, read by hand so that each fault has its name, and left once."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, cast, final

from kickwheel_event_stream import EventStream
from kickwheel_protocol import ModelRequest

from kickwheel_agent_loop._failures import ProtocolFault, RunStopped, StreamFault
from kickwheel_agent_loop._run import Run

_MISSING: Final = object()


@final
class OpenStream:
    """One model stream. `close` asks it to end, once, whatever it is doing; nothing of it is waited for."""

    __slots__ = ("_entered", "_iterator", "_iterator_closed", "_left", "_run", "_stream")

    def __init__(self, run: Run, stream: object) -> None:
        self._run = run
        self._stream = stream
        self._iterator: object = None
        self._entered = False
        self._iterator_closed = False
        self._left = False

    async def enter(self) -> Callable[[], object]:
        """Begin `async with`, claim the iterator, and give the function that begins one read."""
        enter = getattr(type(self._stream), "__aenter__", None)
        try:
            if enter is not None:
                await enter(self._stream)
        except BaseException as error:
            raise raised_by_model(self._run, error) from None
        self._entered = True
        self._run.check()
        try:
            iterator = type(self._stream).__aiter__(self._stream)
        except BaseException as error:
            raise _as_protocol_fault(error, "the model's stream cannot be iterated") from None
        if not hasattr(type(iterator), "__anext__"):
            raise ProtocolFault("the model's stream gave something that is no asynchronous iterator")
        self._iterator = iterator
        return iterator.__anext__

    async def response(self) -> object:
        """Wait for the stream's result; it is read only now, because each read may make a coroutine."""
        try:
            pending: object = getattr(self._stream, "result")  # noqa: B009 - the type is not known
        except BaseException as error:
            raise _as_protocol_fault(error, "the result of the model's stream cannot be read") from None
        if not is_awaitable(pending):
            raise ProtocolFault("the result of the model's stream cannot be awaited")
        try:
            return await cast("Awaitable[object]", pending)
        except BaseException as error:
            raise raised_by_model(self._run, error) from None

    def leave(self) -> None:
        """Leave a stream that has told everything."""
        self._iterator_closed = True
        self.close()

    def close(self) -> None:
        """Ask iterator and stream to end, each once and each in a task of its own: neither may hold up the other."""
        if not self._iterator_closed and not getattr(self._iterator, "ag_running", False):
            # An asynchronous generator at work refuses to be closed: the cancelled read comes first.
            self._iterator_closed = True
            aclose = getattr(self._iterator, "aclose", None)
            if callable(aclose):
                self._run.spawn(_quietly(aclose))
        if not self._left:
            self._left = True
            leave = getattr(type(self._stream), "__aexit__", None)
            if leave is not None and self._entered:
                stream = self._stream
                self._run.spawn(_quietly(lambda: leave(stream, None, None, None)))
            _observe(getattr(self._stream, "__dict__", {}).get("result"))


def open_stream(run: Run, request: ModelRequest) -> OpenStream:
    """Call the model and look at what it gives, without reading a property of it."""
    try:
        stream = run.options.stream(request, run.controller.signal)
    except BaseException as error:
        raise raised_by_model(run, error) from None
    if type(stream) is not EventStream:
        _check_shape(stream)
    return OpenStream(run, stream)


def raised_by_model(run: Run, error: BaseException) -> BaseException:
    """Name what came out of the model: the end of the run, a failure of the stream, or something to let through."""
    if isinstance(error, asyncio.CancelledError) and run.met_cancellation():
        return RunStopped()
    if isinstance(error, Exception | asyncio.CancelledError):
        return StreamFault(error)
    return error


def is_awaitable(value: object) -> bool:
    """Tell whether `await` would take a value, generator-based coroutines included."""
    return hasattr(type(value), "__await__") or inspect.isawaitable(value)


def _check_shape(stream: object) -> None:
    if is_awaitable(stream):
        if inspect.iscoroutine(stream):
            stream.close()
        _observe(stream)
        raise ProtocolFault("the model gave an awaitable in place of a stream")
    if not hasattr(type(stream), "__aiter__"):
        raise ProtocolFault(f"the model gave an object of type {type(stream).__name__}, which is no stream")
    found = inspect.getattr_static(stream, "result", _MISSING)
    if found is _MISSING and not hasattr(type(stream), "__getattr__"):
        raise ProtocolFault("the model gave a stream without a result")


def _as_protocol_fault(error: BaseException, text: str) -> BaseException:
    if isinstance(error, Exception | asyncio.CancelledError):
        return ProtocolFault(text)
    return error


async def _quietly(begin: Callable[[], object]) -> None:
    """Run a cleanup of the model to its end. What goes wrong in it replaces nothing and is told to nobody."""
    try:
        waiting = begin()
        if is_awaitable(waiting):
            await cast("Awaitable[object]", waiting)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return


def _observe(value: object) -> None:
    """A future that nobody is going to await must not be reported as never retrieved."""
    if asyncio.isfuture(value):
        value.add_done_callback(_seen)


def _seen(future: "asyncio.Future[object]") -> None:
    if not future.cancelled():
        future.exception()


__all__ = ["AsyncIterator", "OpenStream", "is_awaitable", "open_stream", "raised_by_model"]
