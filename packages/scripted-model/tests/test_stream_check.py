"""`check_stream=True`: a response must say what was streamed before it."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kickwheel_protocol import (
    AssistantBlock,
    AssistantMessage,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Signal,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
    UserMessage,
)
from kickwheel_scripted_model import ScriptedModel, ScriptedModelError, ScriptedResponseFactory, call, say

criterion = pytest.mark.criterion
REQUEST = ModelRequest("request-001", [UserMessage("message-001", "hi")])


def script(streamed: list[str | ToolCall], told: list[AssistantBlock]) -> ScriptedResponseFactory:
    """Stream these parts, then a response of those blocks."""

    async def play(asked: ModelRequest, _signal: Signal) -> AsyncIterator[ModelChunk | ModelResponse]:
        for part in streamed:
            yield TextDeltaChunk(asked.id, part) if isinstance(part, str) else ToolCallChunk(asked.id, part)
        calls = any(isinstance(block, ToolCall) for block in told)
        message = AssistantMessage("message-r", told)
        yield ModelResponse("response-r", asked.id, message, "toolCall" if calls else "stop", Usage(0, 0))

    return play


async def verdict(factory: ScriptedResponseFactory, *, check: bool = True) -> tuple[int, str]:
    """Give the number of delivered chunks and the code, or `ok`; both paths must agree."""
    stream = ScriptedModel([factory], check_stream=check).stream(REQUEST)
    count = 0
    try:
        async for _chunk in stream:
            count += 1
    except ScriptedModelError as error:
        with pytest.raises(ScriptedModelError) as caught:
            await stream.result
        return count, caught.value.code if caught.value is error else "two errors"
    await stream.result
    return count, "ok"


INVALID = "SCRIPT_INVALID_RESPONSE"


def add(arguments: object = None, *, call_id: str = "call-1", name: str = "add") -> ToolCall:
    return ToolCall(call_id, name, {} if arguments is None else arguments)


class TestFaults:
    @criterion("04.B40")
    @pytest.mark.parametrize(
        ("streamed", "told"), [(["a", "b"], "a"), (["a"], "ab"), (["a"], "A"), (["a"], "")]
    )
    async def test_the_text_must_be_the_streamed_one(self, streamed: list[str | ToolCall], told: str) -> None:
        assert await verdict(script(streamed, [TextBlock(told)])) == (len(streamed), INVALID)

    @criterion("04.B41")
    @pytest.mark.parametrize(
        ("streamed", "told"),
        [
            ([add()], [add(), add(call_id="call-2")]),
            ([add(), add(call_id="call-2")], [add()]),
            ([add(), add(call_id="call-2")], [add(call_id="call-2"), add()]),
            ([add()], [add(call_id="call-2")]),
            ([add()], [add(name="sub")]),
            ([add({"a": 1})], [add({"a": 2})]),
            ([add({"a": 1})], [add({"b": 1})]),
            ([add({"a": 1})], [add({"a": 1, "b": 1})]),
            ([add({"a": 1})], [add({"a": True})]),
            ([add({"a": 0})], [add({"a": False})]),
            ([add({"a": [1, {"b": 1}]})], [add({"a": [1, {"b": True}]})]),
            ([add({"a": [1, 2]})], [add({"a": [2, 1]})]),
            ([add({"a": [1]})], [add({"a": [1, 1]})]),
            ([add({"a": None})], [add({"a": 0})]),
            ([add({"a": "1"})], [add({"a": 1})]),
            ([add({"a": []})], [add({"a": {}})]),
        ],
        ids=range(16),
    )
    async def test_the_calls_must_be_the_streamed_ones(
        self, streamed: list[str | ToolCall], told: list[AssistantBlock]
    ) -> None:
        assert await verdict(script(streamed, told)) == (len(streamed), INVALID)

    @criterion("04.B42")
    async def test_a_text_without_a_chunk_was_not_streamed(self) -> None:
        assert await verdict(script([], [TextBlock("x")])) == (0, INVALID)
        assert await verdict(script([], [add()])) == (0, INVALID)


class TestMatches:
    @criterion("04.B43")
    @pytest.mark.parametrize(
        ("streamed", "told"),
        [
            (["a", "b", "c"], [TextBlock("ab"), TextBlock("c")]),
            (["abc", add()], [TextBlock("a"), add(), TextBlock("bc")]),
            ([], []),
            ([""], []),
            ([add({"a": 1, "b": [True, None]})], [add({"b": [True, None], "a": 1})]),
            (["x", add(), add(call_id="call-2")], [TextBlock("x"), add(), add(call_id="call-2")]),
        ],
        ids=range(6),
    )
    async def test_a_script_that_tells_what_it_streamed_succeeds(
        self, streamed: list[str | ToolCall], told: list[AssistantBlock]
    ) -> None:
        assert await verdict(script(streamed, told)) == (len(streamed), "ok")

    @criterion("04.B43")
    @settings(max_examples=50, deadline=None, derandomize=True, database=None)
    @given(st.lists(st.one_of(st.text(max_size=3), st.sampled_from([None])), max_size=6))
    def test_one_liners_always_pass(self, parts: list[str | None]) -> None:
        line = say()
        for part in parts:
            line += call("add", {"a": 1}) if part is None else say(part)
        assert asyncio.run(asyncio.wait_for(verdict(line), 10)) == (len(parts), "ok")

    @criterion("04.B44")
    async def test_without_the_check_anything_goes(self) -> None:
        assert await verdict(script(["a"], [TextBlock("b"), add()]), check=False) == (1, "ok")

    @criterion("04.B44")
    async def test_two_calls_at_once_are_checked_apart(self) -> None:
        model = ScriptedModel([say("a") + say("b"), say("c")], check_stream=True)
        streams = [model.stream(REQUEST), model.stream(REQUEST)]
        responses = await asyncio.gather(*(stream.result for stream in streams))
        assert [response.message.text for response in responses] == ["ab", "c"]
