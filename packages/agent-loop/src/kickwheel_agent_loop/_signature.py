"""A function's parameters become a strict validator and a JSON Schema: once, at decoration (checkpoint 06).

msgspec does both from the same annotations, so what the schema tells a model is what the validator accepts.
Arguments are converted into a `TypedDict` made of the parameters: absent ones stay absent, so that the
function's own defaults apply, and nothing is coerced but JSON's own forms (an integer for a `float`, text for
dates and UUIDs).
"""

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, NoReturn, NotRequired, Protocol, Required, TypeAlias, TypedDict, cast

import msgspec

from kickwheel_agent_loop._errors import ToolContractError
from kickwheel_agent_loop._inspect import class_name
from kickwheel_protocol import (
    Invalid,
    JsonObject,
    ProtocolError,
    ToolContext,
    ToolValidation,
    Valid,
    freeze_json,
    thaw_json,
)

Arguments: TypeAlias = dict[str, object]
"""The converted arguments of one call by parameter name; absent ones are left to the function's defaults."""


class _Qualifier(Protocol):
    """`Required` or `NotRequired`, given an annotation that is known at run time only."""

    def __getitem__(self, annotation: object, /) -> object: ...


_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_optional: Final = cast("_Qualifier", NotRequired)
_required: Final = cast("_Qualifier", Required)
_typed_dict: Final = cast("Callable[[str, dict[str, object]], type[Arguments]]", TypedDict)
_SAFE_INTEGER: Final = 2**53 - 1  # JSON numbers beyond it are not exact for every reader


class Parameters:
    """The parameters that arguments are bound to, and the name of the one that receives the context."""

    __slots__ = ("context_name", "defaults", "hints")

    def __init__(self, function: Callable[..., object]) -> None:
        hints = _resolved_hints(function, _named_parameters(function))
        self.context_name = _context_name(hints)
        self.hints = {name: hint for name, (hint, _) in hints.items() if name != self.context_name}
        self.defaults = {
            name: default
            for name, (_, default) in hints.items()
            if name != self.context_name and default is not inspect.Parameter.empty
        }


def derive_validator(parameters: Parameters) -> Callable[[object], ToolValidation[Arguments]]:
    """Make the strict validator. Raises `ToolContractError` for an annotation it could not keep to."""
    shape = _shape(parameters)

    def validate(arguments: object, /) -> ToolValidation[Arguments]:
        """Answer `Valid` with converted arguments, or `Invalid` with a text that names the parameter."""
        if type(arguments) is not JsonObject:
            frozen = _frozen_arguments(arguments)
            if type(frozen) is Invalid:
                return frozen
            arguments = frozen
        given = thaw_json(arguments)
        try:
            converted: Arguments = msgspec.convert(given, shape)
        except msgspec.ValidationError as error:
            return Invalid(str(error))
        if len(converted) != len(given):
            return Invalid(f"unknown argument `{_unknown(given, parameters.hints)}`")
        return Valid(converted)

    return validate


def derive_schema(parameters: Parameters) -> JsonObject:
    """Describe the arguments as a JSON Schema. Raises `ToolContractError` for an annotation without one."""
    try:
        schemas, definitions = msgspec.json.schema_components(
            parameters.hints.values(), ref_template="#/$defs/{name}"
        )
        properties = {name: dict(schema) for name, schema in zip(parameters.hints, schemas, strict=True)}
        for name, default in parameters.defaults.items():
            _add_default(properties[name], default)
        root: dict[str, object] = {
            "type": "object",
            "properties": properties,
            "required": [name for name in parameters.hints if name not in parameters.defaults],
            "additionalProperties": False,
        }
        if definitions:
            root["$defs"] = dict(definitions)
        return cast("JsonObject", freeze_json(_json_safe(root), path="parameters"))
    except Exception as error:
        refuse("an annotation has no JSON Schema", error)


def refuse(message: str, cause: Exception | None = None) -> NoReturn:
    """Raise the error of a function that cannot become a tool."""
    raise ToolContractError("INVALID_TOOL_DEFINITION", message) from cause


