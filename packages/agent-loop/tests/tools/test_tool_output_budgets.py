"""Output content: the budgets of the walk, each boundary of the table, and the work they bound."""

import asyncio
import json
import math
import sys
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kickwheel_agent_loop as tools
from kickwheel_agent_loop import (
    TOOL_OUTPUT_CAP_CHARACTERS,
    TOOL_TRUNCATION_MARKER,
    ToolRegistry,
    define_tool,
    execute_tool_call,
)
from kickwheel_agent_loop._convert import UnserializableOutputError
from kickwheel_agent_loop._output import render
from kickwheel_protocol import ToolCall, ToolResultMessage, Valid, dump_json

MARKER = "\n[Tool output truncated]"


def result_of(output: object) -> ToolResultMessage:
    """Run one call of a tool that gives this output."""
    registry = ToolRegistry([define_tool("t", "Gives an output.", Valid, lambda _value, _context: output)])
    return asyncio.run(execute_tool_call(registry, ToolCall("call-1", "t", {})))


def content_of(output: object) -> str:
    result = result_of(output)
    assert result.is_error is False, result.content
    return result.content


def nested_lists(levels: int) -> object:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def nested_objects(levels: int) -> object:
    value: dict[str, object] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def zeros(count: int) -> dict[str, int]:
    return {f"k{index:03d}": 0 for index in range(count)}


@pytest.mark.criterion("06.80")
def test_the_constants_are_public_and_have_the_values_of_the_table() -> None:
    names = [name for name in tools.__all__ if name.startswith("TOOL_")]
    assert {name: getattr(tools, name) for name in names} == {
        "TOOL_OUTPUT_CAP_CHARACTERS": 4096,
        "TOOL_TRUNCATION_MARKER": MARKER,
        "TOOL_SERIALIZATION_MAX_DEPTH": 32,
        "TOOL_SERIALIZATION_MAX_NODES": 128,
        "TOOL_SERIALIZATION_MAX_COLLECTION_ENTRIES": 256,
        "TOOL_SERIALIZATION_MAX_STRING_CHARACTERS": 4096,
        "TOOL_SERIALIZATION_MAX_INTEGER_BITS": 4096,
    }
    assert len(MARKER) == 24


CUT_AT_CAP: dict[str, tuple[object, str]] = {
    "a string over the cap": ("a" * 4097, "a" * 4072),
    "a string in a list": (["a" * 4093], '["' + "a" * 4070),
    "a string in a dict": ({"x": "a" * 4089}, '{"x":"' + "a" * 4066),
    "escaped newlines": (["\n" * 2047], '["' + "\\n" * 2035),
    "a cut through a short escape": (["x" + "\n" * 2046], '["x' + "\\n" * 2034 + "\\"),
    "a cut through a long escape": (["\x01" * 683], '["' + "\\u0001" * 678 + "\\u"),
    "emoji": (["😀" * 4093], '["' + "😀" * 4070),
    "what lies behind a long string": (["a" * 5000, math.nan], '["' + "a" * 4070),
}


@pytest.mark.criterion("06.80")
@pytest.mark.parametrize("case", CUT_AT_CAP)
def test_content_beyond_the_cap_keeps_4072_code_points_and_gets_the_marker(case: str) -> None:
    output, kept = CUT_AT_CAP[case]
    assert len(kept) == 4072
    assert content_of(output) == kept + MARKER
    assert len(content_of(output)) == TOOL_OUTPUT_CAP_CHARACTERS


FITS: dict[str, tuple[object, int]] = {
    "a string": ("a" * 4096, 4096),
    "a string in a list": (["a" * 4092], 4096),
    "a string in a dict": ({"x": "a" * 4088}, 4096),
    "escaped newlines": (["\n" * 2046], 4096),
    "escaped controls": (["\x01" * 682], 4096),
    "emoji": (["😀" * 4092], 4096),
    "127 zeros": ([0] * 127, 255),
    "127 dicts": ([{} for _ in range(127)], 382),
    "128 values in two lists": ([[0] * 63, [0] * 62], 255),
    "33 lists": (nested_lists(33), 66),
    "33 dicts": (nested_objects(33), 194),
    "127 keys": (zeros(127), 1144),
    "the largest integer": (2**4096 - 1, 1234),
}


