"""The options of a run, checked before model, tools or signal are used (checkpoint 07)."""

import asyncio
import inspect
from collections.abc import Sequence
from typing import Final, Literal, Protocol, TypeAlias, cast, final

from msgspec import Struct

from kickwheel_agent_loop._definition import AnyTool
from kickwheel_agent_loop._limits import LoopLimits
from kickwheel_agent_loop._registry import ToolRegistry
from kickwheel_protocol import ModelRequest, Signal

ToolExecution: TypeAlias = Literal["sequential", "parallel"]
"""How the calls of one turn are run: one after another, or side by side."""

_SIGNAL_MEMBERS: Final = ("aborted", "reason", "raise_if_aborted", "wait", "add_callback")


class StreamFunction(Protocol):
    """The bound `stream` of a model, as the call read it. What it gives is checked at each turn."""

    def __call__(self, request: ModelRequest, signal: Signal, /) -> object:
        """Begin one answer."""
        ...


@final
class RunOptions(Struct, frozen=True):
    """What a run owns from its first moment: checked numbers, and snapshots of messages and tools."""

    messages: tuple[object, ...] | None
    """The starting transcript, not looked at yet; `None` for what is no list or tuple of a permitted length.
    """
    stream: StreamFunction
    registry: ToolRegistry
    max_steps: int
    signal: Signal | None
    request_sequence_start: int
    limits: LoopLimits
    parallel: bool


def read_options(
    messages: object,
    model: object,
    tools: object,
    max_steps: object,
    signal: object,
    request_sequence_start: object,
    limits: object,
    tool_execution: object,
) -> RunOptions:
    """Check every option and take the snapshots; `TypeError` or `ValueError` whose text names the option."""
    if type(limits) is not LoopLimits:
        raise TypeError(f"limits must be a LoopLimits, not {type(limits).__name__}")
    steps, start = read_budget(max_steps, request_sequence_start, limits)
    parallel = _read_execution(tool_execution)
    _check_signal(signal)
    stream = _read_stream(model)
    registry = _read_tools(tools)
    return RunOptions(
        messages=_snapshot(messages, limits),
        stream=stream,
        registry=registry,
        max_steps=steps,
        signal=cast("Signal | None", signal),
        request_sequence_start=start,
        limits=limits,
        parallel=parallel,
    )


def read_budget(max_steps: object, request_sequence_start: object, limits: LoopLimits) -> tuple[int, int]:
    """Check the two numbers that bound a run, and that the last request number stays within the limit."""
    # [solution 07.1]
    if type(max_steps) is not int:
        raise TypeError(f"max_steps must be an int, not {type(max_steps).__name__}")
    if type(request_sequence_start) is not int:
        raise TypeError(f"request_sequence_start must be an int, not {type(request_sequence_start).__name__}")
    most = limits.max_agent_steps
    if not 1 <= max_steps <= most:
        raise ValueError(f"max_steps must be from 1 to {most}, not {max_steps}")
    if request_sequence_start < 0 or request_sequence_start + max_steps > most:
        raise ValueError(
            f"request_sequence_start must be from 0 to {most - max_steps} with max_steps {max_steps}: "
            f"together they may reach {most}"
        )
    return max_steps, request_sequence_start
    # [/solution]


def require_loop() -> asyncio.AbstractEventLoop:
    """Give the running loop; `RuntimeError` without one, before anything was made that would have to be
    undone.
    """
    return asyncio.get_running_loop()


def _read_execution(value: object) -> bool:
    if type(value) is not str:
        raise TypeError(f"tool_execution must be a str, not {type(value).__name__}")
    if value != "sequential" and value != "parallel":
        raise ValueError('tool_execution must be "sequential" or "parallel"')
    return value == "parallel"


def _check_signal(signal: object) -> None:
    """Look for the members without reading one: a property of a signal may fail, and that is the run's
    business.
    """
    if signal is None:
        return
    missing = object()
    if isinstance(signal, type) or any(
        inspect.getattr_static(signal, name, missing) is missing for name in _SIGNAL_MEMBERS
    ):
        raise TypeError(f"signal must have the members of Signal: {', '.join(_SIGNAL_MEMBERS)}")


def _read_stream(model: object) -> StreamFunction:
    try:
        stream: object = getattr(model, "stream", None)
    except Exception as error:
        raise TypeError("model.stream cannot be read") from error
    if not callable(stream):
        raise TypeError(f"model must have a callable stream, which {type(model).__name__} has not")
    return cast("StreamFunction", stream)


def _read_tools(tools: object) -> ToolRegistry:
    if type(tools) is ToolRegistry:
        return tools.snapshot()
    if type(tools) is list or type(tools) is tuple:
        return ToolRegistry(cast("Sequence[AnyTool]", tools))
    raise TypeError(f"tools must be a ToolRegistry, a list or a tuple, not {type(tools).__name__}")


def _snapshot(messages: object, limits: LoopLimits) -> tuple[object, ...] | None:
    """Copy the container; nothing of a container of another type is ever called."""
    if type(messages) is not list and type(messages) is not tuple:
        return None
    listed = cast("list[object] | tuple[object, ...]", messages)
    return tuple(listed) if len(listed) <= limits.max_initial_messages else None
