"""`ResponseParser` on its own (05.B10 to 05.B18), and the error class (05.86)."""

import asyncio
import copy
import gc
import pickle
import sys
from collections.abc import AsyncIterator
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loop_guard import run

from kickwheel_protocol import ModelChunk, ModelRequest, ModelResponse, ToolCall, ToolCallChunk, Usage
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError, ResponseParser

Record = dict[str, object]
USAGE: Final = {"inputTokens": 12, "outputTokens": 8}
START: Final[Record] = {"type": "response_start", "responseId": "response-tool-001", "role": "assistant"}
CALL: Final[Record] = {
    "type": "tool_call",
    "id": "call-add-001",
    "name": "add",
    "arguments": {"left": 20, "right": 22},
}
END: Final[Record] = {
    "type": "response_end",
    "responseId": "response-tool-001",
    "stopReason": "tool_call",
    "usage": USAGE,
}


def fed(*records: object) -> ResponseParser:
    parser = ResponseParser("request-tool")
    for record in records:
        parser.feed(record)
    return parser


def failure(parser: ResponseParser, *record: object) -> FixtureProviderError:
    """The error of `feed(record)`, or of `close()` without one."""
    with pytest.raises(FixtureProviderError) as caught:
        if record:
            parser.feed(record[0])
        else:
            parser.close()
    return caught.value


@pytest.mark.criterion("05.B10")
def test_the_first_shipped_response_goes_through_without_a_loop() -> None:
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
    parser = ResponseParser("request-tool")
    call = ToolCall("call-add-001", "add", {"left": 20, "right": 22})
    assert [parser.feed(record) for record in (START, CALL, END)] == [
        None,
        ToolCallChunk("request-tool", call),
        None,
    ]
    response = parser.close()
    assert (response.id, response.request_id) == ("response-tool-001", "request-tool")
    assert (response.message.id, response.message.content) == ("message-response-tool-001", (call,))
    assert (response.stop_reason, response.usage) == ("toolCall", Usage(12, 8))


BAD_IDS: list[object] = [None, 7, b"r", ["r"], type("Sub", (str,), {})("r"), "", " ", "\t\ufeff", "\ud800"]