@pytest.mark.criterion("06.80")
@pytest.mark.parametrize("case", FITS)
def test_output_within_every_budget_stays_whole(case: str) -> None:
    output, length = FITS[case]
    content = content_of(output)
    assert len(content) == length
    assert MARKER not in content
    if not isinstance(output, str):
        expected = json.dumps(output, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert content == expected


CUT_BY_A_BUDGET: dict[str, tuple[object, str, int]] = {
    "128 zeros": ([0] * 128, "[" + "0," * 127, 279),
    "128 dicts": ([{} for _ in range(128)], "[" + "{}," * 127, 406),
    "129 values in two lists": ([[0] * 63, [0] * 63], "[[" + "0," * 62 + "0],[" + "0," * 62, 278),
    "34 lists": (nested_lists(34), "[" * 33, 57),
    "34 dicts": (nested_objects(34), '{"a":' * 33, 189),
    "128 keys": (zeros(128), "{" + "".join(f'"k{i:03d}":0,' for i in range(127)) + '"k127":', 1175),
    "256 keys": (zeros(256), "{" + "".join(f'"k{i:03d}":0,' for i in range(127)) + '"k127":', 1175),
    "257 keys": (zeros(257), "{", 25),
    "257 keys, one of them no string": ({**zeros(256), 5: 0}, "{", 25),
    "a slot after 256 keys": ({**zeros(256), "k000": [1]}, '{"k000":[', 33),
    "a key after 256 keys": ({**zeros(256), "k000": {"a": 1}}, '{"k000":{', 33),
    "an integer too large": (2**4096, "", 24),
    "a negative integer too large": (-(2**4096), "", 24),
    "an integer too large in a list": ([1, 2**4096], "[1,", 27),
    "what lies behind 128 zeros": ([*[0] * 128, math.nan], "[" + "0," * 127, 279),
}


@pytest.mark.criterion("06.80")
@pytest.mark.parametrize("case", CUT_BY_A_BUDGET)
def test_output_beyond_a_budget_stops_there_and_gets_the_marker(case: str) -> None:
    output, kept, length = CUT_BY_A_BUDGET[case]
    assert content_of(output) == kept + MARKER
    assert len(content_of(output)) == length


@pytest.mark.criterion("06.53")
def test_a_text_of_4096_emoji_stays_whole_and_one_more_is_cut() -> None:
    assert content_of("😀" * 4096) == "😀" * 4096
    content = content_of("😀" * 4097)
    assert content == "😀" * 4072 + MARKER
    assert (len(content), content.count(MARKER)) == (4096, 1)


@pytest.mark.criterion("06.54")
def test_a_text_of_eight_million_characters_gives_4096_code_points() -> None:
    result = result_of("x" * 8_000_000)
    assert (len(result.content), result.is_error) == (4096, False)


@pytest.mark.criterion("06.55")
def test_a_million_zeros_give_the_characters_of_128_zeros() -> None:
    assert content_of([0] * 1_000_000) == content_of([0] * 128)
    assert len(content_of([0] * 1_000_000)) == 279


@pytest.mark.criterion("06.56")
def test_a_hundred_thousand_nested_lists_cause_no_recursion_error() -> None:
    assert content_of(nested_lists(100_000)) == "[" * 33 + MARKER


@pytest.mark.criterion("06.57")
def test_228_empty_dicts_end_after_127() -> None:
    assert content_of([zeros(0) for _ in range(228)]) == "[" + "{}," * 127 + MARKER


@pytest.mark.criterion("06.58")
def test_a_dict_of_250000_keys_is_neither_listed_nor_sorted() -> None:
    hostile: list[object] = [Unlisted() for _ in range(250_000)]
    content = content_of(dict.fromkeys(hostile, 0))
    assert content == "{" + MARKER


class Unlisted:
    """A key that cannot be compared: sorting would fail, and so would telling its type."""

    __hash__ = object.__hash__

    def __lt__(self, other: object) -> bool:
        raise AssertionError("sorted")


@pytest.mark.criterion("06.60")
@pytest.mark.parametrize(
    ("last", "end", "length"),
    [
        (133, '},{"k000":0,"k001":0,"k002":0,"k003":0,"k004":' + MARKER, 1153),
        (134, "},{" + MARKER, 1110),
    ],
)
def test_the_entries_of_one_output_come_from_one_budget(last: int, end: str, length: int) -> None:
    content = content_of([zeros(60), zeros(60), zeros(last)])
    assert content.endswith(end)
    assert len(content) == length


@pytest.mark.criterion("06.61")
@pytest.mark.parametrize(("letters", "marked"), [(4041, False), (4042, True)])
def test_error_content_passes_the_same_walk(letters: int, marked: bool) -> None:
    def fail(_value: object, _context: object) -> object:
        raise ValueError("a" * letters)

    registry = ToolRegistry([define_tool("t", "Fails.", Valid, fail)])
    result = asyncio.run(execute_tool_call(registry, ToolCall("call-1", "t", {})))
    whole = '{"error":{"code":"TOOL_EXECUTION_FAILED","message":"' + "a" * letters + '"}}'
    assert result.content == (whole[:4072] + MARKER if marked else whole)
    assert (len(result.content), result.is_error) == (4096, True)


@pytest.mark.criterion("06.58", "06.80")
def test_long_keys_are_sorted_by_no_more_than_could_be_written_of_them() -> None:
    class Counting(str):
        __slots__ = ()

    keys = ["k" * 5000 + letter for letter in "cab"]
    assert content_of(dict.fromkeys(keys, 0)) == '{"' + "k" * 4070 + MARKER
    assert result_of({Counting("k"): 0}).is_error is True


@pytest.mark.criterion("06.80")
def test_an_integer_of_1234_digits_does_not_depend_on_the_limit_of_the_interpreter() -> None:
    number = -(2**4096 - 1)
    before = sys.get_int_max_str_digits()
    expected = str(number)
    try:
        sys.set_int_max_str_digits(640)
        assert content_of(number) == expected
        assert content_of([10**900]) == "[1" + "0" * 900 + "]"
    finally:
        sys.set_int_max_str_digits(before)


def in_every_container(leaf: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    texts = st.text(st.characters(codec="utf-8"), max_size=20)
    return st.recursive(
        leaf,
        lambda inner: (
            st.lists(inner, max_size=9) | st.dictionaries(texts, inner, max_size=9) | st.tuples(inner)
        ),
        max_leaves=60,
    )


plain_values = in_every_container(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=40)
)


@pytest.mark.criterion("06.50")
@settings(derandomize=True, database=None, max_examples=150, deadline=None)
@given(plain_values)
def test_within_the_budgets_the_text_is_the_canonical_json_of_the_standard_library(value: object) -> None:
    content = render(value)
    expected = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, str):
        assert content == value
    elif content.endswith(MARKER):
        assert expected.startswith(content.removesuffix(MARKER))
    else:
        assert content == expected


