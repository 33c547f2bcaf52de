"""`say` and `call`: one line for a response, with ids that are the same in every run."""

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest

from kickwheel_event_stream import AbortController, AbortError, AbortSignal
from kickwheel_protocol import (
    JsonObject,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    ProtocolError,
    Signal,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
    UserMessage,
    to_wire,
)
from kickwheel_scripted_model import ScriptedModel, ScriptedResponseFactory, call, say
from kickwheel_scripted_model._lines import ScriptedLine

criterion = pytest.mark.criterion


def request(number: int = 1) -> ModelRequest:
    return ModelRequest(f"request-{number:03}", [UserMessage(f"message-{number:03}", "hi")])


async def played(
    model: ScriptedModel, signal: Signal | None = None
) -> tuple[list[ModelChunk], ModelResponse]:
    stream = model.stream(request(), signal)
    return [chunk async for chunk in stream], await stream.result


def delta(text: str) -> TextDeltaChunk:
    return TextDeltaChunk("request-001", text)


async def call_ids(model: ScriptedModel, count: int) -> list[str]:
    ids: list[str] = []
    for _ in range(count):
        _chunks, response = await played(model)
        ids += [each.id for each in response.message.tool_calls]
    return ids


class TestParts:
    @criterion("04.B11", "04.B21")
    async def test_texts_are_chunks_of_one_block(self) -> None:
        chunks, response = await played(ScriptedModel([say("Hel", "lo")]))
        assert chunks == [delta("Hel"), delta("lo")]
        assert response.message.content == (TextBlock("Hello"),)
        assert (response.stop_reason, response.usage) == ("stop", Usage(0, 0))

    @criterion("04.B12")
    async def test_nothing_said_is_no_chunk_and_an_empty_text_is_one(self) -> None:
        chunks, response = await played(ScriptedModel([say()]))
        assert (chunks, response.message.content, response.stop_reason) == ([], (), "stop")
        chunks, response = await played(ScriptedModel([say("")]))
        assert (chunks, response.message.content) == ([delta("")], (TextBlock(""),))

    @criterion("04.B13")
    async def test_a_call_is_one_chunk_and_one_block(self) -> None:
        chunks, response = await played(ScriptedModel([call("add", {"left": 20, "right": 22})]))
        expected = ToolCall("call-add-001", "add", {"left": 20, "right": 22})
        assert chunks == [ToolCallChunk("request-001", expected)]
        assert (response.message.content, response.stop_reason) == ((expected,), "toolCall")

    @criterion("04.B13")
    async def test_a_call_without_arguments_has_an_empty_object(self) -> None:
        _chunks, response = await played(ScriptedModel([call("now")]))
        assert response.message.tool_calls[0].arguments == {}

    @criterion("04.B14")
    async def test_a_sum_is_one_response_of_all_parts_in_order(self) -> None:
        model = ScriptedModel([say("Let me add.") + call("add", {}) + call("add", {})])
        chunks, response = await played(model)
        first, second = ToolCall("call-add-001", "add", {}), ToolCall("call-add-002", "add", {})
        assert chunks == [
            delta("Let me add."),
            ToolCallChunk("request-001", first),
            ToolCallChunk("request-001", second),
        ]
        assert response.message.content == (TextBlock("Let me add."), first, second)
        assert (response.stop_reason, model.call_count) == ("toolCall", 1)

    @criterion("04.B14")
    async def test_texts_that_end_up_together_are_one_block(self) -> None:
        chunks, response = await played(ScriptedModel([say("a") + say("b", "c") + call("x") + say("d")]))
        assert [chunk.delta for chunk in chunks if isinstance(chunk, TextDeltaChunk)] == ["a", "b", "c", "d"]
        tool_call = response.message.tool_calls[0]
        assert response.message.content == (TextBlock("abc"), tool_call, TextBlock("d"))

    @criterion("04.B14")
    def test_only_two_one_liners_can_be_added(self) -> None:
        with pytest.raises(TypeError):
            _ = say("a") + cast("ScriptedLine", "b")

    def test_a_one_liner_is_immutable(self) -> None:
        first, second = say("a"), call("add")
        before = await_free(first)
        for attempt in ("_parts", "_usage", "other"):
            with pytest.raises(AttributeError):
                setattr(first, attempt, ())
            with pytest.raises(AttributeError):
                delattr(first, attempt)
        _ = first + second
        assert await_free(first) == before


