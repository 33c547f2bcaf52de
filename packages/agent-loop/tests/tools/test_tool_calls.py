"""Acceptance of a call, and validation before any effect."""

import asyncio
import json
from collections.abc import Awaitable, Callable
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
from kickwheel_event_stream import AbortController, AbortSignal
from kickwheel_protocol import Invalid, JsonObject, Signal, ToolCall, ToolContext, ToolResultMessage, Valid


class Spy:
    """A tool whose halves are given and counted."""

    def __init__(self, validate: Callable[[object], object] = Valid, output: object = "done") -> None:
        self.validated: list[object] = []
        self.executed: list[object] = []
        self.contexts: list[ToolContext] = []
        self._validate = validate
        self._output = output

    def validate(self, value: object) -> Any:
        self.validated.append(value)
        return self._validate(value)

    def execute(self, value: object, context: ToolContext) -> object:
        self.executed.append(value)
        self.contexts.append(context)
        return self._output

    @property
    def definition(self) -> ToolDefinition[Any, Any]:
        return define_tool("spy", "Counts.", self.validate, self.execute)

    @property
    def registry(self) -> ToolRegistry:
        return ToolRegistry([self.definition])

    @property
    def runs(self) -> tuple[int, int]:
        return len(self.validated), len(self.executed)


CALL = ToolCall("call-1", "spy", {"left": 20})


def error_result(code: str, message: str, call: ToolCall = CALL) -> ToolResultMessage:
    content = json.dumps(
        {"error": {"code": code, "message": message}}, separators=(",", ":"), ensure_ascii=False
    )
    return ToolResultMessage(f"tool-result-{call.id}", call.id, call.name, content, True)


async def failure_code(pending: Awaitable[ToolResultMessage]) -> str:
    result = await pending
    assert result.is_error is True
    error = json.loads(result.content)["error"]
    assert set(error) == {"code", "message"}
    assert error["message"].strip()
    return error["code"]


def aborted_with(reason: Exception) -> AbortSignal:
    controller = AbortController()
    controller.abort(reason)
    return controller.signal


@pytest.mark.criterion("06.17")
@pytest.mark.parametrize("call", [CALL, ToolCall("c", "missing", {}), None, {"id": "x"}], ids=repr)
@pytest.mark.parametrize("registry", ["registry", None])
async def test_an_aborted_signal_wins_before_every_other_check(call: Any, registry: object) -> None:
    spy = Spy()
    reason = ValueError("stop")
    given: Any = spy.registry if registry else None
    with pytest.raises(ValueError, match="stop") as caught:
        await execute_tool_call(given, call, aborted_with(reason))
    assert caught.value is reason
    assert spy.runs == (0, 0)


async def refused(registry: object, call: object) -> None:
    with pytest.raises(ToolContractError) as caught:
        await execute_tool_call(cast("Any", registry), cast("Any", call))
    assert caught.value.code == "INVALID_TOOL_CALL"


@pytest.mark.criterion("06.18")
@pytest.mark.parametrize(
    "registry", [None, [], {}, "registry", object(), Spy().definition], ids=lambda r: type(r).__name__
)
async def test_what_is_no_registry_is_refused(registry: object) -> None:
    await refused(registry, CALL)


@pytest.mark.criterion("06.18")
async def test_a_registry_made_without_its_constructor_is_refused() -> None:
    await refused(ToolRegistry.__new__(ToolRegistry), CALL)


class LookAlike:
    def __init__(self, name: str) -> None:
        self.id, self.name, self.arguments, self.type = "call-1", name, {}, "toolCall"


@pytest.mark.criterion("06.19")
@pytest.mark.parametrize("name", ["spy", "missing"])
@pytest.mark.parametrize("kind", ["none", "wire", "look-alike", "namespace", "class", "text"])
async def test_what_is_no_tool_call_record_is_refused_also_for_unknown_names(kind: str, name: str) -> None:
    spy = Spy()
    wire: dict[str, object] = {"type": "toolCall", "id": "call-1", "name": name, "arguments": {}}
    calls: dict[str, object] = {
        "none": None,
        "wire": wire,
        "look-alike": LookAlike(name),
        "namespace": SimpleNamespace(**wire),
        "class": ToolCall,
        "text": "spy",
    }
    await refused(spy.registry, calls[kind])
    assert spy.runs == (0, 0)


@pytest.mark.criterion("06.20")
async def test_a_forged_call_is_refused_where_python_lets_one_be_made() -> None:
    for make in (object.__new__, cast("Any", ToolCall).__new__):
        try:
            forged = make(cast("Any", ToolCall))
        except TypeError:
            continue  # not permitted for this class: even better
        await refused(Spy().registry, forged)


