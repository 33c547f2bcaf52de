"""Definitions: read once, checked, kept; immutable and independent of what they came from."""

import copy
import json
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kickwheel_agent_loop import (
    NonRecoverableToolError,
    ToolContractError,
    ToolDefinition,
    ToolRegistry,
    define_tool,
    execute_tool_call,
)
from kickwheel_protocol import Invalid, JsonObject, ToolCall, ToolContext, ToolValidation, Valid

ATTRIBUTES = ("name", "description", "validate", "execute", "parameters")


def accept(value: object) -> ToolValidation[object]:
    return Valid(value)


def refuse_all(_value: object) -> ToolValidation[object]:
    return Invalid("never")


def old(_value: object, _context: ToolContext) -> str:
    return "old"


def give(value: object, _context: ToolContext) -> object:
    return value


def refused(action: Callable[[], object]) -> ToolContractError:
    with pytest.raises(ToolContractError) as caught:
        action()
    assert caught.value.code == "INVALID_TOOL_DEFINITION"
    return caught.value


def registered(tool: object) -> ToolRegistry:
    registry = ToolRegistry()
    registry.register(cast("Any", tool))
    return registry


class Shifty:
    """Fills the port through properties that count reads and answer differently later."""

    def __init__(self) -> None:
        self.reads: Counter[str] = Counter()

    def _first(self, attribute: str, first: object) -> Any:
        self.reads[attribute] += 1
        return first if self.reads[attribute] == 1 else f"another {attribute}"

    @property
    def name(self) -> str:
        return self._first("name", "shifty")

    @property
    def description(self) -> str:
        return self._first("description", "Answers differently later.")

    @property
    def validate(self) -> Callable[[object], ToolValidation[object]]:
        return self._first("validate", accept)

    @property
    def execute(self) -> Callable[[object, ToolContext], object]:
        return self._first("execute", give)

    @property
    def parameters(self) -> object:
        return self._first("parameters", {"type": "object"})

    @property
    def extra(self) -> object:
        raise AssertionError("read")


@pytest.mark.criterion("06.01", "06.07")
async def test_each_attribute_is_read_exactly_once_and_the_first_answer_kept() -> None:
    tool = Shifty()
    registry = registered(tool)
    assert tool.reads == dict.fromkeys(ATTRIBUTES, 1)
    definition = registry.get("shifty")
    assert definition is not None
    assert (definition.name, definition.description) == ("shifty", "Answers differently later.")
    assert (definition.parameters, definition.function) == ({"type": "object"}, None)
    result = await execute_tool_call(registry, ToolCall("c", "shifty", {"a": 1}))
    assert (result.content, result.is_error) == ('{"a":1}', False)
    assert tool.reads == dict.fromkeys(ATTRIBUTES, 1)


@pytest.mark.criterion("06.02")
@pytest.mark.parametrize("missing", ATTRIBUTES[:4])
def test_an_object_without_one_of_the_four_attributes_is_refused(missing: str) -> None:
    attributes = {"name": "t", "description": "d", "validate": accept, "execute": give}
    del attributes[missing]
    error = refused(lambda: registered(SimpleNamespace(**attributes)))
    assert missing in str(error)
    assert type(error.__cause__) is AttributeError


class Text(str):
    __slots__ = ()


@pytest.mark.criterion("06.03")
@pytest.mark.parametrize("field", ["name", "description"])
@pytest.mark.parametrize(
    "value", ["", " ", "\t\n", "\u00a0\u3000", "\ufeff", " \ufeff ", None, 1, b"t", Text("t"), ["t"]]
)
def test_a_blank_or_non_string_name_or_description_is_refused(field: str, value: object) -> None:
    texts: dict[str, Any] = {"name": "t", "description": "d", field: value}
    assert field in str(refused(lambda: define_tool(**texts, validate=accept, execute=give)))
    refused(lambda: registered(SimpleNamespace(**texts, validate=accept, execute=give)))


@pytest.mark.criterion("06.03")
def test_good_texts_are_stored_untrimmed() -> None:
    definition = define_tool(" t ", "\td\n", accept, give)
    assert (definition.name, definition.description) == (" t ", "\td\n")
    assert registered(definition).names == (" t ",)


@pytest.mark.criterion("06.03")
def test_a_name_with_a_lone_surrogate_is_refused_since_no_call_could_carry_it() -> None:
    refused(lambda: define_tool("t\ud800", "d", accept, give))
    assert define_tool("é😀", "d\ud800", accept, give).name == "é😀"


@pytest.mark.criterion("06.04")
@pytest.mark.parametrize("field", ["validate", "execute"])
@pytest.mark.parametrize("value", [None, 1, "f", {}, object()])
def test_a_half_that_cannot_be_called_is_refused(field: str, value: object) -> None:
    halves: dict[str, Any] = {"validate": accept, "execute": give, field: value}
    assert field in str(refused(lambda: define_tool("t", "d", **halves)))
    refused(lambda: registered(SimpleNamespace(name="t", description="d", **halves)))


