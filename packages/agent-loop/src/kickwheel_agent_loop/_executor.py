"""Waiting for an executor, while an abort or the caller's cancellation may end the wait (checkpoint 06).

Two ways to be stopped, never mixed up. An abort is data: the executor is told to stop, and the caller goes
on at once with the reason. A cancelled caller is control flow: the executor is told to stop, and waited for.
"""

import asyncio
import opcode
import sys
from collections.abc import Callable
from types import CodeType, CoroutineType
from typing import Any, Final, cast, final

from kickwheel_agent_loop._inspect import as_future, call_off, observe
from kickwheel_agent_loop._outcome import is_fatal
from kickwheel_protocol import Signal

_unfinished: Final[set["asyncio.Future[object]"]] = set()
"""Executors that were told to stop and have not ended: the event loop itself holds its tasks only weakly."""

_SEND: Final = opcode.opmap.get("SEND", -1)  # stands wherever a coroutine can be suspended
_known_codes: Final[dict[int, tuple[CodeType, bool]]] = {}
_MOST_CODES: Final = 1024


def never_suspends(awaitable: object) -> bool:
    """Tell a coroutine without any `await`: it needs no task, because nobody could ever wait for it."""
    if type(awaitable) is not CoroutineType:
        return False
    code = cast("CoroutineType[object, object, object]", awaitable).cr_code
    known = _known_codes.get(id(code))
    if known is None or known[0] is not code:
        if len(_known_codes) >= _MOST_CODES:
            _known_codes.clear()
        known = _known_codes[id(code)] = (code, _SEND > 0 and _SEND not in code.co_code[::2])
    return known[1]


def run_through(coroutine: object) -> object:
    """Run a coroutine that never suspends: its value, or what it raises."""
    try:
        cast("CoroutineType[object, object, object]", coroutine).send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("a coroutine without an await was suspended")


def _nothing() -> None:
    """Remove a callback that was never added."""


@final
class _Wait(asyncio.Future[None]):
    """What the caller of an executor waits on once the first step was not the last."""

    __slots__ = ("_execution",)

    def __init__(self, execution: "Execution") -> None:
        super().__init__()
        self._execution = execution

    def cancel(self, msg: object = None) -> bool:
        """Pass the cancellation of the caller on to the executor, and wake the caller."""
        self._execution.tell()
        return super().cancel(msg)