@pytest.mark.criterion("06.21")
async def test_no_attribute_of_a_look_alike_is_read() -> None:
    reads: list[str] = []

    class Hostile:
        def __getattribute__(self, name: str) -> object:
            reads.append(name)
            raise ValueError(name)

    await refused(Spy().registry, Hostile())
    await refused(Hostile(), CALL)
    assert reads == []


@pytest.mark.criterion("06.23")
async def test_the_validator_receives_the_frozen_arguments_themselves() -> None:
    spy = Spy()
    arguments = {"left": 20, "nested": {"list": [1]}}
    call = ToolCall("call-1", "spy", arguments)
    arguments["left"] = 21
    arguments["nested"]["list"].append(2)  # pyright: ignore[reportIndexIssue, reportUnknownMemberType]
    await execute_tool_call(spy.registry, call)
    assert spy.validated[0] is call.arguments
    assert type(spy.validated[0]) is JsonObject
    assert spy.validated == [{"left": 20, "nested": {"list": (1,)}}]


@pytest.mark.criterion("06.24")
async def test_an_unknown_name_gives_a_linked_error_and_no_tool() -> None:
    registry = ToolRegistry()
    result = await execute_tool_call(registry, ToolCall("call-stable-missing", "missing", {}))
    assert result == ToolResultMessage(
        id="tool-result-call-stable-missing",
        tool_call_id="call-stable-missing",
        tool_name="missing",
        content='{"error":{"code":"TOOL_NOT_FOUND","message":"Unknown Tool \\"missing\\""}}',
        is_error=True,
    )
    assert len(registry) == 0


@pytest.mark.criterion("06.74")
async def test_without_a_signal_the_call_is_never_aborted() -> None:
    spy = Spy()
    await execute_tool_call(spy.registry, CALL, None)
    signal = spy.contexts[0].signal
    assert (signal.aborted, signal.reason) == (False, None)
    signal.raise_if_aborted()
    signal.add_callback(lambda: pytest.fail("aborted"))()


@pytest.mark.criterion("06.74")
@pytest.mark.parametrize(
    "signal",
    [
        True,
        False,
        0,
        "x",
        pytest.param(object(), id="object()"),
        pytest.param(AbortController(), id="AbortController()"),
        AbortSignal,
    ],
    ids=repr,
)
async def test_what_is_no_signal_is_a_type_error(signal: Any) -> None:
    spy = Spy()
    if signal is AbortSignal:
        signal = SimpleNamespace(aborted=False, reason=None)
    with pytest.raises(TypeError):
        await execute_tool_call(spy.registry, CALL, signal)
    assert spy.runs == (0, 0)


