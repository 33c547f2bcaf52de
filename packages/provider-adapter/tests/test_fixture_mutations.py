"""Every mutant of the shipped fixture gives the documented code at the documented record (05.M1 to 05.M29).

The mutants are generated: each rule makes all its changes, for both responses, from the shipped file.
"""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import pytest

from kickwheel_protocol import ModelRequest, ModelResponse, TextBlock, ToolCall, Usage
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError, ResponseParser

SHIPPED = Path(__file__).parents[3] / "fixtures" / "provider-tool-roundtrip.json"
ORIGINAL: Final[dict[str, Any]] = json.loads(SHIPPED.read_text(encoding="utf-8"))
DELETED: Final = object()
BAD: Final[list[object]] = [DELETED, None, 0, True, 1.5, [], {}, "", "  "]
JSON_VALUES: Final[list[object]] = [None, 0, True, 1.5, [], {}, "", "text", [1, {"a": None}], {"a": [1]}]

Path_: TypeAlias = tuple[str | int, ...]
Shows: TypeAlias = Callable[[ModelResponse], bool]
CONSTRUCTOR: Final = ("PROVIDER_INVALID_FIXTURE", None)


@dataclass(frozen=True)
class Mutant:
    """One change, and what must come of it: a code and an index, or what the played response must show."""

    line: str
    name: str
    change: Callable[[dict[str, Any]], None]
    response: int = 0
    fails: tuple[str, int | None] | None = None
    shows: Shows | None = None
    provider_code: str | None = None


class Maker(Protocol):
    def __call__(self, code: str = "", index: int = 0, shows: Shows | None = None) -> Mutant: ...


def at(data: Any, path: Path_) -> Any:
    for step in path:
        data = data[step]
    return data


def setting(path: Path_, value: object) -> Callable[[dict[str, Any]], None]:
    """A change that sets the field at the path, or deletes it."""

    def change(data: dict[str, Any]) -> None:
        parent = at(data, path[:-1])
        if value is DELETED:
            del parent[path[-1]]
        else:
            parent[path[-1]] = copy.deepcopy(value)

    return change


def named(path: Path_, value: object) -> str:
    shown = "deleted" if value is DELETED else repr(value)
    return f"{'.'.join(map(str, path))}={shown}"


def records(response: int) -> Path_:
    return ("responses", response, "records")


def field(response: int, record: int, *steps: str) -> Path_:
    return (*records(response), record, *steps)


def refused(line: str, path: Path_, values: list[object], code: str, index: int | None) -> Iterator[Mutant]:
    response = path[1] if len(path) > 1 and isinstance(path[1], int) else 0
    for value in values:
        fails = CONSTRUCTOR if code == "C" else (f"PROVIDER_{code}", index)
        yield Mutant(line, named(path, value), setting(path, value), response, fails)


def accepted(line: str, path: Path_, value: object, shows: Shows = lambda _: True) -> Mutant:
    response = path[1] if len(path) > 1 and isinstance(path[1], int) else 0
    return Mutant(line, named(path, value), setting(path, value), response, shows=shows)


def all_mutants() -> Iterator[Mutant]:
    yield from _fixture_mutants()
    for response in (0, 1):
        yield from _response_mutants(response)
        yield from _record_mutants(response)
        yield from _order_mutants(response)
        yield from _start_mutants(response)
        yield from _end_mutants(response)
    yield from _call_mutants()
    yield from _text_mutants()
    yield from _extra_mutants()


def _fixture_mutants() -> Iterator[Mutant]:
    yield from refused("05.M1", ("schemaVersion",), [*BAD, 2, "1"], "C", None)
    yield from refused("05.M2", ("responses",), [value for value in BAD if value != []], "C", None)
    for value in (DELETED, *JSON_VALUES):
        for response in (0, 1):
            yield Mutant("05.M3", named(("expected",), value), setting(("expected",), value), response)


def _response_mutants(response: int) -> Iterator[Mutant]:
    yield from refused("05.M4", ("responses", response), [None, 0, True, [], {}, ""], "C", None)
    yield from refused("05.M5", records(response), [value for value in BAD if value != []], "C", None)
    yield from refused("05.M6", records(response), [[]], "MISSING_TERMINAL", 0)


def _record_mutants(response: int) -> Iterator[Mutant]:
    for record in range(3):
        path = field(response, record)
        yield from refused("05.M10", path, [None, 0, True, "", [], {}], "INVALID_EVENT", record)
        yield from refused("05.M16", field(response, record, "type"), BAD, "INVALID_EVENT", record)
        yield from refused("05.M17", field(response, record, "type"), ["surprise"], "UNKNOWN_EVENT", record)
    broken = {"type": "transport_error", "code": "X", "message": "y"}
    path = field(response, 1)
    fails = ("PROVIDER_TRANSPORT_ERROR", 1)
    yield Mutant("05.M28", named(path, broken), setting(path, broken), response, fails, provider_code="X")


