"""Frozen JSON: the mapping, freezing, thawing, depth and sharing (checkpoints 01 and 03)."""

import collections.abc
import copy
import gc
import json
import pickle
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings

from kickwheel_protocol import (
    JsonObject,
    JsonValue,
    ProtocolError,
    ToolCall,
    dump_json,
    freeze_json,
    thaw_json,
)
from kickwheel_protocol.testing import json_objects, json_values

stable = settings(derandomize=True, database=None, deadline=None, max_examples=100)


def nested(depth: int, *, array: bool = False) -> Any:
    """Make so many plain containers, lists and dicts by turns, one inside the other."""
    value: Any = None
    for left in reversed(range(depth)):
        inside = [] if value is None else [value]
        value = inside if array == (left % 2 == 0) else dict(zip("a", inside, strict=False))
    return value


def objects(depth: int) -> Any:
    """Make so many plain dicts, one inside the other."""
    value: Any = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def fault(value: object, path: str = "value") -> str:
    """Freeze what is refused, and return the path of the error."""
    with pytest.raises(ProtocolError) as caught:
        freeze_json(value, path=path)
    assert caught.value.path in str(caught.value)
    return caught.value.path


def loose(value: object) -> Any:
    """Return a value without its static type."""
    return value


def pickled(protocol: int, value: object) -> object:
    """Send a value through a pickle and back."""
    return pickle.loads(pickle.dumps(value, protocol))


@pytest.fixture
def arguments() -> JsonObject:
    """Arguments of a call built from plain data."""
    return ToolCall("c", "n", {"left": 20, "list": [1, {"deep": True}], "none": None}).arguments


CHANGES: list[Callable[[Any], object]] = [
    lambda x: x.__setitem__("left", 1),
    lambda x: x.__delitem__("left"),
    lambda x: x.update({"left": 1}),
    lambda x: x.update(left=1),
    lambda x: x.pop("left"),
    lambda x: x.pop("absent", None),
    lambda x: x.popitem(),
    lambda x: x.clear(),
    lambda x: x.setdefault("left", 1),
    lambda x: x.setdefault("new", 1),
    lambda x: x.__ior__({"left": 1}),
    lambda x: setattr(x, "left", 1),
    lambda x: setattr(x, "_hash", 1),
    lambda x: setattr(x, "_depth", 1),
    lambda x: delattr(x, "_depth"),
    lambda x: setattr(x, "__class__", dict),
    lambda x: x["list"].append(1),
    lambda x: x["list"].__setitem__(0, 1),
    lambda x: x["list"][1].__setitem__("deep", False),
]


COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    *[partial(pickled, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)],
]
WRAPPERS: list[Callable[[Any], Any]] = [lambda x: [x, x], lambda x: (x, x), lambda x: {"a": x, "b": x}]


