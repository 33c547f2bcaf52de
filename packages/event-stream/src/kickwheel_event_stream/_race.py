"""Awaiting something that an abort may overtake."""

import asyncio
import inspect
from collections.abc import Awaitable, Coroutine
from typing import Final, TypeVar, cast

from kickwheel_event_stream._abort import AbortSignal

T = TypeVar("T")

_abandoned: Final[set["asyncio.Future[object]"]] = set()
"""Strong references to what has lost a race and is still cleaning up: an event loop holds its tasks
weakly."""


async def race_abort(awaitable: Awaitable[T], signal: AbortSignal | None) -> T:
    """Await something, or raise the signal's reason, whichever comes first (checkpoint 02).

    - The abort wins ties: a value or an error that arrives in the same turn is dropped.
    - On an abort the reason is raised at once, without waiting. The awaitable is cancelled, once, and is held
      until it has cleaned up; what becomes of it then reaches nobody.
    - On a cancellation of the calling task the awaitable is cancelled too, its cleanup is waited for, and
      `CancelledError` propagates.
    - On a signal already aborted a coroutine is never started, and a task or future given is cancelled.
    - An awaitable that is cancelled by somebody else does not look like a cancellation of the caller: that is
      a `RuntimeError` with the `CancelledError` as its cause.

    `None` stands for a signal that never aborts. Raises `TypeError` for what cannot be awaited. A coroutine
    runs in a task of its own; nothing stays registered at the signal afterwards.
    """
    if not inspect.isawaitable(awaitable):
        raise TypeError(f"race_abort needs an awaitable, not {type(awaitable).__name__}")
    if signal is None:
        signal = AbortSignal.never()
    elif signal.aborted:
        _discard(awaitable)
        signal.raise_if_aborted()
    work = asyncio.ensure_future(awaitable)
    if not work.done():
        await _first_of(work, signal)
    if signal.aborted:
        _abandon(work)
        signal.raise_if_aborted()
    try:
        return work.result()
    except asyncio.CancelledError as error:
        raise RuntimeError("the awaitable was cancelled, though the task awaiting it was not") from error


async def _first_of(work: "asyncio.Future[T]", signal: AbortSignal) -> None:
    """Return when the work is over or the signal has aborted; on the caller's cancellation, stop the work."""
    woken: asyncio.Future[None] = work.get_loop().create_future()

    def wake(_done: object = None) -> None:
        if not woken.done():
            woken.set_result(None)

    def abort() -> None:
        # Cancelled here and not when the caller resumes: an event pushed meanwhile must not go to a lost
        # read.
        work.cancel()
        wake()

    work.add_done_callback(wake)
    remove = signal.add_callback(abort)
    try:
        await woken
    except asyncio.CancelledError:
        remove()  # an abort during the cleanup must not interrupt it
        await _stop(work, asked=signal.aborted)
        raise
    finally:
        remove()
        work.remove_done_callback(wake)


async def _stop(work: "asyncio.Future[T]", *, asked: bool) -> None:
    """Cancel the work, unless the abort has done so, and wait for its end; a further cancel is passed on."""
    if not asked:
        work.cancel()
    while not work.done():
        try:
            await asyncio.wait((work,))
        except asyncio.CancelledError:
            work.cancel()
    _look(work)


def _abandon(work: "asyncio.Future[T]") -> None:
    """Let go of the loser, which has been asked to stop: hold it to its end, and look at its outcome."""
    held = cast("asyncio.Future[object]", work)
    if held.done():
        _look(held)
    else:
        _abandoned.add(held)
        held.add_done_callback(_look)
        held.add_done_callback(_abandoned.discard)


def _look(work: "asyncio.Future[T]") -> None:
    """Mark the outcome as seen, so that a lost error is not reported as never retrieved."""
    if not work.cancelled():
        work.exception()


def _discard(awaitable: Awaitable[object]) -> None:
    """Dispose of an awaitable that must not start."""
    if asyncio.isfuture(awaitable):
        awaitable.cancel()
        _abandon(awaitable)
    elif isinstance(awaitable, Coroutine):
        cast("Coroutine[object, object, object]", awaitable).close()
