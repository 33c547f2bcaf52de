"""The one cleanup of a stream: its `on_close` hook, run once and waited for to its end."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import final


@final
class Cleanup:
    """Runs the hook once. A cancellation of whoever waits for it propagates only after its end."""

    __slots__ = ("_over", "_work")

    def __init__(self) -> None:
        self._work: asyncio.Future[object] | None = None
        self._over: asyncio.Future[None] | None = None

    async def run(self, hook: Callable[[], Awaitable[object] | None]) -> None:
        """Call the hook and wait for what it returns; its `Exception` is raised."""
        outcome = hook()
        if outcome is None or not inspect.isawaitable(outcome):
            return
        self._over = asyncio.get_running_loop().create_future()
        self._work = work = asyncio.ensure_future(outcome)
        try:
            await _outlast(work, work)
        finally:
            error = None if work.cancelled() else work.exception()
        # A hook may well return the task it has cancelled: that it ends so is what was asked for.
        if error is not None:
            raise error

    def end(self) -> None:
        """Let those go who wait for the same cleanup."""
        self._work = None
        if self._over is not None:
            self._over.set_result(None)
            self._over = None

    async def join(self) -> None:
        """Wait for a cleanup at work. The hook itself, closing the stream again, does not wait for itself."""
        work, over = self._work, self._over
        if work is not None and over is not None and asyncio.current_task() is not work:
            await _outlast(work, over)


async def _outlast(
    work: "asyncio.Future[object]", end: "asyncio.Future[object] | asyncio.Future[None]"
) -> None:
    """Wait for the end. A cancellation is kept for afterwards; a second one is passed on to the work."""
    kept: asyncio.CancelledError | None = None
    while not end.done():
        try:
            await asyncio.wait((end,))
        except asyncio.CancelledError as error:
            if kept is not None:
                work.cancel()
            kept = error
    if kept is not None:
        raise kept
