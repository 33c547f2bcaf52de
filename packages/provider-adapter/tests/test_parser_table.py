"""The whole transition table, cell by cell, driven through the parser and rendered (05.T1 to 05.T19)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final

import pytest

from kickwheel_event_stream import AbortController
from kickwheel_protocol import ModelRequest, ModelResponse, TextDeltaChunk, ToolCallChunk
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError, ResponseParser
from kickwheel_provider_adapter._diagram import render_markdown, render_mermaid
from kickwheel_provider_adapter._table import (
    STATES,
    TRANSITIONS,
    Abort,
    Cell,
    Go,
    Never,
    ParserState,
    RecordKind,
    Refuse,
)

USAGE: Final = {"inputTokens": 1, "outputTokens": 2}
START: Final[dict[str, object]] = {"type": "response_start", "responseId": "r1", "role": "assistant"}
TEXT: Final[dict[str, object]] = {"type": "text_delta", "text": "hello"}
CALL: Final[dict[str, object]] = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {}}
NEW_CALL: Final[dict[str, object]] = CALL | {"id": "c2"}
STOP: Final[dict[str, object]] = {
    "type": "response_end",
    "responseId": "r1",
    "stopReason": "stop",
    "usage": USAGE,
}
TOOL: Final[dict[str, object]] = STOP | {"stopReason": "tool_call"}
BROKEN: Final[dict[str, object]] = {"type": "transport_error", "code": "RESET", "message": "connection reset"}

LEADS_TO: Final[dict[ParserState, list[list[object]]]] = {
    ParserState.BEFORE_START: [[]],
    ParserState.OPEN: [[START], [START, TEXT]],
    ParserState.OPEN_WITH_CALL: [[START, CALL], [START, TEXT, CALL, TEXT]],
    ParserState.TERMINAL_STORED: [[START, STOP], [START, CALL, TOOL]],
}
"""Records that bring a fresh parser into each state."""

RECORDS: Final[dict[RecordKind, Sequence[object]]] = {
    RecordKind.UNREADABLE: [
        None,
        0,
        True,
        1.5,
        "text_delta",
        b"",
        [],
        [START],
        (),
        {1, 2},
        object(),
        {},
        {"type": None},
        {"type": ""},
        {"type": " \t\ufeff"},
        {"type": 5},
        {"type": ["text_delta"]},
        {1: 2, "type": "text_delta", "text": "x"},
        type("Sub", (dict,), {})(TEXT),
        {"type": type("Sub", (str,), {})("text_delta"), "text": "x"},
    ],
    RecordKind.START: [START, START | {"responseId": " r1 "}, START | {"extra": {1}}],
    RecordKind.BAD_START: [
        START | {"role": "user"},
        {"type": "response_start", "responseId": "r1"},
        {"type": "response_start", "role": "assistant"},
        START | {"responseId": ""},
        START | {"responseId": " \u00a0\ufeff"},
        START | {"responseId": 5},
        START | {"responseId": "\ud800"},
        START | {"role": type("Sub", (str,), {})("assistant")},
    ],
    RecordKind.TEXT: [TEXT, TEXT | {"text": ""}, TEXT | {"text": "\ud800"}],
    RecordKind.BAD_TEXT: [
        {"type": "text_delta"},
        TEXT | {"text": 42},
        TEXT | {"text": None},
        TEXT | {"text": ["x"]},
    ],
    RecordKind.CALL: [NEW_CALL, NEW_CALL | {"id": " c1"}, NEW_CALL | {"arguments": {"a": [1, {"b": None}]}}],
    RecordKind.CALL_ID_SEEN: [CALL, CALL | {"name": "other", "arguments": {"x": 1}}],
    RecordKind.BAD_CALL: [
        {"type": "tool_call"},
        NEW_CALL | {"id": ""},
        NEW_CALL | {"id": " "},
        NEW_CALL | {"id": 7},
        NEW_CALL | {"name": "\ufeff"},
        NEW_CALL | {"name": None},
        NEW_CALL | {"arguments": None},
        NEW_CALL | {"arguments": []},
        NEW_CALL | {"arguments": "{}"},
        NEW_CALL | {"arguments": {"x": float("nan")}},
        NEW_CALL | {"arguments": {"x": {1}}},
        NEW_CALL | {"arguments": {1: 2}},
    ],
    RecordKind.END_STOP: [STOP, STOP | {"usage": {"input_tokens": 0, "outputTokens": 2**53 - 1}}],
    RecordKind.END_TOOL_CALL: [TOOL],
    RecordKind.END_BAD_ID: [STOP | {"responseId": bad} for bad in ("", " ", None, 5, "\udc00")]
    + [{"type": "response_end", "stopReason": "stop", "usage": USAGE}],
    RecordKind.END_OTHER_ID: [
        STOP | {"responseId": "other"},
        TOOL | {"responseId": "r1 ", "stopReason": "bad"},
    ],
    RecordKind.BAD_END: [
        STOP | {"stopReason": "toolCall"},
        STOP | {"stopReason": None},
        STOP | {"stopReason": ["stop"]},
        STOP | {"usage": None},
        STOP | {"usage": {}},
        TOOL | {"usage": USAGE | {"input_tokens": None}},
    ],
    RecordKind.TRANSPORT_ERROR: [BROKEN],
    RecordKind.BAD_TRANSPORT_ERROR: [
        {"type": "transport_error"},
        BROKEN | {"code": " "},
        BROKEN | {"code": 5},
        BROKEN | {"message": ""},
        BROKEN | {"message": None},
    ],
    RecordKind.UNKNOWN: [
        {"type": "surprise"},
        {"type": " text_delta"},
        {"type": "TEXT_DELTA"},
        {"type": "\ud800"},
    ],
}
"""Records of each kind, for a parser that has the id `r1` and, in S1c and S2 after a call, the call `c1`."""

NUMBER: Final = {kind: f"05.T{row}" for row, kind in enumerate(TRANSITIONS, start=1)}


def cells(kinds: list[RecordKind]) -> list[object]:
    """One case a cell, marked with the row's line."""
    return [
        pytest.param(
            kind, state, id=f"{NUMBER[kind]}-{state.value}", marks=pytest.mark.criterion(NUMBER[kind])
        )
        for kind in kinds
        for state in STATES
    ]


