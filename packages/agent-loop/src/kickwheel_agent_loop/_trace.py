"""A whole run in one call: its events and its result (checkpoint 07)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from kickwheel_agent_loop._definition import AnyTool
from kickwheel_agent_loop._limits import LoopLimits
from kickwheel_agent_loop._loop import DEFAULT_LIMITS, run_agent_loop
from kickwheel_agent_loop._options import ToolExecution
from kickwheel_agent_loop._registry import ToolRegistry
from kickwheel_protocol import AgentEvent, Message, Model, RunResult, Signal


@final
@dataclass(frozen=True, slots=True)
class RunTrace:
    """All events of a run and its result; `events[-1].result is result` (checkpoint 07)."""

    events: tuple[AgentEvent, ...]
    result: RunResult


async def run_to_end(
    *,
    messages: Sequence[Message],
    model: Model,
    tools: ToolRegistry | Sequence[AnyTool],
    max_steps: int,
    signal: Signal | None = None,
    request_sequence_start: int = 0,
    limits: LoopLimits = DEFAULT_LIMITS,
    tool_execution: ToolExecution = "sequential",
) -> RunTrace:
    """Run the agent loop to its end, with the options of `run_agent_loop`.

    Bad options raise when this is awaited. Cancelling it stops the run, waits until model and tools have
    cleaned up and raises `CancelledError`. However it ends, no task of the run is left.
    """
    run = run_agent_loop(
        messages=messages,
        model=model,
        tools=tools,
        max_steps=max_steps,
        signal=signal,
        request_sequence_start=request_sequence_start,
        limits=limits,
        tool_execution=tool_execution,
    )
    async with run:
        events = tuple([event async for event in run])
        return RunTrace(events, await run.result)
