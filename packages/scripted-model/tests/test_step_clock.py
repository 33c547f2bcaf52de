"""`StepClock`: looking at the state between two chunks, by order alone."""

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kickwheel_event_stream import AbortController, AbortError, EventStream
from kickwheel_protocol import (
    AssistantMessage,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Signal,
    TextDeltaChunk,
    Usage,
    UserMessage,
)
from kickwheel_scripted_model import ScriptedModel, ScriptedResponseFactory, StepClock

criterion = pytest.mark.criterion


def request(number: int = 1) -> ModelRequest:
    return ModelRequest(f"request-{number:03}", [UserMessage(f"message-{number:03}", "hi")])


def held(clock: StepClock, *names: str, log: list[str] | None = None) -> ScriptedResponseFactory:
    """Make a script that yields a chunk before each point and one after the last."""

    async def script(asked: ModelRequest, _signal: Signal) -> AsyncIterator[ModelChunk | ModelResponse]:
        try:
            for name in names:
                yield TextDeltaChunk(asked.id, f"before {name}")
                await clock.point(name)
            yield TextDeltaChunk(asked.id, "last")
            message = AssistantMessage("message-r", [])
            yield ModelResponse("response-r", asked.id, message, "stop", Usage(0, 0))
        finally:
            if log is not None:
                log.append("finally")

    return script


async def texts(stream: EventStream[ModelChunk, ModelResponse]) -> list[str]:
    return [chunk.delta async for chunk in stream if isinstance(chunk, TextDeltaChunk)]


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def parked(clock: StepClock, *names: str) -> list["asyncio.Task[None]"]:
    """Park one task at each name, in this order."""
    tasks: list[asyncio.Task[None]] = []
    for name in names:
        tasks.append(asyncio.create_task(clock.point(name)))
        await turns(2)
    return tasks


class TestHolding:
    @criterion("04.B26")
    async def test_the_state_between_two_chunks_can_be_looked_at(self) -> None:
        clock = StepClock()
        stream = ScriptedModel([held(clock, "gap")]).stream(request())
        await clock.reached("gap")
        reader = aiter(stream)
        assert (await anext(reader)).type == "textDelta"
        second = asyncio.ensure_future(anext(reader))
        await turns()
        assert (second.done(), stream.state, clock.waiting, clock.passed) == (False, "open", ("gap",), ())
        clock.release("gap")
        assert await second == TextDeltaChunk("request-001", "last")
        assert (clock.waiting, clock.passed) == ((), ("gap",))
        await stream.result

    @criterion("04.B27")
    async def test_there_is_no_release_in_advance(self) -> None:
        clock = StepClock()
        tasks = await parked(clock, "a", "b")
        with pytest.raises(RuntimeError) as caught:
            clock.release("gap")
        assert all(name in str(caught.value) for name in ("gap", "a", "b"))
        assert (clock.waiting, clock.passed) == (("a", "b"), ())
        clock.open()
        await asyncio.gather(*tasks)

    @criterion("04.B28")
    async def test_one_release_frees_one_arrival_in_order(self) -> None:
        clock = StepClock()
        first, second = await parked(clock, "a", "a")
        assert clock.waiting == ("a", "a")
        clock.release("a")
        await turns()
        assert (first.done(), second.done(), clock.waiting) == (True, False, ("a",))
        clock.release("a")
        await asyncio.gather(first, second)
        assert clock.passed == ("a", "a")

    @criterion("04.B29")
    async def test_a_release_shows_at_once_and_works_later(self) -> None:
        clock = StepClock()
        (task,) = await parked(clock, "a")
        clock.release("a")
        assert (clock.waiting, clock.passed, task.done()) == ((), ("a",), False)
        with pytest.raises(RuntimeError):
            clock.release("a")
        await task

    @criterion("04.B30")
    async def test_two_steps_release_two_arrivals(self) -> None:
        clock = StepClock()
        steps = [asyncio.create_task(clock.step("a")) for _ in range(2)]
        await turns()
        tasks = await parked(clock, "a")
        await turns()
        assert ([step.done() for step in steps].count(True), clock.passed) == (1, ("a",))
        tasks += await parked(clock, "a")
        await asyncio.gather(*steps, *tasks)
        assert (clock.passed, clock.waiting) == (("a", "a"), ())

    @criterion("04.B26")
    async def test_a_point_that_is_reached_already_is_not_waited_for(self) -> None:
        clock = StepClock()
        (task,) = await parked(clock, "a")
        await clock.reached("a")
        clock.release("a")
        await task

    @criterion("04.B30")
    async def test_a_step_finds_an_arrival_that_is_there(self) -> None:
        clock = StepClock()
        tasks = await parked(clock, "a", "a")
        await clock.step("a")
        assert (clock.passed, clock.waiting) == (("a",), ("a",))
        await clock.step("a")
        await asyncio.gather(*tasks)