class TestMapping:
    @pytest.mark.criterion("01.60")
    def test_reads_like_a_mapping_in_insertion_order(self, arguments: JsonObject) -> None:
        kept = loose(arguments)
        assert len(arguments) == 3
        assert "left" in arguments
        assert "right" not in arguments
        assert list(arguments) == ["left", "list", "none"]
        assert arguments["left"] == 20
        assert arguments.get("left") == 20
        assert arguments.get("right") is None
        assert arguments.get("right", 7) == 7
        assert list(arguments.keys()) == ["left", "list", "none"]
        assert list(arguments.values()) == [20, (1, {"deep": True}), None]
        assert list(arguments.items()) == [("left", 20), ("list", (1, {"deep": True})), ("none", None)]
        assert isinstance(arguments, collections.abc.Mapping)
        assert list(reversed(kept)) == ["none", "list", "left"]
        with pytest.raises(KeyError):
            arguments["right"]

    @pytest.mark.criterion("01.60")
    def test_is_matched_by_mapping_patterns_and_spread(self, arguments: JsonObject) -> None:
        match arguments:
            case {"left": int(left), **rest}:
                assert left == 20
                assert list(rest) == ["list", "none"]
            case _:
                pytest.fail("no match")
        assert {**arguments} == arguments
        assert json.loads(json.dumps(arguments)) == thaw_json(arguments)

    @pytest.mark.criterion("01.61", "03.12")
    @pytest.mark.parametrize("change", CHANGES)
    def test_refuses_every_change(self, arguments: JsonObject, change: Callable[[Any], object]) -> None:
        hash(arguments)
        with pytest.raises((AttributeError, TypeError)):
            change(arguments)
        assert thaw_json(arguments) == {"left": 20, "list": [1, {"deep": True}], "none": None}

    @pytest.mark.criterion("01.61")
    def test_operators_of_a_dict_give_new_values_or_refuse(self, arguments: JsonObject) -> None:
        kept = loose(arguments)
        with pytest.raises(TypeError):
            kept |= {"new": 1}
        joined = kept | {"new": 1}
        assert joined["new"] == 1
        kept.__init__({"new": 1})
        assert "new" not in arguments
        assert not hasattr(arguments, "__dict__")

    @pytest.mark.criterion("01.62", "01.63")
    def test_equality_and_hash_look_at_items_and_not_at_their_order(self) -> None:
        one, two = freeze_json({"a": 1, "b": [2]}), freeze_json({"b": [2], "a": 1})
        assert one == two
        assert hash(one) == hash(two)
        assert one != freeze_json({"a": 1, "b": [3]})
        assert one != freeze_json({"a": 1})

    @pytest.mark.criterion("01.63")
    def test_equals_a_plain_dict_either_way_round(self) -> None:
        frozen: object = freeze_json({"a": {"b": 1}, "c": [1]})
        assert frozen == {"a": {"b": 1}, "c": (1,)}
        assert frozen == {"a": {"b": 1}, "c": (1,)}
        assert frozen != {"a": {"b": 1}, "c": [1]}
        assert frozen != {"a": {"b": 1}, "c": [1]}

    @pytest.mark.criterion("01.64")
    @pytest.mark.parametrize("again", COPIES)
    def test_copies_are_equal_and_as_immutable(self, again: Callable[[object], Any]) -> None:
        for depth in (1, 2, 128):
            frozen = freeze_json(nested(depth))
            copied: Any = again(frozen)
            assert copied == frozen
            assert type(copied) is JsonObject
            assert hash(copied) == hash(frozen)
            with pytest.raises(TypeError):
                loose(copied)["a"] = 1

    @pytest.mark.criterion("01.B1")
    def test_the_class_freezes_like_the_function(self) -> None:
        plain: dict[str, object] = {"a": [1]}
        assert JsonObject(plain) == freeze_json(plain)
        assert JsonObject() == {}
        frozen = JsonObject(plain)
        assert JsonObject(frozen) is frozen
        refused: list[tuple[Any, str]] = [
            (None, "value"),
            ([], "value"),
            (collections.OrderedDict(a=1), "value"),
        ]
        for bad, path in [*refused, ({"a": object()}, "value.a")]:
            with pytest.raises(ProtocolError) as caught:
                JsonObject(bad)
            assert caught.value.path == path


