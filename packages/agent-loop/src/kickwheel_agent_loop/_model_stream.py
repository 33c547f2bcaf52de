"""A model's stream as the loop handles it: opened, read by hand so that each fault has its name, and left
once.
"""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import cast, final

from kickwheel_agent_loop._failures import ModelProtocolError, ModelStreamError, RunStoppedError
from kickwheel_agent_loop._inspect import is_awaitable, let_go
from kickwheel_agent_loop._run import Run
from kickwheel_event_stream import EventStream
from kickwheel_protocol import ModelRequest


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
            # `aiter` refuses what has no `__anext__`, so both faults of an iterable come out here.
            iterator = aiter(cast("AsyncIterable[object]", self._stream))
        except BaseException as error:
            raise _as_protocol_error(error, "the model's stream cannot be iterated") from None
        self._iterator = iterator
        return iterator.__anext__

    async def response(self) -> object:
        """Wait for the stream's result; it is read only now, because each read may make a coroutine."""
        try:
            pending: object = getattr(self._stream, "result")  # noqa: B009 - the type is not known
        except BaseException as error:
            raise _as_protocol_error(error, "the result of the model's stream cannot be read") from None
        if not is_awaitable(pending):
            raise ModelProtocolError("the result of the model's stream cannot be awaited")
        try:
            return await cast("Awaitable[object]", pending)
        except BaseException as error:
            raise raised_by_model(self._run, error) from None

    def has_told_all(self) -> None:
        """Take note that the iterator is at its end and the response good: nothing is left to stop."""
        self._iterator_closed = True

    async def leave(self) -> None:
        """Leave a stream that has told everything, as `async with` does. An abort interrupts that like a
        read.
        """
        leave = getattr(type(self._stream), "__aexit__", None)
        self._left = True
        if leave is not None:
            try:
                await leave(self._stream, None, None, None)
            except BaseException as error:
                fault = raised_by_model(self._run, error)
                if not isinstance(fault, ModelStreamError):
                    raise fault from None
                # The answer is complete: what goes wrong in the cleanup after it replaces nothing.

    async def leave_last(self) -> None:
        """Leave the stream of a run that is over: nobody is told what goes wrong."""
        leave = getattr(type(self._stream), "__aexit__", None)
        if leave is not None and not self._left:
            self._left = True
            await _quietly(lambda: leave(self._stream, None, None, None))

    def close(self) -> None:
        """Ask iterator and stream to end, each once and each in a task of its own: neither may hold up the
        other.
        """
        if not self._iterator_closed and not _read(self._iterator, "ag_running"):
            # An asynchronous generator at work refuses to be closed: the cancelled read comes first.
            self._iterator_closed = True
            aclose = _read(self._iterator, "aclose")
            if callable(aclose):
                self._run.spawn(_quietly(aclose))
        if not self._left:
            self._left = True
            leave = getattr(type(self._stream), "__aexit__", None)
            if leave is not None and self._entered:
                stream = self._stream
                self._run.spawn(_quietly(lambda: leave(stream, None, None, None)))
            let_go(getattr(self._stream, "__dict__", {}).get("result"))


def _read(value: object, name: str) -> object:
    """Read an attribute of the model's iterator for its cleanup: one that fails counts as missing."""
    try:
        return getattr(value, name, None)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None


def open_stream(run: Run, request: ModelRequest) -> OpenStream:
    """Call the model and look at what it gives, without reading a property of it."""
    try:
        stream: object = run.options.stream(request, run.controller.signal)
    except BaseException as error:
        raise raised_by_model(run, error) from None
    _check_shape(stream)
    return OpenStream(run, stream)


def raised_by_model(run: Run, error: BaseException) -> BaseException:
    """Name what came out of the model: the end of the run, a failure of the stream, or something to let
    through.
    """
    if isinstance(error, asyncio.CancelledError) and run.met_cancellation():
        return RunStoppedError()
    if isinstance(error, Exception | asyncio.CancelledError):
        return ModelStreamError(error)
    return error


def _check_shape(stream: object) -> None:
    if type(stream) is EventStream:
        return
    if is_awaitable(stream):
        let_go(stream)
        raise ModelProtocolError("the model gave an awaitable in place of a stream")
    if not hasattr(type(stream), "__aiter__"):
        raise ModelProtocolError(f"the model gave a {type(stream).__name__}, which is no stream")
    named = hasattr(type(stream), "result") or "result" in getattr(stream, "__dict__", ())
    if not named and not hasattr(type(stream), "__getattr__"):  # a wrapper may pass it on
        raise ModelProtocolError("the model gave a stream without a result")


def _as_protocol_error(error: BaseException, text: str) -> BaseException:
    if isinstance(error, Exception | asyncio.CancelledError):
        return ModelProtocolError(text)
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