def _named_parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """Read the signature, and refuse parameters that no argument could reach by name or that say nothing."""
    try:
        signature = _signature(function)
    except Exception as error:
        refuse("the signature cannot be read", error)
    for name, parameter in signature.parameters.items():
        if parameter.kind not in _NAMED:
            refuse(f"parameter `{name}` cannot be given by name")
        if parameter.annotation is inspect.Parameter.empty:
            refuse(f"parameter `{name}` has no annotation to validate against")
    return signature.parameters


def _signature(function: Callable[..., object]) -> inspect.Signature:
    if sys.version_info >= (3, 14):
        import annotationlib

        # Annotations are lazy there, and one that fails, such as the return type, must not matter.
        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


def _resolved_hints(
    function: Callable[..., object], parameters: Mapping[str, inspect.Parameter]
) -> dict[str, tuple[object, object]]:
    """Resolve annotations given as text in the function's module; the return annotation is not looked at."""
    namespace = getattr(inspect.unwrap(function), "__globals__", {})

    def holder() -> None: ...

    holder.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    try:
        hints = typing.get_type_hints(holder, globalns=namespace, include_extras=True)
    except Exception as error:
        refuse("an annotation cannot be resolved", error)
    return {name: (hints[name], parameter.default) for name, parameter in parameters.items()}


def _context_name(hints: Mapping[str, tuple[object, object]]) -> str | None:
    """Find the parameter annotated exactly `ToolContext`; anywhere else in an annotation it is refused."""
    names = [name for name, (hint, _) in hints.items() if hint is ToolContext]
    if len(names) > 1:
        refuse(f"parameters `{names[0]}` and `{names[1]}` both ask for the ToolContext")
    for name, (hint, _) in hints.items():
        if hint is not ToolContext and _mentions_context(hint):
            refuse(f"parameter `{name}` must be annotated exactly ToolContext, or without it")
    return names[0] if names else None


def _mentions_context(annotation: object) -> bool:
    """Look through unions, containers, `Annotated`, the parameters of a `Callable` and `type` aliases."""
    seen: list[object] = []
    pending = [annotation]
    while pending:
        hint = pending.pop()
        if hint is ToolContext:
            return True
        if any(hint is known for known in seen):
            continue
        seen.append(hint)
        pending.append(getattr(hint, "__value__", None))
        pending += cast("list[object]", hint) if isinstance(hint, list) else typing.get_args(hint)
    return False


def _shape(parameters: Parameters) -> type[Arguments]:
    """Make the `TypedDict` of the arguments, and have msgspec look at all of it now."""
    fields: dict[str, object] = {
        name: (_optional if name in parameters.defaults else _required)[hint]
        for name, hint in parameters.hints.items()
    }
    try:
        shape = _typed_dict("Arguments", fields)
        with suppress(msgspec.ValidationError):
            msgspec.convert({}, shape)
    except Exception as error:
        refuse("an annotation cannot be validated against", error)
    return shape


def _frozen_arguments(value: object) -> JsonObject | Invalid:
    """Accept a plain object too, after the same checks that a call's arguments went through."""
    if type(value) is not dict:
        return Invalid(f"arguments must be a JSON object, not {class_name(value)}")
    try:
        return cast("JsonObject", freeze_json(cast("object", value), path="arguments"))
    except ProtocolError as error:
        return Invalid(str(error))


def _unknown(given: Arguments, hints: Mapping[str, object]) -> str:
    return next(name for name in given if name not in hints)


def _add_default(schema: dict[str, object], default: object) -> None:
    """Tell the default if it has a JSON form."""
    try:
        plain: object = msgspec.to_builtins(default, order="deterministic")
        schema["default"] = freeze_json(plain)
    except Exception:
        pass


def _json_safe(value: object) -> object:
    """Write bounds beyond 2**53 as floats: not every reader keeps them, and no argument comes near."""
    if type(value) is dict:
        return {key: _json_safe(part) for key, part in cast("dict[str, object]", value).items()}
    if type(value) is list:
        return [_json_safe(part) for part in cast("list[object]", value)]
    if type(value) is int and abs(value) > _SAFE_INTEGER:
        return float(value)
    return value
