"""Focused test of checkpoint 06: one tool call, one result, or an exception that must not be hidden."""

import asyncio
import gc
import json
import math
from collections import Counter
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest

from kickwheel_agent_loop import (
    NonRecoverableToolError,
    ToolContractError,
    ToolDefinition,
    ToolRegistry,
    define_tool,
    execute_tool_call,
    tool,
)
from kickwheel_event_stream import AbortController
from kickwheel_protocol import Invalid, ToolCall, ToolContext, ToolResultMessage, Valid

T = TypeVar("T")
AnyDefinition = ToolDefinition[Any, Any]
criterion = pytest.mark.criterion
MARKER = "\n[Tool output truncated]"


def task(number: int) -> pytest.MarkDecorator:
    """Name the course task that a test belongs to."""
    return pytest.mark.task(number)


def run(coroutine: Coroutine[object, object, T]) -> T:
    """Run one bounded scenario on a loop of its own: nothing is reported to it and no task is left."""
    noise: list[object] = []

    async def bounded() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: noise.append(context))
        async with asyncio.timeout(5):
            value = await coroutine
            await turns()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return value

    value = asyncio.run(bounded())
    assert noise == []
    return value


async def turns(count: int = 6) -> None:
    """Let everything that can happen without outside help happen."""
    for _ in range(count):
        await asyncio.sleep(0)


def accept(value: object) -> Valid[object]:
    return Valid(value)


def give(value: object, _context: ToolContext) -> object:
    return value


def named(name: str) -> AnyDefinition:
    return define_tool(name, f"The tool {name}.", accept, give)


def refused(code: str, action: Callable[[], object]) -> ToolContractError:
    with pytest.raises(ToolContractError) as caught:
        action()
    assert caught.value.code == code
    return caught.value


def call(
    execute: Callable[[object, ToolContext], object], call_id: str = "call-1", signal: Any = None
) -> Any:
    """Execute one call of a tool with this executor and an approving validator."""
    registry = ToolRegistry([define_tool("t", "A tool.", accept, execute)])
    return execute_tool_call(registry, ToolCall(call_id, "t", {"a": 1}), signal)


def gives(output: object) -> Callable[[object, ToolContext], object]:
    return lambda _value, _context: output


def error_code(result: ToolResultMessage) -> str:
    error = json.loads(result.content)["error"]
    assert (result.is_error, bool(error["message"].strip())) == (True, True)
    return error["code"]


def raised(kind: type[BaseException], coroutine: Coroutine[object, object, object]) -> BaseException:
    """Run a scenario that must raise, and give what it raised."""

    async def caught() -> BaseException:
        try:
            await coroutine
        except kind as error:
            return error
        raise AssertionError(f"{kind.__name__} was not raised")

    return run(caught())


# Task 1: definitions and the registry


class Counted:
    """Fills the port through properties that count reads and answer differently later."""

    def __init__(self) -> None:
        self.reads: Counter[str] = Counter()

    def _first(self, attribute: str, first: object) -> Any:
        self.reads[attribute] += 1
        return first if self.reads[attribute] == 1 else f"another {attribute}"

    name = property(lambda self: self._first("name", "counted"))
    description = property(lambda self: self._first("description", "Counts."))
    validate = property(lambda self: self._first("validate", accept))
    execute = property(lambda self: self._first("execute", give))


@criterion("06.01")
@task(1)
def test_each_attribute_is_read_exactly_once() -> None:
    counted = Counted()
    registry = ToolRegistry([cast("Any", counted)])
    assert counted.reads == {"name": 1, "description": 1, "validate": 1, "execute": 1}
    definition = registry.get("counted")
    assert definition is not None
    assert (definition.name, definition.description) == ("counted", "Counts.")


@criterion("06.02", "06.04")
@task(1)
@pytest.mark.parametrize("missing", ["name", "description", "validate", "execute"])
def test_an_incomplete_object_is_no_tool(missing: str) -> None:
    attributes = {"name": "t", "description": "d", "validate": accept, "execute": give}
    without = {name: value for name, value in attributes.items() if name != missing}
    broken = {**attributes, missing: None}
    for tool_like in (SimpleNamespace(**without), SimpleNamespace(**broken), None, 5, attributes):
        refused("INVALID_TOOL_DEFINITION", lambda one=tool_like: ToolRegistry([cast("Any", one)]))


