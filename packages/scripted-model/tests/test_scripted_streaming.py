"""What a script may stream, what it may not, and what happens when no response is left."""

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from kickwheel_event_stream import AbortController, EventStream
from kickwheel_protocol import (
    AssistantBlock,
    AssistantMessage,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    ProtocolError,
    Signal,
    StopReason,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
    UserMessage,
)
from kickwheel_scripted_model import ScriptedModel, ScriptedModelError, ScriptedResponseFactory, say

criterion = pytest.mark.criterion
Stream = EventStream[ModelChunk, ModelResponse]
Script = Callable[[ModelRequest, Signal], AsyncIterator[object]]
CALL = ToolCall("call-add-001", "add", {"left": 20, "right": 22})


def request(number: int = 1) -> ModelRequest:
    return ModelRequest(f"request-{number:03}", [UserMessage(f"message-{number:03}", "hi")])


def response(
    *blocks: AssistantBlock,
    request_id: str = "request-001",
    stop: StopReason = "stop",
    usage: Usage | None = None,
) -> ModelResponse:
    message = AssistantMessage("message-r", blocks)
    return ModelResponse("response-r", request_id, message, stop, usage or Usage(3, 5))


def delta(text: str, request_id: str = "request-001") -> TextDeltaChunk:
    return TextDeltaChunk(request_id, text)


class Lookalike:
    """What a `ToolCallChunk` around a text block would be; its constructor refuses to make one."""

    type = "toolCall"
    request_id = "request-001"
    tool_call = TextBlock("x")