@pytest.mark.criterion("05.B11")
@pytest.mark.parametrize("request_id", BAD_IDS, ids=range(len(BAD_IDS)))
def test_a_request_id_is_a_string_with_something_in_it(request_id: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        ResponseParser(request_id)  # pyright: ignore[reportArgumentType]


@pytest.mark.criterion("05.B12")
def test_a_bad_record_is_told_by_code_and_index() -> None:
    for before in ([], [START], [START, CALL], [START, CALL, END]):
        error = failure(fed(*before), None)
        assert (error.code, error.record_index) == ("PROVIDER_INVALID_EVENT", len(before))


@pytest.mark.criterion("05.B14")
def test_a_record_changed_after_feed_changes_nothing() -> None:
    inner: dict[str, object] = {"list": [1]}
    record = CALL | {"arguments": inner}
    start, end = dict(START), END | {"usage": dict(USAGE)}
    parser = fed(start)
    chunk = parser.feed(record)
    parser.feed(end)
    inner["list"] = "changed"
    inner.clear()
    record["id"] = start["responseId"] = end["responseId"] = "changed"
    usage = end["usage"]
    assert isinstance(usage, dict)
    usage.clear()
    call = ToolCall("call-add-001", "add", {"list": [1]})
    assert chunk == ToolCallChunk("request-tool", call)
    response = parser.close()
    assert (response.id, response.message.content, response.usage) == (
        "response-tool-001",
        (call,),
        Usage(12, 8),
    )


@pytest.mark.criterion("05.B15")
@pytest.mark.parametrize("bad", [None, {"type": "surprise"}, START], ids=["unreadable", "unknown", "start"])
def test_after_a_failure_everything_raises_that_same_object(bad: object) -> None:
    parser = fed(START, CALL)
    error = failure(parser, bad)
    for record in (END, CALL, START, None, object()):
        assert failure(parser, record) is error
        assert failure(parser) is error
    assert error.record_index == 2


@pytest.mark.criterion("05.B15")
def test_raising_one_failure_often_does_not_make_it_longer() -> None:
    parser = fed(START)
    error = failure(parser, None)

    def frames() -> int:
        count, trace = 0, error.__traceback__
        while trace is not None:
            count, trace = count + 1, trace.tb_next
        return count

    for _ in range(3):
        failure(parser, END)
    before = frames()
    for _ in range(50):
        failure(parser, END)
    assert frames() == before


@pytest.mark.criterion("05.B16")
@pytest.mark.parametrize("before", [[], [START], [START, CALL]], ids=["S0", "S1", "S1c"])
def test_closing_without_a_terminal_is_a_failure_for_good(before: list[object]) -> None:
    parser = fed(*before)
    error = failure(parser)
    assert (error.code, error.record_index) == ("PROVIDER_MISSING_TERMINAL", len(before))
    assert failure(parser, END) is error
    assert failure(parser) is error


@pytest.mark.criterion("05.B17")
def test_a_closed_parser_repeats_its_response_and_takes_no_more() -> None:
    parser = fed(START, CALL, END)
    response = parser.close()
    for record in (END, None, START, object()):
        with pytest.raises(RuntimeError):
            parser.feed(record)
        assert parser.close() is response
    assert response.message.tool_calls[0].id == "call-add-001"


@pytest.mark.criterion("05.B18")
def test_two_parsers_share_nothing() -> None:
    first, second = fed(START, CALL), fed(START, CALL)
    failure(first, None)
    second.feed(END)
    assert second.close().stop_reason == "toolCall"


JSON: Final[st.SearchStrategy[object]] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**54) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
WORDS: Final[st.SearchStrategy[object]] = st.sampled_from(
    ["r1", "r2", "c1", "c2", "assistant", "stop", "tool_call", "", " "]
)
COUNTS: Final[st.SearchStrategy[object]] = st.sampled_from([0, 1, -1, True, "1", 2**53 - 1, 2**53])
USAGES: Final[st.SearchStrategy[object]] = st.dictionaries(
    st.sampled_from(["inputTokens", "input_tokens", "outputTokens", "output_tokens"]), COUNTS | JSON
)
FIELDS: Final[dict[str, st.SearchStrategy[object]]] = {
    "responseId": WORDS | JSON,
    "role": WORDS,
    "text": st.text(max_size=3) | JSON,
    "id": WORDS | JSON,
    "name": WORDS,
    "arguments": st.dictionaries(st.text(max_size=3), JSON, max_size=2) | JSON,
    "stopReason": WORDS,
    "usage": USAGES | JSON,
    "code": WORDS,
    "message": WORDS,
}
TYPES: Final = st.sampled_from(
    ["response_start", "text_delta", "tool_call", "response_end", "transport_error", "surprise"]
)
LOOSE_RECORD: Final[st.SearchStrategy[object]] = st.fixed_dictionaries({"type": TYPES}, optional=FIELDS)
GOOD: Final[st.SearchStrategy[object]] = st.sampled_from(
    [
        {"type": "response_start", "responseId": "r1", "role": "assistant"},
        {"type": "text_delta", "text": "x"},
        {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": [1]}},
        {"type": "tool_call", "id": "c2", "name": "add", "arguments": {}},
        {"type": "response_end", "responseId": "r1", "stopReason": "stop", "usage": USAGE},
        {"type": "response_end", "responseId": "r1", "stopReason": "tool_call", "usage": USAGE},
        {"type": "transport_error", "code": "X", "message": "y"},
    ]
)
RECORDS: Final[st.SearchStrategy[list[object]]] = st.lists(GOOD | LOOSE_RECORD | JSON, max_size=6)

Outcome = tuple[list[ModelChunk], object]


def through_parser(records: list[object]) -> Outcome:
    parser, chunks = ResponseParser("request-001"), list[ModelChunk]()
    try:
        for record in records:
            chunk = parser.feed(record)
            if chunk is not None:
                chunks.append(chunk)
        return chunks, parser.close()
    except FixtureProviderError as error:
        return chunks, (error.code, error.record_index, error.provider_code, str(error))


async def through_adapter(adapter: FixtureProviderAdapter) -> Outcome:
    stream, chunks = adapter.stream(ModelRequest("request-001", ())), list[ModelChunk]()
    try:
        async for chunk in stream:
            chunks.append(chunk)
        return chunks, await stream.result
    except FixtureProviderError as error:
        return chunks, (error.code, error.record_index, error.provider_code, str(error))


@pytest.mark.criterion("05.B13")
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(responses=st.lists(RECORDS, min_size=8, max_size=8))
def test_parser_and_adapter_agree_on_any_plain_records(responses: list[list[object]]) -> None:
    async def as_source(records: list[object]) -> AsyncIterator[object]:
        for record in records:
            yield record

    async def play() -> None:
        arrays: list[object] = [{"records": records} for records in responses]
        sources: list[object] = [{"records": as_source(records)} for records in responses]
        for held in (arrays, sources):
            adapter = FixtureProviderAdapter({"schemaVersion": 1, "responses": held})
            for records in responses:
                assert await through_adapter(adapter) == through_parser(records)

    run(play(), debug=False)


@pytest.mark.criterion("05.86")
def test_an_error_made_by_hand_keeps_what_it_is_given() -> None:
    error = FixtureProviderError("PROVIDER_INVALID_EVENT", "Invalid provider record", record_index=2)
    assert (error.code, error.record_index, error.provider_code) == ("PROVIDER_INVALID_EVENT", 2, None)
    assert (str(error), type(error).__name__) == ("Invalid provider record", "FixtureProviderError")
    for name in ("code", "record_index", "provider_code"):
        with pytest.raises(AttributeError):
            setattr(error, name, "x")
    bare = FixtureProviderError("PROVIDER_EXHAUSTED", "none left")
    assert (bare.record_index, bare.provider_code) == (None, None)


@pytest.mark.criterion("05.86")
def test_an_error_survives_copying_and_pickling() -> None:
    error = FixtureProviderError("PROVIDER_TRANSPORT_ERROR", "reset", record_index=1, provider_code="X")
    for twin in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert (twin.code, twin.record_index, twin.provider_code, str(twin)) == (
            "PROVIDER_TRANSPORT_ERROR",
            1,
            "X",
            "reset",
        )


def test_a_parser_keeps_no_record() -> None:
    class Held:
        pass

    parser = ResponseParser("request-001")
    held = Held()
    count = sys.getrefcount(held)
    parser.feed(START | {"note": held})
    gc.collect()
    assert sys.getrefcount(held) == count
    assert isinstance(fed(START, CALL, END).close(), ModelResponse)
