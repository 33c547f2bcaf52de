"""Records, their order and the end (sections D and E), on the parser and through both kinds of source."""

from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Final, NoReturn

import pytest

from kickwheel_protocol import ModelChunk, ModelRequest, ModelResponse, ToolCall, ToolCallChunk, Usage
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError, ResponseParser

Record = dict[str, object]
USAGE: Final = {"inputTokens": 1, "outputTokens": 2}
START: Final[Record] = {"type": "response_start", "responseId": "r1", "role": "assistant"}
TEXT: Final[Record] = {"type": "text_delta", "text": "hello"}
CALL: Final[Record] = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {}}
STOP: Final[Record] = {"type": "response_end", "responseId": "r1", "stopReason": "stop", "usage": USAGE}
TOOL: Final[Record] = STOP | {"stopReason": "tool_call"}
RESET: Final[Record] = {
    "type": "transport_error",
    "code": "UPSTREAM_RESET",
    "message": "fixture connection reset",
}
SURPRISE: Final[Record] = {"type": "surprise"}


def values(*items: object) -> list[object]:
    return list(items)


class Trapped:
    """No code of this may run."""

    def _touched(self, *_: object) -> NoReturn:
        raise AssertionError("code of an untrusted value was run")

    __getitem__ = __iter__ = __len__ = __contains__ = __repr__ = __str__ = __bool__ = __missing__ = _touched
    get = keys = items = values = _touched

    def __eq__(self, other: object) -> bool:
        self._touched()

    def __hash__(self) -> int:
        return hash("type")


class TrappedDict(Trapped, dict[str, object]):
    pass


class TrappedKey(Trapped, str):
    pass


class TrappedMeta(type):
    def __eq__(cls, other: object) -> bool:
        raise AssertionError("a metaclass was asked")

    def __hash__(cls) -> int:
        raise AssertionError("a metaclass was asked")

    def __getattribute__(cls, name: str) -> object:
        raise AssertionError("a metaclass was asked")


class MetaTrapped(metaclass=TrappedMeta):
    pass


Outcome = tuple[list[ModelChunk], object]


def of_error(error: FixtureProviderError) -> object:
    return error.code, error.record_index, error.provider_code, str(error)


def through_parser(records: list[object]) -> Outcome:
    chunks: list[ModelChunk] = []
    try:
        parser = ResponseParser("request-001")
        for record in records:
            chunk = parser.feed(record)
            if chunk is not None:
                chunks.append(chunk)
        return chunks, parser.close()
    except FixtureProviderError as error:
        return chunks, of_error(error)


async def through_adapter(records: object) -> Outcome:
    data: dict[str, object] = {"schemaVersion": 1, "responses": [{"records": records}]}
    stream = FixtureProviderAdapter(data).stream(ModelRequest("request-001", ()))
    chunks: list[ModelChunk] = []
    try:
        async for chunk in stream:
            chunks.append(chunk)
        return chunks, await stream.result
    except FixtureProviderError as error:
        return chunks, of_error(error)


async def as_source(records: list[object]) -> AsyncIterator[object]:
    for record in records:
        yield record


async def outcome_of(records: list[object], *, plain: bool = True) -> Outcome:
    """The outcome, the same on the parser, from an async source and, for plain data, from an array."""
    outcome = through_parser(records)
    assert await through_adapter(as_source(records)) == outcome
    if plain:
        assert await through_adapter(records) == outcome
    return outcome


async def assert_fails(
    records: list[object], code: str, index: int, *, plain: bool = True
) -> list[ModelChunk]:
    chunks, failure = await outcome_of(records, plain=plain)
    assert isinstance(failure, tuple), failure
    assert failure[:2] == (f"PROVIDER_{code}", index)
    assert failure[2] == ("UPSTREAM_RESET" if code == "TRANSPORT_ERROR" else None)
    return chunks


async def assert_succeeds(records: list[object]) -> ModelResponse:
    _, response = await outcome_of(records)
    assert isinstance(response, ModelResponse), response
    return response


PLAIN_UNREADABLE: Final[list[object]] = [
    *(None, 0, True, 1.5, "x"),
    [],
    (),
    {},
    *({"type": None}, {"type": ""}, {"type": " \n"}, {"type": 1}, {"type": ["surprise"]}, {"text": "x"}),
    {"type": {}},
]
TYPE_TRAP: Final = type("Sub", (str,), {})("text_delta")
UNREADABLE: Final = values(
    *(
        b"",
        {1},
        object(),
        TrappedDict(),
        Trapped(),
        OrderedDict(TEXT),
        {TrappedKey("type"): 1},
        {1: 2} | TEXT,
    ),
    *({"type": TYPE_TRAP}, {"type": TrappedDict()}, MetaTrapped(), MetaTrapped),
)


