"""Stop a run from outside, twice: by a signal that the caller holds, and by leaving the run early."""

import asyncio

from kickwheel_agent_loop import resumable_messages, run_agent_loop, tool
from kickwheel_event_stream import AbortController
from kickwheel_protocol import UserMessage
from kickwheel_scripted_model import ScriptedModel, call, say

ASK = [UserMessage("message-001", "How long is the report?")]
running = asyncio.Semaphore(0)  # counts the tools that are at work
closed: list[str] = []


@tool
async def measure(name: str) -> int:
    """Measure a report; this one takes for ever."""
    running.release()
    try:
        await asyncio.Event().wait()
    finally:
        closed.append(name)
    return 0


def script() -> ScriptedModel:
    """One model that asks for the slow tool, and would answer afterwards."""
    return ScriptedModel([call("measure", {"name": "report"}), say("42 pages.")])


async def by_signal() -> None:
    """The caller's signal: the run ends as data, with the reason that was given."""
    controller = AbortController()
    run = run_agent_loop(messages=ASK, model=script(), tools=[measure], max_steps=2, signal=controller.signal)
    async for event in run:
        if event.type == "tool.started":
            await running.acquire()
            controller.abort("the user left")
    result = await run.result
    print(result.status, "-", result.reason if result.status == "cancelled" else "")
    print("messages:", len(result.messages), "resumable:", len(resumable_messages(result.messages)))


async def by_leaving() -> None:
    """Leaving the block: model and tools are stopped, and leaving waits for their cleanup."""
    async with run_agent_loop(messages=ASK, model=script(), tools=[measure], max_steps=2) as run:
        async for event in run:
            if event.type == "tool.started":
                await running.acquire()
                break
    print("tools cleaned up:", len(closed))
    print((await run.result).status)


async def main() -> None:
    """Run both."""
    await by_signal()
    await by_leaving()


if __name__ == "__main__":
    asyncio.run(main())
