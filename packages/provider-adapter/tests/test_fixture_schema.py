"""The published JSON Schema says what one record may be, and no more (05.B20 to 05.B24)."""

import copy
import json
from importlib import resources
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError, dialects, fixture_schema

ROOT = Path(__file__).parents[3]
SHIPPED: Final[dict[str, Any]] = json.loads(
    (ROOT / "fixtures" / "provider-tool-roundtrip.json").read_text(encoding="utf-8")
)
VALIDATOR: Final = Draft202012Validator(fixture_schema())
USAGE: Final = {"inputTokens": 1, "outputTokens": 2}
GOOD: Final[list[dict[str, Any]]] = [
    {"type": "response_start", "responseId": "r1", "role": "assistant"},
    {"type": "text_delta", "text": ""},
    {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": [1, None]}},
    {"type": "response_end", "responseId": "r1", "stopReason": "tool_call", "usage": USAGE},
    {"type": "transport_error", "code": "X", "message": "y"},
]


def accepts(value: Any) -> bool:
    return bool(VALIDATOR.is_valid(value))  # pyright: ignore[reportUnknownMemberType] - half typed


def fixture(*records: object) -> dict[str, object]:
    return {"schemaVersion": 1, "responses": [{"records": list(records)}]}


@pytest.mark.criterion("05.B20")
def test_the_schema_is_a_fresh_plain_copy_of_the_packaged_file() -> None:
    packaged = resources.files("kickwheel_provider_adapter").joinpath("fixture-1.schema.json")
    text = packaged.read_text(encoding="utf-8")
    first, second = fixture_schema(), fixture_schema()
    assert type(first) is dict
    assert first == second == json.loads(text)
    assert first is not second
    first.clear()
    definitions = second["$defs"]
    assert isinstance(definitions, dict)
    definitions.clear()
    assert fixture_schema() == json.loads(text)
    assert (ROOT / "fixtures" / "fixture-1.schema.json").read_bytes() == text.encode()


@pytest.mark.criterion("05.B20")
def test_the_schema_is_valid_and_names_itself() -> None:
    schema = fixture_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert isinstance(schema["$id"], str)
    assert isinstance(schema["title"], str)


@pytest.mark.criterion("05.B21")
def test_the_shipped_fixture_validates() -> None:
    assert accepts(SHIPPED)


BODY = b"""data: {"id":"r1","choices":[{"delta":{"content":"Hi"},"finish_reason":null}]}

data: {"choices":[{"delta":{},"finish_reason":"%s"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}

data: [DONE]

"""


@pytest.mark.criterion("05.B21")
def test_what_the_dialects_make_validates() -> None:
    bodies = [
        BODY % b"stop",
        BODY % b"length",
        b"",
        b"not a stream",
        b'{"error":{"message":"no","code":401}}',
    ]
    for name in dialects.names():
        made = dialects.to_fixture(name, bodies)
        assert accepts(made), name


RECORDINGS = sorted((ROOT / "fixtures" / "recordings").rglob("*.*"))


@pytest.mark.criterion("05.B21")
@pytest.mark.skipif(not RECORDINGS, reason="the recordings are not beside this package")
def test_every_recording_in_every_dialect_validates() -> None:
    bodies = [path.read_bytes() for path in RECORDINGS if path.suffix != ".tsv"]
    for name in dialects.names():
        assert accepts(dialects.to_fixture(name, bodies)), name


VALUE: Final[st.SearchStrategy[Any]] = st.recursive(
    st.sampled_from([None, True, 0, 1, -1, 2**53, 1.5, "", " ", "r1", "stop", "assistant", "text_delta"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "a"]), inner, max_size=2)
    ),
    max_leaves=4,
)
LOOSE: Final = st.sampled_from(GOOD).flatmap(
    lambda good: st.dictionaries(st.sampled_from(sorted(good)), VALUE, max_size=1).map(lambda odd: good | odd)
)


