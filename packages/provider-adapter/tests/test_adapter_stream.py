"""The queue behind `stream`, and what a fixture becomes on its way out (sections B and C)."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest

from kickwheel_event_stream import AbortController, AbortError, AbortSignal, EventStream
from kickwheel_protocol import (
    AssistantMessage,
    JsonObject,
    Model,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
    thaw_json,
)
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError

SHIPPED = Path(__file__).parents[3] / "fixtures" / "provider-tool-roundtrip.json"
REQUEST = ModelRequest("request-001", ())

Record = dict[str, object]


def start(response_id: str = "r1") -> Record:
    return {"type": "response_start", "responseId": response_id, "role": "assistant"}


def text(value: str) -> Record:
    return {"type": "text_delta", "text": value}


def call(call_id: str = "c1", **arguments: object) -> Record:
    return {"type": "tool_call", "id": call_id, "name": "add", "arguments": arguments}


def end(stop_reason: str = "stop", response_id: str = "r1") -> Record:
    usage = {"inputTokens": 1, "outputTokens": 2}
    return {"type": "response_end", "responseId": response_id, "stopReason": stop_reason, "usage": usage}


def adapter_of(*responses: object) -> FixtureProviderAdapter:
    return FixtureProviderAdapter(
        {"schemaVersion": 1, "responses": [{"records": records} for records in responses]}
    )


def shipped() -> FixtureProviderAdapter:
    return FixtureProviderAdapter(json.loads(SHIPPED.read_text(encoding="utf-8")))


async def collect(stream: EventStream[ModelChunk, ModelResponse]) -> tuple[list[ModelChunk], ModelResponse]:
    chunks = [chunk async for chunk in stream]
    return chunks, await stream.result


async def failure_of(stream: EventStream[ModelChunk, ModelResponse]) -> tuple[list[ModelChunk], Exception]:
    """Read both channels to their end; they fail with one error object."""
    chunks: list[ModelChunk] = []
    with pytest.raises(Exception) as by_iteration:
        async for chunk in stream:
            chunks.append(chunk)
    with pytest.raises(Exception) as by_result:
        await stream.result
    assert by_iteration.value is by_result.value
    return chunks, by_result.value


def code_of(error: Exception) -> str:
    assert isinstance(error, FixtureProviderError)
    return error.code


class Request:
    """Stands in for a request; `messages` may be anything, because nobody reads it."""

    def __init__(self, request_id: object) -> None:
        self.id = request_id

    @property
    def messages(self) -> NoReturn:
        raise AssertionError("only the id is read")


class RaisingId:
    @property
    def id(self) -> NoReturn:
        raise KeyError("id")


BAD_REQUESTS: list[object] = [
    None,
    {"id": "request-001"},
    "request-001",
    object(),
    RaisingId(),
    Request(None),
    Request(7),
    Request(""),
    Request(" \t\u00a0\ufeff"),
    Request("\ud800"),
    Request(type("Sub", (str,), {})("request-001")),
]


@pytest.mark.criterion("05.21")
@pytest.mark.parametrize("request_like", BAD_REQUESTS, ids=range(len(BAD_REQUESTS)))
async def test_a_request_without_a_usable_id_is_refused_before_anything_happens(request_like: object) -> None:
    adapter = shipped()
    with pytest.raises((TypeError, ValueError)):
        adapter.stream(request_like)  # pyright: ignore[reportArgumentType]
    await asyncio.sleep(0)
    assert (adapter.call_count, adapter.pending_response_count) == (0, 2)


BAD_SIGNALS: list[object] = ["abort", object(), AbortController(), AbortSignal]


@pytest.mark.parametrize("signal", BAD_SIGNALS, ids=range(len(BAD_SIGNALS)))
async def test_something_that_is_no_signal_is_a_type_error_before_anything_happens(signal: object) -> None:
    adapter = shipped()
    with pytest.raises(TypeError):
        adapter.stream(REQUEST, signal)  # pyright: ignore[reportArgumentType]
    assert (adapter.call_count, adapter.pending_response_count) == (0, 2)


@pytest.mark.criterion("05.22")
async def test_only_the_id_of_a_request_is_read() -> None:
    only_id = type("OnlyId", (), {"id": "request-tool"})()
    for request_like in (Request("request-tool"), only_id):
        chunks, response = await collect(shipped().stream(request_like))  # pyright: ignore[reportArgumentType]
        assert [chunk.request_id for chunk in chunks] == [response.request_id] == ["request-tool"]


@pytest.mark.criterion("05.22")
async def test_the_id_of_a_request_is_read_once() -> None:
    reads: list[str] = []

    class Changing:
        @property
        def id(self) -> str:
            reads.append("read")
            return f"request-{len(reads)}"

    _, response = await collect(shipped().stream(Changing()))  # pyright: ignore[reportArgumentType]
    assert (response.request_id, len(reads)) == ("request-1", 1)


@pytest.mark.criterion("05.23", "05.26", "05.25")
async def test_every_accepted_call_counts_whatever_becomes_of_it() -> None:
    adapter = adapter_of([], [start(), end()])
    aborted = AbortController()
    aborted.abort()
    outcomes: list[str] = []
    for signal in (aborted.signal, None, None, None):
        try:
            await adapter.stream(REQUEST, signal).result
            outcomes.append("finished")
        except FixtureProviderError as error:
            outcomes.append(error.code)
        except AbortError:
            outcomes.append("aborted")
    assert outcomes == ["aborted", "PROVIDER_MISSING_TERMINAL", "finished", "PROVIDER_EXHAUSTED"]
    assert adapter.call_count == 4


@pytest.mark.criterion("05.24")
async def test_responses_come_in_queue_order() -> None:
    adapter = adapter_of([start("a"), end("stop", "a")], [start("b"), end("stop", "b")])
    pending, ids = [adapter.pending_response_count], list[str]()
    for _ in range(2):
        ids.append((await adapter.stream(REQUEST).result).id)
        pending.append(adapter.pending_response_count)
    assert (ids, pending) == (["a", "b"], [2, 1, 0])


@pytest.mark.criterion("05.25", "05.28")
async def test_an_empty_queue_fails_both_channels_and_counts() -> None:
    adapter = adapter_of()
    for count in (1, 2):
        chunks, error = await failure_of(adapter.stream(REQUEST))
        assert isinstance(error, FixtureProviderError)
        assert (chunks, error.code, error.record_index) == ([], "PROVIDER_EXHAUSTED", None)
        assert adapter.call_count == count


@pytest.mark.criterion("05.26")
async def test_a_response_that_was_taken_is_never_put_back() -> None:
    gate = asyncio.Event()

    async def stalled() -> AsyncIterator[object]:
        yield start("a")
        await gate.wait()

    adapter = adapter_of(stalled(), [None], [start("c"), end("stop", "c")])
    controller = AbortController()
    async with adapter.stream(REQUEST, controller.signal) as stream:
        await asyncio.sleep(0)
        assert adapter.pending_response_count == 2
        controller.abort()
        with pytest.raises(AbortError):
            await stream.result
    assert code_of((await failure_of(adapter.stream(REQUEST)))[1]) == "PROVIDER_INVALID_EVENT"
    assert (await adapter.stream(REQUEST).result).id == "c"


@pytest.mark.criterion("05.27")
async def test_two_open_streams_keep_their_own_request_ids() -> None:
    async def slow(name: str) -> AsyncIterator[object]:
        for record in (start(name), text("1"), text("2"), end("stop", name)):
            await asyncio.sleep(0)
            yield record

    adapter = adapter_of(slow("a"), slow("b"))
    streams = [adapter.stream(ModelRequest(f"request-{name}", ())) for name in "ab"]
    for name, (chunks, response) in zip("ab", await asyncio.gather(*map(collect, streams)), strict=True):
        assert {chunk.request_id for chunk in chunks} == {response.request_id} == {f"request-{name}"}
        assert (response.id, response.message.text) == (name, "12")


FAILING: list[tuple[list[object], str]] = [
    ([], "PROVIDER_MISSING_TERMINAL"),
    ([None], "PROVIDER_INVALID_EVENT"),
    ([{"type": "surprise"}], "PROVIDER_UNKNOWN_EVENT"),
    ([text("x")], "PROVIDER_MISSING_START"),
    ([start(), start()], "PROVIDER_DUPLICATE_START"),
    ([start(), end(), end()], "PROVIDER_DUPLICATE_TERMINAL"),
    ([start(), end("stop", "other")], "PROVIDER_RESPONSE_MISMATCH"),
    ([start(), end("tool_call")], "PROVIDER_INVALID_TERMINAL"),
    ([{"type": "transport_error", "code": "X", "message": "y"}], "PROVIDER_TRANSPORT_ERROR"),
]


@pytest.mark.criterion("05.28")
@pytest.mark.parametrize(("records", "code"), FAILING, ids=[code for _, code in FAILING])
async def test_iteration_and_result_fail_with_the_same_error_object(records: list[object], code: str) -> None:
    assert code_of((await failure_of(adapter_of(records).stream(REQUEST)))[1]) == code


@pytest.mark.criterion("05.29")
@pytest.mark.parametrize("used", ["neither", "iteration", "result"])
async def test_a_failure_that_nobody_asked_for_makes_no_noise(used: str) -> None:
    stream = adapter_of([start(), None]).stream(REQUEST)
    if used == "iteration":
        with pytest.raises(FixtureProviderError):
            _ = [chunk async for chunk in stream]
    elif used == "result":
        with pytest.raises(FixtureProviderError):
            await stream.result
    else:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    del stream
    gc.collect()  # the loop guard fails the test on any "exception was never retrieved"


@pytest.mark.criterion("05.30")
async def test_chunks_accepted_before_a_failure_are_read_first() -> None:
    chunks, error = await failure_of(
        adapter_of([start(), text("a"), call(), text("b"), None]).stream(REQUEST)
    )
    assert chunks == [
        TextDeltaChunk("request-001", "a"),
        ToolCallChunk("request-001", ToolCall("c1", "add", {})),
        TextDeltaChunk("request-001", "b"),
    ]
    assert code_of(error) == "PROVIDER_INVALID_EVENT"


@pytest.mark.criterion("05.89")
async def test_the_response_is_taken_at_the_next_turn_and_in_call_order() -> None:
    adapter = adapter_of([start("a"), end("stop", "a")], [start("b"), end("stop", "b")])
    streams = [adapter.stream(REQUEST), adapter.stream(REQUEST)]
    assert (adapter.call_count, adapter.pending_response_count) == (2, 2)
    await asyncio.sleep(0)
    assert adapter.pending_response_count == 0
    assert [(await stream.result).id for stream in streams] == ["a", "b"]


@pytest.mark.criterion("05.90")
def test_without_a_running_loop_a_call_is_refused_at_once() -> None:
    adapter = shipped()
    with pytest.raises(RuntimeError):
        adapter.stream(REQUEST)
    assert (adapter.call_count, adapter.pending_response_count) == (0, 2)


@pytest.mark.criterion("05.31", "05.32")
async def test_the_shipped_fixture_becomes_these_chunks_and_responses() -> None:
    adapter = shipped()
    tool = ToolCall("call-add-001", "add", {"left": 20, "right": 22})
    first = await collect(adapter.stream(ModelRequest("request-tool", ())))
    assert first == (
        [ToolCallChunk("request-tool", tool)],
        ModelResponse(
            "response-tool-001",
            "request-tool",
            AssistantMessage("message-response-tool-001", [tool]),
            "toolCall",
            Usage(12, 8),
        ),
    )
    second = await collect(adapter.stream(ModelRequest("request-final", ())))
    assert second == (
        [TextDeltaChunk("request-final", "The sum is 42.")],
        ModelResponse(
            "response-text-002",
            "request-final",
            AssistantMessage("message-response-text-002", [TextBlock("The sum is 42.")]),
            "stop",
            Usage(20, 6),
        ),
    )
    assert (adapter.call_count, adapter.pending_response_count) == (2, 0)


@pytest.mark.criterion("05.33")
async def test_text_deltas_stay_separate_blocks_before_the_call() -> None:
    last = end("tool_call") | {"usage": {"input_tokens": 9, "output_tokens": 4}}
    chunks, response = await collect(
        adapter_of([start(), text("first"), text("second"), call(), last]).stream(REQUEST)
    )
    assert [chunk.type for chunk in chunks] == ["textDelta", "textDelta", "toolCall"]
    assert response.message.content == (TextBlock("first"), TextBlock("second"), ToolCall("c1", "add", {}))
    assert response.usage == Usage(9, 4)


@pytest.mark.criterion("05.34")
async def test_ids_are_carried_verbatim_and_in_order() -> None:
    odd, second, first = "  r/1 é\u200b ", " z ", "a"
    records = [start(odd), call(second), call(first), end("tool_call", odd)]
    chunks, response = await collect(adapter_of(records).stream(ModelRequest(" q ", ())))
    assert (response.id, response.message.id, response.request_id) == (odd, f"message-{odd}", " q ")
    assert [chunk.tool_call.id for chunk in chunks if isinstance(chunk, ToolCallChunk)] == [second, first]


@pytest.mark.criterion("05.35")
@pytest.mark.parametrize("source", ["array", "async"])
async def test_everything_that_comes_out_is_immutable(source: str) -> None:
    records: list[object] = [start(), call(nested={"list": [1, {"a": 2}]}), end("tool_call")]

    async def as_source() -> AsyncIterator[object]:
        for record in records:
            yield record

    held = records if source == "array" else as_source()
    (chunk,), response = await collect(adapter_of(held).stream(REQUEST))
    assert isinstance(chunk, ToolCallChunk)
    arguments = chunk.tool_call.arguments
    nested = arguments["nested"]
    assert isinstance(nested, JsonObject)
    assert isinstance(nested["list"], tuple)
    attempts: list[Callable[[], object]] = [
        lambda: setattr(chunk, "tool_call", None),
        lambda: setattr(chunk.tool_call, "id", "x"),
        lambda: setattr(response, "id", "x"),
        lambda: setattr(response.message, "content", ()),
        lambda: setattr(response.usage, "input_tokens", 0),
        lambda: cast("Any", arguments).update(a=1),
        lambda: cast("Any", nested).__setitem__("list", 1),
        lambda: cast("Any", nested["list"]).append(1),
        lambda: cast("Any", response.message.content).append(1),
    ]
    for attempt in attempts:
        with pytest.raises((AttributeError, TypeError)):
            attempt()
    assert thaw_json(arguments) == {"nested": {"list": [1, {"a": 2}]}}


@pytest.mark.criterion("05.36")
async def test_an_empty_delta_is_a_chunk_and_a_block() -> None:
    chunks, response = await collect(adapter_of([start(), text(""), end()]).stream(REQUEST))
    assert chunks == [TextDeltaChunk("request-001", "")]
    assert response.message.content == (TextBlock(""),)


@pytest.mark.criterion("05.37")
async def test_a_response_may_be_empty() -> None:
    chunks, response = await collect(adapter_of([start(), end()]).stream(REQUEST))
    assert (chunks, response.message.content, response.stop_reason) == ([], (), "stop")


@pytest.mark.criterion("05.38")
async def test_several_calls_and_text_after_a_call_are_accepted() -> None:
    records = [start(), call("c1"), text("between"), call("c2"), text("after"), end("tool_call")]
    chunks, response = await collect(adapter_of(records).stream(REQUEST))
    assert [chunk.type for chunk in chunks] == ["toolCall", "textDelta", "toolCall", "textDelta"]
    assert [block.type for block in response.message.content] == ["toolCall", "text", "toolCall", "text"]


@pytest.mark.criterion("05.39")
async def test_argument_keys_with_meaning_for_python_stay_plain_keys() -> None:
    keys = ["__class__", "__dict__", "__init__", "keys", "items", "__proto__", ""]
    arguments = {key: {"key": key} for key in keys}
    records = [start(), call() | {"arguments": arguments}, end("tool_call")]
    (chunk,), _ = await collect(adapter_of(records).stream(REQUEST))
    assert isinstance(chunk, ToolCallChunk)
    copied = chunk.tool_call.arguments
    assert type(copied) is JsonObject
    assert (list(copied.keys()), dict(copied.items())) == (keys, arguments)


@pytest.mark.criterion("05.40")
async def test_the_result_stays_open_until_the_source_ends() -> None:
    gate, yielded = asyncio.Event(), asyncio.Event()

    async def lingering() -> AsyncIterator[object]:
        yield start()
        yield end()
        yielded.set()
        await gate.wait()

    stream = adapter_of(lingering()).stream(REQUEST)
    await yielded.wait()
    for _ in range(5):
        await asyncio.sleep(0)
    assert stream.state == "open"
    gate.set()
    assert (await stream.result).id == "r1"


@pytest.mark.criterion("05.40")
async def test_an_abort_ends_a_source_that_lingers_after_its_terminal() -> None:
    yielded = asyncio.Event()

    async def lingering() -> AsyncIterator[object]:
        yield start()
        yield end()
        yielded.set()
        await asyncio.Event().wait()

    controller = AbortController()
    async with adapter_of(lingering()).stream(REQUEST, controller.signal) as stream:
        await yielded.wait()
        controller.abort()
        with pytest.raises(AbortError):
            await stream.result


def test_the_adapter_fits_the_protocols_model() -> None:
    model: Model = shipped()
    assert model is not None


def test_a_subclass_keeps_working() -> None:
    class Sub(FixtureProviderAdapter):
        pass

    assert Sub({"schemaVersion": 1, "responses": []}).pending_response_count == 0
