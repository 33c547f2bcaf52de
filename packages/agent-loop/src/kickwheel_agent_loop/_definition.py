"""What a tool is: five things read once, checked, and kept (checkpoint 06)."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, Generic, Never, NoReturn, Protocol, TypeVar, cast, final

from msgspec import Struct
from msgspec.structs import force_setattr

from kickwheel_agent_loop._errors import ToolContractError
from kickwheel_agent_loop._inspect import class_name, is_awaitable, is_blank
from kickwheel_protocol import JsonObject, ProtocolError, ToolContext, ToolValidation, freeze_json

In = TypeVar("In")
Out = TypeVar("Out")

_ABSENT: Final = object()


class AnyTool(Protocol):
    """Any tool, whatever its types: what a registry takes. Every `Tool[In, Out]` of the protocol is one.

    The input of `execute` is `Never`, because only the tool's own validator can produce a value that fits.
    """

    @property
    def name(self) -> str:
        """What the model calls it by."""
        ...

    @property
    def description(self) -> str:
        """What the model is told about it."""
        ...

    def validate(self, value: object, /) -> object:
        """Answer `Valid` or `Invalid`, at once and without any effect."""
        ...

    def execute(self, value: Never, context: ToolContext, /) -> object:
        """Do the work: a value, or something that can be awaited for it."""
        ...


@final
class ToolDefinition(Struct, Generic[In, Out], frozen=True, eq=False):
    """One tool, immutable and independent of what it was made from (checkpoint 06).

    `name` and `description` are not blank and kept untrimmed. `parameters` is a frozen JSON Schema or
    `None`; it only describes, `validate` decides. `validate(arguments)` answers `Valid(value)` or
    `Invalid(error)` and must have no effect. `function` is what `@tool` decorated, else `None`. `executor` is
    the function given as `execute`, as it is; `execute(value, context)` calls it and always gives an
    awaitable. Made by `define_tool`, `@tool` or a registry; raises `ToolContractError` with
    `INVALID_TOOL_DEFINITION` for anything that breaks these rules.
    """

    name: str
    description: str
    validate: Callable[[object], ToolValidation[In]]
    executor: Callable[[In, ToolContext], Awaitable[Out] | Out]
    parameters: JsonObject | None = None
    function: Callable[..., object] | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            name: str,
            description: str,
            validate: Callable[[object], ToolValidation[In]],
            executor: Callable[[In, ToolContext], Awaitable[Out] | Out],
            parameters: Mapping[str, object] | None = None,
            function: Callable[..., object] | None = None,
        ) -> None: ...

    def __init_subclass__(cls) -> None:
        """Refuse descendants: `type(x) is ToolDefinition` is the whole trust check of a registry."""
        raise TypeError("ToolDefinition is final and cannot be subclassed")

    def __post_init__(self) -> None:
        _check_text(self.name, "name")
        _check_text(self.description, "description")
        _check_callable(self.validate, "validate")
        _check_callable(self.executor, "execute")
        if self.parameters is not None and type(self.parameters) is not JsonObject:
            force_setattr(self, "parameters", _frozen_schema(self.parameters))

    async def execute(self, value: In, context: ToolContext, /) -> Out:
        """Run the tool on a validated value: what it returns, awaited if it can be; what it raises."""
        output = self.executor(value, context)
        if is_awaitable(output):
            return await cast("Awaitable[Out]", output)
        return cast("Out", output)

    def __copy__(self) -> "ToolDefinition[In, Out]":
        return self

    def __deepcopy__(self, memo: object) -> "ToolDefinition[In, Out]":
        return self


def define_tool(
    name: str,
    description: str,
    validate: Callable[[object], ToolValidation[In]],
    execute: Callable[[In, ToolContext], Awaitable[Out] | Out],
    *,
    parameters: Mapping[str, object] | None = None,
) -> ToolDefinition[In, Out]:
    """Define a tool by its two halves (checkpoint 06).

    `validate` gets the call's arguments, a frozen `JsonObject`, and answers `Valid(value)` or
    `Invalid(error)` at once: it is never awaited. Only a `Valid` value reaches `execute(value, context)`, a
    plain or an `async` function. `parameters` is a JSON Schema object to show to a model; a frozen copy is
    kept. Raises `ToolContractError` with `INVALID_TOOL_DEFINITION` for a blank or non-string name or
    description, a half that cannot be called, or a schema that is no JSON object.
    """
    return ToolDefinition(name, description, validate, execute, parameters)


def definition_of(tool: object) -> ToolDefinition[object, object]:
    """Take a definition as it is; of anything else that fills the port read the five attributes, each once.

    Raises `ToolContractError` with `INVALID_TOOL_DEFINITION`; an error of a property is its cause.
    """
    # [solution 06.1]
    if type(tool) is ToolDefinition:
        return cast("ToolDefinition[object, object]", tool)
    return ToolDefinition(
        cast("str", _read(tool, "name")),
        cast("str", _read(tool, "description")),
        cast("Callable[[object], ToolValidation[object]]", _read(tool, "validate")),
        cast("Callable[[object, ToolContext], object]", _read(tool, "execute")),
        cast("Mapping[str, object] | None", _read(tool, "parameters", optional=True)),
    )
    # [/solution]


def _read(tool: object, attribute: str, *, optional: bool = False) -> object:
    """Read an attribute once; whatever goes wrong in it, the error says which one of which class it was."""
    try:
        return getattr(tool, attribute)
    except Exception as error:
        cause = error
    if optional and type(cause) is AttributeError and _is_absent(tool, attribute):
        return None
    return _refuse(f"{attribute} of a {class_name(tool)} cannot be read", cause)


def _is_absent(tool: object, attribute: str) -> bool:
    """Tell an attribute that is not there from a property that failed with an `AttributeError`."""
    return inspect.getattr_static(tool, attribute, _ABSENT) is _ABSENT


def _check_text(value: object, attribute: str) -> None:
    if type(value) is not str:
        _refuse(f"{attribute} must be a string, not {class_name(value)}")
    if is_blank(value):
        _refuse(f"{attribute} must not be blank")
    if attribute == "name" and not value.isascii() and _has_surrogate(value):
        _refuse("name must not contain lone surrogates: no call could ever carry it")


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _check_callable(value: object, attribute: str) -> None:
    if not callable(value):
        _refuse(f"{attribute} must be callable, not {class_name(value)}")


def _frozen_schema(value: object) -> JsonObject:
    try:
        schema = freeze_json(value, path="parameters")
    except ProtocolError as error:
        _refuse("parameters must be a JSON object", error)
    if type(schema) is not JsonObject:
        _refuse(f"parameters must be a JSON object, not {class_name(value)}")
    return schema


def _refuse(message: str, cause: Exception | None = None) -> NoReturn:
    raise ToolContractError("INVALID_TOOL_DEFINITION", message) from cause