@final
class Execution:
    """One executor at work, and the wait for it.

    A future or task that the executor returned is waited for as it is; anything else runs in one task of
    its own, whose first step is taken at once where Python can do so. The executor's error is kept as
    data, so none is ever reported as never retrieved. A cancellation of the caller is passed on inside
    `Task.cancel`, as if the executor itself were awaited: a loop that cancels both, as it does when it
    shuts down, interrupts the executor once.
    """

    __slots__ = (
        "_awaitable",
        "_caller",
        "_cancellations",
        "_error",
        "_given_up",
        "_inner",
        "_loop",
        "_started",
        "_stopping",
        "_value",
        "_wait",
        "_woken",
        "caller_cancelled",
    )

    def __init__(self, awaitable: object, caller: "asyncio.Task[object] | None", cancellations: int) -> None:
        """Begin. `caller` is the task that will wait; it had met `cancellations` so far."""
        self._awaitable: Any = awaitable
        self._value: object = None
        self._error: BaseException | None = None
        self._started = self._stopping = self._given_up = self._woken = False
        self._caller = caller
        self._cancellations = cancellations
        self._wait: _Wait | None = None
        self._loop = asyncio.get_running_loop()
        self.caller_cancelled = False
        """Whether the wait ended because the waiting task was cancelled."""
        inner = as_future(awaitable)
        if inner is None:
            inner = self._begin()
        elif inner is caller:
            self._error = RuntimeError("an executor cannot be awaited by the very task that it returned")
        elif inner.get_loop() is not self._loop:
            self._error = RuntimeError("an executor returned a future that belongs to another event loop")
        self._inner = inner

    async def wait(self, signal: Signal, unfinished: "set[asyncio.Future[object]] | None" = None) -> object:
        """Wait for the end: return the value, raise the executor's error, or the reason of an abort at once.

        An executor that an abort leaves behind stays in `unfinished` until it ends. When the caller is
        cancelled, its `CancelledError` is raised after the executor has ended, and `caller_cancelled` tells
        it from an invented one.
        """
        # [solution 06.4]
        inner = self._inner
        if self._error is None and not inner.done():
            remove: Callable[[], object] = _nothing
            try:
                remove = signal.add_callback(self.stop)
                if inner is not self._awaitable:
                    await asyncio.sleep(0)  # behind the first step of our task, which is often its last
                if not inner.done() and not self._woken:
                    self._wait = _Wait(self)
                    inner.add_done_callback(self._ended)
                    await self._wait
            except asyncio.CancelledError:
                self.caller_cancelled = True
                self.tell()
                await self._end()
                self._raise_if_fatal()
                raise
            finally:
                remove()
                self._caller = self._wait = None  # nothing here refers to itself any more
                if not inner.done():
                    self._give_up(_unfinished if unfinished is None else unfinished)
                elif not self._started:
                    self._ended(inner)
        if inner.done():
            self._raise_if_fatal()
        signal.raise_if_aborted()
        return self._outcome()
        # [/solution]

    def tell(self) -> None:
        """Tell the executor to stop, once."""
        # [solution 06.4]
        if not self._stopping:
            self._stopping = True
            self._inner.cancel()
        # [/solution]

    def stop(self) -> None:
        """Tell the executor to stop and wake the caller: what an abort does.

        An executor that was cancelled by somebody else, as by a loop that shuts down, is left to its cleanup.
        """
        # [solution 06.4]
        inner = self._inner
        if not (isinstance(inner, asyncio.Task) and inner.cancelling()):
            self.tell()
        self._wake()
        # [/solution]

    async def _end(self) -> None:
        """Wait until the executor has ended; each further cancellation of the caller reaches it too."""
        # [solution 06.4]
        while not self._inner.done():
            try:
                await asyncio.wait((self._inner,))
            except asyncio.CancelledError:
                self._inner.cancel()
        # [/solution]

    def _begin(self) -> "asyncio.Future[object]":
        loop = self._loop
        if loop.get_task_factory() is not None:
            return cast("asyncio.Future[object]", loop.create_task(self._run()))
        if sys.version_info >= (3, 12):
            return cast("asyncio.Future[object]", asyncio.Task(self._run(), loop=loop, eager_start=True))
        return cast("asyncio.Future[object]", asyncio.Task(self._run(), loop=loop))

    async def _run(self) -> None:
        """Be the task: await the executor, keep its outcome, wake the caller in the same turn."""
        if self._caller is not None and self._caller.cancelling() > self._cancellations:
            return  # cancelled before this first step, which then must not be taken
        self._started = True
        try:
            self._value = await self._awaitable
        except BaseException as error:
            if self._given_up and is_fatal(error):
                raise  # nobody is left to hand it to, and an exit must not be hidden
            if self._loop.is_closed():
                return  # the loop is gone, and this coroutine is being closed
            self._error = error
        self._wake()
        del self  # the error's traceback holds this frame, and `self` holds the error

    def _ended(self, future: "asyncio.Future[object]") -> None:
        """Wake the caller also when the task was cancelled before its first step."""
        if future is not self._awaitable and not self._started:
            call_off(self._awaitable)
        self._wake()

    def _wake(self) -> None:
        self._woken = True
        if self._wait is not None and not self._wait.done():
            self._wait.set_result(None)

    def _outcome(self) -> object:
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # a frame that holds its own exception is a reference cycle
        if self._inner is self._awaitable or not self._started:
            return self._inner.result()
        return self._value

    def _give_up(self, unfinished: "set[asyncio.Future[object]]") -> None:
        """Go on without the executor: it was told to stop, is held until it ends, and makes no noise."""
        inner = self._inner
        self._given_up = True
        if inner.get_loop().is_closed():
            return
        self.stop()
        unfinished.add(inner)
        inner.add_done_callback(unfinished.discard)
        inner.add_done_callback(self._ended)
        if inner is self._awaitable:
            observe(inner)

    def _raise_if_fatal(self) -> None:
        """Raise the error that must not be hidden even by a cancellation, and observe any other."""
        error = self._error
        if self._inner is self._awaitable and not self._inner.cancelled():
            error = self._inner.exception()
        try:
            if error is not None and is_fatal(error):
                raise error
        finally:
            del error
