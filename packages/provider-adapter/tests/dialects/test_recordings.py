"""Every recording of the index comes out as expected, whatever the reads (05D.A1 to 05D.A16)."""

import csv
import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dialect_wire import Outcome
from loop_guard import run

from kickwheel_protocol import ModelChunk, ModelRequest
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError, dialects

RECORDINGS = Path(__file__).parents[4] / "fixtures" / "recordings"

PROVIDER_CODES = {
    "anthropic/json-error-401.json": "authentication_error",
    "derived/anthropic-error-mid-text.sse": "overloaded_error",
    "derived/bedrock-exception-mid-stream.ndjson": "throttlingException",
    "gemini/error-mid-stream-raw-json.sse": "CANCELLED",
    "gemini/json-error-429.json": "RESOURCE_EXHAUSTED",
    "groq/error-mid-stream-tool-use-failed.sse": "tool_use_failed",
    "ollama/json-error-404.json": "error",
    "openai-responses/failed-rate-limit.sse": "rate_limit_exceeded",
    "openai/json-error-401.json": "invalid_api_key",
    "openrouter/error-after-length.sse": "400",
    "openrouter/json-error-429.json": "429",
    "foreign/cohere-v2-tool.sse": "unknown_format",
    "foreign/replicate-plain-text-sse.sse": "invalid_json",
}

MADE_UP_IDS = {
    "derived/mistral-duplicate-call-ids.sse": ["QAw0JBXkB", "1403bf4a3e5f4f4a860a3b3be51f6ee6-call-002"],
    "gemini-openai/tool-empty-id-stop.sse": ["response-001-call-001"],
    "ollama/two-tools-no-id.ndjson": ["response-001-call-001", "response-001-call-002"],
    "openrouter/kimi-id-and-name-repeated-no-finish.sse": ["0"],
}

Row = dict[str, Any]