hostile_leaves = st.sampled_from(
    ["x" * 600, "\n" * 3000, "\ud800", "é" * 4097, 2**5000, 2**4095, -(10**1200), b"", {1}, object()]
)


@pytest.mark.criterion("06.80")
@settings(derandomize=True, database=None, max_examples=150, deadline=None)
@given(in_every_container(st.integers() | hostile_leaves))
def test_no_output_gives_more_than_4096_code_points_or_more_than_one_marker(value: object) -> None:
    try:
        content = render(value)
    except UnserializableOutputError:
        return
    assert len(content) <= 4096
    assert content.count(TOOL_TRUNCATION_MARKER) <= 1
    dump_json(ToolResultMessage("m", "c", "t", content)).encode("utf-8")


def measured(build: Callable[[int], object]) -> list[float]:
    """Lines executed inside the package for growing outputs: work, not time."""
    counts: list[float] = []
    for size in (10_000, 100_000):
        output = build(size)
        lines = 0

        def trace(frame: object, event: str, _argument: object) -> object:
            nonlocal lines
            lines += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)  # pyright: ignore[reportArgumentType] - a looser signature than the stub's
        try:
            render(output)
        finally:
            sys.settrace(before)
        counts.append(lines)
    return counts


GROWING: dict[str, Callable[[int], object]] = {
    "a list": lambda size: [0] * size,
    "a list in a list": lambda size: [[0] * size],
    "a dict": lambda size: dict.fromkeys(map(str, range(size)), 0),
    "long strings": lambda size: ["a" * size] * size,
    "a text": lambda size: "a" * size,
}


@pytest.mark.criterion("06.55", "06.58")
@pytest.mark.parametrize("shape", GROWING)
def test_the_work_does_not_grow_with_the_output(shape: str) -> None:
    assert all(before == after for before, after in pairwise(measured(GROWING[shape])))