def _order_mutants(response: int) -> Iterator[Mutant]:
    is_tool = response == 0

    def reorder(line: str, *order: int) -> "Maker":
        def change(data: dict[str, Any]) -> None:
            held = at(data, records(response))
            held[:] = [copy.deepcopy(held[index]) for index in order]

        def made(code: str = "", index: int = 0, shows: Shows | None = None) -> Mutant:
            fails = (f"PROVIDER_{code}", index) if code else None
            return Mutant(line, f"{response}:{order}", change, response, fails, shows)

        return made

    yield reorder("05.M7", 0, 1)("MISSING_TERMINAL", 2)
    yield reorder("05.M8", 1, 2)("MISSING_START", 0)
    yield (
        reorder("05.M9", 0, 2)("INVALID_TERMINAL", 1)
        if is_tool
        else reorder("05.M9", 0, 2)(shows=lambda played: played.message.content == ())
    )
    yield reorder("05.M11", 0, 0, 1, 2)("DUPLICATE_START", 1)
    twice = (TextBlock("The sum is 42."),) * 2
    yield (
        reorder("05.M12", 0, 1, 1, 2)("INVALID_EVENT", 2)
        if is_tool
        else reorder("05.M12", 0, 1, 1, 2)(shows=lambda played: played.message.content == twice)
    )
    yield reorder("05.M13", 0, 1, 2, 2)("DUPLICATE_TERMINAL", 3)
    yield reorder("05.M14", 1, 0, 2)("MISSING_START", 0)
    yield reorder("05.M15", 0, 2, 1)("INVALID_TERMINAL", 1 if is_tool else 2)


def _start_mutants(response: int) -> Iterator[Mutant]:
    path = field(response, 0, "responseId")
    yield from refused("05.M18", path, BAD, "INVALID_EVENT", 0)
    yield from refused("05.M18", path, ["other", " x ", "response"], "RESPONSE_MISMATCH", 2)
    roles = [*BAD, "user", "Assistant", "assistant "]
    yield from refused("05.M19", field(response, 0, "role"), roles, "INVALID_EVENT", 0)


def _end_mutants(response: int) -> Iterator[Mutant]:
    path = field(response, 2, "responseId")
    yield from refused("05.M23", path, BAD, "INVALID_EVENT", 2)
    yield from refused("05.M23", path, ["other", " x "], "RESPONSE_MISMATCH", 2)
    path = field(response, 2, "stopReason")
    yield from refused("05.M24", path, [*BAD, "toolCall", "length", "Stop"], "INVALID_EVENT", 2)
    other = "stop" if response == 0 else "tool_call"
    yield from refused("05.M24", path, [other], "INVALID_TERMINAL", 2)
    yield from refused("05.M25", field(response, 2, "usage"), BAD, "INVALID_EVENT", 2)
    for camel, snake, attribute in (
        ("inputTokens", "input_tokens", "input_tokens"),
        ("outputTokens", "output_tokens", "output_tokens"),
    ):
        path = field(response, 2, "usage", camel)
        bad = [value for value in BAD if value is not BAD[2]] + [-1, "3", 2**53]
        yield from refused("05.M26", path, bad, "INVALID_EVENT", 2)
        for count in (0, 2**53 - 1):
            yield accepted("05.M26", path, count, _shows_count(attribute, count))
        yield from _renamed(response, camel, snake)


def _shows_count(attribute: str, count: int) -> Shows:
    return lambda played: getattr(played.usage, attribute) == count


def _renamed(response: int, camel: str, snake: str) -> Iterator[Mutant]:
    usage = field(response, 2, "usage")
    counts = at(ORIGINAL, usage)
    whole = Usage(counts["inputTokens"], counts["outputTokens"])
    renamed = {snake if key == camel else key: value for key, value in counts.items()}
    yield accepted("05.M27", usage, renamed, lambda played: played.usage == whole)
    for value in (counts[camel], None, 0):
        yield from refused("05.M27", usage, [counts | {snake: value}], "INVALID_EVENT", 2)


def _call_mutants() -> Iterator[Mutant]:
    for name in ("id", "name"):
        path = field(0, 1, name)
        yield from refused("05.M20", path, BAD, "INVALID_EVENT", 1)
        for value in ("other", " x ", "é"):
            yield accepted("05.M20", path, value, _shows_call(name, value))
    path = field(0, 1, "arguments")
    yield from refused("05.M21", path, [value for value in BAD if value != {}], "INVALID_EVENT", 1)
    yield accepted("05.M21", path, {}, lambda played: played.message.tool_calls[0].arguments == {})
    for key in ("left", "right"):
        for value in (DELETED, *JSON_VALUES):
            yield accepted("05.M21", (*path, key), value)