class TestFreezing:
    @pytest.mark.criterion("03.110")
    def test_makes_objects_and_tuples_and_leaves_its_input_alone(self) -> None:
        text = "é"
        plain: dict[str, object] = {"a": [1, (2.5, text), {"b": None}], "c": True, "d": {}}
        before = copy.deepcopy(plain)
        frozen = loose(freeze_json(plain))
        assert frozen == {"a": (1, (2.5, "é"), {"b": None}), "c": True, "d": {}}
        assert [type(frozen["a"]), type(frozen["a"][2]), type(frozen)] == [tuple, JsonObject, JsonObject]
        assert frozen["a"][1][1] is text
        assert frozen["c"] is True
        assert plain == before
        assert plain not in gc.get_referents(frozen)

    @pytest.mark.criterion("03.110", "03.88")
    @pytest.mark.parametrize(
        "value", [None, True, False, 0, -1, 2**53 - 1, 1 - 2**53, 0.5, -0.0, "", "\ud7ff\ue000"]
    )
    def test_a_scalar_stays_as_it_is(self, value: JsonValue) -> None:
        assert freeze_json(value) is value

    @pytest.mark.criterion("03.111")
    def test_names_the_place_of_what_is_no_json(self) -> None:
        bad = object()
        assert fault({"a": [{"b c": bad}]}) == 'value.a[0]["b c"]'
        assert fault({"a": [{"b c": bad}]}, "arguments") == 'arguments.a[0]["b c"]'
        assert fault(bad) == "value"
        assert fault([1, [2, bad]]) == "value[1][1]"
        assert fault({"é": bad}) == 'value["\\u00e9"]'
        assert fault({"": bad}) == 'value[""]'
        assert fault({'"': bad, "x": 1}) == 'value["\\""]'
        assert fault({"a": {"b": {1: 2}}}) == "value.a.b"
        assert fault({"a": [{"ok": 1, "\ud800": 1}]}) == "value.a[0]"
        assert fault((1, {"class": bad})) == "value[1].class"
        assert fault({"a": 1, "b": bad, "c": bad}) == "value.b"

    @pytest.mark.criterion("03.112", "03.106")
    def test_what_is_frozen_comes_back_as_the_same_object(self) -> None:
        frozen = loose(freeze_json({"a": [1, {"b": [2]}], "e": {}}))
        assert freeze_json(frozen) is frozen
        assert freeze_json(frozen["a"]) is frozen["a"]
        assert freeze_json(frozen["e"]) is frozen["e"]
        parts = (1, frozen, (frozen["a"], "x"), ())
        assert freeze_json(parts) is parts
        outer = loose(freeze_json({"x": frozen, "y": [frozen]}))
        assert outer["x"] is frozen
        assert outer["y"][0] is frozen
        mixed = (frozen, [1])
        assert freeze_json(mixed) == (frozen, (1,))

    @stable
    @given(json_values())
    @pytest.mark.criterion("03.112", "03.113", "03.114")
    def test_thawing_and_freezing_are_inverse(self, frozen: JsonValue) -> None:
        thawed = thaw_json(frozen)
        assert freeze_json(thawed) == frozen
        assert freeze_json(frozen) is frozen
        assert json.loads(json.dumps(thawed)) == thawed

    @pytest.mark.criterion("03.113")
    def test_thawing_gives_separate_plain_copies(self) -> None:
        frozen = JsonObject({"a": [1, {"b": (2,)}]})
        one: Any = thaw_json(frozen)
        two: Any = thaw_json(frozen)
        assert one == two == {"a": [1, {"b": [2]}]}
        assert [type(one), type(one["a"]), type(one["a"][1]), type(one["a"][1]["b"])] == [
            dict,
            list,
            dict,
            list,
        ]
        one["a"][1]["b"].append(3)
        one["new"] = 1
        assert two == {"a": [1, {"b": [2]}]}
        assert frozen == {"a": (1, {"b": (2,)})}

    @stable
    @given(json_objects())
    @pytest.mark.criterion("01.62", "01.63", "01.64")
    def test_order_plays_no_part_in_equality(self, frozen: JsonObject) -> None:
        turned = JsonObject(dict(reversed(list(frozen.items()))))
        assert turned == frozen
        assert hash(turned) == hash(frozen)
        assert dict(frozen.items()) == frozen


