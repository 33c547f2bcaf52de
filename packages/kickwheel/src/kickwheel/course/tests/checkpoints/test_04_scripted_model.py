"""Focused test of checkpoint 04: a finite, deterministic stand-in for the model."""

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import TypeVar

import pytest

from kickwheel_event_stream import AbortController, AbortError, EventStream
from kickwheel_protocol import (
    AssistantBlock,
    AssistantMessage,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Signal,
    StopReason,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
    UserMessage,
)
from kickwheel_scripted_model import ScriptedModel, ScriptedModelError, ScriptedResponseFactory

T = TypeVar("T")
Item = ModelChunk | ModelResponse
Ended = tuple[list[ModelChunk], ModelResponse | Exception]
criterion = pytest.mark.criterion
CALL = ToolCall("call-add-001", "add", {"left": 20, "right": 22})


def task(number: int) -> pytest.MarkDecorator:
    """Name the course task that a test belongs to."""
    return pytest.mark.task(number)


def run(coroutine: Coroutine[object, object, T]) -> T:
    """Run one bounded scenario on a loop of its own; no task of it may be left."""

    async def bounded() -> T:
        async with asyncio.timeout(10):
            value = await coroutine
            await turns()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return value

    return asyncio.run(bounded())


async def turns() -> None:
    """Let the loop go round until a stopped script has cleaned up."""
    for _ in range(8):
        await asyncio.sleep(0)


def request(number: int = 1) -> ModelRequest:
    return ModelRequest(f"request-{number:03}", [UserMessage(f"message-{number:03}", "Add 20 and 22.")])


def delta(text: str, request_id: str = "request-001") -> TextDeltaChunk:
    return TextDeltaChunk(request_id, text)


def response(
    *blocks: AssistantBlock, request_id: str = "request-001", stop: StopReason = "stop"
) -> ModelResponse:
    return ModelResponse("response-r", request_id, AssistantMessage("message-r", blocks), stop, Usage(3, 5))


class Script:
    """A factory that yields its items and writes down when it is called and when it is left."""

    def __init__(self, *items: object) -> None:
        self.items = items
        self.called = 0
        self.left = 0

    def __call__(self, _asked: ModelRequest, _signal: Signal) -> AsyncIterator[Item]:
        self.called += 1
        return self.play()

    async def play(self) -> AsyncIterator[Item]:
        try:
            for item in self.items:
                yield item  # pyright: ignore[reportReturnType] - some scripts are wrong on purpose
        finally:
            self.left += 1


def text(said: str) -> ScriptedResponseFactory:
    """Make a factory that answers any request with one text."""

    async def play(asked: ModelRequest, _signal: Signal) -> AsyncIterator[Item]:
        yield TextDeltaChunk(asked.id, said)
        yield response(TextBlock(said), request_id=asked.id)

    return play


async def ended(stream: EventStream[ModelChunk, ModelResponse]) -> Ended:
    """Read both paths to their end; a failure must be one and the same object on both."""
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


def code_of(error: object) -> str:
    assert isinstance(error, ScriptedModelError)
    return error.code


# Task 1: a queue that is checked as a whole


@task(1)
@criterion("04.01")
def test_a_new_model_is_empty() -> None:
    model = ScriptedModel()
    assert (model.call_count, model.pending_response_count, model.requests) == (0, 0, ())


@task(1)
@criterion("04.02", "04.03")
def test_one_bad_entry_is_named_and_nothing_changes() -> None:
    model = ScriptedModel([text("old")])
    bad: list[object] = [text("a"), "not callable"]
    with pytest.raises(TypeError, match=r"responses\[1\]"):
        ScriptedModel(bad)  # pyright: ignore[reportArgumentType] - the refused type
    with pytest.raises(TypeError, match=r"responses\[1\]"):
        model.set_responses(bad)  # pyright: ignore[reportArgumentType] - the refused type
    with pytest.raises(TypeError, match="response"):
        model.append_response(None)  # pyright: ignore[reportArgumentType] - the refused type
    assert model.pending_response_count == 1


@task(1)
@criterion("04.04", "04.09")
def test_the_list_is_copied_and_is_exactly_a_list_or_a_tuple() -> None:
    given = [text("a"), text("b")]
    model = ScriptedModel(given)
    given.clear()
    assert model.pending_response_count == 2
    model.set_responses((text("a"),))
    model.append_response(text("b"))
    assert model.pending_response_count == 2
    for bad in ((text(each) for each in "ab"), {text("a")}):
        with pytest.raises(TypeError):
            model.set_responses(bad)  # pyright: ignore[reportArgumentType] - the refused type
    assert model.pending_response_count == 2


# Task 2: count and capture now, take at the next turn


