"""`@tool`: what it makes of a function, how strictly it validates, what it refuses."""

import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import json
import sys
import types
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

import msgspec
import pytest

from kickwheel_agent_loop import ToolContractError, ToolDefinition, ToolRegistry, execute_tool_call, tool
from kickwheel_event_stream import AbortController
from kickwheel_protocol import (
    Invalid,
    JsonObject,
    ToolCall,
    ToolContext,
    ToolResultMessage,
    Valid,
    freeze_json,
    thaw_json,
)

AnyDefinition = ToolDefinition[Any, Any]


async def call(definition: AnyDefinition, arguments: object, signal: Any = None) -> ToolResultMessage:
    registry = ToolRegistry([definition])
    return await execute_tool_call(registry, ToolCall("call-1", definition.name, arguments), signal)


async def rejection(definition: AnyDefinition, arguments: object) -> str:
    """The message of a call whose arguments were refused."""
    result = await call(definition, arguments)
    error = json.loads(result.content)["error"]
    assert (result.is_error, error["code"]) == (True, "TOOL_ARGUMENTS_INVALID")
    return error["message"]


def refused(action: Callable[[], object]) -> ToolContractError:
    with pytest.raises(ToolContractError) as caught:
        action()
    assert caught.value.code == "INVALID_TOOL_DEFINITION"
    return caught.value


def taking(annotation: object) -> tuple[AnyDefinition, list[object]]:
    """A tool with one parameter `x` of this annotation, and what it received."""
    received: list[object] = []

    def take(x: Any) -> str:
        received.append(x)
        return "taken"

    take.__annotations__["x"] = annotation
    return tool(description="Takes x.")(take), received


@pytest.mark.criterion("06.B1", "06.B2")
async def test_a_function_becomes_a_definition_that_keeps_it() -> None:
    def add(left: int, right: int) -> int:
        """Add two numbers.

        Both must be whole:
            no fractions.
        """
        return left + right

    async def subtract(left: int, right: int) -> int:
        """Subtract."""
        return left - right

    plain, named, awaited = tool(add), tool(name="plus", description=" Adds. ")(add), tool(subtract)
    assert [type(one) for one in (plain, named, awaited)] == [ToolDefinition] * 3
    assert (plain.name, plain.description) == (
        "add",
        "Add two numbers.\n\nBoth must be whole:\n    no fractions.",
    )
    assert (named.name, named.description) == ("plus", " Adds. ")
    assert (plain.function, named.function, awaited.function) == (add, add, subtract)
    assert (await call(plain, {"left": 20, "right": 22})).content == "42"
    assert (await call(named, {"left": 20, "right": 22})).tool_name == "plus"
    assert (await call(awaited, {"left": 44, "right": 2})).content == "42"


@pytest.mark.criterion("06.B1")
def test_the_options_are_keyword_only_and_may_be_left_out() -> None:
    @tool()
    def bare(x: int) -> int:
        """Bare."""
        return x

    assert bare.name == "bare"
    with pytest.raises(TypeError):
        cast("Any", tool)(lambda: None, "name")


class Counter:
    def __init__(self) -> None:
        self.total = 0

    def add(self, amount: int) -> int:
        """Add to the total."""
        self.total += amount
        return self.total


@pytest.mark.criterion("06.B1")
async def test_a_bound_method_may_be_a_tool() -> None:
    counter = Counter()
    definition = tool(counter.add)
    assert definition.function == counter.add
    assert (definition.name, definition.description) == ("add", "Add to the total.")
    assert (await call(definition, {"amount": 2})).content == "2"
    assert (await call(definition, {"amount": 3})).content == "5"
    assert await rejection(definition, {"amount": 1, "self": 1})


