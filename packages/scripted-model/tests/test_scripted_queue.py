"""The queue, its checks, and the capture of requests."""

import asyncio
import functools
import warnings
from collections.abc import AsyncIterator

import pytest

from kickwheel_event_stream import AbortController, AbortError
from kickwheel_protocol import (
    AssistantMessage,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Signal,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from kickwheel_scripted_model import ScriptedModel, ScriptedModelError, ScriptedResponseFactory, say

criterion = pytest.mark.criterion
Item = ModelChunk | ModelResponse


def request(number: int = 1) -> ModelRequest:
    return ModelRequest(f"request-{number:03}", [UserMessage(f"message-{number:03}", "hi")])


def answer(text: str, asked: ModelRequest) -> ModelResponse:
    message = AssistantMessage(f"message-{text}", [TextBlock(text)])
    return ModelResponse(f"response-{text}", asked.id, message, "stop", Usage(1, 1))


def factory(text: str, log: list[ModelRequest] | None = None) -> ScriptedResponseFactory:
    async def play(asked: ModelRequest, _signal: Signal) -> AsyncIterator[Item]:
        if log is not None:
            log.append(asked)
        yield TextDeltaChunk(asked.id, text)
        yield answer(text, asked)

    return play


async def text_of(model: ScriptedModel, number: int = 1) -> str:
    return (await model.stream(request(number)).result).message.text


class TestQueue:
    @criterion("04.01")
    def test_a_new_model_is_empty(self) -> None:
        model = ScriptedModel()
        assert (model.call_count, model.pending_response_count, model.requests) == (0, 0, ())

    @criterion("04.02")
    @pytest.mark.parametrize("bad", [None, 42, "text", object()])
    def test_what_cannot_be_called_is_refused_by_its_position(self, bad: object) -> None:
        good = factory("good")
        with pytest.raises(TypeError, match=r"responses\[1\]"):
            ScriptedModel([good, bad])  # pyright: ignore[reportArgumentType] - the refused type
        model = ScriptedModel([good])
        with pytest.raises(TypeError, match=r"responses\[1\]"):
            model.set_responses([good, bad])  # pyright: ignore[reportArgumentType] - the refused type
        with pytest.raises(TypeError, match="response"):
            model.append_response(bad)  # pyright: ignore[reportArgumentType] - the refused type
        assert (model.pending_response_count, model.call_count) == (1, 0)

    @criterion("04.03")
    @pytest.mark.parametrize("position", [0, 1, 2])
    async def test_a_list_with_one_bad_entry_leaves_the_old_queue_at_work(self, position: int) -> None:
        model = ScriptedModel([factory("old")])
        entries: list[object] = [factory("a"), factory("b")]
        entries.insert(position, "bad")
        with pytest.raises(TypeError):
            model.set_responses(entries)  # pyright: ignore[reportArgumentType] - the refused type
        assert await text_of(model) == "old"

    @criterion("04.04")
    @pytest.mark.parametrize("change", ["clear", "reverse", "append"])
    async def test_the_caller_keeps_its_list_and_the_model_a_copy(self, change: str) -> None:
        given = [factory("a"), factory("b")]
        model = ScriptedModel(given)
        other = ScriptedModel()
        other.set_responses(given)
        getattr(given, change)(*[factory("c")] * (change == "append"))
        for each in (model, other):
            assert [await text_of(each, 1), await text_of(each, 2)] == ["a", "b"]
            assert each.pending_response_count == 0

    @criterion("04.05", "04.06")
    async def test_replaced_responses_are_never_called_and_appended_ones_come_last(self) -> None:
        unused: list[ModelRequest] = []
        model = ScriptedModel([factory("unused", unused)])
        model.set_responses([factory("replacement")])
        model.append_response(factory("appended"))
        assert [await text_of(model, 1), await text_of(model, 2)] == ["replacement", "appended"]
        assert (unused, model.call_count, model.pending_response_count) == ([], 2, 0)

    @criterion("04.06")
    async def test_responses_are_taken_first_in_first_out_one_a_call(self) -> None:
        model = ScriptedModel([factory(text) for text in "abc"])
        seen: list[tuple[str, int]] = []
        for number in (1, 2, 3):
            seen.append((await text_of(model, number), model.pending_response_count))
        assert seen == [("a", 2), ("b", 1), ("c", 0)]

    @criterion("04.07")
    async def test_a_new_queue_touches_neither_counts_nor_a_running_stream(self) -> None:
        gate = asyncio.Event()

        async def held(asked: ModelRequest, _signal: Signal) -> AsyncIterator[Item]:
            await gate.wait()
            yield answer("held", asked)

        model = ScriptedModel([factory("first"), held])
        await text_of(model, 1)
        running = model.stream(request(2))
        await asyncio.sleep(0)
        model.set_responses([factory("new")])
        assert (model.call_count, model.requests) == (2, (request(1), request(2)))
        gate.set()
        assert (await running.result).message.text == "held"
        assert await text_of(model, 3) == "new"

    @criterion("04.08")
    async def test_one_factory_queued_twice_is_called_twice(self) -> None:
        log: list[ModelRequest] = []
        same = factory("same", log)
        model = ScriptedModel([same, same])
        assert [await text_of(model, 1), await text_of(model, 2)] == ["same", "same"]
        assert log == [request(1), request(2)]

    @criterion("04.09")
    async def test_anything_callable_is_a_factory(self) -> None:
        play = factory("x")

        class Bound:
            def method(self, asked: ModelRequest, signal: Signal) -> AsyncIterator[Item]:
                return play(asked, signal)

            def __call__(self, asked: ModelRequest, signal: Signal) -> AsyncIterator[Item]:
                return play(asked, signal)

        async def with_text(text: str, asked: ModelRequest, _signal: Signal) -> AsyncIterator[Item]:
            yield answer(text, asked)

        responses: tuple[ScriptedResponseFactory, ...] = (
            play,
            lambda asked, signal: play(asked, signal),
            functools.partial(with_text, "x"),
            Bound().method,
            Bound(),
        )
        model = ScriptedModel(responses)
        assert [await text_of(model, number) for number in range(1, 6)] == ["x"] * 5

    @criterion("04.09")
    def test_the_list_is_exactly_a_list_or_a_tuple(self) -> None:
        class Odd(list[ScriptedResponseFactory]):
            pass

        model = ScriptedModel([factory("old")])
        for bad in ((factory(text) for text in "ab"), {factory("a")}, Odd([factory("a")]), None, "ab"):
            with pytest.raises(TypeError):
                ScriptedModel(bad)  # pyright: ignore[reportArgumentType] - the refused type
            with pytest.raises(TypeError):
                model.set_responses(bad)  # pyright: ignore[reportArgumentType] - the refused type
        assert model.pending_response_count == 1

    def test_check_stream_is_a_real_bool(self) -> None:
        with pytest.raises(TypeError):
            ScriptedModel(check_stream=1)  # pyright: ignore[reportArgumentType] - the refused type


def transcript() -> tuple[ModelRequest, list[object], dict[str, object]]:
    """Build `request-001` from lists and dicts that the caller keeps."""
    operands: list[object] = [20, 22]
    arguments: dict[str, object] = {"operands": operands}
    blocks = [TextBlock("I will add."), ToolCall("call-add-001", "add", arguments)]
    messages = [
        UserMessage("message-001", "Add 20 and 22."),
        AssistantMessage("message-002", blocks),
        ToolResultMessage("message-003", "call-add-001", "add", "42"),
    ]
    return ModelRequest("request-001", messages), operands, arguments


class TestCapture:
    @criterion("04.10", "04.11", "04.12")
    async def test_the_captured_request_is_the_callers_and_nothing_changes_it(self) -> None:
        seen: list[ModelRequest] = []
        asked, operands, arguments = transcript()
        expected, _, _ = transcript()
        model = ScriptedModel([factory("ok", seen)])
        stream = model.stream(asked)
        operands.append(99)
        arguments.clear()
        await stream.result
        assert seen[0] is model.requests[0] is asked
        assert asked == expected

    @criterion("04.11")
    async def test_what_a_factory_sees_is_immutable_at_every_depth(self) -> None:
        refusals: list[str] = []

        async def prying(asked: ModelRequest, _signal: Signal) -> AsyncIterator[Item]:
            message = asked.messages[1]
            assert isinstance(message, AssistantMessage)
            tool_call = message.tool_calls[0]
            operands = tool_call.arguments["operands"]
            for owner, change, values in (
                (asked, "set", ("id", "other")),
                (asked.messages, "append", (message,)),
                (message, "set", ("content", ())),
                (tool_call, "set", ("name", "other")),
                (tool_call.arguments, "update", ({"x": 1},)),
                (operands, "append", (1,)),
            ):
                with pytest.raises((AttributeError, TypeError)):
                    if change == "set":
                        setattr(owner, str(values[0]), values[-1])
                    else:
                        getattr(owner, change)(*values)
                refusals.append(change)
            yield answer("ok", asked)

        asked, _, _ = transcript()
        model = ScriptedModel([prying])
        await model.stream(asked).result
        assert len(refusals) == 6
        assert type(model.requests) is tuple

    @criterion("04.13")
    async def test_requests_read_earlier_do_not_grow(self) -> None:
        model = ScriptedModel([factory("a"), factory("b")])
        await text_of(model, 1)
        earlier = model.requests
        await text_of(model, 2)
        assert (earlier, model.requests) == ((request(1),), (request(1), request(2)))

    @criterion("04.14")
    async def test_what_is_no_request_is_refused_at_once(self) -> None:
        class Alike:
            id = "request-001"
            messages = ()

        model = ScriptedModel([factory("a")])
        wire: dict[str, object] = {"id": "request-001", "messages": ()}
        bad: object
        for bad in (None, wire, UserMessage("message-001", "hi"), Alike(), "request-001"):
            with pytest.raises(TypeError):
                model.stream(bad)  # pyright: ignore[reportArgumentType] - the refused type
        assert (model.call_count, model.requests, model.pending_response_count) == (0, (), 1)

    async def test_what_is_no_signal_is_refused_at_once(self) -> None:
        model = ScriptedModel([factory("a")])
        with pytest.raises(TypeError):
            model.stream(request(), "now")  # pyright: ignore[reportArgumentType] - the refused type
        assert (model.call_count, model.requests, model.pending_response_count) == (0, (), 1)

    @criterion("04.15")
    @pytest.mark.parametrize("messages", [[], [ToolResultMessage("message-001", "call-1", "add", "42")]])
    async def test_the_model_checks_no_linkage(self, messages: list[ToolResultMessage]) -> None:
        model = ScriptedModel([factory("ok")])
        response = await model.stream(ModelRequest("request-001", messages)).result
        assert response.message.text == "ok"

    @criterion("04.16")
    async def test_refused_and_aborted_calls_are_counted_and_captured_at_once(self) -> None:
        controller = AbortController()
        controller.abort()
        model = ScriptedModel()
        empty = model.stream(request(1))
        assert (model.call_count, model.requests) == (1, (request(1),))
        aborted = model.stream(request(2), controller.signal)
        assert (model.call_count, model.requests) == (2, (request(1), request(2)))
        with pytest.raises(ScriptedModelError):
            await empty.result
        with pytest.raises(AbortError):
            await aborted.result

    @criterion("04.17")
    async def test_a_call_counts_now_and_takes_its_response_at_the_next_turn(self) -> None:
        model = ScriptedModel([factory("a")])
        stream = model.stream(request())
        assert (model.call_count, model.pending_response_count) == (1, 1)
        await asyncio.sleep(0)
        assert model.pending_response_count == 0
        await stream.result

    @criterion("04.18")
    async def test_calls_of_one_turn_take_responses_in_call_order(self) -> None:
        model = ScriptedModel([factory("a"), factory("b")])
        first, second = model.stream(request(1)), model.stream(request(2))
        responses = [await second.result, await first.result]
        assert [(each.request_id, each.message.text) for each in responses] == [
            ("request-002", "b"),
            ("request-001", "a"),
        ]

    @criterion("04.19")
    def test_without_a_loop_nothing_has_happened(self) -> None:
        model = ScriptedModel([say("a")])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeError):
                model.stream(request())
        assert (model.call_count, model.requests, model.pending_response_count) == (0, (), 1)
        assert asyncio.run(text_of(model)) == "a"
