"""Focused test of checkpoint 05: untrusted transport records in, trusted chunks and one response out."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest

from kickwheel_event_stream import AbortController, AbortError, EventStream
from kickwheel_protocol import (
    AssistantMessage,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
)
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError, ResponseParser

T = TypeVar("T")
Record = dict[str, object]
Ended = tuple[list[ModelChunk], ModelResponse | Exception]
criterion = pytest.mark.criterion
task = pytest.mark.task

SHIPPED = Path(__file__).parents[2] / "fixtures" / "provider-tool-roundtrip.json"
REQUEST = ModelRequest("request-001", ())
USAGE: Record = {"inputTokens": 1, "outputTokens": 2}
START: Record = {"type": "response_start", "responseId": "r1", "role": "assistant"}
TEXT: Record = {"type": "text_delta", "text": "hello"}
CALL: Record = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"left": 20}}
STOP: Record = {"type": "response_end", "responseId": "r1", "stopReason": "stop", "usage": USAGE}
TOOL: Record = STOP | {"stopReason": "tool_call"}
RESET: Record = {"type": "transport_error", "code": "UPSTREAM_RESET", "message": "fixture connection reset"}
ADD = ToolCall("c1", "add", {"left": 20})


def run(coroutine: Coroutine[object, object, T]) -> T:
    """Run one bounded scenario on a loop of its own; no task of it may be left."""

    async def bounded() -> T:
        async with asyncio.timeout(10):
            value = await coroutine
            for _ in range(8):
                await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return value

    return asyncio.run(bounded())


def fed(*records: object) -> ResponseParser:
    parser = ResponseParser("request-001")
    for record in records:
        parser.feed(record)
    return parser


def refusal(before: list[Record], record: object) -> FixtureProviderError:
    """The error for this record after the others; its index is where it stands."""
    parser = fed(*before)
    with pytest.raises(FixtureProviderError) as caught:
        parser.feed(record)
    assert caught.value.record_index == len(before)
    return caught.value


def adapter_of(*sources: object) -> FixtureProviderAdapter:
    responses = [{"records": source} for source in sources]
    return FixtureProviderAdapter({"schemaVersion": 1, "responses": responses})


async def ended(stream: EventStream[ModelChunk, ModelResponse]) -> Ended:
    """Read both channels to their end; a failure must be one and the same object on both."""
    chunks: list[ModelChunk] = []
    try:
        async for chunk in stream:
            chunks.append(chunk)
    except Exception as error:
        with pytest.raises(type(error)) as caught:
            await stream.result
        assert caught.value is error  # noqa: PT017 - one object on both channels is what is asserted
        return chunks, error
    return chunks, await stream.result


def code_of(outcome: Ended) -> str:
    error = outcome[1]
    assert isinstance(error, FixtureProviderError), error
    return error.code


def response_of(outcome: Ended) -> ModelResponse:
    response = outcome[1]
    assert isinstance(response, ModelResponse), response
    return response


# Task 1: walk the table


@task(1)
@criterion("05.T2", "05.T4", "05.T6")
def test_text_and_calls_become_chunks_in_order() -> None:
    parser = ResponseParser("request-001")
    assert [parser.feed(record) for record in (START, TEXT, CALL, TEXT)] == [
        None,
        TextDeltaChunk("request-001", "hello"),
        ToolCallChunk("request-001", ADD),
        TextDeltaChunk("request-001", "hello"),
    ]


@task(1)
@criterion("05.41")
@pytest.mark.parametrize("record", [None, 5, "text_delta", [], {}, {"type": 1}, {"type": " "}])
def test_a_record_that_cannot_be_read_is_an_invalid_event(record: object) -> None:
    for before in ([], [START], [START, CALL]):
        assert refusal(before, record).code == "PROVIDER_INVALID_EVENT"


@task(1)
@criterion("05.42")
def test_an_unknown_type_has_its_own_code() -> None:
    for before in ([], [START], [START, CALL]):
        assert refusal(before, {"type": "surprise"}).code == "PROVIDER_UNKNOWN_EVENT"


@task(1)
@criterion("05.43")
@pytest.mark.parametrize("record", [TEXT, CALL, {"type": "text_delta"}, {"type": "response_end"}])
def test_nothing_comes_before_the_start(record: Record) -> None:
    assert refusal([], record).code == "PROVIDER_MISSING_START"


@task(1)
@criterion("05.44")
def test_a_second_start_is_a_duplicate() -> None:
    for again in (START, START | {"role": "user"}):
        assert refusal([START], again).code == "PROVIDER_DUPLICATE_START"


BROKEN_FIELDS: list[tuple[list[Record], Record]] = [
    ([], START | {"role": "user"}),
    ([], START | {"responseId": " "}),
    ([START], TEXT | {"text": 42}),
    ([START], CALL | {"id": ""}),
    ([START], CALL | {"name": None}),
    ([START], CALL | {"arguments": 42}),
    ([START], CALL | {"arguments": {"value": float("nan")}}),
]


@task(1)
@criterion("05.45", "05.46", "05.48", "05.49")
@pytest.mark.parametrize(("before", "record"), BROKEN_FIELDS, ids=range(len(BROKEN_FIELDS)))
def test_a_field_that_breaks_its_rule_is_an_invalid_event(before: list[Record], record: Record) -> None:
    assert refusal(before, record).code == "PROVIDER_INVALID_EVENT"


@task(1)
@criterion("05.47")
def test_a_call_id_stands_once_in_a_response() -> None:
    assert refusal([START, CALL], CALL | {"name": "other"}).code == "PROVIDER_INVALID_EVENT"


@task(1)
@criterion("05.51")
def test_a_transport_error_carries_the_providers_words() -> None:
    for before in ([], [START, TEXT]):
        error = refusal(before, RESET)
        assert (error.code, error.provider_code) == ("PROVIDER_TRANSPORT_ERROR", "UPSTREAM_RESET")
        assert str(error) == "fixture connection reset"


@task(1)
@criterion("05.B15")
def test_after_a_failure_every_record_meets_the_same_error() -> None:
    parser = fed(START)
    errors: list[BaseException] = []
    for record in (None, TEXT, START):
        with pytest.raises(FixtureProviderError) as caught:
            parser.feed(record)
        errors.append(caught.value)
    assert errors[0] is errors[1] is errors[2]


# Task 2: read the usage


@task(2)
@criterion("05.91")
@pytest.mark.parametrize("first", ["inputTokens", "input_tokens"])
@pytest.mark.parametrize("second", ["outputTokens", "output_tokens"])
def test_each_count_may_have_its_own_spelling(first: str, second: str) -> None:
    assert fed(START).feed(STOP | {"usage": {first: 0, second: 2**53 - 1}}) is None


@task(2)
@criterion("05.61")
@pytest.mark.parametrize("second", [1, 2, None])
def test_both_spellings_of_one_count_are_refused(second: object) -> None:
    for doubled in ({"input_tokens": second}, {"output_tokens": second}):
        assert refusal([START], STOP | {"usage": USAGE | doubled}).code == "PROVIDER_INVALID_EVENT"


@task(2)
@criterion("05.T13")
@pytest.mark.parametrize("count", [-1, 1.5, 2**53, "3", None, True])
def test_a_count_is_a_safe_integer(count: object) -> None:
    for field in ("inputTokens", "outputTokens"):
        assert refusal([START], STOP | {"usage": USAGE | {field: count}}).code == "PROVIDER_INVALID_EVENT"


@task(2)
@criterion("05.92")
def test_a_usage_is_an_object_with_both_counts() -> None:
    bad: list[object] = [None, [], 3, {}, {"inputTokens": 1}, {"output_tokens": 1}]
    for usage in bad:
        assert refusal([START], STOP | {"usage": usage}).code == "PROVIDER_INVALID_EVENT"


@task(2)
@criterion("05.57", "05.58", "05.59", "05.60")
def test_an_end_is_checked_in_a_fixed_order() -> None:
    assert refusal([START], TOOL | {"responseId": " ", "usage": None}).code == "PROVIDER_INVALID_EVENT"
    assert refusal([START], TOOL | {"responseId": "r2", "usage": None}).code == "PROVIDER_RESPONSE_MISMATCH"
    assert refusal([START], STOP | {"stopReason": "toolCall"}).code == "PROVIDER_INVALID_EVENT"
    assert refusal([START], TOOL | {"usage": None}).code == "PROVIDER_INVALID_EVENT"
    assert refusal([START], TOOL).code == "PROVIDER_INVALID_TERMINAL"
    assert refusal([START, CALL], STOP).code == "PROVIDER_INVALID_TERMINAL"


@task(2)
@criterion("05.55", "05.56")
def test_nothing_may_follow_the_end() -> None:
    assert refusal([START, STOP], STOP).code == "PROVIDER_DUPLICATE_TERMINAL"
    for record in (START, TEXT, CALL, RESET, {"type": "surprise"}):
        assert refusal([START, STOP], record).code == "PROVIDER_INVALID_TERMINAL"


# Task 3: close


@task(3)
@criterion("05.33", "05.34")
def test_the_response_holds_what_was_fed_in_order() -> None:
    end = TOOL | {"usage": {"input_tokens": 9, "output_tokens": 4}}
    response = fed(START, TEXT | {"text": "first"}, TEXT | {"text": "second"}, CALL, end).close()
    blocks = [TextBlock("first"), TextBlock("second"), ADD]
    assert response == ModelResponse(
        "r1", "request-001", AssistantMessage("message-r1", blocks), "toolCall", Usage(9, 4)
    )


@task(3)
@criterion("05.37", "05.36")
def test_an_answer_may_be_empty() -> None:
    assert fed(START, STOP).close().message.content == ()
    assert fed(START, TEXT | {"text": ""}, STOP).close().message.content == (TextBlock(""),)


@task(3)
@criterion("05.54", "05.B16")
@pytest.mark.parametrize(
    "records", [[], [START], [START, TEXT], [START, CALL]], ids=["S0", "S1", "text", "S1c"]
)
def test_without_a_terminal_there_is_no_response(records: list[Record]) -> None:
    parser = fed(*records)
    with pytest.raises(FixtureProviderError) as caught:
        parser.close()
    assert (caught.value.code, caught.value.record_index) == ("PROVIDER_MISSING_TERMINAL", len(records))
    with pytest.raises(FixtureProviderError) as again:
        parser.feed(STOP)
    assert again.value is caught.value


@task(3)
@criterion("05.B17")
def test_a_closed_parser_repeats_its_response_and_takes_no_more() -> None:
    parser = fed(START, CALL, TOOL)
    response = parser.close()
    with pytest.raises(RuntimeError):
        parser.feed(TEXT)
    assert parser.close() is response


# Task 4: the queue


@task(4)
@criterion("05.31", "05.32", "05.83")
def test_the_shipped_fixture_plays_without_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a connection was asked for")

    async def play() -> tuple[Ended, Ended]:
        loop = asyncio.get_running_loop()
        for name in ("create_connection", "create_datagram_endpoint", "sock_connect", "getaddrinfo"):
            monkeypatch.setattr(loop, name, refuse)
        monkeypatch.setattr(socket, "socket", refuse)
        adapter = FixtureProviderAdapter(json.loads(SHIPPED.read_text(encoding="utf-8")))
        first = await ended(adapter.stream(ModelRequest("request-tool", ())))
        second = await ended(adapter.stream(ModelRequest("request-final", ())))
        assert (adapter.call_count, adapter.pending_response_count) == (2, 0)
        return first, second

    first, second = run(play())
    call = ToolCall("call-add-001", "add", {"left": 20, "right": 22})
    message = AssistantMessage("message-response-tool-001", [call])
    assert first == (
        [ToolCallChunk("request-tool", call)],
        ModelResponse("response-tool-001", "request-tool", message, "toolCall", Usage(12, 8)),
    )
    message = AssistantMessage("message-response-text-002", [TextBlock("The sum is 42.")])
    assert second == (
        [TextDeltaChunk("request-final", "The sum is 42.")],
        ModelResponse("response-text-002", "request-final", message, "stop", Usage(20, 6)),
    )


@task(4)
@criterion("05.54")
def test_the_failure_experiment_fails_on_both_channels_after_its_chunk() -> None:
    fixture = json.loads(SHIPPED.read_text(encoding="utf-8"))
    del fixture["responses"][0]["records"][2]

    async def play() -> Ended:
        return await ended(FixtureProviderAdapter(fixture).stream(REQUEST))

    outcome = run(play())
    assert code_of(outcome) == "PROVIDER_MISSING_TERMINAL"
    assert [chunk.type for chunk in outcome[0]] == ["toolCall"]


@task(4)
@criterion("05.15")
def test_the_fixture_is_copied_when_it_is_given() -> None:
    arguments: Record = {"left": 20}
    records: list[object] = [START, CALL | {"arguments": arguments}, TOOL]

    async def play() -> Ended:
        adapter = adapter_of(records)
        arguments["left"] = 0
        records.clear()
        return await ended(adapter.stream(REQUEST))

    assert response_of(run(play())).message.tool_calls == (ADD,)


@task(4)
@criterion("05.24", "05.89")
def test_responses_are_taken_in_call_order_at_the_next_turn() -> None:
    async def play() -> tuple[list[int], list[str]]:
        adapter = adapter_of(*([START | {"responseId": name}, STOP | {"responseId": name}] for name in "ab"))
        streams = [adapter.stream(REQUEST), adapter.stream(REQUEST)]
        pending = [adapter.pending_response_count]
        await asyncio.sleep(0)
        pending.append(adapter.pending_response_count)
        return pending, [response_of(await ended(stream)).id for stream in streams]

    assert run(play()) == ([2, 0], ["a", "b"])


@task(4)
@criterion("05.25", "05.23")
def test_an_empty_queue_fails_both_channels_and_counts_the_call() -> None:
    async def play() -> tuple[Ended, int]:
        adapter = adapter_of()
        return await ended(adapter.stream(REQUEST)), adapter.call_count

    outcome, count = run(play())
    assert (code_of(outcome), outcome[0], count) == ("PROVIDER_EXHAUSTED", [], 1)


@task(4)
@criterion("05.76")
def test_an_aborted_signal_leaves_the_response_for_the_next_call() -> None:
    async def play() -> tuple[Ended, int, Ended]:
        adapter, controller = adapter_of([START, STOP]), AbortController()
        controller.abort()
        first = await ended(adapter.stream(REQUEST, controller.signal))
        pending = adapter.pending_response_count
        return first, pending, await ended(adapter.stream(REQUEST))

    first, pending, retry = run(play())
    assert isinstance(first[1], AbortError)
    assert (pending, response_of(retry).id) == (1, "r1")


@task(4)
@criterion("05.96")
def test_an_abort_in_the_turn_of_the_call_leaves_the_response_queued() -> None:
    async def play() -> tuple[Ended, int]:
        adapter, controller = adapter_of([START, STOP]), AbortController()
        stream = adapter.stream(REQUEST, controller.signal)
        controller.abort()
        return await ended(stream), adapter.pending_response_count

    outcome, pending = run(play())
    assert isinstance(outcome[1], AbortError)
    assert pending == 1


@task(4)
@criterion("05.90")
def test_without_a_loop_a_call_is_refused_and_not_counted() -> None:
    adapter = adapter_of([START, STOP])
    with pytest.raises(RuntimeError, match="loop"):
        adapter.stream(REQUEST)
    assert (adapter.call_count, adapter.pending_response_count) == (0, 1)


# Task 5: async sources


class Steps:
    """A hand-written source that counts how often it is closed."""

    def __init__(self, *records: object, fails: Exception | None = None) -> None:
        self.left = list(records)
        self.fails = fails
        self.closed = 0

    def __aiter__(self) -> "Steps":
        return self

    async def __anext__(self) -> object:
        if self.left:
            return self.left.pop(0)
        raise self.fails or StopAsyncIteration

    async def aclose(self) -> None:
        self.closed += 1


@task(5)
@criterion("05.40")
def test_the_result_stays_open_until_the_source_ends() -> None:
    async def play() -> tuple[str, Ended]:
        yielded, gate = asyncio.Event(), asyncio.Event()

        async def lingering() -> AsyncIterator[object]:
            yield START
            yield STOP
            yielded.set()
            await gate.wait()

        stream = adapter_of(lingering()).stream(REQUEST)
        reading = asyncio.ensure_future(ended(stream))
        await yielded.wait()
        await asyncio.sleep(0)
        state = stream.state
        gate.set()
        return state, await reading

    state, outcome = run(play())
    assert (state, response_of(outcome).id) == ("open", "r1")


@task(5)
@criterion("05.66", "05.67", "05.74")
@pytest.mark.parametrize(
    "error",
    [ValueError("source"), FixtureProviderError("PROVIDER_TRANSPORT_ERROR", "forged", provider_code="X")],
)
def test_whatever_a_source_raises_is_an_invalid_fixture(error: Exception) -> None:
    source = Steps(START, TEXT, fails=error)

    async def play() -> Ended:
        async with adapter_of(source).stream(REQUEST) as stream:
            return await ended(stream)

    outcome = run(play())
    assert code_of(outcome) == "PROVIDER_INVALID_FIXTURE"
    failure = outcome[1]
    assert isinstance(failure, FixtureProviderError)
    assert failure is not error
    assert (failure.__cause__, failure.provider_code, source.closed) == (error, None, 1)


@task(5)
@criterion("05.71")
def test_an_iterator_serves_one_response_and_no_other() -> None:
    source = Steps(START, STOP)

    async def play() -> tuple[Ended, Ended]:
        first = await ended(adapter_of(source).stream(REQUEST))
        return first, await ended(adapter_of(source).stream(REQUEST))

    first, second = run(play())
    assert response_of(first).id == "r1"
    assert (code_of(second), source.closed) == ("PROVIDER_ITERATOR_REUSED", 0)


@task(5)
@criterion("05.77")
def test_an_abort_leaves_a_stalled_source_and_its_cleanup_runs() -> None:
    closed: list[str] = []

    async def play() -> Ended:
        stalled = asyncio.Event()

        async def records() -> AsyncIterator[object]:
            try:
                yield START
                yield TEXT
                stalled.set()
                await asyncio.Event().wait()
            finally:
                closed.append("closed")

        controller = AbortController()
        async with adapter_of(records()).stream(REQUEST, controller.signal) as stream:
            await stalled.wait()
            controller.abort()
            return await ended(stream)

    chunks, error = run(play())
    assert isinstance(error, AbortError)
    assert (len(chunks), closed) == (1, ["closed"])