@pytest.mark.criterion("06.B3")
async def test_the_return_annotation_does_not_matter() -> None:
    namespace: dict[str, Any] = {}
    exec(
        "def unresolved(x: int) -> 'NoSuchType':\n    'Does not resolve.'\n    return x\n"
        "def missing(x: int):\n    'Is missing.'\n    return x\n"
        "def without_schema(x: int) -> object:\n    'Has no schema.'\n    return x\n",
        namespace,
    )
    for name in ("unresolved", "missing", "without_schema"):
        assert (await call(tool(namespace[name]), {"x": 1})).content == "1"


@pytest.mark.criterion("06.B4")
async def test_arguments_are_bound_by_name() -> None:
    @tool
    def join(first: str, *, second: str, third: str = "c") -> str:
        """Join."""
        return first + second + third

    assert (await call(join, {"second": "b", "first": "a"})).content == "abc"
    assert (await call(join, {"third": "x", "second": "b", "first": "a"})).content == "abx"


@pytest.mark.criterion("06.B5")
async def test_annotations_given_as_text_are_resolved_in_the_module_of_the_function() -> None:
    module = types.ModuleType("late_annotations")
    source = (
        "from __future__ import annotations\n"
        "from typing import Annotated\n"
        "import msgspec\n"
        "from kickwheel_protocol import ToolContext\n"
        "class Pair(msgspec.Struct):\n    left: int\n    right: int\n"
        "def add(pair: Pair, bonus: Annotated[int, msgspec.Meta(ge=0, description='d')],\n"
        "        c: ToolContext) -> Nowhere:\n"
        "    'Add.'\n    return pair.left + pair.right + bonus\n"
        "def lost(x: Nowhere):\n    'Lost.'\n"
        "def broken(x: '1 +'):\n    'Broken.'\n"
    )
    sys.modules["late_annotations"] = module
    try:
        exec(source, module.__dict__)
        definition = tool(module.add)
        refused(lambda: tool(module.lost))
        refused(lambda: tool(module.broken))
    finally:
        del sys.modules["late_annotations"]
    assert definition.parameters is not None
    assert definition.parameters["properties"] == freeze_json(
        {
            "pair": {"$ref": "#/$defs/Pair"},
            "bonus": {"description": "d", "type": "integer", "minimum": 0},
        }
    )
    assert (await call(definition, {"pair": {"left": 1, "right": 2}, "bonus": 3})).content == "6"
    assert "bonus" in await rejection(definition, {"pair": {"left": 1, "right": 2}, "bonus": -1})


