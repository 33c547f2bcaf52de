"""Every place at which an abort is seen, and what becomes of the script then: the cancellation contract."""

import asyncio
import gc
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable

import pytest

from kickwheel_event_stream import AbortController, AbortError, EventStream
from kickwheel_protocol import (
    AssistantMessage,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Signal,
    TextBlock,
    TextDeltaChunk,
    Usage,
    UserMessage,
)
from kickwheel_scripted_model import ScriptedModel, ScriptedModelError, ScriptedResponseFactory, say

criterion = pytest.mark.criterion
Stream = EventStream[ModelChunk, ModelResponse]


def request(number: int = 1) -> ModelRequest:
    return ModelRequest(f"request-{number:03}", [UserMessage(f"message-{number:03}", "hi")])


def response(text: str = "ok") -> ModelResponse:
    message = AssistantMessage("message-r", [TextBlock(text)])
    return ModelResponse("response-r", "request-001", message, "stop", Usage(1, 1))


def delta(text: str) -> TextDeltaChunk:
    return TextDeltaChunk("request-001", text)


def model_of(*scripts: object) -> ScriptedModel:
    factories: list[ScriptedResponseFactory] = list(scripts)  # pyright: ignore[reportAssignmentType] - hostile ones too
    return ScriptedModel(factories)