@criterion("06.05")
@task(1)
def test_an_error_of_a_property_becomes_the_cause() -> None:
    error = ToolContractError("DUPLICATE_TOOL_NAME", "the property's own")

    class Failing:
        @property
        def name(self) -> str:
            raise error

    found = refused("INVALID_TOOL_DEFINITION", lambda: ToolRegistry([cast("Any", Failing())]))
    assert found is not error
    assert found.__cause__ is error


@criterion("06.03", "06.70", "06.71")
@task(1)
def test_a_definition_is_immutable_and_registered_as_it_is() -> None:
    definition = define_tool(" t ", " d ", accept, give)
    with pytest.raises((AttributeError, TypeError)):
        cast("Any", definition).name = "other"
    with pytest.raises(TypeError):
        type("Sub", (ToolDefinition,), {})
    for blank in ("", " ", "\ufeff", None, 5):
        refused(
            "INVALID_TOOL_DEFINITION", lambda blank=blank: define_tool(cast("Any", blank), "d", accept, give)
        )
    registry = ToolRegistry([definition])
    assert (registry.names, registry.get(" t ")) == ((" t ",), definition)
    assert registry.get(" t ") is definition


@criterion("06.10", "06.11")
@task(1)
def test_only_an_exact_list_or_tuple_is_a_batch() -> None:
    class Hostile(list[Any]):
        def __iter__(self) -> Any:
            raise AssertionError("iterated")

        __len__ = __getitem__ = cast("Any", __iter__)

    generator = (named(name) for name in "ab")
    registry = ToolRegistry()
    for batch in (None, "ab", {"a": named("a")}, {named("a")}, generator, Hostile()):
        refused("INVALID_TOOL_BATCH", lambda batch=batch: registry.register_many(cast("Any", batch)))
    assert len(list(generator)) == 2


@criterion("06.09", "06.12", "06.13", "06.14")
@task(1)
@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["a", None, "b"], "INVALID_TOOL_DEFINITION"),
        (["a", "b", "a"], "DUPLICATE_TOOL_NAME"),
        (["a", "old"], "DUPLICATE_TOOL_NAME"),
        (["old", None], "INVALID_TOOL_DEFINITION"),
        ([None, "old"], "INVALID_TOOL_DEFINITION"),
        (["a", "a", None], "INVALID_TOOL_DEFINITION"),
    ],
)
def test_a_batch_is_added_whole_or_not_at_all(names: list[str | None], code: str) -> None:
    registry = ToolRegistry([named("old")])
    batch: list[Any] = [None if name is None else named(name) for name in names]
    refused(code, lambda: registry.register_many(batch))
    assert registry.names == ("old",)


@criterion("06.15", "06.16")
@task(1)
def test_names_and_snapshots_do_not_change_later() -> None:
    registry = ToolRegistry([named("b"), named("a")])
    names, snapshot = registry.names, registry.snapshot()
    registry.register(named("c"))
    snapshot.register(named("d"))
    assert names == ("b", "a")
    assert (registry.names, snapshot.names, len(registry)) == (("b", "a", "c"), ("b", "a", "d"), 3)
    assert [registry.get(name) for name in ("x", None, 5, ["a"])] == [None] * 4


# Task 2: no effect before the arguments were approved


class Spy:
    """A tool that counts how often each half ran, and with what."""

    def __init__(self, validate: Callable[[object], object] = accept) -> None:
        self.validated: list[object] = []
        self.executed: list[object] = []
        self._validate = validate

    def validate(self, value: object) -> Any:
        self.validated.append(value)
        return self._validate(value)

    def execute(self, value: object, _context: ToolContext) -> object:
        self.executed.append(value)
        return "done"

    @property
    def registry(self) -> ToolRegistry:
        return ToolRegistry([define_tool("spy", "Counts.", self.validate, self.execute)])


SPY_CALL = ToolCall("call-1", "spy", {"left": 20, "right": 22})


@criterion("06.17")
@task(2)
def test_an_aborted_signal_wins_before_every_other_check() -> None:
    controller, reason, spy = AbortController(), ValueError("stop"), Spy()
    controller.abort(reason)
    attempts = [(spy.registry, SPY_CALL), (spy.registry, None), (None, SPY_CALL)]
    for registry, tool_call in attempts:
        pending = execute_tool_call(cast("Any", registry), cast("Any", tool_call), controller.signal)
        assert raised(ValueError, pending) is reason
    assert (spy.validated, spy.executed) == ([], [])