@pytest.mark.criterion("06.B5")
async def test_a_wrapped_function_is_read_as_what_it_wraps() -> None:
    def shout(function: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(function)
        def wrapper(*arguments: Any, **options: Any) -> str:
            return function(*arguments, **options).upper()

        return wrapper

    @tool
    @shout
    def say(text: str) -> str:
        """Say it."""
        return text

    assert say.name == "say"
    assert (await call(say, {"text": "a"})).content == "A"
    assert await rejection(say, {"text": 1})


class Colour(enum.Enum):
    RED = "r"


class Size(enum.IntEnum):
    ONE = 1


@dataclasses.dataclass
class Place:
    x: int
    y: int = 0


class Box(msgspec.Struct):
    width: int


class StrictBox(msgspec.Struct, forbid_unknown_fields=True):
    width: int


class Options(TypedDict):
    deep: bool
    name: NotRequired[str]


ID = uuid.UUID(int=1)
UTC = datetime.timezone.utc  # noqa: UP017 - the attribute every supported version has
NAIVE = datetime.datetime(2024, 1, 2, 3, 4, 5)

ACCEPTED: list[tuple[object, object, object]] = [
    (int, 1, 1),
    (float, 1, 1.0),
    (float, 1.5, 1.5),
    (bool, True, True),
    (str, "a", "a"),
    (None, None, None),
    (list[int], [1, 2], [1, 2]),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (int | None, 1, 1),
    (int | None, None, None),
    (Literal[1, "a"], 1, 1),
    (Literal[1, "a"], "a", "a"),
    (Colour, "r", Colour.RED),
    (Size, 1, Size.ONE),
    (datetime.datetime, "2024-01-02T03:04:05Z", NAIVE.replace(tzinfo=UTC)),
    (datetime.datetime, "2024-01-02T03:04:05", NAIVE),
    (datetime.date, "2024-01-02", datetime.date(2024, 1, 2)),
    (datetime.time, "03:04:05", datetime.time(3, 4, 5)),
    (datetime.timedelta, "PT90S", datetime.timedelta(seconds=90)),
    (uuid.UUID, str(ID), ID),
    (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
    (Annotated[int, msgspec.Meta(ge=0)], 0, 0),
    (Annotated[str, msgspec.Meta(max_length=2)], "ab", "ab"),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[int, ...], [1, 2], (1, 2)),
    (set[int], [1, 2, 1], {1, 2}),
    (int | str, "a", "a"),
    (float | int, 1, 1),
    (list, [1, "a"], [1, "a"]),
    (dict, {"a": [1]}, {"a": [1]}),
    (Any, {"a": [1, None]}, {"a": [1, None]}),
    (Place, {"x": 1}, Place(1)),
    (Place, {"x": 1, "z": 5}, Place(1)),
    (Box, {"width": 1, "z": 5}, Box(1)),
    (Options, {"deep": True, "z": 5}, {"deep": True}),
    (list[Place] | None, [{"x": 1, "y": 2}], [Place(1, 2)]),
]


@pytest.mark.criterion("06.B6", "06.B7", "06.B8")
@pytest.mark.parametrize(("annotation", "argument", "value"), ACCEPTED, ids=lambda one: str(one)[:40])
async def test_an_argument_arrives_as_the_annotated_type(
    annotation: Any, argument: object, value: object
) -> None:
    definition, received = taking(annotation)
    assert (await call(definition, {"x": argument})).content == "taken"
    assert received == [value]
    assert type(received[0]) is type(value)


REJECTED: list[tuple[object, object]] = [
    *[(int, bad) for bad in (True, 1.0, 1.5, "1", None, [1], {"a": 1})],
    *[(float, bad) for bad in (True, "1", None)],
    *[(bool, bad) for bad in (1, 0, "true", None, 1.0)],
    *[(str, bad) for bad in (1, None, True, ["a"])],
    *[(None, bad) for bad in (0, False, "", "null")],
    *[(list[int], bad) for bad in ([True], [1.0], "12", {"0": 1}, [None])],
    *[(dict[str, int], bad) for bad in ({"a": True}, {"a": 1.0}, [["a", 1]], "a")],
    *[(int | None, bad) for bad in (True, 1.0, "1")],
    *[(Literal[1, "a"], bad) for bad in (True, 2, "b", 1.0, None)],
    *[(Colour, bad) for bad in ("zz", "RED", 1, None)],
    *[(Size, bad) for bad in (True, 1.0, 2, "1")],
    *[(datetime.datetime, bad) for bad in ("x", 5, None)],
    *[(uuid.UUID, bad) for bad in ("x", 5)],
    (Annotated[int, msgspec.Meta(ge=0)], -1),
    (Annotated[str, msgspec.Meta(max_length=2)], "abc"),
    (tuple[int, str], [1]),
    (set[int], ["a"]),
    (Place, {"y": 1}),
    (Place, {"x": True}),
    (Box, {"width": "1"}),
    (StrictBox, {"width": 1, "z": 5}),
    (Options, {"deep": 1}),
]


@pytest.mark.criterion("06.B7", "06.B8", "06.B9", "06.B10")
@pytest.mark.parametrize(("annotation", "argument"), REJECTED, ids=lambda one: str(one)[:40])
async def test_nothing_else_arrives_and_the_parameter_is_named(annotation: Any, argument: object) -> None:
    definition, received = taking(annotation)
    assert "x" in await rejection(definition, {"x": argument})
    assert received == []


@pytest.mark.criterion("06.B8")
async def test_an_unknown_argument_is_named_and_never_ignored() -> None:
    calls: list[object] = []

    @tool
    def add(left: int, right: int = 0) -> None:
        """Add."""
        calls.append((left, right))

    for arguments in ({"left": 1, "middle": 2}, {"left": 1, "right": 2, "middle": 3}):
        assert "middle" in await rejection(add, arguments)
        for given in (arguments, freeze_json(arguments)):
            decision = add.validate(given)
            assert isinstance(decision, Invalid)
            assert "middle" in decision.error
    assert calls == []


@pytest.mark.criterion("06.B9")
async def test_a_missing_argument_is_named() -> None:
    calls: list[object] = []

    @tool
    def add(left: int, right: int) -> None:
        """Add."""
        calls.append((left, right))

    assert "right" in await rejection(add, {"left": 1})
    assert "left" in await rejection(add, {"right": 1})
    assert await rejection(add, {})
    assert calls == []


@pytest.mark.criterion("06.B10")
async def test_an_absent_argument_leaves_the_default_object_of_the_function() -> None:
    default = Place(7)
    received: list[object] = []

    @tool
    def move(to: Place = default, *, note: str | None = "none", count: int = 3) -> None:
        """Move."""
        received.append((to, note, count))

    await call(move, {})
    await call(move, {"note": None})
    assert received == [(default, "none", 3), (default, None, 3)]
    assert cast("Any", received[0])[0] is default
    assert "count" in await rejection(move, {"count": None})


@pytest.mark.criterion("06.B11")
async def test_containers_arrive_plain_mutable_and_fresh() -> None:
    received: list[Any] = []

    @tool
    def take(a: dict[str, Any], b: list[Any], c: Any) -> None:
        """Take and change."""
        received.append((a, b, c))
        a["new"] = 1
        b.append(1)
        c["list"].append(1)

    request = ToolCall("call-1", "take", {"a": {"k": {"z": 1}}, "b": [[1]], "c": {"list": [{"d": 2}]}})
    before = request.arguments
    registry = ToolRegistry([take])
    await execute_tool_call(registry, request)
    await execute_tool_call(registry, request)
    for a, b, c in received:
        assert (a, b, c) == ({"k": {"z": 1}, "new": 1}, [[1], 1], {"list": [{"d": 2}, 1]})
        kinds: list[type] = [type(one) for one in (a, a["k"], b, b[0], c, c["list"], c["list"][0])]
        assert kinds == [dict, dict, list, list, dict, list, dict]
    assert request.arguments is before
    assert before == freeze_json({"a": {"k": {"z": 1}}, "b": [[1]], "c": {"list": [{"d": 2}]}})


@pytest.mark.criterion("06.B12")
async def test_the_context_is_injected_and_is_no_argument() -> None:
    seen: list[ToolContext] = []

    @tool
    def first(anything: ToolContext, x: int) -> None:
        """Context first."""
        seen.append(anything)

    @tool
    async def last(x: int, *, ctx: ToolContext) -> None:
        """Context last."""
        seen.append(ctx)

    @tool
    def only(context: ToolContext) -> None:
        """Context only."""
        seen.append(context)

    signal = AbortController().signal
    for definition, name in ((first, "anything"), (last, "ctx"), (only, "context")):
        arguments: dict[str, object] = {} if definition is only else {"x": 1}
        assert (await call(definition, arguments, signal)).is_error is False
        assert name in await rejection(definition, {**arguments, name: {}})
        assert definition.parameters is not None
        assert name not in cast("JsonObject", definition.parameters["properties"])
        assert name not in cast("tuple[str, ...]", definition.parameters["required"])
    assert [(one.signal is signal, one.tool_call_id) for one in seen] == [(True, "call-1")] * 3


class Fussy(msgspec.Struct):
    kind: str

    def __post_init__(self) -> None:
        errors = {"value": ValueError("no value"), "type": TypeError("no type"), "key": KeyError("no key")}
        if self.kind in errors:
            raise errors[self.kind]


@pytest.mark.criterion("06.B13")
async def test_errors_of_a_nested_check_are_rejections_or_failures_by_their_class() -> None:
    definition, received = taking(Fussy)
    assert "no value" in await rejection(definition, {"x": {"kind": "value"}})
    assert "x" in await rejection(definition, {"x": {"kind": "type"}})
    with pytest.raises(KeyError):
        definition.validate({"x": {"kind": "key"}})
    result = await call(definition, {"x": {"kind": "key"}})
    assert json.loads(result.content)["error"]["code"] == "TOOL_VALIDATION_FAILED"
    assert received == []


class DictKind(dict[str, Any]):
    pass


@pytest.mark.criterion("06.B13")
@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        "x",
        [],
        [("left", 1)],
        (),
        {1},
        object(),
        DictKind(left=1),
        collections.OrderedDict[str, int](left=1),
    ],
    ids=lambda one: type(one).__name__,
)
def test_validate_rejects_what_is_no_json_object(value: object) -> None:
    definition, _ = taking(int)
    assert isinstance(definition.validate(value), Invalid)