def rows() -> list[Row]:
    with (RECORDINGS / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [{**row, "expected": json.loads(row["expected"])} for row in table]


ROWS = rows()


def runs() -> Iterator[Any]:
    for row in ROWS:
        every = row["dialect"] in ("error", "foreign")
        for name in dialects.names() if every else (row["dialect"],):
            yield pytest.param(name, row, id=f"{row['path']}-{name}" if every else row["path"])


RUNS = list(runs())


def body_of(row: Row) -> bytes:
    return (RECORDINGS / row["path"]).read_bytes()


def in_reads(name: str, body: bytes, size: int) -> list[dict[str, object]]:
    decoder = dialects.decoder(name)
    records: list[dict[str, object]] = []
    for start in range(0, len(body), size):
        records += decoder.feed(body[start : start + size])
    return records + decoder.close()


def expected_failure(row: Row) -> tuple[str, str | None] | None:
    """Code and provider code by the first rule of 05D.A1 to 05D.A8 that applies; `None` for success."""
    path, expected = row["path"], row["expected"]
    te = "PROVIDER_TRANSPORT_ERROR"
    if row["dialect"] == "foreign" or expected["error"] is not None:
        return te, PROVIDER_CODES[path]
    if path == "gemini/unknown-shape.sse":
        return te, "unknown_format"
    anomalies = expected["anomalies"]
    cut = "non-json-data" in anomalies and "no-final-blank-line" in anomalies
    said_done = (
        row["dialect"] == "openai-chat"
        and row["wire"] == "sse"
        and expected["clean_end"]
        and (expected["text_len"] or expected["tool_calls"])
    )
    if cut or (expected["stop"] == "missing" and not said_done):
        return "PROVIDER_MISSING_TERMINAL", None
    by_stop = {"length": "length", "contentFilter": "content_filter", "error": "error", "other": "other"}
    if expected["stop"] in by_stop:
        return te, by_stop[expected["stop"]]
    if expected["refusal"] is not None:
        return te, "refusal"
    if any(
        "__unparsable__" in call["arguments"] or "__text__" in call["arguments"]
        for call in expected["tool_calls"]
    ):
        return te, "invalid_arguments"
    if expected["stop"] == "toolCall" and not expected["tool_calls"]:
        return "PROVIDER_INVALID_TERMINAL", None
    return None


def is_part_in_order(part: list[Any], whole: list[Any]) -> bool:
    rest = iter(whole)
    return all(item in rest for item in part)


@pytest.mark.criterion(
    *(f"05D.A{n}" for n in range(1, 13)), "05D.38", "05D.32", "05D.34", "05D.50", "05D.89", "05D.10"
)
@pytest.mark.parametrize(("name", "row"), RUNS)
def test_a_recording_comes_out_as_the_index_says(name: str, row: Row) -> None:
    expected = row["expected"]
    records = dialects.decode(name, body_of(row))
    json.dumps(records, allow_nan=False).encode("utf-8")
    outcome = Outcome(records)
    failure = expected_failure(row)

    if failure is None:
        assert outcome.error is None, outcome.error
        response = outcome.response
        assert response is not None
        assert response.stop_reason == ("toolCall" if expected["tool_calls"] else "stop")
        usage = expected["usage"] or {"input": 0, "output": 0}
        assert response.usage.input_tokens == (usage["input"] or 0)
        assert response.usage.output_tokens == (usage["output"] or 0)
        assert response.id == (expected["response_id"] or "response-001")
        assert response.message.id == f"message-{response.id}"
        assert [call[1:] for call in outcome.calls] == [
            (c["name"], c["arguments"]) for c in expected["tool_calls"]
        ]
        seen: set[str] = set()
        for position, (call, told) in enumerate(zip(outcome.calls, expected["tool_calls"], strict=True), 1):
            made_up = f"{response.id}-call-{position:03d}"
            assert call[0] == (told["id"] if told["id"] and told["id"] not in seen else made_up)
            seen.add(call[0])
        if row["path"] in MADE_UP_IDS:
            assert [call[0] for call in outcome.calls] == MADE_UP_IDS[row["path"]]
    else:
        error = outcome.error
        assert error is not None
        assert (error.code, error.provider_code) == failure
        if row["dialect"] != "foreign" and expected["error"] is not None:
            told = expected["error"]
            assert str(error).startswith((told, told.partition(": ")[2] or told))
        if failure[1] == "refusal":
            assert str(error) == expected["refusal"]
        if failure[0] == "PROVIDER_MISSING_TERMINAL":
            assert error.record_index == len(records)
        if row["dialect"] == "foreign":
            assert outcome.chunks == []
        wanted = [(c["name"], c["arguments"]) for c in expected["tool_calls"]]
        assert is_part_in_order([call[1:] for call in outcome.calls], wanted)

    # Text the error row told before its error counts; refusal and reasoning are never in it.
    assert len(outcome.text) == expected["text_len"]
    assert hashlib.sha256(outcome.text.encode()).hexdigest() == expected["text_sha256"]
    known = {call["name"] for call in expected["tool_calls"]}
    assert not {name for _, name, _ in outcome.calls} & set(expected["provider_tools"]) - known


@pytest.mark.criterion("05D.06", "05D.A13", "05D.173")
@pytest.mark.parametrize(("name", "row"), RUNS)
def test_the_records_do_not_depend_on_the_reads(name: str, row: Row) -> None:
    body = body_of(row)
    whole = dialects.decode(name, body)
    for size in (1, 2, 3, 7, 64):
        assert in_reads(name, body, size) == whole, f"reads of {size}"
    chance = random.Random(row["path"])
    for _ in range(5):
        decoder = dialects.decoder(name)
        records: list[dict[str, object]] = []
        position = 0
        while position < len(body):
            size = chance.choice((0, 1, 5, 40, 400, 4000))
            records += decoder.feed(body[position : position + size])
            position += size
        assert records + decoder.close() == whole


@pytest.mark.criterion("05D.A13", "05D.08")
@pytest.mark.parametrize(("name", "row"), RUNS)
def test_a_recording_made_into_a_fixture_replays_to_the_same_outcome(name: str, row: Row) -> None:
    fixture = dialects.to_fixture(name, [body_of(row)])
    text = json.dumps(fixture, allow_nan=False)
    outcome = Outcome(dialects.decode(name, body_of(row)))

    async def replay() -> tuple[object, ...]:
        stream = FixtureProviderAdapter(json.loads(text)).stream(ModelRequest("request-001", ()))
        chunks: list[ModelChunk] = []
        try:
            async for chunk in stream:
                chunks.append(chunk)  # what came before a failure counts
            return (chunks, await stream.result, None)
        except FixtureProviderError as error:
            return (chunks, None, (error.code, error.provider_code, error.record_index, str(error)))

    assert run(replay()) == outcome.verdict


@pytest.mark.criterion("05D.A14")
def test_of_98_recordings_63_succeed() -> None:
    assert len(ROWS) == 98
    codes = [failure[0] for row in ROWS if (failure := expected_failure(row)) is not None]
    assert 98 - len(codes) == 63
    assert codes.count("PROVIDER_MISSING_TERMINAL") == 3
    assert codes.count("PROVIDER_TRANSPORT_ERROR") == 32


@pytest.mark.criterion("05D.68")
@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["dialect"] in dialects.names()], ids=lambda row: row["path"]
)
def test_a_recording_read_as_another_dialect_is_never_a_success(row: Row) -> None:
    for name in dialects.names():
        if name != row["dialect"]:
            assert Outcome(dialects.decode(name, body_of(row))).response is None, name


@pytest.mark.criterion("05D.A15", "05D.05")
@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["dialect"] in dialects.names()], ids=lambda row: row["path"]
)
def test_no_prefix_of_a_recording_is_a_success_it_has_not_earned(row: Row) -> None:
    name, body = row["dialect"], body_of(row)
    step = max(1, len(body) // 150)
    cuts = sorted({*range(0, len(body), step), *range(max(0, len(body) - 120), len(body))})
    for cut in cuts:
        prefix = body[:cut]
        outcome = Outcome(dialects.decode(name, prefix))
        if outcome.response is not None:
            assert earned(name, prefix), f"a prefix of {cut} bytes succeeded"


def earned(name: str, prefix: bytes) -> bool:
    """A prefix may only succeed when a stop word, or chat's [DONE], is in a complete frame of it."""
    decoder = dialects.decoder(name)
    decoder.feed(prefix)
    response = decoder._response  # pyright: ignore[reportPrivateUsage]  # the one place that knows
    if not decoder.close():
        return False
    return response.stop_word is not None


@pytest.mark.criterion("05D.11")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_detect_names_the_dialect_of_each_recording(row: Row) -> None:
    unknown = row["dialect"] in ("error", "foreign") or row["path"] == "gemini/unknown-shape.sse"
    assert dialects.detect(body_of(row)) == (None if unknown else row["dialect"])