@criterion("06.18", "06.19", "06.21")
@task(2)
def test_only_a_registry_and_a_genuine_call_are_accepted() -> None:
    class Hostile:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"read {name}")

    spy = Spy()
    wire: dict[str, object] = {"type": "toolCall", "id": "call-1", "name": "spy", "arguments": {}}
    calls = (None, wire, SimpleNamespace(**wire), Hostile(), {**wire, "name": "missing"})
    attempts: list[tuple[object, object]] = [(spy.registry, tool_call) for tool_call in calls]
    attempts += [(None, SPY_CALL), ("registry", SPY_CALL), (Hostile(), SPY_CALL)]
    for registry, tool_call in attempts:
        pending = execute_tool_call(cast("Any", registry), cast("Any", tool_call))
        error = raised(ToolContractError, pending)
        assert cast("ToolContractError", error).code == "INVALID_TOOL_CALL"
    assert (spy.validated, spy.executed) == ([], [])


@criterion("06.23", "06.33")
@task(2)
def test_the_validator_sees_the_frozen_arguments_and_the_executor_its_value() -> None:
    value = object()
    spy = Spy(lambda _value: Valid(value))
    arguments = {"left": 20}
    tool_call = ToolCall("call-1", "spy", arguments)
    arguments["left"] = 21
    run(execute_tool_call(spy.registry, tool_call))
    assert spy.validated[0] is tool_call.arguments
    assert (spy.validated, spy.executed) == ([{"left": 20}], [value])


@criterion("06.24")
@task(2)
def test_an_unknown_tool_gives_a_linked_error() -> None:
    registry = ToolRegistry()
    result = run(execute_tool_call(registry, ToolCall("call-stable-missing", "missing", {})))
    assert result == ToolResultMessage(
        id="tool-result-call-stable-missing",
        tool_call_id="call-stable-missing",
        tool_name="missing",
        content='{"error":{"code":"TOOL_NOT_FOUND","message":"Unknown Tool \\"missing\\""}}',
        is_error=True,
    )
    assert len(registry) == 0


# --8<-- [start:invalid]
@criterion("06.25")
@task(2)
def test_invalid_arguments_never_reach_the_executor() -> None:
    spy = Spy(lambda _value: Invalid("left must be a number"))
    result = run(execute_tool_call(spy.registry, ToolCall("call-1", "spy", {"left": "twenty"})))
    assert len(spy.executed) == 0
    assert result == ToolResultMessage(
        id="tool-result-call-1",
        tool_call_id="call-1",
        tool_name="spy",
        content='{"error":{"code":"TOOL_ARGUMENTS_INVALID","message":"left must be a number"}}',
        is_error=True,
    )


# --8<-- [end:invalid]


@criterion("06.34", "06.35", "06.74")
@task(2)
def test_an_approved_call_gives_canonical_json_linked_to_it() -> None:
    contexts: list[ToolContext] = []

    def add(_value: object, context: ToolContext) -> object:
        contexts.append(context)
        return {"sum": 42, "exact": True}

    signal = AbortController().signal
    result = run(call(add, "call-add-structured", signal))
    run(call(add))
    assert result == ToolResultMessage(
        "tool-result-call-add-structured", "call-add-structured", "t", '{"exact":true,"sum":42}', False
    )
    assert contexts[0] == ToolContext(signal, "call-add-structured")
    assert contexts[1].signal.aborted is False
    assert isinstance(raised(TypeError, call(add, signal=object())), TypeError)


def strict() -> tuple[ToolRegistry, list[object]]:
    """A tool made of annotations, and the calls that got through to its function."""
    received: list[object] = []

    @tool
    def add(left: int, right: int = 0) -> int:
        """Add two numbers."""
        received.append((left, right))
        return cast("int", 42)

    return ToolRegistry([add]), received


def rejected(arguments: dict[str, object]) -> tuple[str, list[object]]:
    registry, received = strict()
    result = run(execute_tool_call(registry, ToolCall("call-1", "add", arguments)))
    return error_code(result), received


@criterion("06.B7")
@task(2)
@pytest.mark.parametrize("left", [True, 1.0, "1", None, [1]], ids=["true", "1.0", "text", "null", "list"])
def test_an_argument_of_another_type_never_reaches_the_function(left: object) -> None:
    assert rejected({"left": left, "right": 22}) == ("TOOL_ARGUMENTS_INVALID", [])


