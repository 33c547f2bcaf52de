"""The tools phase: every call of one turn, each with its result message (checkpoint 07)."""

from asyncio import CancelledError
from collections.abc import Sequence

from kickwheel_agent_loop._execute import run_call
from kickwheel_agent_loop._failures import RunStoppedError, ToolPhaseError
from kickwheel_agent_loop._parallel import Batch
from kickwheel_agent_loop._run import Run
from kickwheel_protocol import ToolCall, ToolResultMessage


async def tool_turn(run: Run, calls: Sequence[ToolCall]) -> bool:
    """Run the calls of a turn; tell whether the budget allows another model turn.

    The batch is always finished first: a transcript with an unanswered call is of no use to anybody.
    """
    # [solution 07.5]
    if run.options.parallel and len(calls) > 1:
        await Batch(run, calls).run()
    else:
        for call in calls:
            run.check()
            run.tell_started(call)
            message = await run_one(run, call)
            run.check()
            run.tell_finished(message)
    return run.steps < run.options.max_steps
    # [/solution]


async def run_one(run: Run, call: ToolCall) -> ToolResultMessage:
    """Run one call in the run's own task; `ToolPhaseError` if the tool stops the run, `RunStoppedError` after
    an abort.
    """
    try:
        return await run_call(run.options.registry, call, run.controller.signal, run.unfinished)
    except BaseException as error:
        raise raised_by_tool(run, error) from None


def raised_by_tool(run: Run, error: BaseException) -> BaseException:
    """Name what came out of a tool. An abort is looked at first: it comes as the signal's own reason."""
    run.met_cancellation()
    if run.is_stopped() and isinstance(error, Exception | CancelledError):
        return RunStoppedError()
    return ToolPhaseError(error) if isinstance(error, Exception) else error