def fed(records: list[object]) -> ResponseParser:
    parser = ResponseParser("request-001")
    for record in records:
        parser.feed(record)
    return parser


def expected(kind: RecordKind, state: ParserState) -> Cell:
    return TRANSITIONS[kind][STATES.index(state)]


def assert_fails(parser: ResponseParser, record: object, code: str, index: int) -> None:
    with pytest.raises(FixtureProviderError) as caught:
        parser.feed(record)
    assert (caught.value.code, caught.value.record_index) == (code, index)
    assert caught.value.provider_code == ("RESET" if code == "PROVIDER_TRANSPORT_ERROR" else None)


def assert_state(records: list[object], state: ParserState, chunk: object, wants_chunk: bool) -> None:
    """The state is seen from outside: by what a second start, a good end and `close` do."""
    assert isinstance(chunk, TextDeltaChunk | ToolCallChunk) is wants_chunk
    probes: dict[ParserState, tuple[object, str | None]] = {
        ParserState.OPEN: (STOP, None),
        ParserState.OPEN_WITH_CALL: (TOOL, None),
        ParserState.TERMINAL_STORED: (STOP, "PROVIDER_DUPLICATE_TERMINAL"),
    }
    probe, code = probes[state]
    if code is None:
        assert isinstance(probe, dict)
        start = records[0]
        assert isinstance(start, dict)
        parser = fed([*records, probe | {"responseId": start["responseId"]}])
        assert isinstance(parser.close(), ModelResponse)
    else:
        assert_fails(fed(records), probe, code, len(records))


@pytest.mark.parametrize(("kind", "state"), cells([kind for kind in TRANSITIONS if kind in RECORDS]))
def test_every_kind_of_record_does_in_every_state_what_its_cell_says(
    kind: RecordKind, state: ParserState
) -> None:
    cell = expected(kind, state)
    for before in LEADS_TO[state]:
        for record in RECORDS[kind]:
            if kind is RecordKind.CALL_ID_SEEN and CALL not in before:
                continue  # the id cannot have been seen
            match cell:
                case Refuse(code):
                    assert_fails(fed(before), record, code, len(before))
                case Go(following, chunk=wants_chunk):
                    parser = fed(before)
                    assert_state([*before, record], following, parser.feed(record), wants_chunk)
                case Never():
                    assert CALL not in before
                case Abort():
                    pytest.fail("no record aborts")


