"""One run at work: its transcript, its events, its signal, and everything it has started (checkpoint 07).

How an abort interrupts without a task for each step: the run is one task. An abort lets `_interrupt` be
called at the next turn of the event loop, where that task can only be waiting: for the model, or for tools in
tasks of their own. `_interrupt` publishes the result itself and cancels what is waited for, exactly once. The
run's task then comes back from its wait, finds that the run is over, and has only cleaning up left to do.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from typing import Final, final

from kickwheel_agent_loop._failures import RunStoppedError, TranscriptError
from kickwheel_agent_loop._options import RunOptions
from kickwheel_agent_loop._results import LEFT_EARLY_TEXT, failed, failure_parts, reason_text, text_of
from kickwheel_agent_loop._start import read_start
from kickwheel_event_stream import AbortController, AbortError, EventStream, StreamClosedError
from kickwheel_protocol import (
    AgentEvent,
    AssistantMessage,
    CancelledRun,
    Message,
    MessageAccepted,
    ModelChunk,
    ModelChunkReceived,
    ModelRequest,
    RunFinished,
    RunResult,
    ToolCall,
    ToolFinished,
    ToolResultMessage,
    ToolStarted,
)

_HELD: Final[set[asyncio.Future[object] | asyncio.Task[None]]] = set()
"""Every task of every run: a loop holds its tasks weakly, and one that waits must survive a collection."""

_inside: Final[ContextVar[object]] = ContextVar("kickwheel_run", default=None)
"""The stream of the run that the code at work belongs to: tools and models inherit it with their context."""


@final
class Run:
    """The state that the phases share. `over` means that the result is there: nothing may be published any
    more.
    """

    __slots__ = (
        "_cancel_sent",
        "_cancelled",
        "_loop",
        "_remove",
        "_signal_error",
        "_waiter",
        "_watched",
        "begun",
        "call_ids",
        "calls",
        "close_model",
        "controller",
        "fresh",
        "leave_model",
        "limits",
        "options",
        "over",
        "reading",
        "request",
        "sequence",
        "starting",
        "steps",
        "stopped",
        "stream",
        "task",
        "tasks",
        "unfinished",
    )

    def __init__(self, options: RunOptions, loop: asyncio.AbstractEventLoop) -> None:
        self.options = options
        self.limits = options.limits
        self.controller = AbortController()
        self.stream: EventStream[AgentEvent, RunResult] = EventStream(on_close=self.close)
        self.begun = False
        self.starting: tuple[Message, ...] = ()  # filled by the start phase, once known to hold messages
        self.request: ModelRequest | None = None  # the last one: it holds the transcript up to its time
        self.fresh: list[Message] = []  # accepted since that request
        self.call_ids: set[str] = set()
        self.calls: tuple[ToolCall, ...] = ()  # those of the turn at work
        self.steps = 0
        self.sequence = 0
        self.over = False
        self.stopped = False  # the run signal is aborted
        self.reading = False  # the task waits for the model
        self.close_model: Callable[[], None] | None = None  # asks a model stream that was opened to end
        self.leave_model: Callable[[], Awaitable[None]] | None = None  # leaves one that has told everything
        self.task: asyncio.Task[None] | None = None
        self.tasks: set[asyncio.Task[None]] = set()  # all of them, the run's own included
        self.unfinished: set[asyncio.Future[object]] = set()  # executors that an abort left behind
        self._loop = loop
        self._remove: Callable[[], object] | None = None
        self._watched = False  # the caller's signal has to be looked at, because it is not one of ours
        self._signal_error: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._cancel_sent = False  # we have cancelled our own task, and it has not met that yet
        self._cancelled = False  # somebody else has cancelled it

    # The transcript

    def enter(self) -> None:
        """Mark the running task, and all that it will start, as being inside this run."""
        _inside.set(self.stream)

    def begin(self) -> None:
        """Read the starting transcript, once; `TranscriptError` if it is not valid."""
        if not self.begun:
            self.begun = True
            start = read_start(self.options.messages, self.limits)
            self.starting, self.call_ids = start.messages, start.call_ids
            if start.fault is not None:
                raise TranscriptError(start.fault)

    @property
    def transcript(self) -> tuple[Message, ...]:
        """All messages so far. Built anew: for results only."""
        before = self.starting if self.request is None else self.request.messages
        return (*before, *self.fresh)

    def next_request(self) -> ModelRequest:
        """Make the request of the next step: what was there is shared, only new messages are looked at."""
        self.steps += 1
        number = f"request-{self.options.request_sequence_start + self.steps:03d}"
        if self.request is None:
            request = ModelRequest(number, self.starting)
        else:
            request = self.request.followed_by(number, *self.fresh)
        self.request = request
        self.fresh.clear()
        return request

    def keep(self, message: AssistantMessage) -> None:
        """Append the checked message of a model turn."""
        self.fresh.append(message)
        self.calls = message.tool_calls
        for call in self.calls:
            self.call_ids.add(call.id)

    # Events

    def accept_start(self) -> None:
        """Tell the starting transcript, one event a message."""
        for message in self.starting:
            self.stream.push(MessageAccepted(self.sequence, message))
            self.sequence += 1

    def tell_chunk(self, chunk: ModelChunk) -> None:
        """Tell an accepted chunk."""
        self.stream.push(ModelChunkReceived(self.sequence, chunk))
        self.sequence += 1

    def tell_started(self, call: ToolCall) -> None:
        """Tell that a tool is about to run."""
        self.stream.push(ToolStarted(self.sequence, call))
        self.sequence += 1

    def tell_finished(self, message: ToolResultMessage) -> None:
        """Append a result message and tell it."""
        self.fresh.append(message)
        self.stream.push(ToolFinished(self.sequence, message))
        self.sequence += 1

    # Settling

    def finish(self, result: RunResult) -> None:
        """Publish the result, as the last event and as the stream's own. The first result counts."""
        if self.over:
            return
        self.over = True
        self._forget_signal()
        with suppress(StreamClosedError):  # whoever holds the stream may have settled it by hand
            self.stream.push(RunFinished(self.sequence, result))
            self.stream.finish(result)

    def fail(self, error: BaseException) -> None:
        """Publish what a failure becomes. The abort is looked at last: naming an error runs code of that
        error.
        """
        if self.over:
            return
        code, text = failure_parts(error)
        if not isinstance(error, TranscriptError) and self.is_stopped():
            self.finish(self.stopped_result())
        else:
            self.finish(failed(self.transcript, code, text))

    def stop(self) -> None:
        """Stop a run that nobody waits for any more, or whose task was cancelled: publish what there is."""
        if self.over:
            return
        self.abort(AbortError(LEFT_EARLY_TEXT))
        try:
            self.begin()
            self.finish(self.stopped_result())
        except TranscriptError as fault:
            self.fail(fault)
        except Exception as error:
            self.break_down(error)

    def must_let_through(self, error: BaseException) -> bool:
        """Tell what leaves the way asyncio lets it: an exit, or the end of a coroutine that is thrown away.

        A `GeneratorExit` while the run's task is at work is one that the model has made up.
        """
        if isinstance(error, GeneratorExit):
            return _current_task() is not self.task
        return isinstance(error, KeyboardInterrupt | SystemExit)

    def break_down(self, error: Exception) -> None:
        """Fail the stream itself: the last resort, for a fault in the loop's own bookkeeping."""
        self.over = True
        self._forget_signal()
        with suppress(StreamClosedError):
            self.stream.fail(error)

    def stopped_result(self) -> RunResult:
        """The result of an aborted run: complete messages only, nothing made up."""
        error = self._signal_error
        if error is not None:
            text = text_of(error, "The signal cannot be read")
            return failed(self.transcript, "SIGNAL_ACCESS_FAILED", text)
        return CancelledRun(self.transcript, reason_text(self.controller.signal.reason))

    # The signals

    def listen(self) -> None:
        """Follow the caller's signal: one callback for the whole run."""
        signal = self.options.signal
        if signal is None:
            return
        self._watched = type(signal) is not type(self.controller.signal)
        try:
            if signal.aborted:
                self._caller_aborted()
                return
            remove = signal.add_callback(self._caller_aborted)
        except BaseException as error:
            self._signal_failed(error)
            return
        self._remove = remove
        if self.over or self.stopped:
            self._forget_signal()

    def is_stopped(self) -> bool:
        """Tell whether the run signal is aborted. A foreign signal is read: its callbacks may not work."""
        if self._watched and not self.stopped and not self.over and self.options.signal is not None:
            try:
                if self.options.signal.aborted:
                    self._caller_aborted()
            except BaseException as error:
                self._signal_failed(error)
        return self.stopped

    def check(self) -> None:
        """Raise `RunStoppedError` at a point where an abort wins."""
        if self.stopped or self.over or (self._watched and self.is_stopped()):
            raise RunStoppedError

    def look(self) -> None:
        """As `check`, after a wait: a cancellation that the awaited code swallowed counts too."""
        if self._cancel_sent or (self.task is not None and self.task.cancelling()):
            self.met_cancellation()
        if self.stopped or self.over or (self._watched and self.is_stopped()):
            raise RunStoppedError

    def abort(self, reason: object) -> None:
        """Abort the run signal, which tells model and tools, and interrupt the run at the next loop turn."""
        if self.stopped:
            return
        self.stopped = True
        self.controller.abort(reason)
        if not self.over and not self._loop.is_closed():
            self._loop.call_soon(self._interrupt)

    def _caller_aborted(self) -> None:
        signal = self.options.signal
        if self.over or self.stopped or signal is None:
            return
        try:
            reason = signal.reason
        except BaseException as error:
            self._signal_failed(error)
        else:
            self.abort(reason)

    def _signal_failed(self, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise error
        if self._signal_error is None and not self.stopped:
            self._signal_error = error
            self.abort(AbortError("The caller's signal cannot be read"))

    def _forget_signal(self) -> None:
        remove, self._remove = self._remove, None
        if remove is not None:
            with suppress(Exception):  # a foreign signal may not be able to forget; the callback is idle now
                remove()

    # Interrupting

    def _interrupt(self) -> None:
        if self.over:
            return
        try:
            self.finish(self.stopped_result())
        except Exception as error:
            self.break_down(error)
        self.cancel_work()

    def cancel_work(self) -> None:
        """Wake the run's task from what it waits for. Tools have been told by the run signal."""
        self.wake()
        if self.reading and self.task is not None and not self._cancel_sent:
            self._cancel_sent = True
            self.task.cancel()
            # A read that does not let go is not waited for: two turns on, the stream itself is asked to end.
            self._loop.call_soon(self._loop.call_soon, self._close_stuck_model)

    def _close_stuck_model(self) -> None:
        if self.reading and self.close_model is not None:
            self.close_model()

    def met_cancellation(self) -> bool:
        """Take note of a cancellation of the run's task, ours or not; tell whether the run has to stop."""
        task = self.task
        if task is not None and (self._cancel_sent or task.cancelling()):
            if self._cancel_sent:
                self._cancel_sent = False
                task.uncancel()
            if task.cancelling():
                self._cancelled = True
                self.abort(AbortError(LEFT_EARLY_TEXT))
        return self.stopped

    # Waiting and tasks

    async def wait(self) -> None:
        """Wait until somebody calls `wake`. A cancellation of the run's task becomes `RunStoppedError`."""
        waiter = self._waiter = self._loop.create_future()
        try:
            await waiter
        except asyncio.CancelledError:
            self.met_cancellation()
            raise RunStoppedError from None
        finally:
            self._waiter = None

    def wake(self) -> None:
        """Let the run's task look again."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Start a task that belongs to the run: held until it ends, and waited for by whoever leaves the run.

        The loop's task factory is passed by: an eager one would run the first step inside this call.
        """
        task = asyncio.Task(work, loop=self._loop)
        self.tasks.add(task)
        _HELD.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        _HELD.discard(task)
        if not task.cancelled():
            task.exception()  # seen: only what has left the event loop already comes here
        if task is self.task:
            if not self.over:
                self._died(task)
            for executor in self.unfinished:
                _HELD.add(executor)
                executor.add_done_callback(_HELD.discard)

    def _died(self, task: asyncio.Task[None]) -> None:
        """The run's task is gone without a result: cancelled before its first turn, or by a fault of the
        loop.
        """
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self.break_down(error)
        else:
            self.stop()

    async def clean_up(self) -> None:
        """The last act of the run's task: leave a model that has told everything, ask any other to end, and
        end as whoever cancelled the task wants.

        A cancelled task waits for the model's cleanup itself: when a loop shuts down, nobody else would.
        """
        self.met_cancellation()
        if self.leave_model is not None and not self._cancelled:
            await self.leave_model()
            self.met_cancellation()
        elif self.close_model is not None:
            self.close_model()
        if self._cancelled:
            await asyncio.wait(self.tasks - {self.task}) if len(self.tasks) > 1 else None
            raise asyncio.CancelledError

    def close(self) -> Awaitable[object] | None:
        """The stream's own hook: stop the run if it is not over, and give what waits for all its cleanup."""
        if not self.over:
            self.stop()
            self.cancel_work()
        if _inside.get() is self.stream or not (self.tasks or self.unfinished):
            return None  # a tool or a model that closes its own run must not wait for itself
        return self._drained()

    async def _drained(self) -> None:
        while self.tasks or self.unfinished:
            pending: list[asyncio.Future[object] | asyncio.Task[None]] = [*self.tasks, *self.unfinished]
            await asyncio.wait(pending)


def _current_task() -> object:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop is running
        return None
