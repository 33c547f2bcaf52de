"""A fixture is checked and copied as a whole before anything of it is played (section A)."""

import copy
import json
import sys
from collections import OrderedDict, UserDict, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Final, NoReturn

import pytest

from kickwheel_event_stream import EventStream
from kickwheel_protocol import (
    ModelChunk,
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolCallChunk,
    Usage,
    freeze_json,
)
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError, ResponseParser

SHIPPED = Path(__file__).parents[3] / "fixtures" / "provider-tool-roundtrip.json"
REQUEST = ModelRequest("request-001", ())

Record = dict[str, object]


def start() -> Record:
    return {"type": "response_start", "responseId": "r1", "role": "assistant"}


def call(arguments: object) -> Record:
    return {"type": "tool_call", "id": "c1", "name": "add", "arguments": arguments}


def end(stop_reason: str = "stop", **usage: object) -> Record:
    counts: dict[str, object] = usage or {"inputTokens": 1, "outputTokens": 2}
    return {"type": "response_end", "responseId": "r1", "stopReason": stop_reason, "usage": counts}


def fixture(*records: object) -> dict[str, object]:
    return {"schemaVersion": 1, "responses": [{"records": list(records)}]}


def shipped() -> dict[str, object]:
    loaded: dict[str, object] = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return loaded


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


async def outcome(
    stream: EventStream[ModelChunk, ModelResponse],
) -> tuple[list[ModelChunk], ModelResponse | FixtureProviderError]:
    chunks: list[ModelChunk] = []
    try:
        async for chunk in stream:
            chunks.append(chunk)
        return chunks, await stream.result
    except FixtureProviderError as error:
        return chunks, error


async def failure_of(adapter: FixtureProviderAdapter) -> tuple[str, int | None]:
    _, ended = await outcome(adapter.stream(REQUEST))
    assert isinstance(ended, FixtureProviderError)
    return ended.code, ended.record_index


async def success_of(adapter: FixtureProviderAdapter) -> ModelResponse:
    _, ended = await outcome(adapter.stream(REQUEST))
    assert isinstance(ended, ModelResponse), ended
    return ended


def assert_refused(value: object) -> None:
    with pytest.raises(FixtureProviderError) as caught:
        FixtureProviderAdapter(value)
    error = caught.value
    assert (error.code, error.record_index, error.provider_code) == ("PROVIDER_INVALID_FIXTURE", None, None)


class Hostile:
    """Every way in raises: nobody may touch it."""

    def _touched(self, *_: object) -> NoReturn:
        raise AssertionError("code of an untrusted value was run")

    __getitem__ = __iter__ = __len__ = __contains__ = __repr__ = __str__ = __bool__ = _touched
    get = keys = items = values = _touched

    def __eq__(self, other: object) -> bool:
        self._touched()

    def __hash__(self) -> int:
        return hash("type")


class HostileDict(Hostile, dict[str, object]):
    pass


class HostileList(Hostile, list[object]):
    pass


class HostileTuple(Hostile, tuple[object, ...]):
    pass


class HostileKey(Hostile, str):
    pass


@pytest.mark.criterion("05.01")
def test_the_shipped_fixture_constructs_with_two_responses_queued() -> None:
    adapter = FixtureProviderAdapter(shipped())
    assert (adapter.call_count, adapter.pending_response_count) == (0, 2)
    with pytest.raises(AttributeError):
        adapter.call_count = 3  # pyright: ignore[reportAttributeAccessIssue]


MISSING = object()


VERSIONS: Final[list[object]] = [MISSING, 2, 0, -1, "1", None, True, [1], {}, 10**400, float("nan")]


@pytest.mark.criterion("05.02")
@pytest.mark.parametrize("version", VERSIONS)
def test_any_other_schema_version_is_refused(version: object) -> None:
    data: dict[str, object] = {"schemaVersion": version, "responses": []}
    if version is MISSING:
        del data["schemaVersion"]
    assert_refused(data)


NO_FIXTURES: Final[list[object]] = [
    None,
    "{}",
    b"{}",
    1,
    1.5,
    True,
    [],
    [{"schemaVersion": 1}],
    (),
    object(),
    dict,
]


