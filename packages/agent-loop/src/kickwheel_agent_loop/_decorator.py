"""`@tool`: a function with annotations becomes a tool definition (checkpoint 06, beyond the course)."""

import inspect
from collections.abc import Callable
from typing import Final, Protocol, cast, overload

from kickwheel_agent_loop._definition import ToolDefinition
from kickwheel_agent_loop._inspect import class_name
from kickwheel_agent_loop._signature import Arguments, Parameters, derive_schema, derive_validator, refuse
from kickwheel_protocol import ToolContext

_MISSING: Final = object()


class ToolDecorator(Protocol):
    """What `tool(name=..., description=...)` gives: it takes the function."""

    def __call__(self, function: Callable[..., object], /) -> ToolDefinition[dict[str, object], object]:
        """Make the definition."""
        ...


@overload
def tool(function: Callable[..., object], /) -> ToolDefinition[dict[str, object], object]: ...
@overload
def tool(*, name: str | None = None, description: str | None = None) -> ToolDecorator: ...
def tool(
    function: object = _MISSING, /, *, name: str | None = None, description: str | None = None
) -> ToolDefinition[dict[str, object], object] | ToolDecorator:
    """Make a tool of a `def` or `async def` function, used as `@tool` or `@tool(name=..., description=...)`.

    The name defaults to the function's own, the description to its whole docstring. Arguments are bound by
    name and validated strictly against the annotations: no text for a number, no `True` for a 1. A parameter
    annotated exactly `ToolContext` receives the context and is no argument. `.parameters` is the JSON Schema
    of the rest, `.function` the function itself. Raises `ToolContractError` with `INVALID_TOOL_DEFINITION`
    where strictness could not be promised (checkpoint 06 lists the cases).
    """
    if function is _MISSING:
        return lambda function: _define(function, name, description)
    return _define(function, name, description)


def _define(
    function: object, name: str | None, description: str | None
) -> ToolDefinition[dict[str, object], object]:
    called = _checked(function)
    parameters = Parameters(called)
    if name is None:
        name = cast("str", getattr(called, "__name__", None))
    if description is None:
        description = inspect.cleandoc(called.__doc__ or "")
    validate = derive_validator(parameters)
    executor = _executor(called, parameters.context_name)
    return ToolDefinition(name, description, validate, executor, derive_schema(parameters), called)


def _checked(function: object) -> Callable[..., object]:
    """Refuse what gives no single output."""
    if not callable(function):
        refuse(f"a tool is made of a function, not of a {class_name(function)}")
    if inspect.isclass(function):
        refuse("a class cannot be a tool: its output would be an instance")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        refuse("a generator function cannot be a tool: it has no single output")
    return function


def _executor(
    function: Callable[..., object], context_name: str | None
) -> Callable[[Arguments, ToolContext], object]:
    if context_name is None:
        return lambda arguments, _context: function(**arguments)
    return lambda arguments, context: function(**arguments, **{context_name: context})
