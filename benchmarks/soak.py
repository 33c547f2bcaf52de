"""Many runs in one process: does memory stay flat, and is anything left behind?

Run: python benchmarks/soak.py [--runs N] [--steps N] [--json FILE]

Each run makes round trips with a tool and ends in one of five ways in turn: an answer, a used-up budget, an
abort, a run left early, a model that fails. After the first 200 runs the traced memory is noted; at the end
it may have grown by less than 2 MB, and there are as many tasks and file descriptors as at the start. Exits
with 1 otherwise.
"""

import argparse
import asyncio
import gc
import json
import os
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

from kickwheel_agent_loop import ToolRegistry, run_agent_loop, tool
from kickwheel_event_stream import AbortController, EventStream
from kickwheel_protocol import (
    AssistantMessage,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Signal,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
    UserMessage,
)

WARM_UP = 200
ALLOWED_BYTES = 2_000_000
ENDINGS = ("answer", "budget", "abort", "left", "failure")


@tool
async def add(left: int, right: int) -> int:
    """Add two numbers, a turn of the event loop later."""
    await asyncio.sleep(0)
    return left + right


class Model:
    """Calls the tool in every step but the last, through a stream that a task fills."""

    def __init__(self, steps: int, ending: str) -> None:
        self.steps = steps
        self.ending = ending
        self.calls = 0
        self.asked = asyncio.Event()
        self.tasks: set[asyncio.Task[None]] = set()

    def stream(
        self, request: ModelRequest, signal: Signal | None = None
    ) -> EventStream[ModelChunk, ModelResponse]:
        """Fill a stream from a task, chunk after chunk."""
        self.calls += 1
        stream: EventStream[ModelChunk, ModelResponse] = EventStream()
        task = asyncio.ensure_future(self._fill(stream, request))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return stream

    async def _fill(self, stream: EventStream[ModelChunk, ModelResponse], request: ModelRequest) -> None:
        await asyncio.sleep(0)
        last = self.calls == self.steps
        if last and self.ending == "failure":
            stream.fail(RuntimeError("offline"))
            return
        if last and self.ending in ("abort", "left"):
            self.asked.set()
            return
        if last and self.ending == "answer":
            stream.push(TextDeltaChunk(request.id, "done"))
            message, stop = AssistantMessage(request.id, [TextBlock("done")]), "stop"
        else:
            call = ToolCall(f"call-{self.calls}", "add", {"left": self.calls, "right": 1})
            stream.push(ToolCallChunk(request.id, call))
            message, stop = AssistantMessage(request.id, [call]), "toolCall"
        stream.finish(ModelResponse(request.id, request.id, message, stop, Usage(1, 1)))


async def one_run(number: int, steps: int, registry: ToolRegistry) -> str:
    """Make one run and give its status."""
    ending = ENDINGS[number % len(ENDINGS)]
    model, controller = Model(steps, ending), AbortController()
    run = run_agent_loop(
        messages=[UserMessage("message-001", "Add.")],
        model=model,
        tools=registry,
        max_steps=steps,
        signal=controller.signal,
    )
    if ending == "abort":
        await model.asked.wait()
        controller.abort("enough")
    elif ending == "left":
        async with run:
            await model.asked.wait()
    else:
        async for _event in run:
            pass
    return (await run.result).status


async def endings(runs: int, steps: int) -> AsyncIterator[tuple[int, str]]:
    """Make all runs, one after another."""
    registry = ToolRegistry([add])
    for number in range(runs):
        yield number, await one_run(number, steps, registry)


def descriptors() -> int:
    """Open file descriptors, where the system tells them."""
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.exists() else 0


async def soak(runs: int, steps: int) -> dict[str, int]:
    """Make all runs and tell what is different afterwards."""
    tasks, open_files = len(asyncio.all_tasks()), descriptors()
    seen: dict[str, int] = {}
    noted = 0
    async for number, status in endings(runs, steps):
        seen[status] = seen.get(status, 0) + 1
        if number + 1 == min(WARM_UP, runs // 2):
            gc.collect()
            noted = tracemalloc.get_traced_memory()[0]
    for _ in range(10):
        await asyncio.sleep(0)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - noted
    return {
        "runs": runs,
        "steps": steps,
        "grown_bytes": grown,
        "tasks_left": len(asyncio.all_tasks()) - tasks,
        "descriptors_left": descriptors() - open_files,
        **seen,
    }


def main() -> int:
    """Run it, print the figures, and judge them."""
    parser = argparse.ArgumentParser(description="Many runs in one process")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tracemalloc.start()
    started = time.perf_counter()
    figures = asyncio.run(soak(options.runs, options.steps))
    print(f"{json.dumps(figures)} in {time.perf_counter() - started:.1f} s")
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    clean = figures["tasks_left"] == 0 and figures["descriptors_left"] == 0
    return 0 if clean and figures["grown_bytes"] < ALLOWED_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