@pytest.mark.criterion("05.03")
@pytest.mark.parametrize("value", NO_FIXTURES)
def test_a_fixture_that_is_no_object_is_refused(value: object) -> None:
    assert_refused(value)


def _generator() -> Iterator[object]:
    yield {"records": []}
    raise AssertionError("a generator must not be advanced")


NO_RESPONSES: Final[list[object]] = [
    MISSING,
    None,
    {},
    {"0": {"records": []}},
    "[]",
    b"",
    {1},
    frozenset(),
    range(0),
    7,
    iter(()),
]


@pytest.mark.criterion("05.04")
@pytest.mark.parametrize(
    "responses",
    NO_RESPONSES,
)
def test_responses_that_are_no_array_are_refused(responses: object) -> None:
    data: dict[str, object] = {"schemaVersion": 1, "responses": responses}
    if responses is MISSING:
        del data["responses"]
    assert_refused(data)


@pytest.mark.criterion("05.04", "05.07")
def test_a_generator_is_no_array_and_is_not_advanced() -> None:
    assert_refused({"schemaVersion": 1, "responses": _generator()})
    assert_refused({"schemaVersion": 1, "responses": [{"records": _generator()}]})


@pytest.mark.criterion("05.05")
@pytest.mark.parametrize("responses", [[], ()])
def test_an_empty_queue_constructs(responses: object) -> None:
    assert FixtureProviderAdapter({"schemaVersion": 1, "responses": responses}).pending_response_count == 0


NO_ENTRIES: Final[list[object]] = [None, 0, "x", [], [{"records": []}], OrderedDict(records=[]), {1}]


@pytest.mark.criterion("05.06")
@pytest.mark.parametrize("entry", NO_ENTRIES)
def test_a_response_that_is_no_object_is_refused(entry: object) -> None:
    assert_refused({"schemaVersion": 1, "responses": [entry]})


NO_RECORDS: Final[list[object]] = [
    MISSING,
    None,
    "x",
    b"x",
    5,
    1.5,
    {},
    {1},
    frozenset(),
    range(2),
    iter([]),
    True,
]


@pytest.mark.criterion("05.07")
@pytest.mark.parametrize("records", NO_RECORDS)
def test_records_that_are_neither_array_nor_async_source_are_refused(records: object) -> None:
    assert_refused({"schemaVersion": 1, "responses": [{} if records is MISSING else {"records": records}]})


@pytest.mark.criterion("05.09")
async def test_a_response_without_records_constructs_and_then_misses_its_terminal() -> None:
    assert await failure_of(FixtureProviderAdapter(fixture())) == ("PROVIDER_MISSING_TERMINAL", 0)


OTHER_MAPPINGS: Final[list[object]] = [
    HostileDict(),
    defaultdict(list),
    OrderedDict[str, object](),
    UserDict[str, object](),
    MappingProxyType[str, object]({}),
    SimpleNamespace(schemaVersion=1, responses=[]),
    Hostile(),
]


