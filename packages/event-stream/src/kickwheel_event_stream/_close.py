"""The one cleanup of a stream: its `on_close` hook, run once and waited for to its end."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import final


@final
class Cleanup:
    """Runs the hook once. Nothing cuts it short: a cancellation of whoever waits propagates after it."""

    __slots__ = ("_hook", "_over", "_task", "begun", "dropping")

    def __init__(self, hook: Callable[[], Awaitable[object] | None] | None) -> None:
        if hook is not None and not callable(hook):
            raise TypeError(f"on_close must be callable or None, not {type(hook).__name__}")
        self._hook = hook
        self._task: asyncio.Future[object] | None = None
        self._over: asyncio.Future[None] | None = None
        self.begun = False
        self.dropping = False

    async def run(self, drop: Callable[[bool], None]) -> None:
        """Drop what waits, call the hook and await what it returns."""
        self.begun = self.dropping = True
        hook, self._hook = self._hook, None
        drop(hook is not None)
        if hook is None:
            return
        outcome = hook()
        if not inspect.isawaitable(outcome):
            return
        self._over = asyncio.get_running_loop().create_future()
        self._task = asyncio.ensure_future(outcome)
        try:
            await _outlast(self._task)
        finally:
            if not self._task.cancelled():
                self._task.exception()
        if not self._task.cancelled():
            self._task.result()

    def end(self) -> None:
        """Let those go who wait for the same cleanup."""
        self._task = None
        if self._over is not None:
            self._over.set_result(None)
            self._over = None

    async def join(self) -> None:
        """Wait for a cleanup at work; the hook itself, closing the stream again, does not wait for itself."""
        if self._over is not None and asyncio.current_task() is not self._task:
            await _outlast(self._over)


async def _outlast(work: "asyncio.Future[object] | asyncio.Future[None]") -> None:
    """Wait for the end. A cancellation meanwhile is kept for afterwards; a second one is passed on to the work."""
    kept: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait((work,))
        except asyncio.CancelledError as error:
            if kept is not None:
                work.cancel()
            kept = error
    if kept is not None:
        raise kept