@pytest.mark.criterion("05.41")
@pytest.mark.parametrize("before", [[], [START], [START, CALL], [START, STOP]], ids=["S0", "S1", "S1c", "S2"])
async def test_a_record_that_cannot_be_read_is_an_invalid_event_before_any_rule_of_order(
    before: list[object],
) -> None:
    for record in PLAIN_UNREADABLE:
        await assert_fails([*before, record], "INVALID_EVENT", len(before))
    for record in UNREADABLE:
        await assert_fails([*before, record], "INVALID_EVENT", len(before), plain=False)


@pytest.mark.criterion("05.42")
@pytest.mark.parametrize("before", [[], [START], [START, CALL]], ids=["S0", "S1", "S1c"])
async def test_an_unknown_type_has_its_own_code(before: list[object]) -> None:
    for kind in ("surprise", "text_delta ", "Text_Delta", "toolCall", "\ud800", "x" * 10_000):
        await assert_fails([*before, {"type": kind}], "UNKNOWN_EVENT", len(before))


@pytest.mark.criterion("05.43")
@pytest.mark.parametrize("record", [TEXT, CALL, STOP, TOOL], ids=["text", "call", "stop", "tool"])
async def test_nothing_may_come_before_the_start_good_or_bad(record: Record) -> None:
    await assert_fails([record], "MISSING_START", 0)
    await assert_fails([{"type": record["type"]}], "MISSING_START", 0)


@pytest.mark.criterion("05.44")
async def test_a_second_start_is_a_duplicate_good_or_bad() -> None:
    for again in (START, START | {"responseId": "r2"}, {"type": "response_start"}, START | {"role": "user"}):
        await assert_fails([START, again], "DUPLICATE_START", 1)
        await assert_fails([START, CALL, again], "DUPLICATE_START", 2)


@pytest.mark.criterion("05.45")
async def test_a_start_needs_an_id_and_the_assistant_role() -> None:
    for role in ("user", "", None, "Assistant", ["assistant"], 1):
        await assert_fails([START | {"role": role}], "INVALID_EVENT", 0)
    for response_id in values("", " ", "\ufeff", None, 7, ["r1"], {}):
        await assert_fails([START | {"responseId": response_id}], "INVALID_EVENT", 0)
    for missing in ("role", "responseId"):
        await assert_fails([{key: START[key] for key in START if key != missing}], "INVALID_EVENT", 0)


@pytest.mark.criterion("05.46")
async def test_a_text_delta_needs_a_string() -> None:
    for value in values(42, None, True, 1.5, ["x"], {"text": "x"}):
        await assert_fails([START, TEXT | {"text": value}], "INVALID_EVENT", 1)
    await assert_fails([START, {"type": "text_delta"}], "INVALID_EVENT", 1)
    await assert_fails([START, TEXT | {"text": TYPE_TRAP}], "INVALID_EVENT", 1, plain=False)


@pytest.mark.criterion("05.47")
async def test_one_call_id_may_stand_once_in_a_response() -> None:
    chunks = await assert_fails([START, CALL, CALL | {"name": "other"}], "INVALID_EVENT", 2)
    assert chunks == [ToolCallChunk("request-001", ToolCall("c1", "add", {}))]
    for _ in range(2):  # in another response the id is fine
        await assert_succeeds([START, CALL, TOOL])


@pytest.mark.criterion("05.48")
@pytest.mark.parametrize("field", ["id", "name"])
async def test_a_call_needs_an_id_and_a_name(field: str) -> None:
    for value in values("", "  ", "\u3000\ufeff", None, 0, True, ["c1"], {}, "\udc00"):
        await assert_fails([START, CALL | {field: value}], "INVALID_EVENT", 1)
    await assert_fails([START, {key: CALL[key] for key in CALL if key != field}], "INVALID_EVENT", 1)


@pytest.mark.criterion("05.49")
async def test_arguments_need_to_be_a_json_object() -> None:
    bad: list[object] = [None, [], [{}], "{}", "", 0, True]
    bad += [{"x": value} for value in (float("nan"), float("inf"), 2**53, "\ud800")]
    for arguments in bad:
        assert await assert_fails([START, CALL | {"arguments": arguments}], "INVALID_EVENT", 1) == []
    await assert_fails([START, {key: CALL[key] for key in CALL if key != "arguments"}], "INVALID_EVENT", 1)


@pytest.mark.criterion("05.49", "05.50")
async def test_arguments_of_an_async_source_may_hold_nothing_but_json() -> None:
    loop: list[object] = []
    loop.append(loop)
    hostile: list[object] = [datetime(2026, 1, 1), object(), {1}, b"", loop, TrappedDict(), Trapped(), {1: 2}]
    for value in hostile:
        for arguments in values(value, {"x": value}, {"x": [{"y": value}]}):
            assert (
                await assert_fails([START, CALL | {"arguments": arguments}], "INVALID_EVENT", 1, plain=False)
                == []
            )


