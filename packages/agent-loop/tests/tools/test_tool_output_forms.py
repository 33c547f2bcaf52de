"""Output content: which values have a form, how each is written, and whose code may run for it."""

import asyncio
import dataclasses
import datetime
import decimal
import enum
import json
import math
import os
import subprocess
import sys
import uuid
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn, cast

import msgspec
import pytest

from kickwheel_agent_loop import ToolRegistry, define_tool, execute_tool_call
from kickwheel_protocol import JsonObject, ToolCall, ToolResultMessage, Valid, dump_json, freeze_json

MARKER = "\n[Tool output truncated]"


async def result_of(make: Callable[[], object]) -> ToolResultMessage:
    registry = ToolRegistry([define_tool("t", "Gives an output.", Valid, lambda _value, _context: make())])
    return await execute_tool_call(registry, ToolCall("call-1", "t", {}))


def content_of(output: object) -> str:
    result = asyncio.run(result_of(lambda: output))
    assert result.is_error is False, result.content
    return result.content


def refusal_of(make: Callable[[], object]) -> str:
    """The message of the error content: the output must have been refused by its own code."""
    result = asyncio.run(result_of(make))
    error = json.loads(result.content)["error"]
    assert (result.is_error, error["code"]) == (True, "TOOL_OUTPUT_SERIALIZATION_FAILED")
    return error["message"]


@dataclasses.dataclass
class Point:
    x: int
    y: object = None


@dataclasses.dataclass
class Node:
    """May hold itself."""

    me: object = None


class Pair(msgspec.Struct):
    first: int
    second: object = None


class Colour(enum.Enum):
    RED = "r"
    PAIR = (1, "a")
    DAY = datetime.date(2024, 1, 2)


class Letter(enum.StrEnum):
    A = "aa"


class Number(enum.IntEnum):
    ONE = 1


ZONE = datetime.timezone.utc  # noqa: UP017 - the attribute every supported version has


@pytest.mark.criterion("06.78")
@pytest.mark.parametrize(
    "text", ["FIRST", "", 'a "quoted"\n\ttext', "\x00\x1f", "a\ud800b", "é\u2028", "[1, 2]", '{"error":1}']
)
def test_a_text_is_the_content_as_it_is(text: str) -> None:
    result = asyncio.run(result_of(lambda: text))
    assert result == ToolResultMessage("tool-result-call-1", "call-1", "t", text, False)
    assert dump_json(result).encode("utf-8")


@pytest.mark.criterion("06.78")
def test_a_text_with_surrogates_is_counted_and_cut_by_code_points_and_encodes_on_the_wire() -> None:
    assert content_of("\ud83d" * 4096) == "\ud83d" * 4096
    content = content_of("\ud83d" * 4097)
    assert content == "\ud83d" * 4072 + MARKER
    dump_json(ToolResultMessage("m", "c", "t", content)).encode("utf-8")


