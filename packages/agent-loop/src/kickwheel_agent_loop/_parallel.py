"""The calls of one turn side by side, told in the order of the calls (checkpoint 07, beyond the course)."""

import asyncio
from collections.abc import Sequence
from typing import final

from kickwheel_agent_loop._execute import run_call
from kickwheel_agent_loop._failures import ToolPhaseError
from kickwheel_agent_loop._run import Run
from kickwheel_protocol import ToolCall, ToolResultMessage


@final
class Batch:
    """One turn's calls, each in a task of its own.

    `_fatal` is the lowest position of a call that stops the run, `len(calls)` while there is none: results up
    to it are released in order, calls after it are cancelled and waited for.
    """

    __slots__ = ("_begun", "_calls", "_fatal", "_outcomes", "_run", "_tasks")

    def __init__(self, run: Run, calls: Sequence[ToolCall]) -> None:
        self._run = run
        self._calls = calls
        self._outcomes: list[ToolResultMessage | BaseException | None] = [None] * len(calls)
        self._tasks: list[asyncio.Task[None]] = []
        self._begun = 0  # tasks begin in the order of the calls
        self._fatal = len(calls)

    async def run(self) -> None:
        """Begin all calls, then release result after result; raise what the deciding fatal call raised."""
        run = self._run
        for call in self._calls:
            run.check()
            run.tell_started(call)
        self._tasks = [run.spawn(self._work(position)) for position in range(len(self._calls))]
        released = 0
        while True:
            run.check()
            while released < self._fatal:
                message = self._outcomes[released]
                if not isinstance(message, ToolResultMessage):
                    break
                run.tell_finished(message)
                released += 1
            if released == self._fatal and all(outcome is not None for outcome in self._outcomes):
                break
            await run.wait()
        if self._fatal < len(self._calls):
            error = self._outcomes[self._fatal]
            assert isinstance(error, BaseException)
            raise ToolPhaseError(error) if isinstance(error, Exception) else error

    async def _work(self, position: int) -> None:
        """Run one call and keep what comes of it, as data."""
        self._begun += 1
        run = self._run
        outcome: ToolResultMessage | BaseException
        try:
            outcome = await run_call(
                run.options.registry, self._calls[position], run.controller.signal, run.unfinished
            )
        except (KeyboardInterrupt, SystemExit) as error:
            self._settle(position, error)
            raise
        except BaseException as error:
            outcome = error
        self._settle(position, outcome)

    def _settle(self, position: int, outcome: ToolResultMessage | BaseException) -> None:
        self._outcomes[position] = outcome
        if isinstance(outcome, BaseException) and not self._run.is_stopped() and position < self._fatal:
            self._fatal = position
            for later in range(position + 1, len(self._tasks)):
                self._tasks[later].cancel()
                if later >= self._begun:  # a task cancelled before its first step runs no line of ours
                    self._outcomes[later] = asyncio.CancelledError()
        self._run.wake()