@pytest.mark.criterion("06.B13")
def test_validate_takes_a_plain_and_a_frozen_object_alike() -> None:
    definition, _ = taking(int)
    for good in ({"x": 1}, freeze_json({"x": 1})):
        assert isinstance(definition.validate(good), Valid)
    for bad in ({"x": object()}, {1: 2}, {"x": float("nan")}, {"x": 2**60}, {"x": "\ud800"}, {}):
        assert isinstance(definition.validate(bad), Invalid)


def properties_of(definition: AnyDefinition) -> Any:
    assert definition.parameters is not None
    return definition.parameters["properties"]


@pytest.mark.criterion("06.B14", "06.B15")
def test_the_schema_of_two_integers() -> None:
    @tool
    def add(left: int, right: int) -> int:
        """Add."""
        return left + right

    assert type(add.parameters) is JsonObject
    assert add.parameters == freeze_json(
        {
            "type": "object",
            "properties": {"left": {"type": "integer"}, "right": {"type": "integer"}},
            "required": ["left", "right"],
            "additionalProperties": False,
        }
    )
    assert list(add.parameters) == ["type", "properties", "required", "additionalProperties"]
    assert list(properties_of(add)) == ["left", "right"]


@pytest.mark.criterion("06.B15")
def test_the_schema_of_no_parameters() -> None:
    @tool
    def nothing() -> None:
        """Nothing."""

    @tool
    def context(ctx: ToolContext) -> None:
        """Context only."""

    empty = freeze_json({"type": "object", "properties": {}, "required": [], "additionalProperties": False})
    assert (nothing.parameters, context.parameters) == (empty, empty)


