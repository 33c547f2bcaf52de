"""One tool call becomes one result message, or an exception that must not be hidden (checkpoint 06).

The order of a call: abort check, acceptance, lookup, validation, execution, serialization. Nothing has an
effect before the arguments were approved, and an abort wins at each step.
"""

import asyncio
import inspect
from typing import Final, NoReturn

from kickwheel_agent_loop._definition import ToolDefinition
from kickwheel_agent_loop._errors import (
    TOOL_ARGUMENTS_INVALID,
    TOOL_EXECUTION_FAILED,
    TOOL_NOT_FOUND,
    TOOL_OUTPUT_SERIALIZATION_FAILED,
    TOOL_VALIDATION_FAILED,
    ToolContractError,
)
from kickwheel_agent_loop._executor import Execution, never_suspends, run_through
from kickwheel_agent_loop._inspect import call_off, class_name, is_awaitable, let_go
from kickwheel_agent_loop._outcome import is_fatal, message_or_raise
from kickwheel_agent_loop._output import render, render_error
from kickwheel_agent_loop._registry import ToolRegistry
from kickwheel_event_stream import AbortSignal
from kickwheel_protocol import Invalid, JsonObject, Signal, ToolCall, ToolContext, ToolResultMessage, Valid

_SIGNAL_MEMBERS: Final = ("aborted", "reason", "raise_if_aborted", "wait", "add_callback")
_MISSING: Final = object()


async def execute_tool_call(
    registry: ToolRegistry, tool_call: ToolCall, signal: Signal | None = None
) -> ToolResultMessage:
    """Execute one tool call of the model: a linked, bounded result message, or a raise (checkpoint 06).

    The message is `ToolResultMessage("tool-result-" + id, id, name, content, is_error)`. Its content has at
    most 4096 code points: text as the tool returned it, anything else as canonical JSON. With `is_error` it
    is `{"error":{"code":...,"message":...}}` with one of the codes `TOOL_NOT_FOUND`,
    `TOOL_ARGUMENTS_INVALID`, `TOOL_VALIDATION_FAILED`, `TOOL_EXECUTION_FAILED`,
    `TOOL_OUTPUT_SERIALIZATION_FAILED`.

    Raises `signal.reason` at once when the signal is aborted; `CancelledError` when the awaiting task is
    cancelled, after the executor has ended; `ToolContractError` with `INVALID_TOOL_CALL` for what is no
    registry or no genuine call; the tool's own `NonRecoverableToolError`; and exits such as
    `KeyboardInterrupt`. `TypeError` for a `signal` that is none; without one the call is never aborted.
    """
    if signal is None:
        signal = AbortSignal.never()
    elif not is_signal(signal):
        raise TypeError(f"signal must be a Signal or None, not {class_name(signal)}")
    return await run_call(registry, tool_call, signal)


async def run_call(
    registry: ToolRegistry,
    tool_call: ToolCall,
    signal: Signal,
    unfinished: "set[asyncio.Future[object]] | None" = None,
) -> ToolResultMessage:
    """Do what `execute_tool_call` does, for a signal that is known to be one.

    Raises the same. An executor that an abort left behind is put into `unfinished` and leaves it when it
    ends, so that whoever owns the set can wait for it; by default the package holds it itself.
    """
    signal.raise_if_aborted()
    tool = _accept(registry, tool_call)
    if tool is None:
        return _error_result(tool_call, TOOL_NOT_FOUND, f'Unknown Tool "{tool_call.name}"')
    caller = asyncio.current_task()
    cancellations = caller.cancelling() if caller is not None else 0
    execution: Execution | None = None
    code = TOOL_VALIDATION_FAILED
    try:
        decision: object = tool.validate(tool_call.arguments)
        if type(decision) is not Valid and type(decision) is not Invalid:
            _refuse_decision(decision)
        signal.raise_if_aborted()
        _raise_if_cancelled(caller, cancellations)
        # [solution 06.2]
        if type(decision) is Invalid:
            return _error_result(tool_call, TOOL_ARGUMENTS_INVALID, decision.error)
        value = decision.value
        # [starter]
        # value: object = tool_call.arguments  # only what was approved may go on
        # [/solution]
        code = TOOL_EXECUTION_FAILED
        output: object = tool.executor(value, ToolContext(signal, tool_call.id))
        if is_awaitable(output):
            if signal.aborted:
                call_off(output)
            elif never_suspends(output):
                output = run_through(output)
            else:
                execution = Execution(output, caller, cancellations)
                output = await execution.wait(signal, unfinished)
        signal.raise_if_aborted()
        code = TOOL_OUTPUT_SERIALIZATION_FAILED
        content = render(output)
        signal.raise_if_aborted()
        _raise_if_cancelled(caller, cancellations)
        return ToolResultMessage(f"tool-result-{tool_call.id}", tool_call.id, tool_call.name, content)
    except BaseException as error:
        failure = error
    # Out of the handler, so that neither the reason nor a leaf gets the failure as its context.
    try:
        if execution is not None and execution.caller_cancelled:
            raise failure
        if not is_fatal(failure) and _is_cancelled(caller, cancellations):
            await asyncio.sleep(0)  # lets the event loop deliver the cancellation here, once
        return _error_result(tool_call, code, message_or_raise(failure, signal))
    finally:
        del failure, caller  # a frame that holds its own exception, or the task that ends in it, is a cycle


def is_signal(value: object) -> bool:
    """Tell whether a value has the members of a `Signal`, without reading one."""
    if issubclass(type(value), AbortSignal):
        return True
    return all(inspect.getattr_static(value, member, _MISSING) is not _MISSING for member in _SIGNAL_MEMBERS)


def _accept(registry: object, tool_call: object) -> ToolDefinition[object, object] | None:
    """Look up the tool of a genuine call; `None` if there is none. Of anything else no attribute is read."""
    # [solution 06.2]
    if type(registry) is not ToolRegistry:
        _refuse_call(f"registry must be a ToolRegistry, not {class_name(registry)}")
    if type(tool_call) is not ToolCall:
        _refuse_call(f"tool_call must be a ToolCall, not {class_name(tool_call)}")
    try:
        _: tuple[str, JsonObject] = (tool_call.id, tool_call.arguments)
        return registry.get(tool_call.name)
    except AttributeError:
        _refuse_call("the registry or the tool_call was made without its constructor")
    # [/solution]


def _refuse_call(message: str) -> NoReturn:
    raise ToolContractError("INVALID_TOOL_CALL", message)


def _refuse_decision(decision: object) -> NoReturn:
    let_go(decision)
    raise TypeError(f"validate must answer Valid or Invalid at once, not {class_name(decision)}")


def _is_cancelled(caller: "asyncio.Task[object] | None", before: int) -> bool:
    """Tell whether the caller was cancelled since; what it had absorbed earlier does not count."""
    return caller is not None and caller.cancelling() > before


def _raise_if_cancelled(caller: "asyncio.Task[object] | None", before: int) -> None:
    if _is_cancelled(caller, before):
        raise asyncio.CancelledError


def _error_result(tool_call: ToolCall, code: str, message: str) -> ToolResultMessage:
    content = render_error(code, message)
    return ToolResultMessage(f"tool-result-{tool_call.id}", tool_call.id, tool_call.name, content, True)
