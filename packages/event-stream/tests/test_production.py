"""Production of a stream from a source, as authors of models use it."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Callable
from typing import NoReturn

import pytest

from kickwheel_event_stream import AbortController, AbortError, AbortSignal, EventStream
from kickwheel_event_stream.production import Producer, start_production

Outcome = tuple[list[object], object]


class Plan(Producer[object, str]):
    """Gives the source it is told, lets every item through but `None`, and finishes with `done`."""

    def __init__(self, source: object, *, refuse: Exception | None = None) -> None:
        self.source = source
        self.refuse = refuse
        self.opened = 0
        self.owned: list[object] = []
        self.outcomes: list[tuple[Exception | None, bool]] = []

    def open(self) -> object:
        self.opened += 1
        if isinstance(self.source, BaseException):
            raise self.source
        return self.source

    def own(self, iterator: object, /) -> None:
        self.owned.append(iterator)
        if self.refuse is not None:
            raise self.refuse

    def accept(self, item: object, /) -> object | None:
        if isinstance(item, Exception):
            raise item
        return None if item == "nothing" else item

    def finish(self) -> str:
        return "done"

    def settled(self, error: Exception | None, aborted: bool, /) -> None:
        self.outcomes.append((error, aborted))


class Steps:
    """A hand-written iterator: each entry is an item, an exception to raise, or a step to call."""

    def __init__(self, *steps: object) -> None:
        self.steps = list(steps)
        self.opened = 0
        self.closed = 0

    def __aiter__(self) -> "Steps":
        self.opened += 1
        return self

    async def __anext__(self) -> object:
        if not self.steps:
            raise StopAsyncIteration
        step = self.steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        if callable(step):
            return step()
        return step

    async def aclose(self) -> None:
        self.closed += 1


async def outcome(stream: EventStream[object, str]) -> Outcome:
    """Read both paths; a failure is the same object on both."""
    events: list[object] = []
    try:
        async for event in stream:
            events.append(event)
    except Exception as error:
        with pytest.raises(type(error)) as caught:
            await stream.result
        assert caught.value is error  # noqa: PT017 - one object on both paths is what is asserted
        return events, error
    return events, await stream.result


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class TestSources:
    async def test_an_async_source_is_stepped_to_its_end_and_not_closed(self) -> None:
        source = Steps("a", "nothing", "b")
        plan = Plan(source)
        assert await outcome(start_production(plan)) == (["a", "b"], "done")
        assert (source.opened, source.closed, plan.owned) == (1, 0, [source])
        assert plan.outcomes == [(None, False)]

    @pytest.mark.parametrize("source", [["a", "nothing", "b"], ("a", "b")])
    async def test_an_array_is_played_without_ownership(self, source: object) -> None:
        plan = Plan(source)
        assert await outcome(start_production(plan)) == (["a", "b"], "done")
        assert plan.owned == []

    async def test_production_begins_at_the_next_turn(self) -> None:
        plan = Plan(["a"])
        stream = start_production(plan)
        assert (plan.opened, stream.state) == (0, "open")
        await asyncio.sleep(0)
        assert (plan.opened, stream.state) == (1, "finished")

    async def test_a_list_subclass_is_no_array(self) -> None:
        class Odd(list[object]):
            pass

        _events, error = await outcome(start_production(Plan(Odd(["a"]))))
        assert type(error) is TypeError

    @pytest.mark.parametrize("source", [None, 42, "text", object()])
    async def test_a_source_that_cannot_be_iterated_is_a_type_error(self, source: object) -> None:
        events, error = await outcome(start_production(Plan(source)))
        assert (events, type(error)) == ([], TypeError)

    async def test_a_coroutine_for_a_source_is_closed(self) -> None:
        async def source() -> None:
            raise AssertionError("never started")

        coroutine = source()
        _events, error = await outcome(start_production(Plan(coroutine)))
        assert type(error) is TypeError
        assert coroutine.cr_frame is None

    def test_without_a_loop_nothing_happens(self) -> None:
        plan = Plan(["a"])
        with pytest.raises(RuntimeError):
            start_production(plan)
        assert (plan.opened, plan.outcomes) == (0, [])

    async def test_the_task_factory_of_the_loop_has_no_part_in_it(self) -> None:
        """An eager one would open the source inside the call, before anybody could abort."""

        def refuse(*_args: object, **_options: object) -> NoReturn:
            raise LookupError("no tasks today")

        plan = Plan(["a"])
        loop = asyncio.get_running_loop()
        loop.set_task_factory(refuse)
        try:
            stream = start_production(plan)
        finally:
            loop.set_task_factory(None)
        assert plan.opened == 0
        events, error = await outcome(stream)
        assert (events, error, plan.opened) == (["a"], "done", 1)


class TestFailures:
    async def test_an_error_of_open_fails_the_stream_as_it_is(self) -> None:
        error = LookupError("empty")
        plan = Plan(error)
        assert await outcome(start_production(plan)) == ([], error)
        assert plan.outcomes == [(error, False)]

    async def test_an_error_of_accept_comes_after_the_events_and_closes_the_source(self) -> None:
        error = ValueError("bad item")
        source = Steps("a", error_item(error), "b")
        assert await outcome(start_production(Plan(source))) == (["a"], error)
        await turns()
        assert (source.closed, source.steps) == (1, ["b"])

    async def test_an_error_of_accept_ends_an_array(self) -> None:
        error = ValueError("bad item")
        assert await outcome(start_production(Plan(["a", error, "b"]))) == (["a"], error)

    async def test_an_error_of_finish_fails_the_stream_and_closes_nothing(self) -> None:
        error = ValueError("no terminal")

        class Endless(Plan):
            def finish(self) -> str:
                raise error

        source = Steps("a")
        assert await outcome(start_production(Endless(source))) == (["a"], error)
        await turns()
        assert source.closed == 0

    async def test_a_refused_iterator_is_neither_stepped_nor_closed(self) -> None:
        error = LookupError("used")
        source = Steps("a")
        assert await outcome(start_production(Plan(source, refuse=error))) == ([], error)
        await turns()
        assert (source.steps, source.closed) == (["a"], 0)

    async def test_the_producer_chooses_how_a_failing_source_is_told(self) -> None:
        class Choosing(Plan):
            def source_error(self, error: Exception, /) -> Exception:
                told = LookupError("source")
                told.__cause__ = error
                return told

        error = ValueError("step")
        _events, told = await outcome(start_production(Choosing(Steps("a", error))))
        assert isinstance(told, LookupError)
        assert told.__cause__ is error

    async def test_a_failing_step_fails_the_stream_with_that_error(self) -> None:
        error = ValueError("step")
        source = Steps("a", error)
        assert await outcome(start_production(Plan(source))) == (["a"], error)
        await turns()
        assert source.closed == 1

    async def test_an_iterator_without_steps_is_a_type_error_and_is_closed_once(self) -> None:
        class Stepless:
            closed = 0

            async def aclose(self) -> None:
                self.closed += 1

        class Source:
            def __init__(self) -> None:
                self.made = Stepless()

            def __aiter__(self) -> Stepless:
                return self.made

        source = Source()
        _events, error = await outcome(start_production(Plan(source)))
        assert type(error) is TypeError
        await turns()
        assert source.made.closed == 1

    async def test_a_step_that_cannot_be_awaited_is_a_type_error(self) -> None:
        class Source(Steps):
            def __anext__(self) -> object:  # pyright: ignore[reportIncompatibleMethodOverride] - the point
                return 42

        source = Source()
        _events, error = await outcome(start_production(Plan(source)))
        assert type(error) is TypeError
        await turns()
        assert source.closed == 1

    async def test_an_aiter_that_raises_fails_the_stream(self) -> None:
        error = ValueError("aiter")

        class Source:
            def __aiter__(self) -> object:
                raise error

        assert await outcome(start_production(Plan(Source()))) == ([], error)

    @pytest.mark.parametrize("where", ["open", "aiter", "step"])
    @pytest.mark.parametrize("kind", [asyncio.CancelledError, GeneratorExit])
    async def test_control_flow_that_nobody_asked_for_becomes_a_visible_error(
        self, where: str, kind: type[BaseException]
    ) -> None:
        invented = kind()

        class Source(Steps):
            def __aiter__(self) -> "Steps":
                if where == "aiter":
                    raise invented
                return self

        source: object = invented if where == "open" else Source("a", invented)
        stream = start_production(Plan(source))
        with pytest.raises(Exception) as caught:
            await stream.result
        if kind is asyncio.CancelledError or where != "step":
            assert caught.value.__cause__ is invented

    @pytest.mark.parametrize("kind", [StopIteration, StopAsyncIteration])
    async def test_a_stop_iteration_is_never_an_end(self, kind: type[Exception]) -> None:
        invented = kind()
        _events, error = await outcome(start_production(Plan(invented)))
        assert isinstance(error, RuntimeError)
        assert error.__cause__ is invented

    async def test_an_outcome_of_the_test_runner_is_visible(self) -> None:
        class Unusual(BaseException):
            pass

        invented = Unusual("failed inside the script")
        _events, error = await outcome(start_production(Plan(Steps(invented))))
        assert isinstance(error, RuntimeError)
        assert error.__cause__ is invented

    @pytest.mark.parametrize("where", ["open", "aiter", "step", "aclose"])
    def test_an_interrupt_is_not_swallowed(self, where: str) -> None:
        class Source(Steps):
            def __aiter__(self) -> "Steps":
                if where == "aiter":
                    raise KeyboardInterrupt
                return self

            async def aclose(self) -> None:
                raise KeyboardInterrupt

        step = {"step": KeyboardInterrupt(), "aclose": ValueError("first")}.get(where, "a")
        states: list[str] = []

        async def main() -> None:
            plan = Plan(KeyboardInterrupt() if where == "open" else Source(step))
            stream = start_production(plan)
            try:
                await turns(20)
            finally:
                states.append(stream.state)

        with pytest.raises(KeyboardInterrupt):
            asyncio.run(main())
        assert states == ["failed"]

    async def test_a_stream_ended_by_its_holder_stops_production_without_noise(self) -> None:
        source = Steps("a", "b")
        plan = Plan(source)
        stream = start_production(plan)
        stream.finish("mine")
        assert await outcome(stream) == ([], "mine")
        await turns()
        assert (source.closed, len(plan.outcomes)) == (1, 1)


def error_item(error: Exception) -> Callable[[], Exception]:
    return lambda: error


class Gated:
    """An async generator source that blocks after its first item, and tells how it was left."""

    def __init__(self, *, swallow: bool = False, slow: bool = False) -> None:
        self.gate = asyncio.Event()
        self.log: list[str] = []
        self.swallow = swallow
        self.slow = slow

    async def play(self) -> AsyncIterator[str]:
        try:
            yield "first"
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.log.append("cancelled")
                if not self.swallow:
                    raise
            yield "second"
        finally:
            self.log.append("cleanup")
            if self.slow:
                for _ in range(3):
                    await asyncio.sleep(0)
            self.log.append("clean")


class TestAborts:
    async def test_an_early_abort_settles_at_once_and_opens_nothing(self) -> None:
        controller = AbortController()
        reason = LookupError("stop")
        controller.abort(reason)
        plan = Plan(["a"])
        stream = start_production(plan, controller.signal)
        assert stream.state == "failed"
        assert await outcome(stream) == ([], reason)
        assert (plan.opened, plan.outcomes) == (0, [(reason, True)])

    async def test_an_abort_in_the_turn_of_the_start_opens_nothing(self) -> None:
        controller = AbortController()
        plan = Plan(["a"])
        stream = start_production(plan, controller.signal)
        controller.abort()
        events, error = await outcome(stream)
        assert (events, type(error), plan.opened) == ([], AbortError, 0)

    @pytest.mark.parametrize("slow", [False, True])
    async def test_an_abort_ends_a_blocked_step_once_and_readers_do_not_wait(self, slow: bool) -> None:
        controller = AbortController()
        source = Gated(slow=slow)
        stream = start_production(Plan(source.play()), controller.signal)
        read = aiter(stream)
        assert await anext(read) == "first"
        pending = asyncio.ensure_future(anext(read))
        await turns()
        controller.abort()
        assert (stream.state, source.log) == ("failed", [])
        with pytest.raises(AbortError):
            await pending
        await turns(10)
        assert source.log == ["cancelled", "cleanup", "clean"]

    async def test_a_swallowed_cancellation_publishes_nothing(self) -> None:
        controller = AbortController()
        source = Gated(swallow=True, slow=True)
        stream = start_production(Plan(source.play()), controller.signal)
        await turns()
        controller.abort()
        events, error = await outcome(stream)
        assert (events, type(error)) == (["first"], AbortError)
        await turns(10)
        assert source.log == ["cancelled", "cleanup", "clean"]

    @pytest.mark.parametrize("waits", [False, True])
    async def test_an_abort_from_inside_a_step_does_not_hit_the_cleanup(self, waits: bool) -> None:
        controller = AbortController()
        log: list[str] = []

        async def source() -> AsyncIterator[str]:
            try:
                controller.abort()
                if waits:
                    await asyncio.Event().wait()
                yield "late"
            finally:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                log.append("clean")

        stream = start_production(Plan(source()), controller.signal)
        events, error = await outcome(stream)
        assert (events, type(error)) == ([], AbortError)
        await turns(10)
        assert log == ["clean"]

    async def test_an_abort_while_the_source_is_opened_closes_it_unstepped(self) -> None:
        controller = AbortController()
        source = Steps("a")

        class Aborting(Plan):
            def open(self) -> object:
                controller.abort()
                return super().open()

        events, error = await outcome(start_production(Aborting(source), controller.signal))
        assert (events, type(error)) == ([], AbortError)
        await turns()
        assert (source.steps, source.closed) == (["a"], 1)

    async def test_an_abort_beats_the_end_of_the_source(self) -> None:
        controller = AbortController()
        source = Steps("a", lambda: abort_and(controller, StopAsyncIteration()))
        events, error = await outcome(start_production(Plan(source), controller.signal))
        assert (events, type(error)) == (["a"], AbortError)

    async def test_an_abort_beats_the_error_of_the_same_step(self) -> None:
        controller = AbortController()
        source = Steps("a", lambda: abort_and(controller, ValueError("lost")))
        events, error = await outcome(start_production(Plan(source), controller.signal))
        assert (events, type(error)) == (["a"], AbortError)

    @pytest.mark.parametrize("where", ["aiter", "accept"])
    async def test_an_abort_beats_an_error_of_the_same_line(self, where: str) -> None:
        controller = AbortController()

        class Source(Steps):
            def __aiter__(self) -> "Steps":
                if where == "aiter":
                    abort_and(controller, ValueError("lost"))
                return self

        class Aborting(Plan):
            def accept(self, item: object, /) -> object | None:
                return abort_and(controller, ValueError("lost"))

        events, error = await outcome(start_production(Aborting(Source("a")), controller.signal))
        assert (events, type(error)) == ([], AbortError)
        await turns()

    async def test_a_callback_that_comes_after_the_end_is_ignored(self) -> None:
        kept: list[Callable[[], object]] = []

        class Rude:
            """A foreign signal that forgets to forget."""

            aborted = False
            reason = None

            def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
                kept.append(callback)
                return kept.copy

        stream = start_production(Plan(["a"]), Rude())
        assert await outcome(stream) == (["a"], "done")
        kept[0]()
        assert stream.state == "finished"

    async def test_an_abort_between_the_items_of_an_array_ends_it(self) -> None:
        controller = AbortController()

        class Aborting(Plan):
            def accept(self, item: object, /) -> object | None:
                if item == "b":
                    controller.abort()
                return None if item == "b" else item

        events, error = await outcome(start_production(Aborting(["a", "b", "c"]), controller.signal))
        assert (events, type(error)) == (["a"], AbortError)

    async def test_an_abort_after_the_end_changes_nothing(self) -> None:
        controller = AbortController()
        stream = start_production(Plan(["a"]), controller.signal)
        assert await outcome(stream) == (["a"], "done")
        controller.abort()
        assert await outcome(stream) == ([], "done")

    async def test_a_signal_that_only_tells_when_asked_is_asked_around_every_step(self) -> None:
        class Lazy:
            """A foreign signal: it calls nobody and has a reason that is no exception."""

            aborted = False
            reason = None

            def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
                return lambda: callback

        signal = Lazy()

        def stop() -> str:
            signal.aborted = True
            return "late"

        source = Steps("a", stop, "b")
        events, error = await outcome(start_production(Plan(source), signal))
        assert (events, type(error)) == (["a"], AbortError)
        await turns()
        assert (source.steps, source.closed) == (["b"], 1)

    async def test_a_settled_stream_leaves_nothing_on_the_signal(self) -> None:
        controller = AbortController()
        stream = start_production(Plan(["a"]), controller.signal)
        await outcome(stream)
        gone = weakref.ref(stream)
        del stream
        gc.collect()
        assert gone() is None
        controller.abort()

    async def test_ten_thousand_items_leave_one_callback_at_most(self) -> None:
        added = 0

        class Counting:
            def __init__(self, signal: AbortSignal) -> None:
                self.inner = signal

            @property
            def aborted(self) -> bool:
                return self.inner.aborted

            @property
            def reason(self) -> Exception | None:
                return self.inner.reason

            def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
                nonlocal added
                added += 1
                return self.inner.add_callback(callback)

        signal = Counting(AbortController().signal)
        events, result = await outcome(start_production(Plan(Steps(*["a"] * 10_000)), signal))
        assert (len(events), result, added) == (10_000, "done", 1)


def abort_and(controller: AbortController, error: Exception) -> object:
    controller.abort()
    raise error


def nothing(_self: object) -> None:
    return None


def fault(_self: object) -> NoReturn:
    raise LookupError("no close")


async def failing(_self: object) -> NoReturn:
    raise ValueError("no close")


async def inventing(_self: object) -> NoReturn:
    raise asyncio.CancelledError


class TestClosing:
    async def test_leaving_the_block_waits_for_the_cleanup(self) -> None:
        source = Gated(slow=True)
        before = asyncio.all_tasks()
        async with start_production(Plan(source.play())) as stream:
            async for event in stream:
                assert event == "first"
                break
        assert source.log == ["cancelled", "cleanup", "clean"]
        assert asyncio.all_tasks() == before
        with pytest.raises(AbortError):
            await stream.result

    async def test_leaving_after_an_abort_waits_for_the_cleanup_too(self) -> None:
        controller = AbortController()
        source = Gated(slow=True)
        async with start_production(Plan(source.play()), controller.signal) as stream:
            await turns()
            controller.abort()
            with pytest.raises(AbortError):
                await stream.result
        assert source.log == ["cancelled", "cleanup", "clean"]

    async def test_closing_before_the_first_turn_opens_nothing(self) -> None:
        plan = Plan(["a"])
        async with start_production(plan) as stream:
            pass
        assert (plan.opened, stream.state) == (0, "failed")

    async def test_closing_a_stream_that_has_ended_changes_nothing(self) -> None:
        async with start_production(Plan(["a"])) as stream:
            assert await outcome(stream) == (["a"], "done")
        assert await stream.result == "done"

    async def test_a_source_that_closes_its_own_stream_does_not_wait_for_itself(self) -> None:
        streams: list[EventStream[object, str]] = []
        log: list[str] = []

        async def source() -> AsyncIterator[str]:
            try:
                yield "a"
                await streams[0].aclose()
                yield "b"
            finally:
                log.append("clean")

        stream = start_production(Plan(source()))
        streams.append(stream)
        await turns(10)
        assert (stream.state, log) == ("failed", ["clean"])

    @pytest.mark.parametrize(
        "aclose",
        [
            pytest.param(property(nothing), id="none"),
            pytest.param(property(fault), id="raises when read"),
            pytest.param(nothing, id="nothing to await"),
            pytest.param(fault, id="raises when called"),
            pytest.param(failing, id="fails"),
            pytest.param(inventing, id="invents a cancellation"),
        ],
    )
    async def test_whatever_goes_wrong_in_a_close_the_first_error_stands(self, aclose: object) -> None:
        first = ValueError("first")
        source = type("Source", (Steps,), {"aclose": aclose})("a", first)
        assert await outcome(start_production(Plan(source))) == (["a"], first)
        await turns()

    async def test_a_generator_that_yields_while_it_is_closed_is_left_alone(self) -> None:
        async def source() -> AsyncIterator[object]:
            try:
                yield ValueError("refused")
            finally:
                yield "again"

        events, error = await outcome(start_production(Plan(source())))
        assert (events, str(error)) == ([], "refused")
        await turns()


class TestTasks:
    async def test_a_cancelled_task_settles_the_stream_and_closes_the_source(self) -> None:
        source = Gated(slow=True)
        plan = Plan(source.play())
        before = asyncio.all_tasks()
        stream = start_production(plan)
        await turns()
        (task,) = asyncio.all_tasks() - before
        task.cancel()
        events, error = await outcome(stream)
        assert (events, type(error)) == (["first"], AbortError)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert source.log == ["cancelled", "cleanup", "clean"]
        assert plan.outcomes == [(error, True)]

    async def test_a_task_cancelled_before_its_first_turn_settles_the_stream(self) -> None:
        plan = Plan(["a"])
        before = asyncio.all_tasks()
        stream = start_production(plan)
        (task,) = asyncio.all_tasks() - before
        task.cancel()
        events, error = await outcome(stream)
        assert (events, type(error), plan.opened) == ([], AbortError, 0)

    async def test_a_cancellation_on_top_of_an_abort_reaches_the_task(self) -> None:
        controller = AbortController()
        source = Gated()
        before = asyncio.all_tasks()
        stream = start_production(Plan(source.play()), controller.signal)
        await turns()
        (task,) = asyncio.all_tasks() - before
        controller.abort()
        task.cancel()
        with pytest.raises(AbortError):
            await stream.result
        with pytest.raises(asyncio.CancelledError):
            await task
        assert source.log == ["cancelled", "cleanup", "clean"]

    @pytest.mark.parametrize("begun", [False, True])
    def test_a_loop_that_shuts_down_settles_what_is_open(self, begun: bool) -> None:
        source = Gated(slow=True)
        kept: list[EventStream[object, str]] = []

        async def main() -> None:
            kept.append(start_production(Plan(source.play())))
            if begun:
                await turns()

        asyncio.run(main())
        assert kept[0].state == "failed"
        assert source.log == ["cancelled", "cleanup", "clean"]

    async def test_a_consumer_that_is_cancelled_leaves_production_alone(self) -> None:
        source = Gated()
        stream = start_production(Plan(source.play()))

        async def read() -> list[object]:
            return [event async for event in stream]

        reader = asyncio.create_task(read())
        waiter = asyncio.ensure_future(stream.result)
        await turns()
        reader.cancel()
        waiter.cancel()
        await turns()
        source.gate.set()
        assert await stream.result == "done"
        assert source.log == ["cleanup", "clean"]

    async def test_a_waiting_production_survives_a_collection(self) -> None:
        source = Gated()
        stream = start_production(Plan(source.play()))
        await turns()
        gc.collect()
        source.gate.set()
        assert await outcome(stream) == (["first", "second"], "done")

    async def test_a_step_that_fails_after_it_lost_is_silent(self) -> None:
        controller = AbortController()

        async def source() -> AsyncIterator[str]:
            try:
                yield "a"
                await asyncio.Event().wait()
            finally:
                raise ValueError("too late")

        stream = start_production(Plan(source()), controller.signal)
        await turns()
        controller.abort()
        events, error = await outcome(stream)
        assert (events, type(error)) == (["a"], AbortError)
        await turns()

    async def test_no_task_is_made_for_an_item(self) -> None:
        seen: set[object] = set()

        async def source() -> AsyncIterator[str]:
            for _ in range(10):
                seen.add(asyncio.current_task())
                await asyncio.sleep(0)
                yield "a"

        events, _result = await outcome(start_production(Plan(source())))
        assert (len(events), len(seen)) == (10, 1)

    async def test_the_defaults_of_a_producer_accept_and_pass_on(self) -> None:
        class Small(Producer[object, str]):
            def open(self) -> object:
                return Steps("a", ValueError("step"))

            def accept(self, item: object, /) -> object:
                return item

            def finish(self) -> str:
                raise AssertionError

        events, error = await outcome(start_production(Small()))
        assert (events, str(error)) == (["a"], "step")
        await turns()