class Played:
    """A factory that yields the given items, raises those that are exceptions, and tells when it was left."""

    def __init__(self, *items: object) -> None:
        self.items = items
        self.closed = 0
        self.yielded = 0

    async def __call__(self, _asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
        try:
            for item in self.items:
                if isinstance(item, BaseException):
                    raise item
                self.yielded += 1
                yield item
        finally:
            self.closed += 1


def kind(value: object) -> str:
    return type(value).__name__


def model_of(*scripts: object, check_stream: bool = False) -> ScriptedModel:
    factories: list[ScriptedResponseFactory] = list(scripts)  # pyright: ignore[reportAssignmentType] - hostile ones too
    return ScriptedModel(factories, check_stream=check_stream)


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


async def failure(model: ScriptedModel, code: str) -> list[ModelChunk]:
    """Stream one call that must fail with this code; give the chunks delivered before."""
    chunks, error = await outcome(model.stream(request()))
    assert isinstance(error, ScriptedModelError)
    assert error.code == code
    return chunks


class TestStreaming:
    @criterion("04.20", "04.21", "04.23")
    async def test_chunks_arrive_in_order_as_the_very_records_and_the_terminal_is_the_result(self) -> None:
        script = (delta("I will add. "), ToolCallChunk("request-001", CALL), response(CALL, stop="toolCall"))
        chunks, result = await outcome(model_of(Played(*script)).stream(request()))
        assert all(got is sent for got, sent in zip(chunks, script[:2], strict=True))
        assert result is script[2]

    @criterion("04.21")
    async def test_the_terminal_is_immutable_at_every_level(self) -> None:
        sent = response(TextBlock("hi"), CALL, stop="toolCall", usage=Usage(3, 5))
        result = await model_of(Played(sent)).stream(request()).result
        assert (result.id, result.request_id, result.stop_reason) == ("response-r", "request-001", "toolCall")
        assert (result.message.content, result.usage) == ((TextBlock("hi"), CALL), Usage(3, 5))
        for owner, field in ((result, "id"), (result.message, "content"), (result.usage, "input_tokens")):
            with pytest.raises((AttributeError, TypeError)):
                setattr(owner, field, None)

    @criterion("04.22")
    async def test_a_terminal_alone_is_an_answer(self) -> None:
        sent = response()
        assert await outcome(model_of(Played(sent)).stream(request())) == ([], sent)

    @criterion("04.23")
    async def test_a_script_answers_the_active_request(self) -> None:
        async def follow(asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            yield TextDeltaChunk(asked.id, "hi")
            yield response(TextBlock("hi"), request_id=asked.id)

        model = model_of(follow, follow)
        for number in (1, 2):
            chunks, result = await outcome(model.stream(request(number)))
            assert isinstance(result, ModelResponse)
            assert {result.request_id, *(chunk.request_id for chunk in chunks)} == {f"request-{number:03}"}

    @criterion("04.24", "04.B44")
    async def test_without_the_check_a_terminal_may_differ_from_what_was_streamed(self) -> None:
        sent = response(TextBlock("other"), CALL, stop="toolCall")
        chunks, result = await outcome(model_of(Played(delta("text"), sent)).stream(request()))
        assert (chunks, result) == ([delta("text")], sent)

    @criterion("04.25")
    @pytest.mark.parametrize("read", [0, 1])
    async def test_production_goes_on_without_a_reader(self, read: int) -> None:
        script = Played(*[delta("x")] * 1000, response())
        stream = model_of(script).stream(request())
        reader = aiter(stream)
        for _ in range(read):
            await anext(reader)
        assert await stream.result == response()
        assert script.yielded == 1001

    @criterion("04.26", "04.84", "04.86")
    @pytest.mark.parametrize(
        "item",
        [
            None,
            42,
            "text",
            {"type": "textDelta", "requestId": "request-001", "delta": "x"},
            UserMessage("message-001", "hi"),
            CALL,
            TextBlock("x"),
            type(
                "Alike", (), {"type": "toolCall", "request_id": "request-001", "tool_call": TextBlock("x")}
            )(),
        ],
    )
    async def test_any_other_item_is_a_type_error_that_names_the_call(self, item: object) -> None:
        script = Played(delta("first"), item, response())
        model = model_of(Played(response()), script, say("next"))
        await model.stream(request()).result
        chunks, error = await outcome(model.stream(request()))
        assert chunks == [delta("first")]
        assert type(error) is TypeError
        assert "call 2" in str(error)
        await asyncio.sleep(0)
        assert script.closed == 1
        assert (await model.stream(request()).result).message.text == "next"

    @criterion("04.26")
    async def test_an_empty_delta_is_a_chunk(self) -> None:
        chunks, _result = await outcome(model_of(Played(delta(""), response())).stream(request()))
        assert chunks == [delta("")]

    @criterion("04.86")
    def test_a_tool_call_chunk_cannot_hold_a_text_block(self) -> None:
        with pytest.raises(ProtocolError):
            ToolCallChunk("request-001", TextBlock("x"))  # pyright: ignore[reportArgumentType] - the refused type

    @criterion("04.27", "04.38")
    @pytest.mark.parametrize(
        "wrong", [delta("x", "request-other"), ToolCallChunk("request-other", CALL)], ids=["text", "call"]
    )
    async def test_a_chunk_for_another_request_is_not_delivered(self, wrong: ModelChunk) -> None:
        script = Played(delta("first"), wrong, response())
        model = model_of(script)
        assert await failure(model, "SCRIPT_REQUEST_MISMATCH") == [delta("first")]
        await asyncio.sleep(0)
        assert (script.closed, model.pending_response_count) == (1, 0)

    @criterion("04.28")
    async def test_a_terminal_for_another_request_fails(self) -> None:
        script = Played(delta("first"), response(request_id="request-other"))
        assert await failure(model_of(script), "SCRIPT_REQUEST_MISMATCH") == [delta("first")]

    @criterion("04.29")
    @pytest.mark.parametrize(
        "terminal", [response(TextBlock("x"), stop="toolCall"), response(CALL)], ids=["no call", "a call"]
    )
    async def test_a_stop_reason_must_fit_the_message(self, terminal: ModelResponse) -> None:
        await failure(model_of(Played(terminal)), "SCRIPT_INVALID_RESPONSE")

    @criterion("04.30", "04.B44")
    @pytest.mark.parametrize(
        ("code", "text", "items"),
        [
            (
                "SCRIPT_REQUEST_MISMATCH",
                "answers",
                (response(CALL, request_id="request-other"), response()),
            ),
            ("SCRIPT_INVALID_RESPONSE", "stop reason", (response(TextBlock("x"), CALL), response())),
            ("SCRIPT_INVALID_RESPONSE", "streamed", (response(TextBlock("x")), response())),
            ("SCRIPT_INVALID_RESPONSE", "goes on", (delta("x"), response(TextBlock("x")), response())),
        ],
    )
    async def test_the_first_fault_of_the_order_is_reported(
        self, code: str, text: str, items: tuple[object, ...]
    ) -> None:
        model = model_of(Played(*items), check_stream=True)
        _chunks, error = await outcome(model.stream(request()))
        assert isinstance(error, ScriptedModelError)
        assert error.code == code
        assert text in str(error)

    @criterion("04.30")
    @pytest.mark.parametrize(
        "wrong",
        [None, response(request_id="request-other"), response(CALL)],
        ids=["shape", "request", "reason"],
    )
    async def test_an_abort_wins_over_every_fault(self, wrong: object) -> None:
        controller = AbortController()
        stop = LookupError("stop")

        async def script(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            controller.abort(stop)
            yield wrong

        _chunks, error = await outcome(model_of(script).stream(request(), controller.signal))
        assert error is stop

    @criterion("04.31", "04.32")
    @pytest.mark.parametrize("count", [0, 2**53 - 1])
    async def test_the_limits_of_a_count_are_accepted(self, count: int) -> None:
        sent = response(usage=Usage(count, count))
        assert await outcome(model_of(Played(sent)).stream(request())) == ([], sent)

    @criterion("04.31", "04.32")
    @pytest.mark.parametrize(
        "count",
        [-1, 1.5, 12.0, float("nan"), float("inf"), 2**53, "3", None, True, type("Odd", (int,), {})(3)],
        ids=repr,
    )
    def test_no_other_count_can_exist(self, count: object) -> None:
        with pytest.raises(ProtocolError):
            Usage(count, 1)  # pyright: ignore[reportArgumentType] - the refused type
        with pytest.raises(ProtocolError):
            Usage(1, count)  # pyright: ignore[reportArgumentType] - the refused type

    @criterion("04.33", "04.34")
    async def test_an_error_of_the_script_arrives_as_it_is_on_both_paths(self) -> None:
        raised = LookupError("mine")
        script = Played(delta("first"), raised)
        chunks, error = await outcome(model_of(script).stream(request()))
        assert chunks == [delta("first")]
        assert error is raised

    @criterion("04.33")
    async def test_a_failed_call_is_never_a_success(self) -> None:
        stream = model_of(Played(delta("first"), None)).stream(request())
        reader = aiter(stream)
        assert await anext(reader) == delta("first")
        with pytest.raises(TypeError) as raised:
            await anext(reader)
        with pytest.raises(TypeError) as awaited:
            await stream.result
        assert raised.value is awaited.value
        assert stream.state == "failed"

    @criterion("04.35")
    async def test_an_error_of_the_factory_itself_fails_the_stream(self) -> None:
        raised = LookupError("mine")

        def factory(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            raise raised

        model = model_of(factory)
        chunks, error = await outcome(model.stream(request()))
        assert (chunks, model.pending_response_count) == ([], 0)
        assert error is raised

    @criterion("04.36")
    @pytest.mark.parametrize("returned", [None, 42, "text", [], (), object(), {"a": 1}], ids=kind)
    async def test_a_factory_must_return_an_async_iterator(self, returned: object) -> None:
        def factory(_asked: ModelRequest, _signal: Signal) -> object:
            return returned

        model = model_of(factory, say("next"))
        chunks, error = await outcome(model.stream(request()))
        assert (chunks, type(error), model.pending_response_count) == ([], TypeError, 1)
        assert (await model.stream(request()).result).message.text == "next"

    @criterion("04.36")
    async def test_a_future_is_no_async_iterator(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def factory(_asked: ModelRequest, _signal: Signal) -> "asyncio.Future[None]":
            return future

        _chunks, error = await outcome(model_of(factory).stream(request()))
        assert type(error) is TypeError
        future.cancel()

    @criterion("04.37")
    async def test_a_coroutine_function_is_refused_and_its_coroutine_closed(self) -> None:
        async def factory(_asked: ModelRequest, _signal: Signal) -> None:
            raise AssertionError("never started")

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _chunks, error = await outcome(model_of(factory).stream(request()))
            gc.collect()
        assert type(error) is TypeError

    @criterion("04.37")
    async def test_a_sync_generator_is_refused(self) -> None:
        def factory(_asked: ModelRequest, _signal: Signal) -> Iterator[object]:
            yield response()

        _chunks, error = await outcome(model_of(factory).stream(request()))
        assert type(error) is TypeError

    @criterion("04.39")
    async def test_a_script_always_gets_a_signal(self) -> None:
        seen: list[Signal] = []

        async def script(_asked: ModelRequest, signal: Signal) -> AsyncIterator[object]:
            signal.raise_if_aborted()
            seen.append(signal)
            yield response()

        controller = AbortController()
        model = model_of(script, script)
        await model.stream(request()).result
        await model.stream(request(), controller.signal).result
        assert (seen[0].aborted, seen[0].reason) == (False, None)
        assert seen[1] is controller.signal


class TestExhaustion:
    @criterion("04.40", "04.42")
    async def test_a_call_too_many_fails_on_both_paths_and_is_recorded(self) -> None:
        model = ScriptedModel()
        chunks, error = await outcome(model.stream(request()))
        assert isinstance(error, ScriptedModelError)
        assert (chunks, error.code) == ([], "SCRIPT_EXHAUSTED")
        assert "request-001" in str(error)
        assert (model.call_count, len(model.requests), model.exhausted_calls) == (1, 1, (1,))

    @criterion("04.41")
    async def test_nothing_is_invented_or_repeated(self) -> None:
        model = ScriptedModel([say("once")])
        assert (await model.stream(request(1)).result).message.text == "once"
        for _ in range(3):
            assert await failure(model, "SCRIPT_EXHAUSTED") == []
        assert model.exhausted_calls == (2, 3, 4)

    @criterion("04.44")
    async def test_an_exhausted_model_serves_what_is_appended(self) -> None:
        model = ScriptedModel()
        await failure(model, "SCRIPT_EXHAUSTED")
        model.append_response(say("more"))
        assert (await model.stream(request()).result).message.text == "more"

    @criterion("04.45")
    async def test_exhaustion_is_decided_when_production_starts(self) -> None:
        model = ScriptedModel()
        stream = model.stream(request())
        model.append_response(say("just in time"))
        assert (await stream.result).message.text == "just in time"
