"""Many runs in one process leave memory flat, no task and no descriptor."""

import asyncio
import gc
import os
import tracemalloc
from pathlib import Path

import pytest
from loop_doubles import FakeModel, Gate, answers, call, start, steps, tools
from loop_guard import run

from kickwheel_event_stream import AbortController
from kickwheel_protocol import JsonObject, ToolContext

RUNS, WARM_UP, STEPS = 600, 200, 5


async def later(_arguments: JsonObject, _context: ToolContext) -> object:
    await asyncio.sleep(0)
    return 42


async def one_run(number: int) -> str:
    gate, controller = Gate(), AbortController()
    trips = [answers(call(step)) for step in range(STEPS)]
    last = {0: answers("done"), 1: steps(RuntimeError("offline")), 2: steps(gate), 3: steps(gate)}[number % 4]
    running = start(
        FakeModel(*trips, last), registry=tools(add=later), controller=controller, parallel=number % 8 > 3
    )
    if number % 4 == 2:
        await gate.reached.wait()
        controller.abort("enough")
    if number % 4 == 3:
        async with running:
            await gate.reached.wait()
    return (await running.result).status


def descriptors() -> int:
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.exists() else 0


@pytest.mark.slow
@pytest.mark.criterion("07.81", "07.86")
def test_memory_stays_flat_over_hundreds_of_runs_and_nothing_is_left() -> None:
    async def scene() -> int:
        noted = 0
        seen: set[str] = set()
        for number in range(RUNS):
            seen.add(await one_run(number))
            if number + 1 == WARM_UP:
                gc.collect()
                noted = tracemalloc.get_traced_memory()[0]
        assert seen == {"completed", "failed", "cancelled"}
        for _ in range(5):
            await asyncio.sleep(0)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - noted

    open_files = descriptors()
    tracemalloc.start()
    try:
        grown = run(scene(), timeout=60, debug=False)
    finally:
        tracemalloc.stop()
    assert grown < 500_000
    assert descriptors() == open_files
