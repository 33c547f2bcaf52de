"""Waiting for an executor, while the signal or the caller's own cancellation may end the wait (checkpoint
06).

Two ways to be stopped, never mixed up. An abort is data: the executor is told to stop, and the caller goes
on at once with the reason. A cancelled caller is control flow: the executor is told to stop, and waited for.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Final, cast, final

from kickwheel_agent_loop._inspect import as_future, call_off, observe
from kickwheel_agent_loop._outcome import is_fatal
from kickwheel_protocol import Signal

_unfinished: Final[set["asyncio.Future[object]"]] = set()
"""Executors that were told to stop and have not ended: the event loop itself holds its tasks only weakly."""


def _nothing() -> None:
    """Remove a callback that was never added."""


@final
class _Waiter(asyncio.Future[None]):
    """What the caller waits on. A cancellation is passed on inside `Task.cancel`, as if the executor itself
    were awaited: a loop that cancels both, as it does when it shuts down, interrupts the executor once.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__(loop=asyncio.get_running_loop())
        self._tell = tell

    def cancel(self, msg: object = None) -> bool:
        """Pass it on, and wake the caller."""
        self._tell()
        return super().cancel(msg)


@final
class Execution:
    """One executor at work. Its error is kept as data, so none is ever reported as never retrieved.

    A future or task that the executor returned is waited for as it is; anything else runs in one task of its
    own, whose first step is taken at once where Python can do so.
    """

    __slots__ = (
        "_awaitable",
        "_error",
        "_future",
        "_given_up",
        "_started",
        "_stopping",
        "_value",
        "_waiter",
        "caller_cancelled",
    )

    def __init__(self, awaitable: object) -> None:
        self._awaitable = awaitable
        self._value: object = None
        self._error: BaseException | None = None
        self._started = self._stopping = self._given_up = False
        self.caller_cancelled = False
        self._waiter: _Waiter | None = None
        future = as_future(awaitable)
        if future is None:
            future = self._begin()
        elif future is asyncio.current_task():
            self._error = RuntimeError("an executor cannot be awaited by the very task that it returned")
        elif future.get_loop() is not asyncio.get_running_loop():
            self._error = RuntimeError("an executor returned a future that belongs to another event loop")
        self._future = future

    async def wait(self, signal: Signal, unfinished: "set[asyncio.Future[object]] | None" = None) -> object:
        """Wait for the end. Returns the value, or raises the executor's error, or the reason of an abort at
        once.

        An executor that an abort leaves behind stays in `unfinished` until it ends. When the caller is
        cancelled, its `CancelledError` is raised after the executor has ended, and `caller_cancelled` tells
        it from an invented one.
        """
        # [solution 06.4]
        future = self._future
        if self._error is None and not future.done():
            waiter = self._waiter = _Waiter(self.tell)
            future.add_done_callback(self._ended)
            remove: Callable[[], object] = _nothing
            try:
                remove = signal.add_callback(self.stop)
                await waiter
            except asyncio.CancelledError:
                self.caller_cancelled = True
                self.tell()
                await self._end()
                self._raise_if_fatal()
                raise
            finally:
                remove()
                if not future.done():
                    self._give_up(_unfinished if unfinished is None else unfinished)
        if future.done():
            self._raise_if_fatal()
        signal.raise_if_aborted()
        return self._outcome()
        # [/solution]

    def tell(self) -> None:
        """Tell the executor to stop, once."""
        # [solution 06.4]
        if not self._stopping:
            self._stopping = True
            self._future.cancel()
        # [/solution]

    def stop(self) -> None:
        """Tell the executor to stop and wake the caller: what an abort does.

        An executor that was cancelled by somebody else, as by a loop that shuts down, is left to its cleanup.
        """
        # [solution 06.4]
        future = self._future
        if not (isinstance(future, asyncio.Task) and future.cancelling()):
            self.tell()
        self._wake()
        # [/solution]

    async def _end(self) -> None:
        """Wait until the executor has ended; each further cancellation of the caller reaches it too."""
        # [solution 06.4]
        while not self._future.done():
            try:
                await asyncio.wait((self._future,))
            except asyncio.CancelledError:
                self._future.cancel()
        # [/solution]

    def _begin(self) -> "asyncio.Future[object]":
        loop = asyncio.get_running_loop()
        if sys.version_info >= (3, 12) and loop.get_task_factory() is None:
            return cast("asyncio.Future[object]", asyncio.Task(self._run(), loop=loop, eager_start=True))
        return cast("asyncio.Future[object]", loop.create_task(self._run()))

    async def _run(self) -> None:
        """Be the task: await the executor, keep its outcome, wake the caller in the same turn."""
        self._started = True
        try:
            self._value = await cast("Awaitable[object]", self._awaitable)
        except BaseException as error:
            if self._given_up and is_fatal(error):
                raise  # nobody is left to hand it to, and an exit must not be hidden
            if self._waiter is not None and self._waiter.get_loop().is_closed():
                return  # the loop is gone, and this coroutine is being closed
            self._error = error
        self._wake()

    def _ended(self, future: "asyncio.Future[object]") -> None:
        """Wake the caller also when the task was cancelled before its first step."""
        if future is not self._awaitable and not self._started:
            call_off(self._awaitable)
        self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _outcome(self) -> object:
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # a frame that holds its own exception is a reference cycle
        if self._future is self._awaitable or not self._started:
            return self._future.result()
        return self._value

    def _give_up(self, unfinished: "set[asyncio.Future[object]]") -> None:
        """Go on without the executor: it was told to stop, is held until it ends, and makes no noise."""
        future = self._future
        self._given_up = True
        if future.get_loop().is_closed():
            return
        self.stop()
        unfinished.add(future)
        future.add_done_callback(unfinished.discard)
        if future is self._awaitable:
            observe(future)

    def _raise_if_fatal(self) -> None:
        """Raise the error that must not be hidden even by a cancellation, and observe any other."""
        error = self._error
        if self._future is self._awaitable and not self._future.cancelled():
            error = self._future.exception()
        if error is not None and is_fatal(error):
            raise error