class OtherSignal:
    """Another implementation of the port."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], object]] = []
        self.reason: Exception | None = None

    @property
    def aborted(self) -> bool:
        return self.reason is not None

    def raise_if_aborted(self) -> None:
        if self.reason is not None:
            raise self.reason

    async def wait(self) -> None:
        raise NotImplementedError

    def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
        self.callbacks.append(callback)
        return lambda: self.callbacks.remove(callback)


@pytest.mark.criterion("06.74", "06.34")
async def test_any_implementation_of_the_port_will_do() -> None:
    spy = Spy()
    signal: Signal = OtherSignal()
    result = await execute_tool_call(spy.registry, CALL, signal)
    assert (result.content, spy.contexts[0].signal) == ("done", signal)


@pytest.mark.criterion("06.25")
async def test_a_rejecting_validator_gives_its_text_and_no_effect() -> None:
    spy = Spy(lambda _value: Invalid("left must be a number"))
    assert await execute_tool_call(spy.registry, CALL) == error_result(
        "TOOL_ARGUMENTS_INVALID", "left must be a number"
    )
    assert spy.runs == (1, 0)


@pytest.mark.criterion("06.26")
async def test_a_validator_that_raises_gives_its_text_and_no_effect() -> None:
    def fail(_value: object) -> object:
        raise ValueError("validator failed")

    spy = Spy(fail)
    assert await execute_tool_call(spy.registry, CALL) == error_result(
        "TOOL_VALIDATION_FAILED", "validator failed"
    )
    assert spy.runs == (1, 0)


class Decision:
    ok = True
    value = 1
    error = "x"


@pytest.mark.criterion("06.27")
@pytest.mark.parametrize(
    "decision",
    [
        True,
        False,
        None,
        1,
        "ok",
        {"ok": True, "value": 1},
        (True, 1),
        pytest.param(Decision(), id="Decision()"),
        Valid,
        Invalid,
    ],
    ids=repr,
)
async def test_what_is_no_decision_record_never_reaches_the_executor(decision: object) -> None:
    spy = Spy(lambda _value: decision)
    assert await failure_code(execute_tool_call(spy.registry, CALL)) == "TOOL_VALIDATION_FAILED"
    assert spy.runs == (1, 0)


@pytest.mark.criterion("06.27")
@pytest.mark.parametrize("kind", [Valid, Invalid])
async def test_a_forged_decision_never_reaches_the_executor(kind: Any) -> None:
    for make in (object.__new__, kind.__new__):
        try:
            forged = make(kind)
        except TypeError:
            continue  # not permitted for this class: even better
        spy = Spy(lambda _value, forged=forged: forged)
        assert await failure_code(execute_tool_call(spy.registry, CALL)) == "TOOL_VALIDATION_FAILED"
        assert spy.runs == (1, 0)


@pytest.mark.criterion("06.28")
async def test_an_async_validator_fails_each_call_and_its_coroutine_is_closed() -> None:
    started: list[object] = []

    async def later(value: object) -> Valid[object]:
        started.append(value)
        return Valid(value)

    spy = Spy()
    registry = ToolRegistry([define_tool("spy", "d", cast("Any", later), spy.execute)])
    for _ in range(3):
        assert await failure_code(execute_tool_call(registry, CALL)) == "TOOL_VALIDATION_FAILED"
    assert (started, spy.executed) == ([], [])


@pytest.mark.criterion("06.28")
async def test_a_future_or_task_as_decision_fails_at_once_and_its_later_failure_is_observed() -> None:
    loop = asyncio.get_running_loop()
    gate = asyncio.Event()

    async def fail_later() -> None:
        await gate.wait()
        raise ValueError("later")

    pending, failed = loop.create_future(), loop.create_future()
    failed.set_exception(ValueError("already"))
    task = loop.create_task(fail_later())
    for decision in (pending, failed, task):
        spy = Spy(lambda _value, decision=decision: decision)
        assert await failure_code(execute_tool_call(spy.registry, CALL)) == "TOOL_VALIDATION_FAILED"
        assert spy.runs == (1, 0)
    assert not pending.done()
    pending.set_exception(ValueError("later"))
    gate.set()
    await asyncio.wait([task])
    del pending, failed, task, spy, decision


@pytest.mark.criterion("06.28")
async def test_a_coroutine_as_decision_that_objects_to_being_closed_is_let_go() -> None:
    class Yielding:
        def __await__(self) -> Any:
            yield

    async def stubborn() -> None:
        try:
            await Yielding()
        except GeneratorExit:
            raise ValueError("objects") from None

    started = stubborn()
    started.send(None)
    spy = Spy(lambda _value: started)
    assert await failure_code(execute_tool_call(spy.registry, CALL)) == "TOOL_VALIDATION_FAILED"


@pytest.mark.criterion("06.29")
async def test_no_attribute_of_a_decision_object_is_read() -> None:
    reads: list[str] = []

    class Hostile:
        def __getattribute__(self, name: str) -> object:
            reads.append(name)
            raise KeyboardInterrupt(name)

    spy = Spy(lambda _value: Hostile())
    assert await failure_code(execute_tool_call(spy.registry, CALL)) == "TOOL_VALIDATION_FAILED"
    assert (reads, spy.runs) == ([], (1, 0))


@pytest.mark.criterion("06.31")
async def test_a_fatal_error_of_the_validator_is_raised_as_it_is() -> None:
    fatal = NonRecoverableToolError("stop")

    def fail(_value: object) -> object:
        raise fatal

    spy = Spy(fail)
    with pytest.raises(NonRecoverableToolError) as caught:
        await execute_tool_call(spy.registry, CALL)
    assert caught.value is fatal
    assert spy.runs == (1, 0)


@pytest.mark.criterion("06.32", "06.45", "06.48")
@pytest.mark.parametrize("then", ["approve", "reject", "raise", "raise fatal", "coroutine", "nonsense"])
async def test_a_validator_that_aborts_ends_in_the_reason_whatever_it_does_then(then: str) -> None:
    controller, reason = AbortController(), ValueError("stop")

    async def late() -> None: ...

    def validate(value: object) -> object:
        controller.abort(reason)
        if then == "raise":
            raise TypeError("other")
        if then == "raise fatal":
            raise NonRecoverableToolError("other")
        answers = {"approve": Valid(value), "reject": Invalid("no"), "nonsense": 1}
        return answers[then] if then in answers else late()

    spy = Spy(validate)
    with pytest.raises(ValueError, match="stop") as caught:
        await execute_tool_call(spy.registry, CALL, controller.signal)
    assert caught.value is reason
    assert reason.__context__ is None
    assert spy.runs == (1, 0)


@pytest.mark.criterion("06.33")
@pytest.mark.parametrize(
    "value", [pytest.param(object(), id="object()"), [1], {"a": 1}, None, Valid(1), Invalid("x")], ids=repr
)
async def test_the_executor_receives_the_approved_value_itself(value: object) -> None:
    spy = Spy(lambda _value: Valid(value))
    await execute_tool_call(spy.registry, CALL)
    assert spy.executed[0] is value
