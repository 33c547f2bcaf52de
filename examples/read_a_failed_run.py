"""Three runs that do not complete, and what each of them tells."""

import asyncio

from kickwheel_agent_loop import NonRecoverableToolError, RunTrace, run_to_end, tool
from kickwheel_protocol import FailedRun, MaxStepsRun, UserMessage
from kickwheel_scripted_model import ScriptedModel, call, say

ASK = [UserMessage("message-001", "Please pay the bill.")]


@tool
def pay(amount: int) -> str:
    """Pay an amount."""
    raise NonRecoverableToolError(f"the account is closed, {amount} not paid")


@tool
def look_up(name: str) -> str:
    """Look up a bill."""
    return f"{name}: 20"


def tell(trace: RunTrace) -> None:
    """Say how a run ended and what it had done by then."""
    result = trace.result
    match result:
        case FailedRun(error=error):
            why = f"{error.code}: {error.message.splitlines()[0]}"
        case MaxStepsRun(max_steps=steps):
            why = f"after {steps} steps"
        case _:
            why = ""
    print(f"{result.status}, {why}")
    print(f"  {len(result.messages)} messages kept, last event {trace.events[-2].type}")


async def main() -> None:
    """Let a script run out, a tool fail for good, and a budget be used up."""
    exhausted = ScriptedModel([call("look_up", {"name": "rent"})])
    tell(await run_to_end(messages=ASK, model=exhausted, tools=[look_up], max_steps=3))
    fatal = ScriptedModel([call("pay", {"amount": 20}), say("Paid.")])
    tell(await run_to_end(messages=ASK, model=fatal, tools=[pay], max_steps=3))
    busy = ScriptedModel([call("look_up", {"name": "rent"}), call("look_up", {"name": "power"})])
    tell(await run_to_end(messages=ASK, model=busy, tools=[look_up], max_steps=2))


if __name__ == "__main__":
    asyncio.run(main())