@criterion("06.B8")
@task(2)
def test_an_unknown_argument_never_reaches_the_function() -> None:
    assert rejected({"left": 20, "middle": 1}) == ("TOOL_ARGUMENTS_INVALID", [])


@criterion("06.B9")
@task(2)
def test_a_missing_argument_never_reaches_the_function() -> None:
    assert rejected({"right": 22}) == ("TOOL_ARGUMENTS_INVALID", [])


# Task 3: what a failure means


def raising(error: BaseException) -> Callable[[object, ToolContext], object]:
    def execute(_value: object, _context: ToolContext) -> object:
        raise error

    return execute


def failing_validator(error: BaseException) -> Spy:
    def validate(_value: object) -> object:
        raise error

    return Spy(validate)


@criterion("06.26")
@task(3)
def test_a_validator_that_raises_gives_its_message() -> None:
    spy = failing_validator(ValueError("validator failed"))
    result = run(execute_tool_call(spy.registry, SPY_CALL))
    assert result.content == '{"error":{"code":"TOOL_VALIDATION_FAILED","message":"validator failed"}}'
    assert (result.is_error, spy.executed) == (True, [])


@criterion("06.27")
@task(3)
@pytest.mark.parametrize(
    "decision", [True, None, {"ok": True, "value": 1}, SimpleNamespace(ok=True)], ids=repr
)
def test_only_a_decision_record_decides(decision: object) -> None:
    spy = Spy(lambda _value: decision)
    assert error_code(run(execute_tool_call(spy.registry, SPY_CALL))) == "TOOL_VALIDATION_FAILED"
    assert spy.executed == []


@criterion("06.28")
@task(3)
def test_an_async_validator_is_never_awaited() -> None:
    started: list[object] = []

    async def later(value: object) -> Valid[object]:
        started.append(value)
        return Valid(value)

    spy = Spy()
    registry = ToolRegistry([define_tool("spy", "Counts.", cast("Any", later), spy.execute)])
    assert error_code(run(execute_tool_call(registry, SPY_CALL))) == "TOOL_VALIDATION_FAILED"
    gc.collect()  # a coroutine that was left open would warn here
    assert (started, spy.executed) == ([], [])


@criterion("06.36", "06.42")
@task(3)
def test_an_executor_that_raises_gives_its_message() -> None:
    for error in (ConnectionError("service unavailable"), ToolContractError("INVALID_TOOL_CALL", "own")):
        result = run(call(raising(error)))
        expected = f'{{"error":{{"code":"TOOL_EXECUTION_FAILED","message":"{error}"}}}}'
        assert (result.content, result.is_error) == (expected, True)


@criterion("06.37")
@task(3)
def test_an_error_without_a_readable_message_gets_one() -> None:
    class BrokenError(Exception):
        def __str__(self) -> str:
            raise ValueError("in __str__")

    for error in (ValueError(), ValueError(" \n"), BrokenError()):
        assert error_code(run(call(raising(error)))) == "TOOL_EXECUTION_FAILED"


@criterion("06.31", "06.39")
@task(3)
def test_a_fatal_error_is_raised_as_the_same_object() -> None:
    class FatalError(NonRecoverableToolError):
        """A subclass counts too."""

    for fatal in (NonRecoverableToolError("stop"), FatalError("stop")):
        assert raised(NonRecoverableToolError, call(raising(fatal))) is fatal
        pending = execute_tool_call(failing_validator(fatal).registry, SPY_CALL)
        assert raised(NonRecoverableToolError, pending) is fatal


@criterion("06.40")
@task(3)
def test_a_look_alike_of_a_fatal_error_is_recoverable() -> None:
    genuine = NonRecoverableToolError

    class LookAlikeError(Exception):
        code = "NON_RECOVERABLE_TOOL_ERROR"

    LookAlikeError.__name__ = LookAlikeError.__qualname__ = genuine.__name__
    caused = ValueError("stop")
    caused.__cause__ = genuine("inner")
    for error in (LookAlikeError("stop"), caused):
        assert run(call(raising(error))).content == (
            '{"error":{"code":"TOOL_EXECUTION_FAILED","message":"stop"}}'
        )


