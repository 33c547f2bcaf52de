"""Nothing unused, nothing anonymous: what the errors of a scripted model tell."""

import asyncio
import copy
import pickle
from collections.abc import AsyncIterator
from typing import get_args

import pytest

import kickwheel_scripted_model
from kickwheel_event_stream import AbortController, EventStream, claim_iterator
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
from kickwheel_scripted_model import (
    ScriptedModel,
    ScriptedModelError,
    ScriptedModelErrorCode,
    ScriptedResponseFactory,
    say,
)

criterion = pytest.mark.criterion


def request(number: int = 1) -> ModelRequest:
    return ModelRequest(f"request-{number:03}", [UserMessage(f"message-{number:03}", "hi")])


def model_of(*scripts: object, check_stream: bool = False) -> ScriptedModel:
    factories: list[ScriptedResponseFactory] = list(scripts)  # pyright: ignore[reportAssignmentType] - hostile ones too
    return ScriptedModel(factories, check_stream=check_stream)


async def settled(stream: EventStream[ModelChunk, ModelResponse]) -> ModelResponse | Exception:
    try:
        return await stream.result
    except Exception as error:
        return error


async def refusal(stream: EventStream[ModelChunk, ModelResponse]) -> ScriptedModelError:
    error = await settled(stream)
    assert isinstance(error, ScriptedModelError)
    return error


def unused(model: ScriptedModel) -> ScriptedModelError:
    with pytest.raises(ScriptedModelError) as caught:
        model.assert_complete()
    assert caught.value.code == "SCRIPT_UNUSED"
    return caught.value