class TestDepth:
    @pytest.mark.criterion("03.99")
    @pytest.mark.parametrize("make", [nested, objects])
    def test_128_containers_pass_everywhere(self, make: Callable[[int], Any]) -> None:
        call, twin = ToolCall("c", "n", make(128)), ToolCall("c", "n", make(128))
        assert call == twin
        assert hash(call) == hash(twin)
        assert json.loads(dump_json(call))["arguments"] == make(128)

    @pytest.mark.criterion("03.107")
    @pytest.mark.parametrize("depth", [129, 100_000])
    @pytest.mark.parametrize("array", [True, False])
    def test_more_are_refused(self, depth: int, array: bool) -> None:
        assert fault(nested(depth, array=array)).startswith("value[0].a[0]" if array else "value.a[0].a")
        with pytest.raises(ProtocolError) as caught:
            ToolCall("c", "n", objects(depth))
        assert caught.value.path.startswith("arguments.a.a")

    @pytest.mark.criterion("03.108")
    def test_depth_counts_through_frozen_parts(self) -> None:
        deepest = loose(freeze_json(objects(128)))
        assert fault([deepest]) == "value[0]"
        assert fault({"x": 1, "y": deepest}) == "value.y"
        assert fault((1, (deepest,))) == "value[1][0]"
        assert fault({"x": [deepest["a"]]}) == "value.x[0]"
        assert freeze_json([deepest["a"]]) == (deepest["a"],)
        assert freeze_json({"x": deepest["a"]})
        tuples = loose(freeze_json(nested(128, array=True)))
        assert freeze_json(tuples) is tuples
        assert fault([tuples]).startswith("value[0]")
        assert freeze_json([tuples[0]]) == tuples

    @pytest.mark.criterion("03.96")
    def test_a_cycle_is_refused(self) -> None:
        own_list: list[object] = [1]
        own_list.append(own_list)
        own_dict: dict[str, object] = {}
        own_dict["me"] = own_dict
        first: list[object] = []
        second: dict[str, object] = {"back": first}
        first.extend([second, second])
        for value in (own_list, own_dict, first, second, [first], {"x": own_list}):
            fault(value)
        with pytest.raises(ProtocolError):
            ToolCall("c", "n", {"values": own_list})


class TestSharing:
    @pytest.mark.criterion("03.97", "03.14")
    def test_a_part_may_stand_in_two_places(self) -> None:
        part = [1, {"a": 2}]
        assert freeze_json([part, {"x": part}]) == ((1, {"a": 2}), {"x": (1, {"a": 2})})

    @pytest.mark.criterion("03.98")
    @pytest.mark.parametrize("wrap", WRAPPERS)
    def test_forty_doublings_are_refused_without_walking_them(self, wrap: Callable[[object], object]) -> None:
        value: object = "leaf"
        for _ in range(40):
            value = wrap(value)
        assert fault(value) == "value"
        assert fault({"deep": value}) == "value"

    @pytest.mark.criterion("03.98")
    def test_a_large_value_of_many_containers_is_accepted(self) -> None:
        many: list[object] = [[n] for n in range(50_001)]
        frozen = loose(freeze_json(many))
        assert len(frozen) == 50_001
        assert frozen[-1] == (50_000,)
        part = [[n] for n in range(1000)]
        assert len(loose(JsonObject({"all": [part] * 100}))["all"]) == 100

    @pytest.mark.criterion("03.111", "03.91", "03.94", "03.90")
    @pytest.mark.parametrize("bad", [2**53, -(2**53), "\ud800", float("nan"), float("inf"), b""], ids=ascii)
    def test_a_bad_entry_of_an_array_is_told_by_its_index(self, bad: object) -> None:
        assert fault(["é", 1, 0.5, bad]) == "value[3]"
        assert fault(bad) == "value"

    @pytest.mark.criterion("03.98", "03.96")
    def test_doublings_that_end_in_a_cycle_are_refused(self) -> None:
        ring: list[object] = []
        ring.extend([ring] * 10)
        assert fault(ring).startswith("value[0][0]")

    def test_a_frozen_object_is_no_larger_than_its_dict_and_two_pointers(self) -> None:
        plain: dict[str, object] = {str(n): n for n in range(10)}
        assert sys.getsizeof(JsonObject(plain)) <= sys.getsizeof(plain) + 64