@criterion("06.76")
@task(3)
def test_the_messages_of_a_group_are_joined() -> None:
    group = ExceptionGroup(
        "unhandled errors in a TaskGroup", [ValueError("a"), ExceptionGroup("g", [TypeError("b")])]
    )
    result = run(call(raising(group)))
    assert result.content == '{"error":{"code":"TOOL_EXECUTION_FAILED","message":"a; b"}}'


@criterion("06.75", "06.77")
@task(3)
def test_a_fatal_leaf_escapes_from_its_group() -> None:
    first, second = NonRecoverableToolError("first"), NonRecoverableToolError("second")
    deep = ExceptionGroup("g", [ValueError("a"), first])
    for _ in range(2_000):
        deep = ExceptionGroup("g", [deep])
    group = ExceptionGroup("g", [ValueError("b"), deep, second])
    assert raised(NonRecoverableToolError, call(raising(group))) is first


@criterion("06.75")
@task(3)
@pytest.mark.parametrize("kind", [GeneratorExit, KeyboardInterrupt, SystemExit])
def test_an_exit_is_never_a_result(kind: type[BaseException]) -> None:
    error = kind("x")
    assert raised(kind, call(raising(error))) is error
    assert raised(kind, execute_tool_call(failing_validator(error).registry, SPY_CALL)) is error


@criterion("06.66")
@task(3)
def test_a_cancellation_that_nobody_asked_for_is_recoverable() -> None:
    assert error_code(run(call(raising(asyncio.CancelledError())))) == "TOOL_EXECUTION_FAILED"


@criterion("06.32", "06.45", "06.48")
@task(3)
@pytest.mark.parametrize(
    "error",
    [None, ValueError("other"), NonRecoverableToolError("other")],
    ids=["returns", "raises", "raises-fatal"],
)
@pytest.mark.parametrize("half", ["validate", "execute"])
def test_an_abort_wins_over_everything_a_tool_does_then(half: str, error: Exception | None) -> None:
    controller, reason, executed = AbortController(), ConnectionError("stop"), Spy()

    def abort_then(value: object) -> Valid[object]:
        controller.abort(reason)
        if error is not None:
            raise error
        return Valid(value)

    def execute(value: object, _context: ToolContext) -> object:
        executed.executed.append(value)
        return abort_then(value).value if half == "execute" else "done"

    validate = abort_then if half == "validate" else accept
    registry = ToolRegistry([define_tool("spy", "Aborts.", validate, execute)])
    assert raised(ConnectionError, execute_tool_call(registry, SPY_CALL, controller.signal)) is reason
    assert len(executed.executed) == (half == "execute")


# Task 4: waiting, and the two ways to be stopped


class Waiting:
    """An executor that waits on a gate and writes down what happens to it."""

    def __init__(self, then: str = "stop") -> None:
        self.then = then
        self.gate = asyncio.Event()
        self.log: list[str] = []

    async def __call__(self, _value: object, _context: ToolContext) -> object:
        self.log.append("started")
        try:
            await self.gate.wait()
            return {"passed": True}
        except asyncio.CancelledError:
            self.log.append("cancelled")
            if self.then == "swallow":
                return "swallowed"
            if self.then == "clean-up":
                await turns(12)
            raise
        finally:
            self.log.append("finally")


@criterion("06.35", "06.38")
@task(4)
def test_whatever_awaitable_an_executor_returns_is_awaited() -> None:
    async def later(value: object, _context: ToolContext) -> object:
        await asyncio.sleep(0)
        return value

    def as_task(value: object, context: ToolContext) -> object:
        return asyncio.ensure_future(later(value, context))

    for execute in (later, as_task):
        assert run(call(execute)).content == '{"a":1}'


@criterion("06.36", "06.39", "06.77")
@task(4)
def test_an_async_executor_fails_like_a_plain_one() -> None:
    fatal = NonRecoverableToolError("stop")

    async def child(error: Exception) -> None:
        await asyncio.sleep(0)
        raise error

    def grouped(error: Exception) -> Callable[[object, ToolContext], object]:
        async def execute(_value: object, _context: ToolContext) -> object:
            async with asyncio.TaskGroup() as group:
                group.create_task(child(error))
                await asyncio.Event().wait()

        return execute

    result = run(call(grouped(ValueError("a"))))
    assert result.content == '{"error":{"code":"TOOL_EXECUTION_FAILED","message":"a"}}'
    assert raised(NonRecoverableToolError, call(grouped(fatal))) is fatal