async def failing(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
    raise LookupError("mine")
    yield


async def waiting(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
    await asyncio.Event().wait()
    yield


class TestComplete:
    @criterion("04.B1")
    async def test_an_unused_response_is_told(self) -> None:
        model = ScriptedModel([say("a"), say("b")])
        await model.stream(request()).result
        error = unused(model)
        assert (error.used, error.pending, error.call_number) == (1, 1, None)
        assert "1 used, 1 unused" in str(error)
        assert error.script == ("1. request-001 -> response-001",)

    @criterion("04.B2")
    async def test_an_empty_queue_is_complete_whatever_became_of_the_calls(self) -> None:
        controller = AbortController()
        model = model_of(say("a"), failing, waiting)
        model_calls = [model.stream(request(number), controller.signal) for number in range(4)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        controller.abort()
        outcomes = [type(await settled(stream)).__name__ for stream in model_calls]
        assert outcomes == ["AbortError", "LookupError", "AbortError", "ScriptedModelError"]
        model.assert_complete()
        ScriptedModel().assert_complete()

    @criterion("04.B3")
    async def test_dropped_responses_count_neither_as_used_nor_as_pending(self) -> None:
        model = ScriptedModel([say("a"), say("dropped"), say("dropped")])
        await model.stream(request()).result
        model.set_responses([say("b"), say("c")])
        await model.stream(request()).result
        error = unused(model)
        assert (error.used, error.pending) == (2, 1)
        model.set_responses([])
        model.assert_complete()

    @criterion("04.B4")
    async def test_a_call_aborted_before_it_took_its_response_leaves_it_unused(self) -> None:
        controller = AbortController()
        controller.abort()
        model = ScriptedModel([say("a")])
        await settled(model.stream(request(), controller.signal))
        error = unused(model)
        assert (error.used, error.pending, error.script) == (0, 1, ("1. request-001 -> aborted",))

    @criterion("04.B5")
    async def test_a_response_counts_as_pending_until_its_call_has_begun(self) -> None:
        model = ScriptedModel([say("a")])
        stream = model.stream(request())
        first, second = unused(model), unused(model)
        assert first.script == second.script == ("1. request-001 -> open",)
        assert model.pending_response_count == 1
        await stream.result
        model.assert_complete()


class TestEvidence:
    @criterion("04.B6")
    @pytest.mark.parametrize(
        ("items", "code"),
        [
            (None, "SCRIPT_EXHAUSTED"),
            ([TextDeltaChunk("request-other", "x")], "SCRIPT_REQUEST_MISMATCH"),
            ([], "SCRIPT_INVALID_RESPONSE"),
            ([], "SCRIPT_ITERATOR_REUSED"),
        ],
    )
    async def test_every_error_of_the_model_names_its_call_and_its_request(
        self, items: list[object] | None, code: str
    ) -> None:
        async def play() -> AsyncIterator[object]:
            for item in items or ():
                yield item

        source = play()

        def factory(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            return source

        if code == "SCRIPT_ITERATOR_REUSED":
            assert claim_iterator(source)
        model = model_of(say("first"), *[factory] * (items is not None))
        await model.stream(request(1)).result
        error = await refusal(model.stream(request(2)))
        assert (error.code, error.call_number) == (code, 2)
        assert "call 2" in str(error)
        assert "request-002" in str(error)

    @criterion("04.B6", "04.B7")
    async def test_one_raised_by_a_script_arrives_untouched(self) -> None:
        raised = ScriptedModelError("SCRIPT_EXHAUSTED", "mine")

        async def script(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            raise raised
            yield

        model = model_of(script)
        assert await settled(model.stream(request())) is raised
        assert (raised.call_number, raised.script, str(raised)) == (None, (), "mine")
        assert model.exhausted_calls == ()

    @criterion("04.B7")
    async def test_the_script_tells_what_every_call_came_to(self) -> None:
        controller = AbortController()
        message = AssistantMessage("m", [])
        good = ModelResponse("response-mine", "request-001", message, "stop", Usage(0, 0))

        async def hand_written(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            yield good

        async def wrong(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            yield None

        model = model_of(hand_written, failing, waiting, waiting, wrong)
        await settled(model.stream(request(1)))
        await settled(model.stream(request(2)))
        running = model.stream(request(3))
        aborted = model.stream(request(4), controller.signal)
        await asyncio.sleep(0)
        controller.abort()
        await settled(aborted)
        await settled(model.stream(request(5)))
        error = await refusal(model.stream(request(6)))
        assert error.script == (
            "1. request-001 -> response-mine",
            "2. request-002 -> error LookupError",
            "3. request-003 -> open",
            "4. request-004 -> aborted",
            "5. request-005 -> error TypeError",
            "6. request-006 -> SCRIPT_EXHAUSTED",
        )
        await running.aclose()
        assert (await refusal(model.stream(request(7)))).script[2] == "3. request-003 -> aborted"

    @criterion("04.B8")
    async def test_a_long_script_is_cut_to_the_last_twenty_calls(self) -> None:
        model = ScriptedModel([say("x")] * 31)
        for number in range(1, 31):
            await model.stream(request(number)).result
        error = unused(model)
        assert error.script == tuple(f"{n}. request-{n:03} -> response-{n:03}" for n in range(11, 31))
        assert all(line in str(error) for line in error.script)

    @criterion("04.B8")
    async def test_an_older_failing_call_comes_first(self) -> None:
        gate = asyncio.Event()

        async def late(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            await gate.wait()
            yield TextDeltaChunk("request-other", "x")

        model = model_of(say("a"), late, *[say("x")] * 25)
        await model.stream(request(1)).result
        failing_call = model.stream(request(2))
        for number in range(3, 28):
            await model.stream(request(number)).result
        gate.set()
        error = await refusal(failing_call)
        assert error.script[0] == "2. request-002 -> SCRIPT_REQUEST_MISMATCH"
        assert len(error.script) == 21
        assert error.script[1] == "8. request-008 -> response-008"
        assert all(line in str(error) for line in error.script)

    @criterion("04.B9")
    async def test_the_evidence_of_one_call_too_many(self) -> None:
        model = ScriptedModel([say("hi")])
        await model.stream(request(1)).result
        error = await refusal(model.stream(request(2)))
        assert error.script == ("1. request-001 -> response-001", "2. request-002 -> SCRIPT_EXHAUSTED")
        assert (error.used, error.pending) == (1, 0)


class TestTheErrorItself:
    @criterion("04.43", "04.B10")
    def test_an_error_made_by_hand_holds_its_code_and_text(self) -> None:
        error = ScriptedModelError("SCRIPT_EXHAUSTED", "text")
        assert (error.code, str(error), type(error).__name__) == (
            "SCRIPT_EXHAUSTED",
            "text",
            "ScriptedModelError",
        )
        assert (error.call_number, error.used, error.pending, error.script) == (None, None, None, ())

    @criterion("04.43", "04.B10")
    @pytest.mark.parametrize("name", ["code", "call_number", "used", "pending", "script"])
    def test_everything_on_it_is_read_only(self, name: str) -> None:
        error = ScriptedModelError(
            "SCRIPT_EXHAUSTED", "text", call_number=1, used=0, pending=0, script=("x",)
        )
        with pytest.raises(AttributeError):
            setattr(error, name, None)
        assert getattr(error, name) is not None

    @criterion("04.B10")
    def test_the_extra_values_are_keyword_only(self) -> None:
        with pytest.raises(TypeError):
            ScriptedModelError("SCRIPT_EXHAUSTED", "text", 1)  # pyright: ignore[reportCallIssue] - refused

    def test_the_codes_are_a_closed_set(self) -> None:
        assert set(get_args(ScriptedModelErrorCode)) == {
            "SCRIPT_EXHAUSTED",
            "SCRIPT_REQUEST_MISMATCH",
            "SCRIPT_INVALID_RESPONSE",
            "SCRIPT_ITERATOR_REUSED",
            "SCRIPT_UNUSED",
        }
        with pytest.raises(ValueError, match="SCRIPT_UNUSED"):
            ScriptedModelError("SCRIPT_OTHER", "text")  # pyright: ignore[reportArgumentType] - refused

    @pytest.mark.parametrize("how", ["copy", "deepcopy", "pickle"])
    async def test_an_error_survives_copies_and_pickles(self, how: str) -> None:
        error = await refusal(ScriptedModel().stream(request()))
        if how == "pickle":
            other: object = pickle.loads(pickle.dumps(error))
        else:
            other = copy.copy(error) if how == "copy" else copy.deepcopy(error)
        assert isinstance(other, ScriptedModelError)
        values = [(e.code, str(e), e.call_number, e.used, e.pending, e.script) for e in (error, other)]
        assert values[0] == values[1]

    def test_the_public_names_are_exactly_these(self) -> None:
        assert sorted(kickwheel_scripted_model.__all__) == [
            "ScriptedModel",
            "ScriptedModelError",
            "ScriptedModelErrorCode",
            "ScriptedResponseFactory",
            "StepClock",
            "call",
            "say",
        ]