@pytest.mark.criterion("06.B14")
def test_nested_types_stand_in_defs_and_the_root_is_plain() -> None:
    @tool
    def place(b: list[Place], a: Place, c: Colour = Colour.RED) -> None:
        """Place."""

    schema = place.parameters
    assert schema is not None
    assert list(schema) == ["type", "properties", "required", "additionalProperties", "$defs"]
    assert schema["required"] == ("b", "a")
    assert set(cast("JsonObject", schema["$defs"])) == {"Place", "Colour"}
    assert properties_of(place)["a"] == {"$ref": "#/$defs/Place"}
    assert properties_of(place)["b"] == freeze_json({"type": "array", "items": {"$ref": "#/$defs/Place"}})
    assert properties_of(place)["c"]["default"] == "r"
    assert list(properties_of(place)) == ["b", "a", "c"]


@pytest.mark.criterion("06.B14")
async def test_the_schema_says_what_the_validator_does() -> None:
    jsonschema = pytest.importorskip("jsonschema")

    @tool
    def take(
        place: Place,
        colour: Colour,
        count: Annotated[int, msgspec.Meta(ge=0)] = 3,
        note: str | None = None,
        either: Literal[1, "a"] = 1,
    ) -> str:
        """Take."""
        return f"{place} {colour} {count} {note} {either}"

    assert take.parameters is not None
    validator = jsonschema.Draft202012Validator(thaw_json(take.parameters))
    jsonschema.Draft202012Validator.check_schema(thaw_json(take.parameters))
    good: dict[str, object] = {"place": {"x": 1}, "colour": "r"}
    changes: list[dict[str, object]] = [
        {}, {"count": 0}, {"count": -1}, {"count": "1"}, {"note": None}, {"note": 1}, {"either": "a"},
        {"either": 2}, {"extra": 1}, {"colour": "b"}, {"place": {"x": "1"}}, {"place": None}, {"count": None},
    ]  # fmt: skip
    for change in changes:
        arguments = {**good, **change}
        assert validator.is_valid(arguments) is not (await call(take, arguments)).is_error, change
    for missing in good:
        arguments = {name: value for name, value in good.items() if name != missing}
        assert not validator.is_valid(arguments)
        assert missing in await rejection(take, arguments)


