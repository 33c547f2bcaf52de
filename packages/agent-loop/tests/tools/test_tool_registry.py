"""The registry: unique names, whole batches, snapshots that part ways."""

import copy
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from kickwheel_agent_loop import (
    NonRecoverableToolError,
    ToolContractError,
    ToolDefinition,
    ToolRegistry,
    define_tool,
)
from kickwheel_protocol import Valid


def named(name: str) -> ToolDefinition[Any, Any]:
    return define_tool(name, f"The tool {name}.", Valid, lambda value, _context: value)


def refused(code: str, action: Callable[[], object]) -> None:
    with pytest.raises(ToolContractError) as caught:
        action()
    assert caught.value.code == code


BROKEN = SimpleNamespace(name="broken", description="Has no halves.")


@pytest.mark.criterion("06.09")
@pytest.mark.parametrize("broken", [BROKEN, None, {"name": "x"}])
def test_a_broken_second_entry_keeps_the_whole_batch_out(broken: Any) -> None:
    registry = ToolRegistry([named("before")])
    refused("INVALID_TOOL_DEFINITION", lambda: registry.register_many([named("a"), broken, named("b")]))
    assert registry.names == ("before",)


class ListKind(list[Any]):
    pass


class TupleKind(tuple[Any, ...]):
    __slots__ = ()


@pytest.mark.criterion("06.10")
@pytest.mark.parametrize(
    "batch",
    [
        None,
        "ab",
        5,
        pytest.param({"a": named("a")}, id="dict"),
        pytest.param({named("a")}, id="set"),
        ListKind(),
        TupleKind(),
        pytest.param(iter([]), id="iterator"),
        range(0),
    ],
    ids=repr,
)
def test_what_is_not_exactly_a_list_or_tuple_is_no_batch(batch: Any) -> None:
    registry = ToolRegistry()
    refused("INVALID_TOOL_BATCH", lambda: registry.register_many(batch))
    refused("INVALID_TOOL_BATCH", lambda: ToolRegistry(batch))
    assert len(registry) == 0


@pytest.mark.criterion("06.10")
def test_a_generator_is_not_advanced() -> None:
    def tools() -> Iterator[Any]:
        raise AssertionError("advanced")
        yield

    batch = cast("Any", tools())
    refused("INVALID_TOOL_BATCH", lambda: ToolRegistry().register_many(batch))
    assert batch.gi_frame is not None


@pytest.mark.criterion("06.11")
def test_no_method_of_a_list_subclass_is_called() -> None:
    calls: list[str] = []

    class Hostile(list[Any]):
        def _fail(self, *_arguments: object) -> NoReturn:
            calls.append("called")
            raise AssertionError

        __iter__ = __len__ = __getitem__ = __bool__ = __contains__ = cast("Any", _fail)

    refused("INVALID_TOOL_BATCH", lambda: ToolRegistry().register_many(Hostile()))
    assert calls == []


@pytest.mark.criterion("06.12")
def test_two_equal_names_in_one_batch_add_nothing() -> None:
    registry = ToolRegistry()
    refused("DUPLICATE_TOOL_NAME", lambda: registry.register_many([named("b"), named("a"), named("a")]))
    assert registry.names == ()


@pytest.mark.criterion("06.13")
def test_a_taken_name_keeps_the_new_one_out_too() -> None:
    old = named("old")
    registry = ToolRegistry([old])
    refused("DUPLICATE_TOOL_NAME", lambda: registry.register_many([named("new"), named("old")]))
    refused("DUPLICATE_TOOL_NAME", lambda: registry.register(named("old")))
    refused("DUPLICATE_TOOL_NAME", lambda: registry.register(old))
    assert registry.names == ("old",)
    assert registry.get("old") is old


@pytest.mark.criterion("06.14")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (0, 2, 1)])
def test_a_broken_definition_is_told_before_a_duplicate(order: tuple[int, ...]) -> None:
    entries: list[Any] = [named("a"), named("a"), BROKEN]
    registry = ToolRegistry()
    refused("INVALID_TOOL_DEFINITION", lambda: registry.register_many([entries[index] for index in order]))
    assert registry.names == ()


@pytest.mark.criterion("06.15")
def test_names_are_a_tuple_in_insertion_order_that_does_not_change() -> None:
    registry = ToolRegistry((named("b"), named("a")))
    registry.register(named("c"))
    early = registry.names
    registry.register_many([])
    registry.register_many(())
    assert (early, registry.names, len(registry)) == (("b", "a", "c"), ("b", "a", "c"), 3)
    registry.register_many([named("0")])
    assert (early, registry.names) == (("b", "a", "c"), ("b", "a", "c", "0"))


@pytest.mark.criterion("06.15")
def test_get_of_an_unknown_name_or_of_no_string_is_none() -> None:
    class Sly(str):
        __slots__ = ()

        def __hash__(self) -> int:
            raise AssertionError("hashed")

    registry = ToolRegistry([named("a")])
    names: list[object] = ["b", "", "A", None, 1, ["a"], {"a": 1}, b"a", Sly("a")]
    assert [registry.get(name) for name in names] == [None] * 9
    assert registry.get("a") is not None


@pytest.mark.criterion("06.16")
def test_a_snapshot_has_the_same_members_and_parts_ways() -> None:
    registry = ToolRegistry([named("a")])
    snapshots = [registry.snapshot(), copy.copy(registry), copy.deepcopy(registry)]
    registry.register(named("b"))
    for snapshot in snapshots:
        assert type(snapshot) is ToolRegistry
        assert snapshot.names == ("a",)
        assert snapshot.get("a") is registry.get("a")
        snapshot.register(named("c"))
        assert snapshot.names == ("a", "c")
    assert registry.names == ("a", "b")
    assert repr(registry) == "ToolRegistry(['a', 'b'])"


@pytest.mark.criterion("06.73")
def test_the_constructor_follows_the_rules_of_a_batch() -> None:
    assert ToolRegistry().names == ()
    assert ToolRegistry([named("a"), named("b")]).names == ("a", "b")
    refused("DUPLICATE_TOOL_NAME", lambda: ToolRegistry([named("a"), named("a")]))
    refused("INVALID_TOOL_DEFINITION", lambda: ToolRegistry([named("a"), cast("Any", BROKEN)]))
    with pytest.raises(TypeError):
        type("Sub", (ToolRegistry,), {})


@pytest.mark.criterion("06.09")
def test_a_property_that_changes_the_batch_or_the_registry_while_it_is_read_does_no_harm() -> None:
    registry = ToolRegistry()

    class Meddling:
        description = "Meddles."
        validate = staticmethod(Valid[object])

        @staticmethod
        def execute(value: object, _context: object) -> object:
            return value

        @property
        def name(self) -> str:
            batch.append(cast("Any", BROKEN))
            registry.register(named("meddled"))
            return "meddling"

    batch: list[Any] = [Meddling(), named("last")]
    registry.register_many(batch)
    assert registry.names == ("meddled", "meddling", "last")
    batch = [Meddling(), named("later")]
    refused("INVALID_TOOL_DEFINITION", lambda: registry.register_many(batch))
    assert registry.names == ("meddled", "meddling", "last")


@pytest.mark.criterion("06.09")
def test_a_fatal_error_of_a_property_keeps_the_batch_out_as_well() -> None:
    class Fatal:
        @property
        def name(self) -> str:
            raise NonRecoverableToolError("stop")

    registry = ToolRegistry()
    refused("INVALID_TOOL_DEFINITION", lambda: registry.register_many([named("a"), cast("Any", Fatal())]))
    assert len(registry) == 0