def _shows_call(name: str, value: str) -> Shows:
    return lambda played: getattr(played.message.tool_calls[0], name) == value


def _text_mutants() -> Iterator[Mutant]:
    path = field(1, 1, "text")
    legal = ("", "  ")
    yield from refused("05.M22", path, [value for value in BAD if value not in legal], "INVALID_EVENT", 1)
    for value in (*legal, "other", "\ud83d", "x" * 100_000):
        yield accepted("05.M22", path, value, _shows_text(value))


def _shows_text(value: str) -> Shows:
    return lambda played: played.message.content == (TextBlock(value),)


def _extra_mutants() -> Iterator[Mutant]:
    objects: list[Path_] = [(), ("expected",)]
    for response in (0, 1):
        objects.append(("responses", response))
        objects += [field(response, record) for record in range(3)]
        objects.append(field(response, 2, "usage"))
    for path in objects:
        for value in JSON_VALUES:
            yield accepted("05.M29", (*path, "extra"), value)


MUTANTS: Final = list(all_mutants())
LINES: Final = {f"05.M{number}" for number in range(1, 30)}


def by_line() -> list[object]:
    lines = sorted({mutant.line for mutant in MUTANTS}, key=lambda line: int(line[4:]))
    return [pytest.param(line, id=line, marks=pytest.mark.criterion(line)) for line in lines]


async def play(adapter: FixtureProviderAdapter) -> ModelResponse | Exception:
    stream = adapter.stream(ModelRequest("request-001", ()))
    iterated: FixtureProviderError | None = None
    try:
        _ = [chunk async for chunk in stream]
    except FixtureProviderError as error:
        iterated = error
    try:
        return await stream.result
    except FixtureProviderError as error:
        return error if error is iterated else AssertionError("the channels fail with different errors")


async def assert_documented(mutant: Mutant) -> None:
    data = copy.deepcopy(ORIGINAL)
    mutant.change(data)
    if mutant.fails == CONSTRUCTOR:
        with pytest.raises(FixtureProviderError) as caught:
            FixtureProviderAdapter(data)
        assert (caught.value.code, caught.value.record_index) == CONSTRUCTOR
        return
    adapter = FixtureProviderAdapter(data)
    for response in (0, 1):
        played = await play(adapter)
        if response != mutant.response:  # the other response still works
            assert played == await _untouched(response), mutant.name
        elif mutant.fails is not None:
            assert isinstance(played, FixtureProviderError), mutant.name
            assert (played.code, played.record_index) == mutant.fails, mutant.name
            assert played.provider_code == mutant.provider_code, mutant.name
        else:
            assert isinstance(played, ModelResponse), mutant.name
            assert mutant.shows is None or mutant.shows(played), mutant.name
            _assert_data(played, data, response)


async def _untouched(response: int) -> ModelResponse:
    parser = ResponseParser("request-001")
    for record in ORIGINAL["responses"][response]["records"]:
        parser.feed(record)
    return parser.close()


def _assert_data(played: ModelResponse, data: dict[str, Any], response: int) -> None:
    """What was played is what the mutated file says."""
    calls = [record for record in data["responses"][response]["records"] if record["type"] == "tool_call"]
    assert played.message.tool_calls == tuple(
        ToolCall(call["id"], call["name"], call["arguments"]) for call in calls
    )


@pytest.mark.parametrize("line", by_line())
async def test_every_mutant_of_this_line_does_what_the_line_says(line: str) -> None:
    for mutant in MUTANTS:
        if mutant.line == line:
            await assert_documented(mutant)


def test_there_are_mutants_for_every_line_and_more_than_three_hundred() -> None:
    assert {mutant.line for mutant in MUTANTS} == LINES
    assert len(MUTANTS) > 300
    assert json.loads(SHIPPED.read_text(encoding="utf-8")) == ORIGINAL


async def test_a_fixture_cut_off_after_any_record_misses_its_terminal() -> None:
    for response in (0, 1):
        for kept in range(3):
            data = copy.deepcopy(ORIGINAL)
            del at(data, records(response))[kept:]
            adapter = FixtureProviderAdapter(data)
            played = [await play(adapter) for _ in range(2)][response]
            assert isinstance(played, FixtureProviderError)
            assert (played.code, played.record_index) == ("PROVIDER_MISSING_TERMINAL", kept)