class TestLeaving:
    @criterion("04.B31")
    async def test_an_abort_takes_the_script_from_its_point(self) -> None:
        clock, controller, log = StepClock(), AbortController(), list[str]()
        stream = ScriptedModel([held(clock, "gap", log=log)]).stream(request(), controller.signal)
        await clock.reached("gap")
        controller.abort()
        assert clock.waiting == ()
        with pytest.raises(RuntimeError):
            clock.release("gap")
        with pytest.raises(AbortError):
            await stream.result
        await turns()
        assert (clock.waiting, clock.passed, log) == ((), (), ["finally"])

    @criterion("04.B31")
    async def test_a_cancelled_task_leaves_the_others_parked(self) -> None:
        clock = StepClock()
        first, second, third = await parked(clock, "a", "a", "b")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert clock.waiting == ("a", "b")
        clock.release("a")
        await second
        assert (clock.passed, clock.waiting) == (("a",), ("b",))
        clock.release("b")
        await third

    @criterion("04.B31")
    async def test_a_task_cancelled_in_the_turn_of_its_release_has_passed(self) -> None:
        clock = StepClock()
        (task,) = await parked(clock, "a")
        clock.release("a")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (clock.waiting, clock.passed) == ((), ("a",))

    async def test_a_cancelled_watcher_leaves_nothing_behind(self) -> None:
        clock = StepClock()
        gone = asyncio.ensure_future(clock.reached("a"))
        stays = asyncio.ensure_future(clock.reached("a"))
        await turns()
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        (task,) = await parked(clock, "a")
        await stays
        clock.release("a")
        await task

    async def test_a_watcher_cancelled_in_the_turn_of_the_arrival_is_skipped(self) -> None:
        clock = StepClock()
        watcher = asyncio.ensure_future(clock.reached("a"))
        await turns()
        arrival = asyncio.create_task(clock.point("a"))
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
        await clock.step("a")
        await arrival


class TestOpening:
    @criterion("04.B32")
    async def test_an_open_clock_parks_nobody(self) -> None:
        clock = StepClock()
        order: list[str] = []

        async def arrive(name: str) -> None:
            await clock.point(name)
            order.append(name)

        tasks: list[asyncio.Task[None]] = []
        for name in "bac":
            tasks.append(asyncio.create_task(arrive(name)))
            await turns(2)
        clock.open()
        assert (clock.waiting, clock.passed) == ((), ("b", "a", "c"))
        await asyncio.gather(*tasks)
        await clock.point("later")
        clock.open()
        assert (order, clock.passed) == (["b", "a", "c"], ("b", "a", "c", "later"))

    @criterion("04.B32")
    async def test_opening_skips_a_point_that_is_being_left(self) -> None:
        clock = StepClock()
        gone, stays = await parked(clock, "a", "b")
        gone.cancel()
        clock.open()
        await asyncio.gather(gone, stays, return_exceptions=True)
        assert clock.passed == ("b",)

    @criterion("04.B33")
    @pytest.mark.parametrize("method", ["reached", "step"])
    async def test_on_an_open_clock_nothing_can_be_awaited(self, method: str) -> None:
        clock = StepClock()
        wait: Callable[[str], Awaitable[None]] = getattr(clock, method)
        waiting = asyncio.ensure_future(wait("a"))
        cancelled = asyncio.ensure_future(wait("a"))
        await turns()
        cancelled.cancel()
        clock.open()
        with pytest.raises(RuntimeError):
            await waiting
        with pytest.raises(RuntimeError):
            await wait("a")
        with pytest.raises(RuntimeError):
            clock.release("a")
        await asyncio.gather(cancelled, return_exceptions=True)

    @criterion("04.B33")
    async def test_opening_in_the_turn_of_an_arrival_refuses_a_step(self) -> None:
        clock = StepClock()
        step = asyncio.ensure_future(clock.step("a"))
        await turns()
        arrival = asyncio.create_task(clock.point("a"))
        await asyncio.sleep(0)
        clock.open()
        with pytest.raises(RuntimeError):
            await step
        await arrival