@pytest.mark.criterion("05.10")
@pytest.mark.parametrize(
    "mapping",
    OTHER_MAPPINGS,
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("place", ["fixture", "response", "record", "arguments", "ignored", "usage"])
def test_another_mapping_is_refused_anywhere_and_its_code_never_runs(mapping: object, place: str) -> None:
    values: dict[str, object] = {
        "fixture": mapping,
        "response": {"schemaVersion": 1, "responses": [mapping]},
        "record": fixture(mapping),
        "arguments": fixture(start(), call(mapping)),
        "ignored": fixture(start() | {"note": [mapping]}),
        "usage": fixture(start(), {"type": "response_end", "usage": mapping}),
    }
    assert_refused(values[place])


@pytest.mark.criterion("05.10")
def test_a_key_that_only_looks_like_a_string_is_refused_and_never_compared() -> None:
    hostile: dict[str, object] = {HostileKey("type"): 1}
    empty: list[object] = []
    assert_refused(hostile | {"schemaVersion": 1, "responses": empty})
    assert_refused({"schemaVersion": 1, "responses": [hostile | {"records": empty}]})
    assert_refused(fixture(hostile))
    assert_refused(fixture(start() | {"note": {1: 2}}))


@pytest.mark.criterion("05.10", "05.01")
def test_ignored_fields_of_fixture_and_response_are_not_looked_at() -> None:
    empty: list[object] = []
    data: dict[str, object] = {
        "schemaVersion": 1,
        "expected": Hostile(),
        "responses": [{"records": empty, "note": HostileDict()}],
        "more": HostileList(),
    }
    assert FixtureProviderAdapter(data).pending_response_count == 1


@pytest.mark.criterion("05.11")
def test_a_record_that_contains_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    record = start()
    record["note"] = {"again": [record]}
    for bad in (loop, record, start() | {"note": loop}):
        assert_refused(fixture(bad))


@pytest.mark.criterion("05.11")
async def test_a_value_shared_without_a_cycle_is_accepted() -> None:
    shared = {"left": [1, 2]}
    tower: object = [float("nan")]
    for _ in range(60):
        tower = [tower, tower]
    adapter = FixtureProviderAdapter(
        fixture(
            start() | {"note": tower},
            call({"a": shared, "b": shared}),
            end("tool_call"),
        )
    )
    (block,) = (await success_of(adapter)).message.content
    assert block == ToolCall("c1", "add", {"a": shared, "b": shared})


NOT_PLAIN: Final[list[object]] = [
    datetime(2026, 1, 1),
    {1},
    frozenset(),
    b"x",
    bytearray(),
    len,
    object(),
    int,
    HostileDict(),
    HostileList(),
    HostileTuple(),
    HostileKey("x"),
    {1: 2},
    {None: 1},
    {HostileKey("x"): 1},
    1 + 2j,
    ...,
    type("MyInt", (int,), {})(1),
]


@pytest.mark.criterion("05.12")
@pytest.mark.parametrize(
    "value",
    NOT_PLAIN,
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_an_array_record_with_anything_but_plain_data_is_refused_at_once(value: object, depth: int) -> None:
    held = value
    for _ in range(depth):
        held = [held]
    assert_refused(fixture(start() | {"note": held}))
    assert_refused(fixture(start(), call({"value": held})))
    assert_refused(fixture(start() | {"nan": float("nan"), "note": {"deep": held}}))
    assert_refused(fixture(held))


SCALARS: Final[list[object]] = [None, 0, 1.5, True, "response_start", float("nan"), 2**60]


@pytest.mark.criterion("05.13")
@pytest.mark.parametrize("scalar", SCALARS)
async def test_a_scalar_record_constructs_and_is_an_invalid_event_when_reached(scalar: object) -> None:
    assert await failure_of(FixtureProviderAdapter(fixture(start(), scalar))) == ("PROVIDER_INVALID_EVENT", 1)


@pytest.mark.criterion("05.14")
def test_one_bad_response_among_good_ones_fails_the_whole_construction() -> None:
    good: dict[str, object] = {"records": [start(), end()]}
    for bad in ({"records": None}, {"records": [{1}]}, None):
        assert_refused({"schemaVersion": 1, "responses": [good, bad, good]})


@pytest.mark.criterion("05.15", "05.20")
@pytest.mark.parametrize("odd", [{}, {"note": float("inf")}], ids=["frozen", "copied"])
async def test_later_changes_of_the_fixture_are_not_seen(odd: dict[str, object]) -> None:
    arguments: dict[str, object] = {"left": 20, "options": {"list": [1, 2]}}
    first, second, last = start() | odd, call(arguments) | odd, end("tool_call") | odd
    records: list[object] = [first, second, last]
    responses: list[object] = [{"records": records}]
    adapter = FixtureProviderAdapter({"schemaVersion": 1, "responses": responses})
    before = copy.deepcopy(arguments)
    arguments["left"] = 0
    options, usage = arguments["options"], last["usage"]
    assert isinstance(options, dict)
    assert isinstance(usage, dict)
    options["list"] = []
    usage["inputTokens"] = 99
    del usage["outputTokens"]
    records[0] = None
    records.append({"type": "surprise"})
    responses.append({"records": []})
    second["id"] = "other"
    response = await success_of(adapter)
    assert response.message.tool_calls == (ToolCall("c1", "add", before),)
    assert response.usage == Usage(1, 2)
    assert adapter.pending_response_count == 0


@pytest.mark.criterion("05.16")
async def test_an_async_source_is_opened_once_for_each_stream_that_reaches_it_and_not_before() -> None:
    opened: list[str] = []

    class Source:
        def __aiter__(self) -> AsyncIterator[object]:
            opened.append("opened")
            return self._records()

        async def _records(self) -> AsyncIterator[object]:
            yield start()
            yield end()

    source = Source()
    entry: dict[str, object] = {"records": source}
    adapter = FixtureProviderAdapter({"schemaVersion": 1, "responses": [entry, entry]})
    assert opened == []
    await success_of(adapter)
    assert opened == ["opened"]
    await success_of(adapter)
    assert opened == ["opened", "opened"]


@pytest.mark.criterion("05.16", "05.10")
def test_a_look_alike_of_a_built_in_container_is_no_async_source() -> None:
    class Sneaky(dict[str, object]):
        def __aiter__(self) -> NoReturn:
            raise AssertionError("opened")

    class Instance:
        pass

    pretender = Instance()
    pretender.__dict__["__aiter__"] = lambda: None
    for bad in (Sneaky(), pretender, _generator):
        assert_refused({"schemaVersion": 1, "responses": [{"records": bad}]})


@pytest.mark.criterion("05.18")
def test_array_records_of_any_nesting_end_in_our_error() -> None:
    assert_refused(fixture(nested(100_000)))
    assert_refused(fixture(start(), call({"deep": nested(100_000)})))
    assert_refused(fixture(start() | {"note": nested(100_000)}))
    # Shared parts count with their own height, wherever they were met first.
    low = nested(9_000)
    assert_refused(fixture([low, [float("nan")], _wrapped(low, 2_000)]))


def _wrapped(value: object, times: int) -> object:
    for _ in range(times):
        value = {"in": value}
    return value


@pytest.mark.criterion("05.18")
async def test_an_async_record_of_any_nesting_is_an_invalid_event() -> None:
    async def records() -> AsyncIterator[object]:
        yield start()
        yield call({"deep": nested(100_000)})

    data: dict[str, object] = {"schemaVersion": 1, "responses": [{"records": records()}]}
    assert await failure_of(FixtureProviderAdapter(data)) == ("PROVIDER_INVALID_EVENT", 1)


SUBCLASSED_ARRAYS: Final[list[object]] = [HostileList(), HostileTuple()]


@pytest.mark.criterion("05.19")
@pytest.mark.parametrize("array", SUBCLASSED_ARRAYS, ids=["list", "tuple"])
def test_a_subclass_of_an_array_is_refused_without_running_its_overrides(array: object) -> None:
    assert_refused({"schemaVersion": 1, "responses": array})
    assert_refused({"schemaVersion": 1, "responses": [{"records": array}]})


NOT_JSON = [float("nan"), float("inf"), float("-inf"), 2**53, -(2**53), 10**5_000, "\ud800", "a\udfff"]


@pytest.mark.criterion("05.87")
@pytest.mark.parametrize("scalar", NOT_JSON, ids=range(len(NOT_JSON)))
async def test_a_scalar_that_json_cannot_hold_is_judged_where_it_stands(scalar: object) -> None:
    stop = end("tool_call")
    cases: list[tuple[list[object], int]] = [
        ([start() | {"responseId": scalar}], 0),
        ([start(), call({"value": scalar})], 1),
        ([start(), call({"list": [{"value": scalar}]})], 1),
        ([start(), call({}) | {"id": scalar}], 1),
        ([start(), call({}) | {"name": scalar}], 1),
        ([start(), call({}), stop | {"responseId": scalar}], 2),
        ([start(), call({}), stop | {"usage": {"inputTokens": scalar, "outputTokens": 0}}], 2),
        ([start(), call({}), stop | {"usage": {"inputTokens": 0, "output_tokens": scalar}}], 2),
    ]
    for records, index in cases:
        assert await failure_of(FixtureProviderAdapter(fixture(*records))) == (
            "PROVIDER_INVALID_EVENT",
            index,
        )
    harmless = fixture(
        start() | {"note": scalar},
        {"type": "text_delta", "text": "x", "note": [scalar]},
        end() | {"note": scalar},
    )
    assert (await success_of(FixtureProviderAdapter(harmless))).message.text == "x"


@pytest.mark.criterion("05.87")
async def test_a_lone_surrogate_in_text_does_no_harm() -> None:
    adapter = FixtureProviderAdapter(fixture(start(), {"type": "text_delta", "text": "\ud83d"}, end()))
    assert (await success_of(adapter)).message.text == "\ud83d"


@pytest.mark.criterion("05.87")
async def test_a_lone_surrogate_in_a_key_counts_as_data_only_inside_arguments() -> None:
    good = fixture(start() | {"\ud800": 1}, end())
    await success_of(FixtureProviderAdapter(good))
    bad = fixture(start(), call({"\ud800": 1}))
    assert await failure_of(FixtureProviderAdapter(bad)) == ("PROVIDER_INVALID_EVENT", 1)


@pytest.mark.criterion("05.97")
@pytest.mark.parametrize("kind", ["array", "async"])
async def test_arguments_may_be_128_containers_deep_and_no_deeper(kind: str) -> None:
    async def source(records: list[object]) -> AsyncIterator[object]:
        for record in records:
            yield record

    for depth, accepted in ((128, True), (129, False)):
        records: list[object] = [start(), call({"in": nested(depth - 1)}), end("tool_call")]
        held = records if kind == "array" else source(records)
        adapter = FixtureProviderAdapter({"schemaVersion": 1, "responses": [{"records": held}]})
        chunks, ended = await outcome(adapter.stream(REQUEST))
        if accepted:
            assert isinstance(ended, ModelResponse)
            (chunk,) = chunks
            assert isinstance(chunk, ToolCallChunk)
        else:
            assert isinstance(ended, FixtureProviderError)
            assert (ended.code, ended.record_index) == ("PROVIDER_INVALID_EVENT", 1)


@pytest.mark.criterion("05.88")
async def test_a_frozen_fixture_is_accepted_like_the_plain_one() -> None:
    plain, frozen = FixtureProviderAdapter(shipped()), FixtureProviderAdapter(freeze_json(shipped()))
    for _ in range(2):
        assert await outcome(plain.stream(REQUEST)) == await outcome(frozen.stream(REQUEST))


def test_the_error_names_the_place() -> None:
    bad = fixture(start(), call({"options": [{"a key": {1}}]}) | {"nan": float("nan")})
    with pytest.raises(FixtureProviderError) as caught:
        FixtureProviderAdapter(bad)
    assert "responses[0].records[1].arguments.options[0]['a key']" in str(caught.value)


def _near_the_end_of_the_stack(work: Callable[[], object]) -> object:
    """Do the work with some forty frames left, as a caller deep in its own recursion would."""
    depth = 0
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage] - no public way to count frames is as cheap
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back

    def descend(left: int) -> object:
        return descend(left - 1) if left else work()

    return descend(sys.getrecursionlimit() - depth - 45)


@pytest.mark.criterion("05.18")
def test_a_caller_that_has_used_up_the_stack_gets_our_error_too() -> None:
    def build() -> object:
        return FixtureProviderAdapter(fixture(start(), call({"deep": nested(100)})))

    assert isinstance(_near_the_end_of_the_stack(build), FixtureProviderAdapter)
    parser = ResponseParser("request-001")
    parser.feed(start())
    with pytest.raises(FixtureProviderError) as caught:
        _near_the_end_of_the_stack(lambda: parser.feed(call({"deep": nested(100)})))
    assert caught.value.code == "PROVIDER_INVALID_EVENT"