@pytest.mark.criterion("05.B22")
@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(records=st.lists(LOOSE | VALUE, max_size=4), version=st.sampled_from([1, 1, 1, 2, True, None]))
def test_what_the_schema_accepts_the_adapter_constructs(records: list[Any], version: object) -> None:
    data = fixture(*records) | {"schemaVersion": version}
    if accepts(data):
        assert FixtureProviderAdapter(data).pending_response_count == 1


BAD_RESPONSES: Final[list[object]] = [None, {}, "x", [None], [[]], [{}]]
BAD_RECORDS: Final[list[object]] = [None, {}, "x", 1]
BAD_COUNTS: Final[list[object]] = [-1, 1.5, 2**53, "3", None, True, [], {}]


@pytest.mark.criterion("05.B22")
def test_what_the_constructor_refuses_the_schema_refuses() -> None:
    bad: list[object] = [None, [], "x", {}, {"schemaVersion": 1}, {"schemaVersion": True, "responses": []}]
    bad += [{"schemaVersion": 1, "responses": value} for value in BAD_RESPONSES]
    bad += [{"schemaVersion": 1, "responses": [{"records": value}]} for value in BAD_RECORDS]
    for value in bad:
        assert not accepts(value)
        with pytest.raises(FixtureProviderError):
            FixtureProviderAdapter(value)


BLANKS: Final = ["", " ", "\t\n", "\u00a0\u3000", "\u2028\u2029", "\ufeff", " \ufeff\x1c\x85"]
WRONG: Final[dict[str, list[Any]]] = {
    "type": [None, 1, True, [], {}, "", " ", "surprise"],
    "responseId": [None, 1, True, [], {}, *BLANKS],
    "role": [None, 1, [], "", "user"],
    "text": [None, 42, True, [], {}],
    "id": [None, 1, [], {}, *BLANKS],
    "name": [None, 1, [], {}, *BLANKS],
    "arguments": [None, 1, "x", []],
    "stopReason": [None, 1, [], "", "toolCall", "length"],
    "usage": [None, 1, "x", [], {}],
    "code": [None, 502, [], {}, *BLANKS],
    "message": [None, 1, [], {}, *BLANKS],
}


@pytest.mark.criterion("05.B23")
@pytest.mark.parametrize("good", GOOD, ids=lambda record: record["type"])
def test_a_record_with_a_missing_or_wrong_field_is_refused(good: dict[str, Any]) -> None:
    assert accepts(fixture(good))
    assert accepts(fixture(good | {"extra": [None]}))
    for field in good:
        without = {key: value for key, value in good.items() if key != field}
        assert not accepts(fixture(without)), field
        for value in WRONG[field]:
            assert not accepts(fixture(good | {field: value})), (field, value)


@pytest.mark.criterion("05.B23")
def test_each_count_stands_under_one_spelling_and_in_range() -> None:
    end = GOOD[3]
    for camel, snake, other in (
        ("inputTokens", "input_tokens", "outputTokens"),
        ("outputTokens", "output_tokens", "input_tokens"),
    ):
        for name in (camel, snake):
            for count in (0, 2**53 - 1):
                assert accepts(fixture(end | {"usage": {name: count, other: 1, "extra": None}}))
            for bad in BAD_COUNTS:
                assert not accepts(fixture(end | {"usage": {name: bad, other: 1}}))
        for value in (1, None, "3"):
            assert not accepts(fixture(end | {"usage": {camel: 1, snake: value, other: 1}}))
        assert not accepts(fixture(end | {"usage": {other: 1}}))


@pytest.mark.criterion("05.B23")
def test_extra_fields_are_allowed_everywhere() -> None:
    data = copy.deepcopy(SHIPPED)
    data["note"] = None
    for response in data["responses"]:
        response["note"] = [1]
        for record in response["records"]:
            record["note"] = {}
    assert accepts(data)


@pytest.mark.criterion("05.B24")
def test_the_order_of_records_is_no_business_of_the_schema() -> None:
    start, text, call, end, broken = GOOD
    for records in (
        [],
        [end, start],
        [text],
        [start, start],
        [start, call, end | {"stopReason": "stop"}],
        [broken, end],
    ):
        assert accepts(fixture(*records))
    assert accepts(fixture(start, end | {"responseId": "other"}))