@pytest.mark.criterion("05.51")
async def test_a_transport_error_carries_the_providers_words() -> None:
    for before in ([], [START], [START, TEXT], [START, CALL]):
        records: list[object] = [*before, RESET]
        await assert_fails(records, "TRANSPORT_ERROR", len(before))
        failure = (await outcome_of(records))[1]
        expected = ("PROVIDER_TRANSPORT_ERROR", len(before), "UPSTREAM_RESET", "fixture connection reset")
        assert failure == expected


@pytest.mark.criterion("05.52")
async def test_a_transport_error_needs_a_code_and_a_message() -> None:
    for field in ("code", "message"):
        for value in values("", " ", "\ufeff\t", None, 502, True, ["x"], {}):
            await assert_fails([RESET | {field: value}], "INVALID_EVENT", 0)
            await assert_fails([START, RESET | {field: value}], "INVALID_EVENT", 1)
        await assert_fails([{key: RESET[key] for key in RESET if key != field}], "INVALID_EVENT", 0)


class MissingDict(dict[str, object]):
    def __missing__(self, key: str) -> NoReturn:
        raise AssertionError("the factory was run")


@pytest.mark.criterion("05.53")
async def test_a_usage_that_could_answer_for_itself_is_refused() -> None:
    factory_runs: list[str] = []

    def factory() -> int:
        factory_runs.append("run")
        return 1

    for usage in values(
        defaultdict[str, int](factory),
        defaultdict[str, int](factory, USAGE),
        MissingDict(),
        TrappedDict(),
        Trapped(),
    ):
        await assert_fails([START, STOP | {"usage": usage}], "INVALID_EVENT", 1, plain=False)
    await assert_fails(
        [START, STOP | {"usage": {TrappedKey("inputTokens"): 1}}], "INVALID_EVENT", 1, plain=False
    )
    assert factory_runs == []


@pytest.mark.criterion("05.54")
async def test_a_source_that_ends_without_its_terminal_fails_after_its_chunks() -> None:
    for records in ([], [START], [START, TEXT], [START, CALL, TEXT]):
        chunks = await assert_fails(list(records), "MISSING_TERMINAL", len(records))
        assert len(chunks) == sum(record in (TEXT, CALL) for record in records)


@pytest.mark.criterion("05.55")
async def test_a_second_end_is_a_duplicate_good_or_bad() -> None:
    for again in (STOP, TOOL, {"type": "response_end"}, STOP | {"responseId": "r2"}, STOP | {"usage": None}):
        await assert_fails([START, STOP, again], "DUPLICATE_TERMINAL", 2)


@pytest.mark.criterion("05.56")
async def test_nothing_may_follow_the_end() -> None:
    for record in (START, TEXT, CALL, RESET, SURPRISE):
        await assert_fails([START, STOP, record], "INVALID_TERMINAL", 2)
        await assert_fails([START, CALL, TOOL, record], "INVALID_TERMINAL", 3)
        await assert_fails([START, STOP, {"type": record["type"]}], "INVALID_TERMINAL", 2)


@pytest.mark.criterion("05.57")
async def test_an_end_must_name_the_response_that_started() -> None:
    for other in ("r2", "R1", " r1", "r1 ", "r1\u200b"):
        await assert_fails([START, STOP | {"responseId": other}], "RESPONSE_MISMATCH", 1)
    for bad in ("", " ", "\ufeff", None, 7, ["r1"]):
        await assert_fails([START, STOP | {"responseId": bad}], "INVALID_EVENT", 1)
    await assert_fails([START, {key: STOP[key] for key in STOP if key != "responseId"}], "INVALID_EVENT", 1)


@pytest.mark.criterion("05.58")
async def test_the_stop_reason_must_agree_with_the_calls() -> None:
    await assert_fails([START, TOOL], "INVALID_TERMINAL", 1)
    await assert_fails([START, TEXT, TOOL], "INVALID_TERMINAL", 2)
    await assert_fails([START, CALL, STOP], "INVALID_TERMINAL", 2)
    await assert_fails([START, CALL, TEXT, STOP], "INVALID_TERMINAL", 3)


@pytest.mark.criterion("05.59")
async def test_a_stop_reason_is_one_of_the_two_wire_words() -> None:
    for value in values("toolCall", "tool_calls", "STOP", "stop ", "length", "", None, 1, True, ["stop"], {}):
        await assert_fails([START, STOP | {"stopReason": value}], "INVALID_EVENT", 1)
    await assert_fails([START, {key: STOP[key] for key in STOP if key != "stopReason"}], "INVALID_EVENT", 1)