class NoForm:
    pass


@pytest.mark.criterion("06.B16")
def test_defaults_and_bounds_stand_in_the_schema() -> None:
    @tool
    def take(
        z: Annotated[int, msgspec.Meta(ge=0, description="d")],
        x: int = 3,
        y: str | None = None,
        place: Place = Place(1, 2),  # noqa: B008
        odd: Any = NoForm(),  # noqa: B008
        nan: float = float("nan"),
        big: int = 2**60,
        day: datetime.date = datetime.date(2024, 1, 2),
        names: tuple[str, ...] = ("a",),
    ) -> None:
        """Take."""

    properties = properties_of(take)
    assert properties["z"] == {"description": "d", "type": "integer", "minimum": 0}
    assert properties["x"] == {"type": "integer", "default": 3}
    assert properties["y"] == freeze_json({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None})
    assert properties["place"]["default"] == {"x": 1, "y": 2}
    assert properties["day"]["default"] == "2024-01-02"
    assert properties["names"]["default"] == ("a",)
    assert [name for name in properties if "default" not in properties[name]] == ["z", "odd", "nan", "big"]
    assert take.parameters is not None
    assert take.parameters["required"] == ("z",)


@pytest.mark.criterion("06.B16")
def test_a_bound_beyond_the_exact_integers_is_told_as_a_float() -> None:
    definition, _ = taking(Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)])
    assert properties_of(definition)["x"] == {"type": "integer", "minimum": -(2.0**62), "maximum": 2.0**62}