@pytest.mark.criterion("05.T17")
@pytest.mark.parametrize("state", STATES)
def test_the_end_of_the_source_succeeds_only_with_a_stored_terminal(state: ParserState) -> None:
    for before in LEADS_TO[state]:
        parser = fed(before)
        if isinstance(expected(RecordKind.END_OF_SOURCE, state), Go):
            assert parser.close().id == "r1"
            continue
        with pytest.raises(FixtureProviderError) as caught:
            parser.close()
        assert (caught.value.code, caught.value.record_index) == ("PROVIDER_MISSING_TERMINAL", len(before))


@pytest.mark.criterion("05.T18")
@pytest.mark.parametrize("state", STATES)
async def test_a_source_that_fails_is_an_invalid_fixture_in_every_state(state: ParserState) -> None:
    for before in LEADS_TO[state]:
        error = await failure_after(before, ValueError("source"))
        assert isinstance(error, FixtureProviderError)
        assert expected(RecordKind.SOURCE_FAILS, state) == Refuse(error.code)
        assert error.record_index is None


@pytest.mark.criterion("05.T19")
@pytest.mark.parametrize("state", STATES)
async def test_an_abort_gives_its_reason_in_every_state(state: ParserState) -> None:
    assert isinstance(expected(RecordKind.ABORTED, state), Abort)
    for before in LEADS_TO[state]:
        assert await failure_after(before, None) is REASON


REASON: Final = KeyError("the caller left")


async def failure_after(before: list[object], source_error: Exception | None) -> Exception:
    """Play `before` from an async source that then fails, or, without an error, waits until an abort."""
    played = asyncio.Event()

    async def records() -> AsyncIterator[object]:
        for record in before:
            yield record
        if source_error is not None:
            raise source_error
        played.set()
        await asyncio.Event().wait()

    controller = AbortController()
    data: dict[str, object] = {"schemaVersion": 1, "responses": [{"records": records()}]}
    stream = FixtureProviderAdapter(data).stream(ModelRequest("request-001", ()), controller.signal)
    async with stream:
        if source_error is None:
            await played.wait()
            controller.abort(REASON)
        try:
            await stream.result
        except Exception as error:
            return error
    raise AssertionError("the stream did not fail")


def test_every_row_and_every_column_of_the_table_is_filled() -> None:
    assert list(TRANSITIONS) == list(RecordKind)
    assert len(TRANSITIONS) == 19
    assert all(len(row) == len(STATES) == 4 for row in TRANSITIONS.values())
    assert set(RECORDS) == set(TRANSITIONS) - {
        RecordKind.END_OF_SOURCE,
        RecordKind.SOURCE_FAILS,
        RecordKind.ABORTED,
    }


def test_the_table_is_rendered_as_markdown_row_by_row() -> None:
    lines = render_markdown().splitlines()
    assert lines[0] == "| # | record | S0 | S1 | S1c | S2 |"
    assert len(lines) == 2 + 19
    assert lines[5] == "| 05.T4 | text, good | MISSING_START | S1, chunk | S1c, chunk | INVALID_TERMINAL |"
    assert lines[8].startswith("| 05.T7 | tool call, id seen | – | – | INVALID_EVENT |")
    assert lines[20].endswith("| abort reason | abort reason | abort reason | abort reason |")
    assert "success" in lines[18]


def test_the_table_is_rendered_as_a_state_diagram() -> None:
    diagram = render_mermaid().splitlines()
    assert diagram[0] == "stateDiagram-v2"
    assert "    [*] --> S0" in diagram
    assert "    S0 --> S1: start, good" in diagram
    assert "    S1 --> S1c: tool call, good, new id" in diagram
    assert any(line.startswith("    S1 --> failed: ") for line in diagram)
    assert "    S2 --> closed: end of source" in diagram


def test_a_page_in_another_language_translates_the_labels() -> None:
    words = {
        "start, good": "bắt đầu, hợp lệ",
        "record": "record đến",
        "chunk": "một chunk",
        "success": "thành công",
    }
    assert "    S0 --> S1: bắt đầu, hợp lệ" in render_mermaid(words).splitlines()
    lines = render_markdown(words).splitlines()
    assert lines[0] == "| # | record đến | S0 | S1 | S1c | S2 |"
    assert "S1, một chunk" in lines[5]
    assert "thành công" in lines[18]