def await_free(factory: ScriptedResponseFactory) -> list[object]:
    """Play a one-liner by hand, on a loop of its own."""

    async def play() -> list[object]:
        return [to_wire(item) async for item in factory(request(), AbortSignal.never())]

    return asyncio.run(play())


class TestIds:
    @criterion("04.B15", "04.B16", "04.B17")
    async def test_ids_are_numbered_by_call(self) -> None:
        model = ScriptedModel([say("x")] * 3)
        ids = [((r := (await played(model))[1]).id, r.message.id) for _ in range(3)]
        assert ids == [(f"response-{n:03}", f"message-response-{n:03}") for n in (1, 2, 3)]

    @criterion("04.B15")
    async def test_the_thousandth_response_has_four_digits(self) -> None:
        controller = AbortController()
        controller.abort()
        model = ScriptedModel([say("x")])
        for _ in range(999):
            model.stream(request(), controller.signal)
        assert (await played(model))[1].id == "response-1000"

    @criterion("04.B15", "04.B17")
    async def test_a_retry_after_an_early_abort_has_the_number_of_its_own_call(self) -> None:
        controller = AbortController()
        controller.abort()
        model = ScriptedModel([call("add")])
        with pytest.raises(AbortError):
            await played(model, controller.signal)
        _chunks, response = await played(model)
        assert (response.id, response.message.tool_calls[0].id) == ("response-002", "call-add-001")

    @criterion("04.B16")
    async def test_a_message_takes_its_id_from_a_given_response_id(self) -> None:
        _chunks, response = await played(ScriptedModel([say("x", response_id="mine")]))
        assert (response.id, response.message.id) == ("mine", "message-mine")

    @criterion("04.B17")
    async def test_calls_are_counted_by_model_and_by_tool(self) -> None:
        model = ScriptedModel([call("add") + call("search"), call("add"), call("search") + call("add")])
        assert await call_ids(model, 3) == [
            "call-add-001",
            "call-search-001",
            "call-add-002",
            "call-search-002",
            "call-add-003",
        ]

    @criterion("04.B17")
    async def test_calls_are_counted_in_the_order_of_production(self) -> None:
        controller = AbortController()
        model = ScriptedModel([call("a") + call("a"), call("a")])
        first, second = model.stream(request(), controller.signal), model.stream(request(), controller.signal)
        await asyncio.gather(first.result, second.result)
        ids = [[each.id for each in (await stream.result).message.tool_calls] for stream in (first, second)]
        assert ids == [["call-a-001", "call-a-003"], ["call-a-002"]]

    @criterion("04.B17")
    async def test_a_call_that_was_never_produced_uses_up_no_number(self) -> None:
        controller = AbortController()
        model = ScriptedModel([say("wait") + call("add"), call("add")])
        stream = model.stream(request(), controller.signal)
        assert await anext(aiter(stream)) == delta("wait")
        controller.abort()
        with pytest.raises(AbortError):
            await stream.result
        assert await call_ids(model, 1) == ["call-add-001"]

    @criterion("04.B18")
    async def test_the_counter_skips_an_id_given_by_hand(self) -> None:
        model = ScriptedModel(
            [call("add", call_id="call-add-001"), call("add"), call("add", call_id="mine"), call("add")]
        )
        assert await call_ids(model, 4) == ["call-add-001", "call-add-002", "mine", "call-add-003"]

    @criterion("04.B18")
    async def test_an_id_given_by_hand_moves_no_counter_and_is_used_as_it_is(self) -> None:
        model = ScriptedModel(
            [call("add", call_id="call-add-007"), call("add"), call("add", call_id="call-add-001")]
        )
        assert await call_ids(model, 3) == ["call-add-007", "call-add-001", "call-add-001"]

    @criterion("04.B18")
    async def test_ids_inside_hand_written_factories_are_not_looked_at(self) -> None:
        line = call("add", call_id="call-add-001")

        async def by_hand(asked: ModelRequest, signal: Signal) -> AsyncIterator[ModelChunk | ModelResponse]:
            async for item in line(asked, signal):
                yield item

        assert await call_ids(ScriptedModel([by_hand, call("add")]), 2) == ["call-add-001", "call-add-001"]

    @criterion("04.B19")
    async def test_each_use_of_one_object_is_numbered_afresh(self) -> None:
        line = call("add")
        model, other = ScriptedModel([line, line]), ScriptedModel([line])
        assert await call_ids(model, 2) == ["call-add-001", "call-add-002"]
        assert await call_ids(other, 1) == ["call-add-001"]
        model.set_responses([line])
        _chunks, response = await played(model)
        assert (response.id, response.message.tool_calls[0].id) == ("response-003", "call-add-003")

    @criterion("04.B20")
    def test_called_by_hand_it_numbers_as_the_first_call_of_a_fresh_model(self) -> None:
        line = call("add") + call("add")
        for _ in range(2):
            *chunks, response = await_free(line)
            assert [chunk["toolCall"]["id"] for chunk in chunks] == ["call-add-001", "call-add-002"]  # pyright: ignore[reportIndexIssue, reportUnknownVariableType]
            assert response["id"] == "response-001"  # pyright: ignore[reportIndexIssue]

    @criterion("04.B24")
    async def test_the_same_script_on_fresh_models_gives_equal_records(self) -> None:
        async def run() -> list[object]:
            model = ScriptedModel([say("a") + call("add", {"b": 1, "a": [2]}), say("c"), call("add")])
            seen: list[object] = []
            for _ in range(3):
                chunks, response = await played(model)
                seen += [*map(to_wire, chunks), to_wire(response)]
            return seen

        assert await run() == await run()


