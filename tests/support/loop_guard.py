"""Runs every `async def` test on a loop of its own: bounded, quiet and leaving nothing behind.

A test fails when it takes longer than its bound, when the loop's exception handler hears of anything
(an exception never retrieved, a callback that failed), or when a task outlives it. Plain tests that build
coroutines themselves, such as hypothesis tests, call `run(...)`, which gives the same guarantees.
"""

import asyncio
import gc
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

BOUND_SECONDS = 10.0
"""A bound, not an expectation: a test that comes near it hangs."""


def run(
    coroutine: Coroutine[object, object, T],
    *,
    timeout: float = BOUND_SECONDS,
    debug: bool = True,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> T:
    """Run a coroutine to its end on a fresh loop and fail on noise, leftovers or a hang."""
    noise: list[str] = []

    def hear(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        noise.append(f"{context.get('message')}: {context.get('exception')!r}")

    async def guarded() -> T:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(hear)
        try:
            async with asyncio.timeout(timeout):
                value = await coroutine
        finally:
            gc.collect()
            await asyncio.sleep(0)
        # A stopped task needs a few turns for its own cleanup before it counts as left behind.
        for _ in range(20):
            if len(asyncio.all_tasks()) == 1:
                break
            await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left behind: {left}"
        return value

    with asyncio.Runner(debug=debug, loop_factory=loop_factory) as runner:
        value = runner.run(guarded())
        gc.collect()
    assert not noise, "the loop's exception handler was called: " + "; ".join(noise)
    return value


def pytest_collection_finish() -> None:
    """Set aside what the collection of tests made, so that each test collects its own garbage only."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run coroutine functions; leave everything else to pytest."""
    function = pyfuncitem.obj
    if not inspect.iscoroutinefunction(function):
        return None
    names = pyfuncitem._fixtureinfo.argnames  # pyright: ignore[reportPrivateUsage]
    run(function(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