@pytest.mark.criterion("06.04")
@pytest.mark.parametrize("value", [None, 1, 1.5, "tool", {"name": "t"}, [], object()])
def test_what_is_no_tool_at_all_cannot_be_registered(value: object) -> None:
    refused(lambda: registered(value))


@pytest.mark.criterion("06.05")
@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize(
    "error",
    [
        ValueError("property failed"),
        ToolContractError("DUPLICATE_TOOL_NAME", "a property's own"),
        NonRecoverableToolError("stop"),
        AttributeError("inside the property"),
        StopIteration(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_property_that_raises_becomes_the_cause_of_a_new_error(attribute: str, error: Exception) -> None:
    def fail(_self: object) -> object:
        raise error

    good = {"name": "t", "description": "d", "validate": staticmethod(accept), "execute": staticmethod(give)}
    kind = type("Failing", (), {**good, attribute: property(fail)})
    found = refused(lambda: registered(kind()))
    assert found.__cause__ is error
    assert found is not error


@pytest.mark.criterion("06.05")
def test_an_exit_raised_by_a_property_is_not_turned_into_an_error() -> None:
    class Leaving:
        @property
        def name(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        registered(Leaving())


@pytest.mark.criterion("06.06")
async def test_replacing_attributes_later_changes_nothing() -> None:
    tool = SimpleNamespace(name="t", description="d", validate=accept, execute=old)
    registry = registered(tool)
    tool.name, tool.description = "other", "other"
    tool.validate, tool.execute = refuse_all, give
    assert registry.names == ("t",)
    result = await execute_tool_call(registry, ToolCall("c", "t", {}))
    assert (result.content, result.is_error) == ("old", False)


@pytest.mark.criterion("06.07")
def test_an_object_may_answer_any_attribute_by_itself() -> None:
    class Dynamic:
        def __getattr__(self, name: str) -> object:
            known: dict[str, object] = {"name": "t", "description": "d", "validate": accept, "execute": give}
            if name in known:
                return known[name]
            raise AttributeError(name)

    definition = registered(Dynamic()).get("t")
    assert definition is not None
    assert definition.parameters is None


@pytest.mark.criterion("06.08")
@pytest.mark.parametrize(
    "error", [ToolContractError("INVALID_TOOL_CALL", "text"), NonRecoverableToolError("text")]
)
def test_the_code_of_an_error_cannot_be_assigned(error: Any) -> None:
    before = error.code
    with pytest.raises(AttributeError):
        error.code = "OTHER"
    with pytest.raises(AttributeError):
        del error.code
    assert (error.code, str(error)) == (before, "text")


@pytest.mark.criterion("06.08")
def test_errors_keep_code_and_text_in_copies() -> None:
    error = ToolContractError("DUPLICATE_TOOL_NAME", "text")
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(twin), twin.code, str(twin)) == (ToolContractError, "DUPLICATE_TOOL_NAME", "text")
    fatal = pickle.loads(pickle.dumps(NonRecoverableToolError("stop")))
    assert (fatal.code, str(fatal)) == ("NON_RECOVERABLE_TOOL_ERROR", "stop")


@pytest.mark.criterion("06.70")
@pytest.mark.parametrize(
    "attribute", ["name", "description", "parameters", "function", "validate", "execute", "new", "executor"]
)
def test_a_definition_refuses_assignment_and_deletion(attribute: str) -> None:
    definition = define_tool("t", "d", accept, give, parameters={"type": "object"})
    with pytest.raises((AttributeError, TypeError)):
        setattr(definition, attribute, "x")
    with pytest.raises((AttributeError, TypeError)):
        delattr(definition, attribute)
    assert not hasattr(definition, "__dict__")
    assert (definition.name, definition.parameters) == ("t", {"type": "object"})


@pytest.mark.criterion("06.70")
def test_a_definition_cannot_be_subclassed_and_copies_are_itself() -> None:
    with pytest.raises(TypeError):
        type("Sub", (ToolDefinition,), {})
    definition = define_tool("t", "d", accept, give)
    assert copy.copy(definition) is definition
    assert copy.deepcopy(definition) is definition


@pytest.mark.criterion("06.71")
def test_a_definition_is_registered_as_the_object_it_is() -> None:
    definition = define_tool("t", "d", accept, give)
    assert registered(definition).get("t") is definition
    assert ToolRegistry([definition]).get("t") is definition


@pytest.mark.criterion("06.71")
def test_a_definition_cannot_be_made_without_its_checks() -> None:
    for make in (object.__new__, cast("Any", ToolDefinition).__new__):
        with pytest.raises(TypeError):
            make(cast("Any", ToolDefinition))


@pytest.mark.criterion("06.70")
async def test_execute_of_a_definition_always_gives_an_awaitable() -> None:
    async def later(value: object, context: ToolContext) -> str:
        return f"{value} {context.tool_call_id}"

    def fail(_value: object, _context: ToolContext) -> object:
        raise ValueError("inside")

    context = ToolContext(cast("Any", None), "call-1")
    assert await define_tool("t", "d", accept, later).execute("a", context) == "a call-1"
    assert await define_tool("t", "d", accept, give).execute("a", context) == "a"
    failing = define_tool("t", "d", accept, fail).execute("a", context)
    with pytest.raises(ValueError, match="inside"):
        await failing


@pytest.mark.criterion("06.B19")
async def test_a_schema_is_kept_as_a_frozen_copy_and_decides_nothing() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    definition = define_tool("t", "d", accept, give, parameters=schema)
    attribute = registered(
        SimpleNamespace(name="t", description="d", validate=accept, execute=give, parameters=schema)
    )
    schema["properties"]["a"]["type"] = "string"
    for found in (definition, attribute.get("t")):
        assert found is not None
        assert type(found.parameters) is JsonObject
        assert found.parameters == {"type": "object", "properties": {"a": {"type": "integer"}}}
        assert found.parameters is found.parameters
    frozen = definition.parameters
    assert define_tool("u", "d", accept, give, parameters=frozen).parameters is frozen
    result = await execute_tool_call(ToolRegistry([definition]), ToolCall("c", "t", {"a": "no integer"}))
    assert result.is_error is False


@pytest.mark.criterion("06.B19")
@pytest.mark.parametrize(
    "schema",
    [
        [],
        "object",
        1,
        True,
        pytest.param({"a": object()}, id="object in a dict"),
        {1: 2},
        {"a": float("nan")},
        {"a": {1}},
    ],
    ids=repr,
)
def test_a_schema_that_is_no_json_object_is_refused(schema: Any) -> None:
    refused(lambda: define_tool("t", "d", accept, give, parameters=schema))
    refused(
        lambda: registered(
            SimpleNamespace(name="t", description="d", validate=accept, execute=give, parameters=schema)
        )
    )


@pytest.mark.criterion("06.B19")
def test_without_a_schema_parameters_is_none() -> None:
    assert define_tool("t", "d", accept, give).parameters is None
    found = registered(SimpleNamespace(name="t", description="d", validate=accept, execute=give)).get("t")
    assert found is not None
    assert found.parameters is None


HEADER = """
from kickwheel_agent_loop import ToolDefinition, ToolRegistry, define_tool, execute_tool_call
from kickwheel_protocol import Invalid, Tool, ToolContext, ToolResultMessage, ToolValidation, Valid
from typing import assert_type

def to_int(value: object) -> ToolValidation[int]:
    return Valid(value) if type(value) is int else Invalid("no int")

def narrow(value: dict[str, int]) -> ToolValidation[int]:
    return Valid(value["a"])

def to_int_or_text(value: object) -> ToolValidation[int | str]:
    return Valid(value) if isinstance(value, int | str) else Invalid("neither")

def plain(value: int, context: ToolContext) -> str:
    return str(value)

async def later(value: int, context: ToolContext) -> str:
    return str(value)
"""

SNIPPETS = {
    "passes": """
assert_type(define_tool("t", "d", to_int, later), ToolDefinition[int, str])
filled: Tool[int, str] = define_tool("t", "d", to_int, later)
registry = ToolRegistry([define_tool("a", "d", to_int, plain), filled])
registry.register_many([define_tool("b", "d", to_int_or_text, lambda value, context: value), filled])
registry.register(filled)

async def use() -> ToolResultMessage:
    definition = registry.get("a")
    assert definition is not None
    decision = definition.validate(1)
    if decision.ok is True:
        await definition.execute(decision.value, ToolContext(AbortController().signal, "c"))
    return await execute_tool_call(registry, ToolCall("c", "a", {}), AbortController().signal)

from kickwheel_event_stream import AbortController
from kickwheel_protocol import ToolCall
""",
    "a validator of a narrower input": 'define_tool("t", "d", narrow, later)  # !',
    "a value that execute does not take": 'define_tool("t", "d", to_int_or_text, later)  # !',
    "the same for a plain function": 'define_tool("t", "d", to_int_or_text, plain)  # !',
    "no tool": "ToolRegistry([1])  # !",
    "assignment": 'define_tool("t", "d", to_int, later).name = "x"  # !',
    "subclass": "class Sub(ToolRegistry): ...  # !",
}


@pytest.mark.criterion("06.72")
@pytest.mark.slow
def test_a_mismatch_of_the_two_halves_is_a_type_error_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("basedpyright")
    wanted: list[str] = []
    for index, snippet in enumerate(SNIPPETS.values()):
        file = tmp_path / f"case_{index}.py"
        file.write_text(HEADER + snippet, encoding="utf-8")
        wanted += [
            f"{file.name}:{number}"
            for number, line in enumerate(file.read_text().splitlines(), 1)
            if line.endswith("# !")
        ]
    settings = {"typeCheckingMode": "strict", "reportUnusedImport": "none", "reportUnusedClass": "none"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(
        [*command, "-p", str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    found = {
        f"{Path(one['file']).name}:{one['range']['start']['line'] + 1}"
        for one in json.loads(done.stdout)["generalDiagnostics"]
        if one["severity"] == "error"
    }
    assert sorted(found) == sorted(wanted)