WRITTEN: dict[str, tuple[object, str]] = {
    "None": (None, "null"),
    "True": (True, "true"),
    "False": (False, "false"),
    "int": (9007199254740993, "9007199254740993"),
    "negative int": (-5, "-5"),
    "1.0": (1.0, "1.0"),
    "0.1": (0.1, "0.1"),
    "1e16": (1e16, "1e+16"),
    "-0.0": (-0.0, "-0.0"),
    "1e-07": (1e-7, "1e-07"),
    "largest float": (sys.float_info.max, "1.7976931348623157e+308"),
    "str in a list": (["a"], '["a"]'),
    "list": ([1, None, True], "[1,null,true]"),
    "tuple": ((1, (2,)), "[1,[2]]"),
    "empty list": ([], "[]"),
    "dict": ({"b": 1, "a": {"z": 0, "c": 1}}, '{"a":{"c":1,"z":0},"b":1}'),
    "empty dict": ({}, "{}"),
    "JsonObject": (freeze_json({"b": (1, {"d": 1, "c": 2}), "a": 1.5}), '{"a":1.5,"b":[1,{"c":2,"d":1}]}'),
    "dataclass": (Point(1, Point(2)), '{"x":1,"y":{"x":2,"y":null}}'),
    "struct": (Pair(1, [Pair(2)]), '{"first":1,"second":[{"first":2,"second":null}]}'),
    "date": (datetime.date(2024, 1, 2), '"2024-01-02"'),
    "time": (datetime.time(1, 2, 3), '"01:02:03"'),
    "datetime": (datetime.datetime(2024, 1, 2, 3, 4, 5, 6), '"2024-01-02T03:04:05.000006"'),
    "datetime with zone": (datetime.datetime(2024, 1, 2, tzinfo=ZONE), '"2024-01-02T00:00:00Z"'),
    "timedelta": (datetime.timedelta(seconds=90), '"PT90S"'),
    "UUID": (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
    "Enum": (Colour.RED, '"r"'),
    "Enum of a tuple": (Colour.PAIR, '[1,"a"]'),
    "Enum of a date": (Colour.DAY, '"2024-01-02"'),
    "StrEnum": (Letter.A, '"aa"'),
    "IntEnum": (Number.ONE, "1"),
    "Decimal": (decimal.Decimal("1.50"), '"1.50"'),
    "in their places": (
        {"day": datetime.date(2024, 1, 2), "list": [Point(1), Letter.A, decimal.Decimal(1)]},
        '{"day":"2024-01-02","list":[{"x":1,"y":null},"aa","1"]}',
    ),
    "inside a dataclass": (
        Point(1, {"d": decimal.Decimal("0.10"), "u": uuid.UUID(int=2), "j": freeze_json({"b": 1, "a": ()})}),
        '{"x":1,"y":{"d":"0.10","j":{"a":[],"b":1},"u":"00000000-0000-0000-0000-000000000002"}}',
    ),
}


@pytest.mark.criterion("06.50", "06.51")
@pytest.mark.parametrize("case", WRITTEN)
def test_each_accepted_form_is_written_as_the_table_says(case: str) -> None:
    output, content = WRITTEN[case]
    assert content_of(output) == content
    assert content_of([output]) == f"[{content}]"
    assert content_of({"k": output}) == f'{{"k":{content}}}'


@pytest.mark.criterion("06.51")
@pytest.mark.parametrize(
    "output",
    [
        Point(1),
        Pair(1),
        datetime.date(2024, 1, 2),
        datetime.timedelta(1),
        Colour.RED,
        decimal.Decimal("1E+3"),
    ],
)
def test_a_converted_value_is_what_msgspec_makes_of_it(output: object) -> None:
    assert json.loads(content_of(output)) == msgspec.to_builtins(output)


class Moment(datetime.datetime):
    """As a test clock makes them."""


class Day(datetime.date):
    pass


class Clock(datetime.time):
    pass


class Span(datetime.timedelta):
    pass


class Identity(uuid.UUID):
    pass


@pytest.mark.criterion("06.51")
def test_a_subclass_of_a_date_or_a_uuid_is_written_as_its_base() -> None:
    output = [
        Moment(2024, 1, 2, 3, tzinfo=ZONE),
        Day(2024, 1, 2),
        Clock(1, 2, 3, 4, tzinfo=ZONE),
        Span(seconds=1),
        Identity(int=1),
        Point(1, Moment(2024, 1, 2)),
    ]
    assert json.loads(content_of(output)) == [
        "2024-01-02T03:00:00Z",
        "2024-01-02",
        "01:02:03.000004Z",
        "PT1S",
        "00000000-0000-0000-0000-000000000001",
        {"x": 1, "y": "2024-01-02T00:00:00"},
    ]


@pytest.mark.criterion("06.51")
def test_a_pydantic_model_is_dumped_as_json_data_at_any_depth() -> None:
    pydantic = pytest.importorskip("pydantic")
    model: Any = pydantic.create_model("Model", day=(datetime.date, ...), inner=(object, None))
    value = model(day=datetime.date(2024, 1, 2))
    assert content_of(value) == '{"day":"2024-01-02","inner":null}'
    assert content_of([value]) == '[{"day":"2024-01-02","inner":null}]'
    nested = model(day=datetime.date(2024, 1, 2), inner={"b": decimal.Decimal("1.0"), "a": value})
    assert content_of(nested) == (
        '{"day":"2024-01-02","inner":{"a":{"day":"2024-01-02","inner":null},"b":"1.0"}}'
    )
    assert content_of(Point(1, value)) == '{"x":1,"y":{"day":"2024-01-02","inner":null}}'


@pytest.mark.criterion("06.51")
def test_a_pydantic_model_that_dumps_itself_or_a_nan_is_refused() -> None:
    pydantic = pytest.importorskip("pydantic")
    base: Any = pydantic.BaseModel

    class Stubborn(base):
        def model_dump(self, *, mode: str) -> object:
            return self

    class Loose(base):
        value: float = math.nan

    assert "Stubborn" in refusal_of(lambda: Stubborn())
    assert "nan" in refusal_of(lambda: Loose())


@pytest.mark.criterion("06.51")
def test_pydantic_is_never_imported() -> None:
    code = (
        "import asyncio, sys\n"
        "from kickwheel_agent_loop import ToolRegistry, define_tool, execute_tool_call\n"
        "from kickwheel_protocol import ToolCall, Valid\n"
        "class BaseModel:\n"
        "    def model_dump(self, *, mode): raise SystemExit(3)\n"
        "r = ToolRegistry([define_tool('t', 'd', Valid, lambda v, c: BaseModel())])\n"
        "m = asyncio.run(execute_tool_call(r, ToolCall('c', 't', {})))\n"
        "assert m.is_error, m\n"
        "assert not [n for n in sys.modules if n.split('.')[0].startswith('pydantic')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


async def never_awaited() -> None:
    """Left in an output."""


class Plain:
    pass


class LikeAModel:
    """Has the method, and is no pydantic model."""

    def model_dump(self, *, mode: str) -> object:
        raise AssertionError("called")


class DictKind(dict[str, int]):
    pass


class ListKind(list[int]):
    pass


class StrKind(str):
    pass


class IntKind(int):
    pass


class FloatKind(float):
    pass


@dataclasses.dataclass
class DataDict(dict[str, int]):
    """Both a dataclass and a dict: what it holds could be meant either way."""

    x: int = 1


class Named(NamedTuple):
    a: int
    b: int


def numbers() -> Iterator[int]:
    yield 1


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "nan": (lambda: math.nan, "nan"),
    "infinity": (lambda: math.inf, "inf"),
    "negative infinity": (lambda: -math.inf, "inf"),
    "Decimal nan": (lambda: decimal.Decimal("NaN"), "NaN"),
    "Decimal infinity": (lambda: decimal.Decimal("-Infinity"), "Infinity"),
    "int key": (lambda: {1: 2}, "int"),
    "None key": (lambda: {None: 2}, "NoneType"),
    "bool key": (lambda: {True: 2}, "bool"),
    "tuple key": (lambda: {(1,): 2}, "tuple"),
    "str subclass key": (lambda: {StrKind("a"): 1}, "StrKind"),
    "enum key": (lambda: {Letter.A: 1}, "Letter"),
    "set": (lambda: {1}, "set"),
    "frozenset": (lambda: frozenset({1}), "frozenset"),
    "bytes": (lambda: b"a", "bytes"),
    "bytearray": (lambda: bytearray(b"a"), "bytearray"),
    "complex": (lambda: 1j, "complex"),
    "range": (lambda: range(3), "range"),
    "generator": (lambda: numbers(), "generator"),
    "function": (lambda: numbers, "function"),
    "class": (lambda: Plain, "type"),
    "enum class": (lambda: Colour, "EnumType"),
    "dataclass class": (lambda: Point, "type"),
    "module": (lambda: os, "module"),
    "exception": (lambda: ValueError("a"), "ValueError"),
    "plain object": (lambda: Plain(), "Plain"),
    "object": (lambda: object(), "object"),
    "like a model": (lambda: LikeAModel(), "LikeAModel"),
    "dict subclass": (lambda: DictKind(a=1), "DictKind"),
    "OrderedDict": (lambda: OrderedDict[str, int](a=1), "OrderedDict"),
    "defaultdict": (lambda: defaultdict[str, int](int), "defaultdict"),
    "list subclass": (lambda: ListKind([1]), "ListKind"),
    "named tuple": (lambda: Named(1, 2), "Named"),
    "str subclass": (lambda: StrKind("a"), "StrKind"),
    "int subclass": (lambda: IntKind(1), "IntKind"),
    "float subclass": (lambda: FloatKind(1), "FloatKind"),
    "dataclass that is a dict": (lambda: DataDict(), "DataDict"),
    "async generator": (lambda: agenerator(), "async_generator"),
}


async def agenerator() -> Any:
    yield 1


@pytest.mark.criterion("06.51")
@pytest.mark.parametrize("case", REFUSED)
def test_each_refused_form_gives_a_serialization_failure_that_names_it(case: str) -> None:
    make, name = REFUSED[case]
    assert name in refusal_of(make)
    assert name in refusal_of(lambda: [1, make()])
    assert name in refusal_of(lambda: {"k": make()})


@pytest.mark.criterion("06.51")
@pytest.mark.parametrize(
    "inner",
    [math.nan, decimal.Decimal("NaN"), {1: 2}, Plain(), 1j, StrKind("a"), LikeAModel(), {"a": [math.inf]}],
)
def test_what_is_refused_is_refused_inside_a_dataclass_too(inner: object) -> None:
    assert refusal_of(lambda: Point(1, inner))


@pytest.mark.criterion("06.51")
async def test_a_coroutine_left_in_the_output_is_refused_and_closed() -> None:
    left: list[Any] = []

    def make() -> object:
        left.append(never_awaited())
        return [left[-1]]

    result = await result_of(make)
    assert json.loads(result.content)["error"]["code"] == "TOOL_OUTPUT_SERIALIZATION_FAILED"
    assert "coroutine" in result.content
    inside = await result_of(lambda: Point(1, make()))
    assert json.loads(inside.content)["error"]["code"] == "TOOL_OUTPUT_SERIALIZATION_FAILED"
    assert [one.cr_frame for one in left] == [None, None]


@pytest.mark.criterion("06.51")
async def test_a_future_left_in_the_output_is_refused_and_its_failure_observed() -> None:
    failed: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    failed.set_exception(ValueError("late"))
    waiting: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    for future in (failed, waiting):
        result = await result_of(lambda future=future: {"k": future})
        assert json.loads(result.content)["error"]["code"] == "TOOL_OUTPUT_SERIALIZATION_FAILED"
    assert not waiting.cancelled()
    waiting.set_exception(ValueError("later"))


class Meta(type):
    """Runs code for everything that could be asked of a class."""

    calls: list[str] = []  # noqa: RUF012 - one list for all is meant

    def __getattribute__(cls, name: str) -> Any:
        Meta.calls.append(f"class {name}")
        return super().__getattribute__(name)

    def __eq__(cls, other: object) -> bool:
        Meta.calls.append("class ==")
        return True

    def __hash__(cls) -> int:
        Meta.calls.append("class hash")
        return 0

    def __instancecheck__(cls, instance: object) -> bool:
        Meta.calls.append("class isinstance")
        return True


def _hook(name: str) -> Callable[..., NoReturn]:
    def called(*_arguments: object, **_options: object) -> NoReturn:
        Meta.calls.append(name)
        raise KeyboardInterrupt(name)

    return called


HOOKS = (
    "__iter__ __len__ keys items __getitem__ __str__ __repr__ __bool__ __eq__ __int__ __index__ __float__ "
    "__getattr__ __getattribute__ __contains__ __call__ __format__ __reduce__ __reduce_ex__ __fspath__ "
    "__bytes__ __length_hint__ __next__ __json__ model_dump dict to_dict _asdict isoformat"
)


@pytest.mark.criterion("06.51")
@pytest.mark.parametrize("base", [object, dict, list, tuple, str, int, float, Exception])
def test_no_code_of_an_unknown_class_runs(base: type) -> None:
    namespace: dict[str, object] = {name: _hook(name) for name in HOOKS.split(" ")}
    namespace["__class__"] = property(_hook("__class__"))
    namespace["__dict__"] = property(_hook("__dict__"))
    namespace["__hash__"] = object.__hash__
    hostile = Meta("Hostile", (base,), namespace)
    value: object = cast("Callable[[type], object]", base.__new__)(hostile)
    Meta.calls.clear()
    assert "Hostile" in refusal_of(lambda: value)
    assert "Hostile" in refusal_of(lambda: [value])
    assert "Hostile" in refusal_of(lambda: {"k": value})
    if base is not dict and base is not list:
        assert "Hostile" in refusal_of(lambda: {value: 1})
    assert Meta.calls == []


@pytest.mark.criterion("06.52")
def test_escapes_are_those_of_json_and_all_else_stays_raw() -> None:
    raw = "".join(map(chr, range(0x20, 0x22))) + "/\x7f\u2028\u2029é😀\ue000\ufeff"
    assert content_of([raw]) == '["' + raw.replace('"', '\\"') + '"]'
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    for character in map(chr, range(0x20)):
        expected = short.get(character, f"\\u{ord(character):04x}")
        assert content_of([character]) == f'["{expected}"]'
        assert content_of({character: 1}) == f'{{"{expected}":1}}'
    assert content_of(['"\\']) == '["\\"\\\\"]'
    assert content_of(["\ud83d", "a\udc00é"]) == '["\\ud83d","a\\udc00é"]'
    assert content_of({"\udfff": "\ud83d\ude00"}) == '{"\\udfff":"\\ud83d\\ude00"}'


@pytest.mark.criterion("06.62")
def test_a_cycle_is_written_as_a_word_and_a_shared_value_twice() -> None:
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    endless: list[object] = []
    endless.append(endless)
    shared = [1]
    two_steps: dict[str, object] = {}
    two_steps["a"] = [two_steps]
    assert content_of(cyclic) == '{"self":"[Circular]"}'
    assert content_of(endless) == '["[Circular]"]'
    assert content_of([shared, shared]) == "[[1],[1]]"
    assert content_of((shared, {"a": shared})) == '[[1],{"a":[1]}]'
    assert content_of(two_steps) == '{"a":["[Circular]"]}'


@pytest.mark.criterion("06.62")
@pytest.mark.parametrize("kind", ["itself", "through a list", "through a struct"])
def test_a_cycle_through_a_converted_object_ends(kind: str) -> None:
    node = Node()
    node.me = {"itself": node, "through a list": [node], "through a struct": Pair(1, node)}[kind]
    result = asyncio.run(result_of(lambda: [node]))
    assert "[Circular]" in result.content or "TOOL_OUTPUT_SERIALIZATION_FAILED" in result.content


@pytest.mark.criterion("06.63")
def test_everything_at_once() -> None:
    shared = [1]
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    output = {"list": [shared, shared], "aInt": 9007199254740993, "none": None, "cycle": cyclic}
    assert content_of(output) == (
        '{"aInt":9007199254740993,"cycle":{"self":"[Circular]"},"list":[[1],[1]],"none":null}'
    )


@pytest.mark.criterion("06.79")
def test_keys_are_sorted_by_code_point_and_written_raw() -> None:
    output = {"z": 1, "A": 2, "é": 3, "a": 4, "": 5, "😀": 6, "～": 7}
    expected = '{"":5,"A":2,"a":4,"z":1,"é":3,"～":7,"😀":6}'
    assert content_of(output) == expected
    assert content_of([freeze_json(output)]) == f"[{expected}]"
    assert content_of({"k": output}) == f'{{"k":{expected}}}'


@pytest.mark.criterion("06.50")
def test_any_hash_seed_gives_the_same_text() -> None:
    code = (
        "import asyncio, dataclasses\n"
        "from kickwheel_agent_loop import ToolRegistry, define_tool, execute_tool_call\n"
        "from kickwheel_protocol import ToolCall, Valid\n"
        "@dataclasses.dataclass\n"
        "class D:\n"
        "    words: object\n"
        "out = {'a': {k: 1 for k in {'x', 'y', 'z', 'w'}}, 'd': D({'p', 'q', 'r', 's'}), 'big': ['k'] * 40}\n"
        "r = ToolRegistry([define_tool('t', 'd', Valid, lambda v, c: out)])\n"
        "print(asyncio.run(execute_tool_call(r, ToolCall('c', 't', {}))).content)\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            timeout=60,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "42")
    }
    assert len(texts) == 1
    assert b'"words":["p","q","r","s"]' in texts.pop()


@pytest.mark.criterion("06.50")
def test_a_frozen_argument_returned_as_it_came_is_written() -> None:
    call = ToolCall("call-1", "echo", {"b": [1, {"d": None, "c": 2.5}], "a": "x"})
    registry = ToolRegistry([define_tool("echo", "Echo.", Valid, lambda value, _context: value)])
    result = asyncio.run(execute_tool_call(registry, call))
    assert result.content == '{"a":"x","b":[1,{"c":2.5,"d":null}]}'
    assert type(cast("object", call.arguments)) is JsonObject