@criterion("06.49")
@task(4)
def test_two_executions_of_one_tool_keep_their_own_ids() -> None:
    async def scenario() -> None:
        gates = {"first": asyncio.Event(), "second": asyncio.Event()}

        async def execute(_value: object, context: ToolContext) -> object:
            await gates[context.tool_call_id].wait()
            return {"for": context.tool_call_id}

        pending = [asyncio.ensure_future(call(execute, name)) for name in gates]
        await turns()
        for name in reversed(gates):
            gates[name].set()
            await turns()
        results = await asyncio.gather(*pending)
        assert [(one.id, one.content) for one in results] == [
            (f"tool-result-{name}", f'{{"for":"{name}"}}') for name in gates
        ]

    run(scenario())


@criterion("06.43", "06.67")
@task(4)
@pytest.mark.parametrize("then", ["stop", "swallow", "clean-up"])
def test_an_abort_cancels_the_executor_and_does_not_wait_for_it(then: str) -> None:
    async def scenario() -> None:
        controller, reason, waiting = AbortController(), ValueError("stop"), Waiting(then)
        pending = asyncio.ensure_future(call(waiting, signal=controller.signal))
        await turns()
        assert not pending.done()
        controller.abort(reason)
        with pytest.raises(ValueError, match="stop") as caught:
            await pending
        assert caught.value is reason
        assert waiting.log[:2] == ["started", "cancelled"]
        assert ("finally" in waiting.log) is (then != "clean-up")
        await turns(12)
        assert waiting.log == ["started", "cancelled", "finally"]

    run(scenario())


@criterion("06.44")
@task(4)
def test_an_executor_that_aborts_and_fails_ends_in_the_reason_alone() -> None:
    controller, reason = AbortController(), ValueError("stop")

    async def later(_value: object, _context: ToolContext) -> object:
        await asyncio.sleep(0)
        controller.abort(reason)
        raise ConnectionError("other")

    assert raised(ValueError, call(later, signal=controller.signal)) is reason


@criterion("06.64", "06.65")
@task(4)
@pytest.mark.parametrize("then", ["stop", "swallow", "clean-up"])
def test_a_cancelled_caller_waits_for_the_executor_and_stays_cancelled(then: str) -> None:
    async def scenario() -> None:
        waiting = Waiting(then)
        pending = asyncio.ensure_future(call(waiting))
        await turns()
        pending.cancel()
        await turns()
        assert pending.done() is (then != "clean-up")
        with pytest.raises(asyncio.CancelledError):
            await pending
        assert waiting.log == ["started", "cancelled", "finally"]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(scenario())


