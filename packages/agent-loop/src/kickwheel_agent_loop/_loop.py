"""The agent loop: the public call, and the walk through the table of phases (checkpoint 07)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kickwheel_agent_loop._definition import AnyTool
from kickwheel_agent_loop._limits import LoopLimits
from kickwheel_agent_loop._model_turn import model_turn
from kickwheel_agent_loop._options import ToolExecution, read_options, require_loop
from kickwheel_agent_loop._phases import TRANSITIONS, Outcome, Phase
from kickwheel_agent_loop._registry import ToolRegistry
from kickwheel_agent_loop._run import Run
from kickwheel_agent_loop._tool_turn import tool_turn
from kickwheel_event_stream import EventStream
from kickwheel_protocol import AgentEvent, CompletedRun, MaxStepsRun, Message, Model, RunResult, Signal

DEFAULT_LIMITS: Final = LoopLimits()


def run_agent_loop(
    *,
    messages: Sequence[Message],
    model: Model,
    tools: ToolRegistry | Sequence[AnyTool],
    max_steps: int,
    signal: Signal | None = None,
    request_sequence_start: int = 0,
    limits: LoopLimits = DEFAULT_LIMITS,
    tool_execution: ToolExecution = "sequential",
) -> EventStream[AgentEvent, RunResult]:
    """Ask the model, run the tools it calls, show it their results, and repeat; return the stream of the run.

    The call only checks the options and takes snapshots of messages and tools; the work starts at the next
    turn of the event loop and goes on whether or not anybody reads. `async for event in run` gives the
    events, numbered from 0 without gaps, `run.finished` last; `await run.result` gives the same `RunResult`
    as that event. How a run ends is data, never an exception: `CompletedRun`, `MaxStepsRun` (after
    `max_steps` model turns), `CancelledRun` (the signal was aborted, or the run was left early) or
    `FailedRun` with a stable code. `messages` of the result holds complete messages only.

    `async with run_agent_loop(...) as run:` stops the run when the block is left, and waits until model and
    tools have cleaned up. Without it, only the signal stops a run.

    `messages` is an exact list or tuple of records. `model` has a `stream(request, signal)`, called once a
    step; request IDs are `request-001` and so on, the first one `request_sequence_start` higher. `tools` is a
    registry, or a list or tuple of tools. `tool_execution` is `"sequential"` or `"parallel"`: how the calls
    of one turn are run; the order of results is that of the calls in both.

    Raises `TypeError` or `ValueError` naming a bad option, `ToolContractError` for a bad list of tools,
    `RuntimeError` without a running event loop; the model has not been touched then.
    """
    options = read_options(
        messages, model, tools, max_steps, signal, request_sequence_start, limits, tool_execution
    )
    run = Run(options, require_loop())
    run.task = run.spawn(_walk(run))
    return run.stream


async def _start(run: Run) -> Outcome:
    """Verdict on the transcript, abort check, one event a message."""
    run.enter()
    run.begin()
    run.listen()
    run.check()
    run.accept_start()
    return Outcome.READY


async def _ask(run: Run) -> Outcome:
    """One model turn. An answer without calls ends the run."""
    response = await model_turn(run)
    if run.calls:
        return Outcome.CALLS
    run.finish(CompletedRun(run.transcript, response.message.text))
    return Outcome.ANSWERED


async def _act(run: Run) -> Outcome:
    """All calls of the turn, whatever the budget says: it counts model turns."""
    if await tool_turn(run, run.calls):
        return Outcome.BATCH_DONE
    run.finish(MaxStepsRun(run.transcript, run.options.max_steps))
    return Outcome.BUDGET_USED


_WORK: Final[Mapping[Phase, Callable[[Run], Awaitable[Outcome]]]] = MappingProxyType(
    {Phase.START: _start, Phase.MODEL: _ask, Phase.TOOLS: _act}
)


async def _walk(run: Run) -> None:
    """Go from phase to phase by the table. Whatever a phase raises becomes the result; then the model is
    left.
    """
    phase = Phase.START
    while phase is not Phase.DONE:
        try:
            outcome = await _WORK[phase](run)
        except BaseException as error:
            if run.must_let_through(error):
                run.stop()  # nobody is to wait for ever
                raise
            run.fail(error)
            outcome = Outcome.STOPPED
        phase = TRANSITIONS[phase, outcome]
    await run.clean_up()
