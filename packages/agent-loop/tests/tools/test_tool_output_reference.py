"""Output content against a second writer: the walk of the spec, sentence by sentence, as slow as it likes."""

import json
from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kickwheel_agent_loop._convert import UnserializableOutputError
from kickwheel_agent_loop._output import render
from kickwheel_protocol import JsonObject, freeze_json

MARKER = "\n[Tool output truncated]"


class Truncate(Exception):  # noqa: N818 - a jump, not an error
    """Stop the walk."""


class Fail(Exception):  # noqa: N818 - the same
    """Refuse the output."""


Container = dict[object, object] | list[object]


class Walk:
    """The spec's walk, one character and one value at a time."""

    def __init__(self) -> None:
        self.written = ""
        self.visited = 0
        self.entries = 256

    def write(self, text: str) -> None:
        for character in text:
            if len(self.written) == 4096:
                raise Truncate
            self.written += character

    def string(self, text: str) -> None:
        self.write('"')
        for character in text:
            if "\ud800" <= character <= "\udfff":
                self.write(f"\\u{ord(character):04x}")
            else:
                self.write(json.dumps(character, ensure_ascii=False)[1:-1])
        self.write('"')

    def visit(self, value: object, depth: int, path: tuple[int, ...]) -> None:
        if self.visited == 128:
            raise Truncate
        self.visited += 1
        if isinstance(value, str):
            self.string(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            if abs(value) >= 2**4096:
                raise Truncate
            self.write(str(value))
        elif isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                raise Fail
            self.write(json.dumps(value))
        elif value is None or isinstance(value, bool):
            self.write(json.dumps(value))
        elif isinstance(value, dict | list | tuple):
            self.container(cast("Container", value), depth, path)
        else:
            raise Fail

    def container(
        self, value: "dict[object, object] | list[object]", depth: int, path: tuple[int, ...]
    ) -> None:
        if id(value) in path:
            self.write('"[Circular]"')
            return
        if depth == 33:
            raise Truncate
        inner = (*path, id(value))
        if isinstance(value, dict):
            self.write("{")
            if len(value) > self.entries:
                raise Truncate
            self.entries -= len(value)
            if any(type(key) is not str for key in value):
                raise Fail
            for number, key in enumerate(sorted(cast("dict[str, object]", value))):
                if number:
                    self.write(",")
                self.string(key)
                self.write(":")
                self.visit(value[key], depth + 1, inner)
            self.write("}")
            return
        self.write("[")
        for number, slot in enumerate(value):
            if self.entries == 0:
                raise Truncate
            self.entries -= 1
            if number:
                self.write(",")
            self.visit(slot, depth + 1, inner)
        self.write("]")


def reference(output: object) -> str:
    if isinstance(output, str):
        return output if len(output) <= 4096 else output[:4072] + MARKER
    walk = Walk()
    try:
        walk.visit(output, 0, ())
    except Truncate:
        return walk.written[:4072] + MARKER
    return walk.written


def outcome(write: Callable[[object], str], output: object) -> str:
    try:
        return write(output)
    except (Fail, UnserializableOutputError):
        return "refused"


characters = st.sampled_from('az09"\\/\n\t\x00\x1f\x7féß中😀～\u2028\ud83d\udc00')


def repeat(piece: str, times: int) -> str:
    return piece * times


def slots_of(value: object, count: int) -> object:
    return [value] * count


def fields_of(value: object, count: int) -> object:
    return {f"k{number:03d}": value for number in range(count)}


def deep(value: object, levels: int) -> object:
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


texts = st.builds(repeat, st.text(characters, max_size=9), st.sampled_from([1, 1, 1, 1, 60, 500, 2100]))
numbers = st.sampled_from([0, -1, 2**63, 2**4096 - 1, 2**4096, -(2**4096), 10**700]) | st.integers()
odd_floats = st.sampled_from([float("nan"), float("inf"), 1e16, -0.0])
floats = st.floats(allow_nan=False, allow_infinity=False) | odd_floats
leaves: st.SearchStrategy[object] = st.none() | st.booleans() | numbers | floats | texts


def big(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Containers that often stand just below or above a budget."""
    counts = st.sampled_from([0, 1, 2, 3, 62, 63, 64, 126, 127, 128, 129, 200, 255, 256, 257])
    return (
        st.builds(slots_of, inner, counts)
        | st.builds(fields_of, inner, counts)
        | st.builds(deep, inner, st.sampled_from([1, 30, 31, 32, 33]))
        | st.dictionaries(texts, inner, max_size=4)
        | st.dictionaries(st.integers(), inner, max_size=1)
        | st.lists(inner, max_size=5).map(tuple)
    )


@pytest.mark.criterion("06.50", "06.52", "06.55", "06.56", "06.58", "06.60", "06.80")
@settings(derandomize=True, database=None, max_examples=400, deadline=None)
@given(st.recursive(leaves, big, max_leaves=8))
def test_any_plain_value_is_written_as_the_spec_walks_it(output: object) -> None:
    assert outcome(render, output) == outcome(reference, output)


@pytest.mark.criterion("06.62")
@settings(derandomize=True, database=None, max_examples=100, deadline=None)
@given(st.integers(0, 34), st.integers(0, 34), st.sampled_from([1, 5, 130]))
def test_any_cycle_is_written_as_the_spec_walks_it(above: int, below: int, slots: int) -> None:
    ring: list[object] = []
    ring.extend([deep(ring, below)] * slots)
    output = deep(ring, above)
    assert outcome(render, output) == outcome(reference, output)


@pytest.mark.criterion("06.50")
@settings(derandomize=True, database=None, max_examples=100, deadline=None)
@given(st.recursive(st.none() | st.integers(-9, 9) | st.text("ab"), big, max_leaves=8))
def test_frozen_json_is_written_like_the_plain_value_it_came_from(output: object) -> None:
    try:
        frozen = freeze_json(output)
    except ValueError:
        return
    assert type(frozen) in (JsonObject, tuple, str, int, bool, type(None))
    assert outcome(render, frozen) == outcome(render, output)