class TestArguments:
    @criterion("04.B21")
    async def test_in_a_sum_the_last_usage_wins(self) -> None:
        lines = [
            say("a", usage=Usage(1, 1)) + say("b", usage=Usage(2, 2)),
            say("a", usage=Usage(1, 1)) + say("b"),
            say("a") + call("b", usage=Usage(3, 3)),
        ]
        model = ScriptedModel(lines)
        assert [(await played(model))[1].usage for _ in lines] == [Usage(2, 2), Usage(1, 1), Usage(3, 3)]

    @criterion("04.B21")
    async def test_a_sum_has_one_response_id(self) -> None:
        with pytest.raises(ValueError, match="mine"):
            _ = say("a", response_id="mine") + say("b", response_id="other")
        lines = [
            say("a", response_id="mine") + say("b"),
            say("a") + say("b", response_id="mine"),
            say("a", response_id="mine") + call("b", response_id="mine"),
        ]
        model = ScriptedModel(lines)
        assert [(await played(model))[1].id for _ in lines] == ["mine"] * 3

    @criterion("04.B22")
    @pytest.mark.parametrize("bad", [42, None, b"x", type("Odd", (str,), {})("x")])
    def test_say_takes_strings(self, bad: object) -> None:
        with pytest.raises(TypeError, match=r"texts\[1\]"):
            say("a", bad)  # pyright: ignore[reportArgumentType] - the refused type

    @criterion("04.B22")
    @pytest.mark.parametrize(
        "bad",
        [[], "x", 42, pytest.param({"a": object()}, id="object in a dict"), {"a": float("nan")}, {1: 2}],
        ids=repr,
    )
    def test_a_call_refuses_bad_arguments_at_once(self, bad: object) -> None:
        with pytest.raises(ProtocolError):
            call("add", bad)

    @criterion("04.B22")
    def test_a_call_refuses_a_bad_name_or_id_at_once(self) -> None:
        for attempt in (
            lambda: call("", {}),
            lambda: call("add", call_id=" "),
            lambda: call("add", response_id=""),
            lambda: say("x", response_id=""),
        ):
            with pytest.raises(ProtocolError):
                attempt()

    def test_usage_is_a_usage(self) -> None:
        with pytest.raises(TypeError):
            say("x", usage=(1, 2))  # pyright: ignore[reportArgumentType] - the refused type

    @criterion("04.B23")
    async def test_arguments_are_taken_when_the_line_is_made(self) -> None:
        values = [1]
        given: dict[str, object] = {"values": values}
        line = call("add", given)
        values.append(2)
        given["more"] = True
        _chunks, response = await played(ScriptedModel([line]))
        arguments = response.message.tool_calls[0].arguments
        assert isinstance(arguments, JsonObject)
        assert arguments == {"values": (1,)}

    @criterion("04.B25")
    @pytest.mark.parametrize("after", [0, 1, 2])
    async def test_an_abort_between_two_parts_is_seen(self, after: int) -> None:
        controller = AbortController()
        reason = LookupError("stop")
        parts = [delta("a"), delta("b")]
        stream = ScriptedModel([say("a", "b")]).stream(request(), controller.signal)
        reader = aiter(stream)
        assert [await anext(reader) for _ in range(after)] == parts[:after]
        if not after:
            await asyncio.sleep(0)
        controller.abort(reason)
        with pytest.raises(LookupError):
            await anext(reader)
        with pytest.raises(LookupError) as caught:
            await stream.result
        assert caught.value is reason