async def outcome(stream: Stream) -> tuple[list[ModelChunk], ModelResponse | Exception]:
    """Read both paths; a failure is one object on both."""
    chunks: list[ModelChunk] = []
    try:
        async for chunk in stream:
            chunks.append(chunk)
    except Exception as error:
        with pytest.raises(type(error)) as caught:
            await stream.result
        assert caught.value is error  # noqa: PT017 - one object on both paths is what is asserted
        return chunks, error
    return chunks, await stream.result


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Held:
    """A script that blocks on a gate after its first chunk and writes down how it is left."""

    def __init__(self, *, swallow: bool = False, fail: bool = False, slow: bool = False) -> None:
        self.gate = asyncio.Event()
        self.log: list[str] = []
        self.swallow = swallow
        self.fail = fail
        self.slow = slow

    async def __call__(self, _asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
        try:
            yield delta("first")
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.log.append("cancelled")
                if not self.swallow:
                    raise
            yield delta("second")
            yield response()
        finally:
            if self.slow:
                await turns(3)
            self.log.append("finally")
            if self.fail:
                raise LookupError("cleanup")


class TestBeforeProduction:
    @criterion("04.50")
    async def test_an_early_abort_keeps_the_response_for_a_retry(self) -> None:
        called: list[str] = []

        async def script(asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            called.append(asked.id)
            yield response()

        controller = AbortController()
        controller.abort()
        model = model_of(script)
        chunks, error = await outcome(model.stream(request(), controller.signal))
        assert (chunks, type(error), called) == ([], AbortError, [])
        assert (model.call_count, model.pending_response_count, model.requests) == (1, 1, (request(),))
        assert await outcome(model.stream(request(), AbortController().signal)) == ([], response())
        assert (called, model.pending_response_count) == (["request-001"], 0)

    @criterion("04.51")
    async def test_an_abort_is_told_before_exhaustion(self) -> None:
        controller = AbortController()
        controller.abort()
        _chunks, error = await outcome(ScriptedModel().stream(request(), controller.signal))
        assert type(error) is AbortError

    @criterion("04.54")
    async def test_an_abort_in_the_turn_of_the_call_leaves_the_response_queued(self) -> None:
        controller = AbortController()
        model = ScriptedModel([say("a")])
        stream = model.stream(request(), controller.signal)
        controller.abort()
        chunks, error = await outcome(stream)
        assert (chunks, type(error), model.pending_response_count) == ([], AbortError, 1)


class TestDuringAStep:
    @criterion("04.52", "04.53", "04.59", "04.69")
    async def test_a_blocked_step_is_interrupted_and_its_gate_does_not_matter(self) -> None:
        controller = AbortController()
        held = Held()
        stream = model_of(held).stream(request(), controller.signal)
        reader = aiter(stream)
        assert await anext(reader) == delta("first")
        pending = asyncio.ensure_future(anext(reader))
        await turns()
        controller.abort()
        with pytest.raises(AbortError) as read:
            await pending
        with pytest.raises(AbortError) as awaited:
            await stream.result
        assert read.value is awaited.value
        await turns()
        assert held.log == ["cancelled", "finally"]
        held.gate.set()
        await turns()
        assert (stream.state, held.log) == ("failed", ["cancelled", "finally"])

    @criterion("04.55")
    async def test_chunks_published_before_the_abort_are_still_read(self) -> None:
        controller = AbortController()
        stream = model_of(Held()).stream(request(), controller.signal)
        await turns()
        controller.abort()
        with pytest.raises(AbortError):
            await stream.result
        chunks, error = await outcome(stream)
        assert (chunks, type(error)) == ([delta("first")], AbortError)

    @criterion("04.57")
    async def test_a_reason_that_is_an_exception_is_raised_as_it_is(self) -> None:
        controller = AbortController()
        reason = LookupError("stop")
        stream = model_of(Held()).stream(request(), controller.signal)
        await turns()
        controller.abort(reason)
        chunks, error = await outcome(stream)
        assert chunks == [delta("first")]
        assert error is reason

    @criterion("04.57")
    @pytest.mark.parametrize("reason", [None, "user left", 42, ValueError])
    async def test_any_other_reason_is_carried_by_an_abort_error(self, reason: object) -> None:
        controller = AbortController()
        stream = model_of(Held()).stream(request(), controller.signal)
        await turns()
        controller.abort(reason)
        _chunks, error = await outcome(stream)
        assert isinstance(error, AbortError)
        assert error.reason is reason

    @criterion("04.58")
    @pytest.mark.parametrize("aborted", [True, False])
    async def test_a_response_once_taken_is_not_put_back(self, aborted: bool) -> None:
        controller = AbortController()
        held = Held(fail=True)
        model = model_of(held)
        stream = model.stream(request(), controller.signal)
        await turns()
        if aborted:
            controller.abort()
        else:
            held.gate.set()
        _chunks, error = await outcome(stream)
        assert isinstance(error, AbortError if aborted else LookupError)
        assert model.pending_response_count == 0
        await turns()

    @criterion("04.59", "04.62")
    async def test_a_cleanup_that_fails_never_replaces_the_abort(self) -> None:
        controller = AbortController()
        held = Held(fail=True)
        stream = model_of(held).stream(request(), controller.signal)
        await turns()
        controller.abort()
        _chunks, error = await outcome(stream)
        assert type(error) is AbortError
        await turns()
        assert held.log == ["cancelled", "finally"]

    @criterion("04.59")
    async def test_readers_do_not_wait_for_the_cleanup(self) -> None:
        controller = AbortController()
        held = Held(slow=True)
        stream = model_of(held).stream(request(), controller.signal)
        await turns()
        controller.abort()
        with pytest.raises(AbortError):
            await stream.result
        assert held.log == []
        await turns(10)
        assert held.log == ["cancelled", "finally"]

    @criterion("04.63", "04.54")
    async def test_a_script_that_swallows_its_cancellation_publishes_nothing_more(self) -> None:
        controller = AbortController()
        held = Held(swallow=True)
        stream = model_of(held).stream(request(), controller.signal)
        await turns()
        controller.abort()
        chunks, error = await outcome(stream)
        assert (chunks, type(error)) == ([delta("first")], AbortError)
        await turns()
        assert held.log == ["cancelled", "finally"]

    @criterion("04.54")
    @pytest.mark.parametrize("abort_first", [True, False])
    async def test_a_step_completed_in_the_turn_of_the_abort_is_discarded(self, abort_first: bool) -> None:
        controller = AbortController()
        held = Held()
        stream = model_of(held).stream(request(), controller.signal)
        await turns()
        steps: list[Callable[[], object]] = [controller.abort, held.gate.set]
        for step in steps if abort_first else reversed(steps):
            step()
        chunks, error = await outcome(stream)
        assert (chunks, type(error)) == ([delta("first")], AbortError)
        await turns()


class Point:
    """Aborts at one named point of a hand-written iterator: while made, stepped, or ended."""

    def __init__(self, controller: AbortController, point: str, items: list[object]) -> None:
        self.controller = controller
        self.point = point
        self.items = items
        self.closed = 0

    def reach(self, point: str) -> None:
        if point == self.point:
            self.controller.abort(LookupError(point))

    def __call__(self, _asked: ModelRequest, _signal: Signal) -> "Point":
        self.reach("factory")
        return self

    def __aiter__(self) -> "Point":
        self.reach("aiter")
        return self

    async def __anext__(self) -> object:
        number = 4 - len(self.items)
        self.reach(f"step {number}")
        if not self.items:
            raise StopAsyncIteration
        return self.items.pop(0)

    async def aclose(self) -> None:
        self.closed += 1


class TestEveryPoint:
    @criterion("04.53", "04.55", "04.89")
    @pytest.mark.parametrize(
        ("point", "delivered"),
        [
            ("factory", 0),
            ("aiter", 0),
            ("step 1", 0),
            ("step 2", 1),
            ("step 3", 2),  # the terminal: discarded
            ("step 4", 2),  # the end of the script, after the terminal
        ],
    )
    async def test_nothing_is_published_after_an_abort_at(self, point: str, delivered: int) -> None:
        controller = AbortController()
        script = [delta("a"), delta("b")]
        at = Point(controller, point, [*script, response()])
        model = model_of(at)
        chunks, error = await outcome(model.stream(request(), controller.signal))
        assert chunks == script[:delivered]
        assert isinstance(error, LookupError)
        assert str(error) == point
        await turns()
        assert (at.closed, model.pending_response_count) == (0 if point == "step 4" else 1, 0)

    @criterion("04.53")
    async def test_without_an_abort_the_same_script_succeeds(self) -> None:
        script = [delta("a"), delta("b")]
        at = Point(AbortController(), "never", [*script, response()])
        assert await outcome(model_of(at).stream(request())) == (script, response())
        assert at.closed == 0

    @criterion("04.53")
    async def test_an_abort_between_publishing_and_the_next_step_is_seen(self) -> None:
        controller = AbortController()
        held = Held()
        stream = model_of(held).stream(request(), controller.signal)
        reader = aiter(stream)
        await anext(reader)
        held.gate.set()
        controller.abort()
        with pytest.raises(AbortError):
            await anext(reader)
        await turns()


class TestAfterTheEnd:
    @criterion("04.56")
    async def test_an_abort_after_the_end_changes_nothing(self) -> None:
        controller = AbortController()
        stream = ScriptedModel([say("a")]).stream(request(), controller.signal)
        sent = await stream.result
        controller.abort()
        assert (stream.state, await stream.result) == ("finished", sent)
        assert await outcome(stream) == ([delta("a")], sent)

    @criterion("04.61")
    @pytest.mark.parametrize("chunks", [1, 10_000])
    async def test_a_long_lived_signal_holds_nothing_of_an_ended_stream(self, chunks: int) -> None:
        class Counting:
            """A signal that counts what it was asked to keep."""

            def __init__(self) -> None:
                self.inner = AbortController().signal
                self.kept = 0
                self.most = 0
                self.aborted = False
                self.reason = None

            def raise_if_aborted(self) -> None: ...

            def wait(self) -> AsyncGenerator[None, None]:
                raise AssertionError

            def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
                remove = self.inner.add_callback(callback)
                self.kept += 1
                self.most = max(self.most, self.kept)

                def forget() -> None:
                    self.kept -= 1
                    remove()

                return forget

        signal = Counting()

        async def script(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            for _ in range(chunks):
                yield delta("x")
            yield response()

        stream = model_of(script).stream(request(), signal)  # pyright: ignore[reportArgumentType] - enough of a signal
        got, _result = await outcome(stream)
        assert (len(got), signal.kept, signal.most) == (chunks, 0, 1)
        gone = weakref.ref(stream)
        del stream
        gc.collect()
        assert gone() is None

    @criterion("04.60")
    @pytest.mark.parametrize("close", ["missing", "raises when read", "no awaitable", "raises"])
    async def test_whatever_goes_wrong_in_a_close_the_first_error_stands(self, close: str) -> None:
        class Source:
            def __call__(self, _asked: ModelRequest, _signal: Signal) -> "Source":
                return self

            def __aiter__(self) -> "Source":
                return self

            async def __anext__(self) -> object:
                raise LookupError("first")

            def __getattr__(self, name: str) -> object:
                if name != "aclose" or close == "missing":
                    raise AttributeError(name)
                if close == "raises when read":
                    raise ZeroDivisionError
                return self.refuse

            def refuse(self) -> object:
                if close == "raises":
                    raise ZeroDivisionError
                return 42

        _chunks, error = await outcome(model_of(Source()).stream(request()))
        assert isinstance(error, LookupError)
        await turns()

    @criterion("04.60")
    @pytest.mark.parametrize("last", ["yields", "raises"])
    async def test_a_generator_that_resists_its_close_is_left_alone(self, last: str) -> None:
        async def script(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            try:
                yield None
            finally:
                if last == "raises":
                    raise LookupError("cleanup")
                yield delta("again")

        chunks, error = await outcome(model_of(script).stream(request()))
        assert (chunks, type(error)) == ([], TypeError)
        await turns()


class TestTasks:
    @criterion("04.64")
    async def test_a_cancellation_that_nobody_asked_for_is_an_error(self) -> None:
        invented = asyncio.CancelledError()

        async def script(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            yield delta("first")
            raise invented

        chunks, error = await outcome(model_of(script).stream(request()))
        assert chunks == [delta("first")]
        assert isinstance(error, Exception)
        assert error.__cause__ is invented

    @criterion("04.65")
    async def test_a_cancelled_producer_settles_the_stream(self) -> None:
        held = Held()
        before = asyncio.all_tasks()
        stream = model_of(held).stream(request())
        reader = asyncio.ensure_future(outcome(stream))
        await turns()
        for task in asyncio.all_tasks() - before - {reader}:
            task.cancel()
        chunks, error = await reader
        assert (chunks, type(error)) == ([delta("first")], AbortError)
        await turns()
        assert held.log == ["cancelled", "finally"]

    @criterion("04.65")
    def test_a_loop_that_shuts_down_settles_the_stream(self) -> None:
        held = Held(slow=True)
        kept: list[Stream] = []

        async def main() -> None:
            kept.append(model_of(held).stream(request()))
            await turns()

        asyncio.run(main())
        assert (kept[0].state, held.log) == ("failed", ["cancelled", "finally"])

    @criterion("04.66")
    async def test_a_cancelled_consumer_leaves_production_alone(self) -> None:
        held = Held()
        stream = model_of(held).stream(request())
        reader = asyncio.ensure_future(outcome(stream))
        waiter = asyncio.ensure_future(stream.result)
        reading = asyncio.ensure_future(asyncio.wait_for(outcome_of(stream), 5))
        await turns()
        for task in (reader, waiter, reading):
            task.cancel()
        await asyncio.gather(reader, waiter, reading, return_exceptions=True)
        held.gate.set()
        assert await stream.result == response()
        assert held.log == ["finally"]

    @criterion("04.66")
    async def test_no_chunk_is_lost_to_a_cancelled_read(self) -> None:
        held = Held()
        stream = model_of(held).stream(request())
        reader = aiter(stream)
        assert await anext(reader) == delta("first")
        lost = asyncio.ensure_future(anext(reader))
        await turns()
        lost.cancel()
        await turns()
        held.gate.set()
        assert [chunk async for chunk in reader] == [delta("second")]

    @criterion("04.67")
    @pytest.mark.parametrize("kind", [StopIteration, StopAsyncIteration])
    async def test_a_factory_that_raises_a_stop_iteration_fails_visibly(self, kind: type[Exception]) -> None:
        def factory(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            raise kind

        chunks, error = await outcome(model_of(factory).stream(request()))
        assert chunks == []
        assert isinstance(error, RuntimeError)

    @criterion("04.67")
    @pytest.mark.parametrize("asynchronous", [True, False])
    async def test_a_step_that_raises_a_stop_iteration_fails_visibly(self, asynchronous: bool) -> None:
        class Source:
            def __call__(self, _asked: ModelRequest, _signal: Signal) -> "Source":
                return self

            def __aiter__(self) -> "Source":
                return self

            def __anext__(self) -> object:
                if asynchronous:
                    return self.step()
                raise StopIteration

            async def step(self) -> object:
                raise StopIteration

        chunks, error = await outcome(model_of(Source()).stream(request()))
        assert chunks == []
        assert isinstance(error, RuntimeError)

    @criterion("04.68")
    async def test_a_settled_stream_leaves_no_task(self) -> None:
        before = asyncio.all_tasks()
        stream = ScriptedModel([say("a")]).stream(request())
        assert len(asyncio.all_tasks() - before) == 1
        await stream.result
        await turns()
        assert asyncio.all_tasks() == before

    @criterion("04.68")
    async def test_a_waiting_task_survives_a_collection(self) -> None:
        held = Held()
        stream = model_of(held).stream(request())
        await turns()
        gc.collect()
        held.gate.set()
        chunks, result = await outcome(stream)
        assert (chunks, result) == ([delta("first"), delta("second")], response())

    @criterion("04.93")
    async def test_leaving_the_block_early_cleans_up_before_it_is_left(self) -> None:
        held = Held(slow=True)
        before = asyncio.all_tasks()
        async with model_of(held).stream(request()) as stream:
            async for chunk in stream:
                assert chunk == delta("first")
                break
        assert held.log == ["cancelled", "finally"]
        assert asyncio.all_tasks() == before
        with pytest.raises(AbortError):
            await stream.result

    @criterion("04.93")
    async def test_leaving_the_block_after_the_end_keeps_the_result(self) -> None:
        async with ScriptedModel([say("a")]).stream(request()) as stream:
            sent = await stream.result
        assert await stream.result is sent

    async def test_a_stream_that_is_never_read_is_silent(self) -> None:
        stream = ScriptedModel().stream(request())
        await turns()
        assert stream.state == "failed"
        del stream
        gc.collect()

    async def test_an_error_made_by_the_model_survives_an_abort_afterwards(self) -> None:
        controller = AbortController()
        stream = ScriptedModel().stream(request(), controller.signal)
        await turns()
        controller.abort()
        _chunks, error = await outcome(stream)
        assert isinstance(error, ScriptedModelError)


async def outcome_of(stream: Stream) -> ModelResponse:
    return await stream.result