@criterion("06.66")
@task(4)
def test_a_cancelled_task_inside_a_tool_is_a_failure_of_the_tool() -> None:
    async def execute(_value: object, _context: ToolContext) -> object:
        other = asyncio.ensure_future(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(other.cancel)
        return await other

    assert error_code(run(call(execute))) == "TOOL_EXECUTION_FAILED"


@criterion("06.68")
@task(4)
@pytest.mark.parametrize("first", ["abort", "cancel"])
def test_task_cancellation_beats_the_signal(first: str) -> None:
    async def scenario() -> None:
        controller, waiting = AbortController(), Waiting()
        pending = asyncio.ensure_future(call(waiting, signal=controller.signal))
        await turns()
        if first == "abort":
            controller.abort(ValueError("stop"))
        pending.cancel()
        controller.abort(ValueError("stop"))
        with pytest.raises(asyncio.CancelledError):
            await pending
        assert waiting.log == ["started", "cancelled", "finally"]

    run(scenario())


@criterion("06.69")
@task(4)
def test_a_call_leaves_no_callback_at_the_signal() -> None:
    class Counting:
        """A signal that never aborts and counts what it holds."""

        aborted, reason = False, None

        def __init__(self) -> None:
            self.held: list[Callable[[], object]] = []
            self.added = 0

        def raise_if_aborted(self) -> None: ...

        async def wait(self) -> None: ...

        def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
            self.added += 1
            self.held.append(callback)
            return lambda: self.held.remove(callback)

    async def later(_value: object, _context: ToolContext) -> object:
        await asyncio.sleep(0)
        return 1

    signal = Counting()
    run(call(later, signal=signal))
    assert (signal.added, signal.held) == (1, [])


# Task 5: output that cannot flood


def content_of(output: object) -> str:
    result = run(call(gives(output)))
    assert result.is_error is False, result.content
    return result.content


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def zeros(count: int) -> dict[str, int]:
    return {f"k{index:03d}": 0 for index in range(count)}


@criterion("06.78", "06.53")
@task(5)
def test_a_text_stays_as_it_is_up_to_the_cap() -> None:
    for text in ("", "FIRST", '"quoted"\n', "😀" * 4096):
        assert content_of(text) == text


@criterion("06.54")
@task(5)
def test_a_huge_text_keeps_4072_code_points_and_gets_the_marker() -> None:
    content = content_of("😀" * 8_000_000)
    assert content == "😀" * 4072 + MARKER
    assert len(content) == 4096


@criterion("06.50", "06.63", "06.79")
@task(5)
def test_everything_else_is_canonical_json() -> None:
    shared = [1]
    output = {
        "z": [shared, shared],
        "A": 9007199254740993,
        "é": None,
        "": -0.5,
        "😀": (True,),
        "～": {"b": 1, "a": 2},
    }
    expected = json.dumps(output, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert content_of(output) == expected
    assert content_of([output]) == f"[{expected}]"


@criterion("06.52")
@task(5)
def test_escapes_are_those_of_json_and_lone_surrogates_too() -> None:
    assert content_of(['"\\\b\f\n\r\t\x01/\x7f\u2028é', "\ud83d"]) == (
        '["\\"\\\\\\b\\f\\n\\r\\t\\u0001/\x7f\u2028é","\\ud83d"]'
    )


@criterion("06.62")
@task(5)
def test_a_cycle_is_written_as_a_word() -> None:
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    assert content_of(cyclic) == '{"self":"[Circular]"}'


def keys(count: int) -> str:
    return ",".join(f'"k{index:03d}":0' for index in range(count))


BOUNDS: dict[str, tuple[Callable[[], object], str]] = {
    "127-zeros": (lambda: [0] * 127, "[" + "0," * 126 + "0]"),
    "a-million-zeros": (lambda: [0] * 1_000_000, "[" + "0," * 127 + MARKER),
    "228-dicts": (lambda: [zeros(0) for _ in range(228)], "[" + "{}," * 127 + MARKER),
    "33-lists": (lambda: nested(33), "[" * 33 + "]" * 33),
    "100000-lists": (lambda: nested(100_000), "[" * 33 + MARKER),
    "256-keys": (lambda: zeros(256), "{" + keys(127) + ',"k127":' + MARKER),
    "250000-keys": (lambda: zeros(250_000), "{" + MARKER),
    "shared-entries": (
        lambda: [zeros(60), zeros(60), zeros(134)],
        "[{" + keys(60) + "},{" + keys(60) + "},{" + MARKER,
    ),
    "a-huge-integer": (lambda: [1, 2**4096], "[1," + MARKER),
    "a-long-string": (lambda: ["a" * 4093], '["' + "a" * 4070 + MARKER),
    "nothing-behind-it": (lambda: ["a" * 5000, math.nan], '["' + "a" * 4070 + MARKER),
    "a-cut-escape": (lambda: ["\x01" * 683], '["' + "\\u0001" * 678 + "\\u" + MARKER),
}


@criterion("06.55", "06.56", "06.57", "06.58", "06.60")
@task(5)
@pytest.mark.parametrize("case", BOUNDS)
def test_the_budgets_bound_the_walk(case: str) -> None:
    make, content = BOUNDS[case]
    assert content_of(make()) == content


@criterion("06.61")
@task(5)
def test_error_content_passes_the_same_walk() -> None:
    fits, cut = (run(call(raising(ValueError("a" * letters)))) for letters in (4041, 4042))
    assert (len(fits.content), MARKER in fits.content) == (4096, False)
    assert (len(cut.content), cut.content.endswith(MARKER)) == (4096, True)


@criterion("06.51")
@task(5)
def test_what_has_no_json_form_is_refused_and_none_of_its_code_runs() -> None:
    class Hostile:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"read {name}")

        __iter__ = __len__ = __str__ = __repr__ = cast("Any", __getattribute__)

    for output in (math.nan, {1: 2}, {1, 2}, b"x", Hostile(), type("Kind", (dict,), {})()):
        for held in ([output], {"k": [output]}):
            assert error_code(run(call(gives(held)))) == "TOOL_OUTPUT_SERIALIZATION_FAILED"