@pytest.mark.criterion("06.B17")
async def test_schema_and_validator_are_derived_once(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool
    def add(left: int, right: int = 1) -> int:
        """Add."""
        return left + right

    schema = add.parameters

    def fail(*_arguments: object, **_options: object) -> Any:
        raise AssertionError("derived again")

    monkeypatch.setattr(msgspec.json, "schema_components", fail)
    monkeypatch.setattr("inspect.signature", fail)
    monkeypatch.setattr("typing.get_type_hints", fail)
    assert add.parameters is schema
    assert (await call(add, {"left": 1})).content == "2"
    assert add.parameters is schema


class Plain:
    """A class without a schema."""


def described(**parameters: object) -> Callable[..., object]:
    """Decorate a function with these annotations, and perhaps with a parameter that has none."""

    def decorate(extra: str = "") -> object:
        names = ", ".join([*parameters, *extra.split()])
        namespace: dict[str, Any] = {}
        exec(f"def made({names}):\n    'Made.'", namespace)
        namespace["made"].__annotations__ = parameters
        return tool(namespace["made"])

    return decorate


def numbers(x: int) -> Iterator[int]:
    """A generator."""
    yield x


async def later_numbers(x: int) -> AsyncIterator[int]:
    """An async generator."""
    yield x


def undocumented(x: int) -> int:
    return x


def blank_doc(x: int) -> int:
    """ """
    return x


def documented(x: int) -> int:
    """Documented."""
    return x


def many(*args: int) -> None:
    """Any number."""


def options(**kwargs: int) -> None:
    """Any options."""


def positional(x: int, /) -> None:
    """By position."""


class Method:
    def method(self, x: int) -> int:
        """A plain method."""
        return x


def pydantic_model() -> object:
    pydantic = pytest.importorskip("pydantic")
    return described(x=pydantic.create_model("Model", a=(int, ...)))()


REFUSED: dict[str, Callable[[], object]] = {
    "None": lambda: tool(cast("Any", None)),
    "a number": lambda: tool(cast("Any", 5)),
    "a string": lambda: tool(cast("Any", "f")),
    "a class method object": lambda: tool(cast("Any", classmethod)(documented)),
    "a class": lambda: tool(Place),
    "a plain class": lambda: tool(Plain),
    "a generator function": lambda: tool(numbers),
    "an async generator function": lambda: tool(later_numbers),
    "a callable without signature": lambda: tool(name="t", description="d")(cast("Any", dict.update)),
    "no docstring": lambda: tool(undocumented),
    "a blank docstring": lambda: tool(blank_doc),
    "a blank name": lambda: tool(name=" ")(documented),
    "a blank description": lambda: tool(description="")(documented),
    "a name that is no string": lambda: tool(name=cast("Any", 5))(documented),
    "a parameter without annotation": lambda: described(y=int)(extra="x"),
    "a plain method": lambda: tool(Method.method),
    "any number of arguments": lambda: tool(many),
    "any options": lambda: tool(options),
    "a positional-only parameter": lambda: tool(positional),
    "an annotation that cannot be resolved": described(x="Nowhere"),
    "an annotation that is no type": described(x=5),
    "a text that is no annotation": described(x="1 +"),
    "a plain class as annotation": described(x=Plain),
    "a plain class in a list": described(x=list[Plain]),
    "a plain class in a union": described(x=int | Plain),
    "a pydantic model as annotation": pydantic_model,
    "a callable as annotation": described(x=Callable[[int], int]),
    "two object-like types": described(x=Place | Box),
    "two dataclasses in a list": described(x=list[Place | Fussy]),
    "two contexts": described(a=ToolContext, b=ToolContext),
    "a context in a union": described(c=ToolContext | None),
    "a context in a list": described(c=list[ToolContext]),
    "a context in a dict": described(c=dict[str, ToolContext]),
    "an annotated context": described(c=Annotated[ToolContext, "x"]),
    "a context deep inside": described(c=list[dict[str, int | ToolContext]] | None),
    "a context in a callable": described(c=Callable[[ToolContext], int]),
    "a context given as text in a union": described(c="ToolContext | None"),
}


@pytest.mark.criterion("06.B18")
@pytest.mark.parametrize("case", REFUSED)
def test_what_strictness_could_not_be_promised_for_is_refused_at_decoration(case: str) -> None:
    refused(REFUSED[case])


@pytest.mark.criterion("06.B18")
@pytest.mark.parametrize(
    ("case", "cause"),
    [
        ("an annotation that cannot be resolved", NameError),
        ("a text that is no annotation", SyntaxError),
        ("a plain class as annotation", TypeError),
        ("two object-like types", TypeError),
        ("a callable without signature", ValueError),
        ("no docstring", None),
        ("two contexts", None),
    ],
)
def test_the_original_error_is_the_cause(case: str, cause: type[Exception] | None) -> None:
    found = refused(REFUSED[case]).__cause__
    assert found is None if cause is None else isinstance(found, cause)