ORDERED_FAULTS: Final[list[tuple[str, object, str]]] = [
    ("responseId", " ", "INVALID_EVENT"),
    ("responseId", "other", "RESPONSE_MISMATCH"),
    ("stopReason", "toolCall", "INVALID_EVENT"),
    ("usage", None, "INVALID_EVENT"),
]


@pytest.mark.criterion("05.60")
async def test_the_faults_of_an_end_are_found_in_this_order() -> None:
    """Each end has one fault and, after it, every later one; the agreement with the calls comes last."""
    for first, (field, value, code) in enumerate(ORDERED_FAULTS):
        record = TOOL | {later: bad for later, bad, _ in ORDERED_FAULTS[first + 1 :]} | {field: value}
        await assert_fails([START, record], code, 1)
    await assert_fails([START, TOOL], "INVALID_TERMINAL", 1)


BAD_COUNTS: Final[list[object]] = [-1, 1.5, 2**53, "3", None, True, False, float("nan"), [1], {}, 10**400]
SPELLINGS: Final = [
    ("inputTokens", "input_tokens", "outputTokens"),
    ("outputTokens", "output_tokens", "inputTokens"),
]


def end_with(usage: object) -> list[object]:
    return [START, STOP | {"usage": usage}]


@pytest.mark.criterion("05.61")
@pytest.mark.parametrize(("camel", "snake", "other"), SPELLINGS)
async def test_both_spellings_of_one_count_are_refused(camel: str, snake: str, other: str) -> None:
    """The table: present twice is refused whatever the values, absent twice too."""
    for first in (3, None, "3", -1):
        for second in (3, None, 4):
            await assert_fails(end_with({camel: first, snake: second, other: 1}), "INVALID_EVENT", 1)
    await assert_fails(end_with({other: 1}), "INVALID_EVENT", 1)


@pytest.mark.criterion("05.61")
@pytest.mark.parametrize(("camel", "snake", "other"), SPELLINGS)
async def test_a_count_is_a_safe_integer_under_either_spelling(camel: str, snake: str, other: str) -> None:
    for name in (camel, snake):
        for count in (0, 7, 2**53 - 1):
            usage = (await assert_succeeds(end_with({name: count, other: 1}))).usage
            assert {usage.input_tokens, usage.output_tokens} == {count, 1}
        for bad in BAD_COUNTS:
            await assert_fails(end_with({name: bad, other: 1}), "INVALID_EVENT", 1)


@pytest.mark.criterion("05.91")
async def test_each_count_may_have_its_own_spelling() -> None:
    assert (await assert_succeeds(end_with({"inputTokens": 3, "output_tokens": 4}))).usage == Usage(3, 4)
    assert (await assert_succeeds(end_with({"input_tokens": 3, "outputTokens": 4}))).usage == Usage(3, 4)
    assert (
        await assert_succeeds(end_with({"input_tokens": 3, "output_tokens": 4, "total": None}))
    ).usage == Usage(3, 4)


@pytest.mark.criterion("05.92")
async def test_a_usage_is_an_object() -> None:
    for usage in values(None, [], [1, 2], "usage", 0, True, {}):
        await assert_fails(end_with(usage), "INVALID_EVENT", 1)
    await assert_fails([START, {key: STOP[key] for key in STOP if key != "usage"}], "INVALID_EVENT", 1)


async def test_extra_fields_on_records_and_usage_are_ignored() -> None:
    extra: list[object] = [
        START | {"x": None},
        TEXT | {"x": [1]},
        STOP | {"usage": USAGE | {"cached": "x"}, "x": {}},
    ]
    assert (await assert_succeeds(extra)).message.text == "hello"


async def test_a_refusal_says_what_is_wrong_where() -> None:
    texts = {
        "PROVIDER_INVALID_EVENT": [START, CALL | {"arguments": {"values": [float("nan")]}}],
        "PROVIDER_UNKNOWN_EVENT": [START, {"type": "sur\nprise"}],
        "PROVIDER_RESPONSE_MISMATCH": [START, STOP | {"responseId": "r2"}],
    }
    said = {code: str(through_parser(list(records))[1]) for code, records in texts.items()}
    assert "record 1 is refused: arguments.values[0]" in said["PROVIDER_INVALID_EVENT"]
    assert "sur" in said["PROVIDER_UNKNOWN_EVENT"]
    assert "responseId" in said["PROVIDER_RESPONSE_MISMATCH"]
    assert all("record 1" in text for text in said.values())
    huge = through_parser([{"type": "x" * 100_000}])[1]
    assert len(str(huge)) < 2_000