class TestNames:
    @criterion("04.B34")
    @pytest.mark.parametrize("method", ["point", "reached", "release", "step"])
    @pytest.mark.parametrize(
        ("name", "kind"),
        [(None, TypeError), (42, TypeError), (b"a", TypeError), ("", ValueError), (" \t\n", ValueError)],
    )
    async def test_a_name_is_a_string_and_not_blank(
        self, method: str, name: object, kind: type[Exception]
    ) -> None:
        clock = StepClock()
        for _ in range(2):
            with pytest.raises(kind):
                done: object = getattr(clock, method)(name)
                if isinstance(done, Awaitable):
                    await done
            clock.open()
        assert (clock.waiting, clock.passed) == ((), ())

    def test_a_clock_is_made_without_a_loop(self) -> None:
        assert (StepClock().waiting, StepClock().passed) == ((), ())


class TestOrder:
    @criterion("04.B35")
    def test_a_thousand_runs_interleave_alike(self) -> None:
        async def once() -> tuple[object, ...]:
            clock = StepClock()
            model = ScriptedModel([held(clock, "a", "b"), held(clock, "b", "a")])
            first, second = model.stream(request(1)), model.stream(request(2))
            seen: list[object] = []
            for name in ("a", "b", "b", "a"):
                await clock.step(name)
                seen.append((clock.waiting, clock.passed))
            return (*seen, await texts(first), await texts(second), await first.result, await second.result)

        async def all_runs() -> None:
            expected = await once()
            for _ in range(999):
                assert await once() == expected

        asyncio.run(asyncio.wait_for(all_runs(), 60))

    @criterion("04.B35")
    def test_the_module_names_nothing_that_passes_by_itself(self) -> None:
        module = inspect.getmodule(StepClock)
        assert module is not None
        source = inspect.getsource(module)
        assert re.findall(r"\b(sleep|call_later|call_at|time|monotonic|random)\b", source) == []

    @criterion("04.B36")
    async def test_models_that_share_a_clock_arrive_in_the_order_of_their_points(self) -> None:
        clock = StepClock()
        first = ScriptedModel([held(clock, "one")]).stream(request(1))
        await clock.reached("one")
        model = ScriptedModel([held(clock, "two"), held(clock, "three")])
        others = [model.stream(request(2)), model.stream(request(3))]
        await clock.reached("three")
        assert clock.waiting == ("one", "two", "three")
        clock.release("three")
        clock.release("one")
        clock.release("two")
        assert clock.passed == ("three", "one", "two")
        for stream in (first, *others):
            await stream.result

    @criterion("04.B28", "04.B29", "04.B32")
    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(
        st.lists(
            st.tuples(st.sampled_from(["arrive", "release", "cancel"]), st.sampled_from("abc")), max_size=30
        )
    )
    def test_a_clock_behaves_like_one_queue_a_name(self, moves: list[tuple[str, str]]) -> None:
        async def play() -> None:
            clock = StepClock()
            queue: list[tuple[str, asyncio.Task[None]]] = []
            passed: list[str] = []
            for move, name in moves:
                mine = next((entry for entry in queue if entry[0] == name), None)
                if move == "arrive":
                    queue.append((name, asyncio.create_task(clock.point(name))))
                    await turns(2)
                elif move == "cancel" and mine is not None:
                    mine[1].cancel()
                    queue.remove(mine)
                elif move == "release" and mine is not None:
                    clock.release(name)
                    queue.remove(mine)
                    passed.append(name)
                elif move == "release":
                    with pytest.raises(RuntimeError):
                        clock.release(name)
                assert (clock.waiting, clock.passed) == (tuple(each for each, _ in queue), tuple(passed))
            clock.open()
            assert clock.passed == (*passed, *(each for each, _ in queue))
            await turns(3)

        asyncio.run(asyncio.wait_for(play(), 10))