@task(2)
@criterion("04.14", "04.19")
def test_what_cannot_be_a_call_counts_for_nothing() -> None:
    model = ScriptedModel([text("a")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError):
            model.stream(request())  # no loop is running here

    async def scenario() -> None:
        wire: dict[str, object] = {"id": "request-001", "messages": ()}
        for bad in (None, wire, UserMessage("message-001", "hi")):
            with pytest.raises(TypeError):
                model.stream(bad)  # pyright: ignore[reportArgumentType] - the refused type

    run(scenario())
    assert (model.call_count, model.requests, model.pending_response_count) == (0, (), 1)


@task(2)
@criterion("04.40", "04.42", "04.44", "04.45")
def test_a_call_too_many_is_refused_on_both_paths_and_recorded() -> None:
    async def scenario() -> None:
        model = ScriptedModel()
        chunks, error = await ended(model.stream(request()))
        assert (chunks, code_of(error)) == ([], "SCRIPT_EXHAUSTED")
        assert "request-001" in str(error)
        assert (model.call_count, model.requests) == (1, (request(),))
        refused = model.stream(request(2))
        assert (await ended(refused))[0] == []
        model.stream(request(3))
        model.append_response(text("late"))
        await asyncio.sleep(0)
        assert model.pending_response_count == 0  # decided when production started, one turn later

    run(scenario())


@task(2)
@criterion("04.12", "04.17")
def test_a_call_counts_at_once_and_takes_its_response_one_turn_later() -> None:
    async def scenario() -> None:
        model, asked = ScriptedModel([text("a")]), request()
        model.stream(asked)
        assert (model.call_count, model.pending_response_count) == (1, 1)
        assert model.requests[0] is asked
        await asyncio.sleep(0)
        assert model.pending_response_count == 0

    run(scenario())


@task(2)
@criterion("04.50", "04.51", "04.54")
@pytest.mark.parametrize("early", [True, False], ids=["before the call", "in its turn"])
@pytest.mark.parametrize("queued", [1, 0])
def test_an_abort_before_production_leaves_the_queue_alone(early: bool, queued: int) -> None:
    async def scenario() -> None:
        controller, script = AbortController(), Script(response())
        model = ScriptedModel([script] * queued)
        if early:
            controller.abort()
        stream = model.stream(request(), controller.signal)
        controller.abort()
        chunks, error = await ended(stream)
        assert (chunks, type(error), script.called) == ([], AbortError, 0)
        assert (model.call_count, model.pending_response_count) == (1, queued)

    run(scenario())


# Task 3: chunks, and one terminal that fits them


@task(3)
@criterion("04.20", "04.21", "04.22", "04.24")
def test_chunks_arrive_in_order_and_the_terminal_is_the_result() -> None:
    async def scenario() -> None:
        items = (delta("I will add."), ToolCallChunk("request-001", CALL), response(CALL, stop="toolCall"))
        chunks, result = await ended(ScriptedModel([Script(*items)]).stream(request()))
        assert [id(chunk) for chunk in chunks] == [id(item) for item in items[:2]]
        assert result is items[2]
        assert await ended(ScriptedModel([Script(response())]).stream(request())) == ([], response())

    run(scenario())


@task(3)
@criterion("04.05", "04.06", "04.18", "04.41")
def test_responses_are_taken_in_call_order_and_never_invented() -> None:
    async def scenario() -> None:
        unused = Script(response())
        model = ScriptedModel([unused])
        model.set_responses([text("replacement")])
        model.append_response(text("appended"))
        streams = [model.stream(request(number)) for number in (1, 2, 3)]
        outcomes = [(await ended(stream))[1] for stream in streams]
        told = [each.message.text if isinstance(each, ModelResponse) else code_of(each) for each in outcomes]
        assert told == ["replacement", "appended", "SCRIPT_EXHAUSTED"]
        assert (unused.called, model.call_count, model.pending_response_count) == (0, 3, 0)

    run(scenario())


@task(3)
@criterion("04.26", "04.38", "04.84")
@pytest.mark.parametrize(
    "item", [None, 42, {"type": "textDelta"}, CALL], ids=["None", "int", "dict", "record"]
)
def test_any_other_item_is_a_type_error_after_the_chunks_before_it(item: object) -> None:
    async def scenario() -> None:
        script = Script(delta("first"), item, response())
        chunks, error = await ended(ScriptedModel([script]).stream(request()))
        assert (chunks, type(error)) == ([delta("first")], TypeError)
        assert "call 1" in str(error)
        await turns()
        assert script.left == 1

    run(scenario())


@task(3)
@criterion("04.27")
@pytest.mark.parametrize(
    "wrong", [delta("x", "request-other"), ToolCallChunk("request-other", CALL)], ids=["text", "call"]
)
def test_a_chunk_for_another_request_is_not_delivered(wrong: ModelChunk) -> None:
    async def scenario() -> None:
        script = Script(delta("first"), wrong, response())
        chunks, error = await ended(ScriptedModel([script]).stream(request()))
        assert (chunks, code_of(error)) == ([delta("first")], "SCRIPT_REQUEST_MISMATCH")

    run(scenario())


@task(3)
@pytest.mark.parametrize(
    ("code", "items"),
    [
        pytest.param(
            "SCRIPT_REQUEST_MISMATCH",
            (response(request_id="request-other"),),
            marks=criterion("04.28"),
            id="another request",
        ),
        pytest.param(
            "SCRIPT_INVALID_RESPONSE", (response(CALL),), marks=criterion("04.29"), id="stop and a call"
        ),
        pytest.param(
            "SCRIPT_INVALID_RESPONSE",
            (response(TextBlock("x"), stop="toolCall"),),
            marks=criterion("04.29"),
            id="no call",
        ),
        pytest.param("SCRIPT_INVALID_RESPONSE", (delta("x"),), marks=criterion("04.87"), id="no terminal"),
        pytest.param(
            "SCRIPT_INVALID_RESPONSE",
            (response(), delta("x")),
            marks=criterion("04.88"),
            id="a chunk after it",
        ),
        pytest.param(
            "SCRIPT_INVALID_RESPONSE", (response(), response()), marks=criterion("04.88"), id="two terminals"
        ),
    ],
)
def test_there_is_one_terminal_and_it_fits(code: str, items: tuple[object, ...]) -> None:
    async def scenario() -> None:
        _chunks, error = await ended(ScriptedModel([Script(*items)]).stream(request()))
        assert code_of(error) == code

    run(scenario())


@task(3)
@criterion("04.34", "04.35")
@pytest.mark.parametrize("where", ["factory", "step"])
def test_an_error_of_the_script_arrives_as_it_is(where: str) -> None:
    raised = LookupError("mine")

    async def play() -> AsyncIterator[Item]:
        yield delta("first")
        raise raised

    def factory(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[Item]:
        if where == "factory":
            raise raised
        return play()

    async def scenario() -> None:
        model = ScriptedModel([factory])
        chunks, error = await ended(model.stream(request()))
        assert error is raised
        assert (len(chunks), model.pending_response_count) == (where == "step", 0)

    run(scenario())


@task(3)
@criterion("04.52", "04.55", "04.57", "04.58", "04.59")
def test_an_abort_interrupts_the_step_and_keeps_what_was_published() -> None:
    log: list[str] = []

    async def held(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[Item]:
        try:
            yield delta("first")
            await asyncio.Event().wait()
        finally:
            log.append("finally")

    async def scenario() -> None:
        controller, reason = AbortController(), LookupError("stop")
        model = ScriptedModel([held])
        stream = model.stream(request(), controller.signal)
        await turns()
        controller.abort(reason)
        chunks, error = await ended(stream)
        assert chunks == [delta("first")]
        assert error is reason
        await turns()
        assert (log, model.pending_response_count) == (["finally"], 0)

    run(scenario())


# Task 4: trust nothing that a factory returns


@task(4)
@criterion("04.36", "04.37")
@pytest.mark.parametrize("kind", ["None", "list", "generator", "coroutine"])
def test_a_factory_must_return_an_async_iterator(kind: str) -> None:
    async def coroutine() -> None:
        raise AssertionError("never started")

    made: dict[str, Callable[[], object]] = {
        "None": lambda: None,
        "list": lambda: [response()],
        "generator": lambda: (item for item in [response()]),
        "coroutine": coroutine,
    }

    def factory(_asked: ModelRequest, _signal: Signal) -> object:
        return made[kind]()

    async def scenario() -> None:
        model = ScriptedModel([factory])  # pyright: ignore[reportArgumentType] - the refused type
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            chunks, error = await ended(model.stream(request()))
            gc.collect()
        assert (chunks, type(error), model.pending_response_count) == ([], TypeError, 0)
        assert "call 1" in str(error)

    run(scenario())


@task(4)
@criterion("04.70", "04.71", "04.72", "04.74")
@pytest.mark.parametrize("first_is_over", [True, False], ids=["one after the other", "at once"])
def test_one_iterator_serves_one_call(first_is_over: bool) -> None:
    async def scenario() -> None:
        gate = asyncio.Event()

        async def play() -> AsyncIterator[Item]:
            yield delta("first")
            await gate.wait()
            yield response(TextBlock("first"))

        shared = play()

        def factory(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[Item]:
            return shared

        model, other = ScriptedModel([factory]), ScriptedModel([factory])
        running = model.stream(request())
        await turns()
        if first_is_over:
            gate.set()
            await running.result
        chunks, error = await ended(other.stream(request(2)))
        assert (chunks, code_of(error)) == ([], "SCRIPT_ITERATOR_REUSED")
        assert (other.call_count, other.pending_response_count) == (1, 0)
        gate.set()
        assert await ended(running) == ([delta("first")], response(TextBlock("first")))

    run(scenario())


@task(4)
@criterion("04.73")
def test_a_reusable_iterable_serves_every_call() -> None:
    class Reusable:
        def __aiter__(self) -> AsyncIterator[Item]:
            return Script(response()).play()

    def factory(_asked: ModelRequest, _signal: Signal) -> Reusable:
        return Reusable()

    async def scenario() -> None:
        model = ScriptedModel([factory] * 2)  # pyright: ignore[reportArgumentType] - an iterable will do
        for _ in range(2):
            assert await ended(model.stream(request())) == ([], response())

    run(scenario())
