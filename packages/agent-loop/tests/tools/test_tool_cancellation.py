"""Being stopped: the abort signal as data, task cancellation as control flow, and which one wins."""

import asyncio
import contextlib
import gc
import json
import sys
import weakref
from collections.abc import Callable, Coroutine
from types import FrameType, SimpleNamespace
from typing import Any, cast

import pytest

from kickwheel_agent_loop import (
    NonRecoverableToolError,
    ToolRegistry,
    define_tool,
    execute_tool_call,
)
from kickwheel_agent_loop._execute import run_call
from kickwheel_agent_loop._executor import Execution
from kickwheel_event_stream import AbortController, AbortSignal
from kickwheel_protocol import ToolCall, ToolContext, ToolResultMessage, Valid

Executor = Callable[[object, ToolContext], object]
CALL = ToolCall("call-1", "t", {})
REASON = ValueError("the reason")


def start(execute: Executor, signal: Any = None) -> "asyncio.Task[ToolResultMessage]":
    registry = ToolRegistry([define_tool("t", "d", Valid, execute)])
    return asyncio.get_running_loop().create_task(
        cast("Coroutine[Any, Any, ToolResultMessage]", execute_tool_call(registry, CALL, signal))
    )


async def turns(count: int = 4) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def ends_in_the_reason(task: "asyncio.Task[ToolResultMessage]", reason: Exception = REASON) -> None:
    with pytest.raises(type(reason)) as caught:
        await task
    assert caught.value is reason


class Waiting:
    """An executor that waits on a gate, and tells what happens to it."""

    def __init__(self, then: str = "stop") -> None:
        self.then = then
        self.gate = asyncio.Event()
        self.cleanup = asyncio.Event()
        self.started = asyncio.Event()
        self.log: list[str] = []

    async def __call__(self, _value: object, _context: ToolContext) -> object:
        self.log.append("started")
        self.started.set()
        try:
            await self.gate.wait()
            self.log.append("passed")
            return "output"
        except asyncio.CancelledError:
            self.log.append("cancelled")
            if self.then == "swallow":
                return "swallowed"
            if self.then == "raise":
                raise ConnectionError("in cleanup") from None
            if self.then == "clean up":
                await self.cleanup.wait()
                self.log.append("cleaned up")
            raise
        finally:
            self.log.append("finally")


class Counted:
    """The signal of a controller, with a count of the callbacks it holds."""

    def __init__(self, controller: AbortController) -> None:
        self._signal = controller.signal
        self.callbacks = 0

    @property
    def aborted(self) -> bool:
        return self._signal.aborted

    @property
    def reason(self) -> Exception | None:
        return self._signal.reason

    def raise_if_aborted(self) -> None:
        self._signal.raise_if_aborted()

    async def wait(self) -> None:
        await self._signal.wait()

    def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
        remove = self._signal.add_callback(callback)
        self.callbacks += 1
        removed: list[object] = []

        def remove_once() -> None:
            if not removed:
                removed.append(True)
                self.callbacks -= 1
            remove()

        return remove_once


@pytest.mark.criterion("06.43", "06.67", "06.69")
@pytest.mark.parametrize("how", ["coroutine", "task", "future", "object"])
async def test_an_abort_ends_a_waiting_call_promptly(how: str) -> None:
    controller, waiting = AbortController(), Waiting()
    signal = Counted(controller)
    never: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    def execute(value: object, context: ToolContext) -> object:
        coroutine = waiting(value, context)
        if how == "task":
            return asyncio.get_running_loop().create_task(coroutine)
        if how == "object":
            return SimpleAwaitable(coroutine)
        if how == "future":
            coroutine.close()
            return never
        return coroutine

    task = start(execute, signal)
    await turns()
    assert not task.done()
    assert signal.callbacks == 1
    controller.abort(REASON)
    await ends_in_the_reason(task)
    assert signal.callbacks == 0
    await turns()
    assert never.cancelled() if how == "future" else waiting.log == ["started", "cancelled", "finally"]


class SimpleAwaitable:
    def __init__(self, coroutine: Coroutine[Any, Any, object]) -> None:
        self.coroutine = coroutine

    def __await__(self) -> Any:
        return self.coroutine.__await__()


@pytest.mark.criterion("06.43")
async def test_the_executor_is_cancelled_before_the_caller_goes_on() -> None:
    controller, waiting = AbortController(), Waiting()
    task = start(waiting, controller.signal)
    await waiting.started.wait()
    task.add_done_callback(lambda _: waiting.log.append("caller"))
    controller.abort(REASON)
    await ends_in_the_reason(task)
    assert waiting.log == ["started", "cancelled", "finally", "caller"]


@pytest.mark.criterion("06.43")
async def test_no_timer_is_set_while_a_call_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, waiting = asyncio.get_running_loop(), Waiting()

    def fail(*_arguments: object, **_options: object) -> Any:
        raise AssertionError("a timer was set")

    with monkeypatch.context() as patch:
        patch.setattr(loop, "call_later", fail)
        patch.setattr(loop, "call_at", fail)
        task = start(waiting, AbortController().signal)
        await waiting.started.wait()
        waiting.gate.set()
        assert (await task).content == "output"


@pytest.mark.criterion("06.44")
@pytest.mark.parametrize("kind", ["failed", "pending", "done", "task", "coroutine", "value"])
async def test_an_executor_that_aborts_and_returns_an_awaitable_ends_in_the_reason(kind: str) -> None:
    controller, loop, waiting = AbortController(), asyncio.get_running_loop(), Waiting()
    given: list[Any] = []

    def execute(value: object, context: ToolContext) -> object:
        controller.abort(REASON)
        future = loop.create_future()
        if kind == "failed":
            future.set_exception(ConnectionError("lost"))
        elif kind == "done":
            future.set_result(1)
        coroutine = waiting(value, context) if kind in ("task", "coroutine") else None
        made = {
            "task": lambda: loop.create_task(cast("Any", coroutine)),
            "coroutine": lambda: coroutine,
            "value": lambda: 5,
        }.get(kind, lambda: future)()
        given.append(made)
        return made

    await ends_in_the_reason(start(execute, controller.signal))
    await turns()
    assert waiting.log == []
    if kind in ("pending", "task"):
        assert given[0].cancelled()


@pytest.mark.criterion("06.44", "06.67")
async def test_a_future_left_behind_may_fail_later_without_noise() -> None:
    controller = AbortController()
    stubborn = Stubborn()
    task = start(lambda _value, _context: stubborn, controller.signal)
    await turns()
    controller.abort(REASON)
    await ends_in_the_reason(task)
    stubborn.set_exception(ConnectionError("late"))
    del task


class Stubborn(asyncio.Future[object]):
    """Cannot be cancelled."""

    def cancel(self, msg: Any | None = None) -> bool:
        return False


@pytest.mark.criterion("06.45", "06.46", "06.48")
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    "then", ["return", "return what has no form", "raise", "raise fatal", "raise a group", "raise the reason"]
)
async def test_an_executor_that_aborts_ends_in_the_reason_whatever_it_does_then(
    then: str, is_async: bool
) -> None:
    controller, reason = AbortController(), ValueError("stop")

    def act() -> object:
        controller.abort(reason)
        errors = {
            "raise": ConnectionError("other"),
            "raise fatal": NonRecoverableToolError("other"),
            "raise a group": ExceptionGroup("g", [NonRecoverableToolError("other")]),
            "raise the reason": reason,
        }
        if then in errors:
            raise errors[then]
        return object() if then == "return what has no form" else "output"

    async def later(_value: object, _context: ToolContext) -> object:
        return act()

    def plain(_value: object, _context: ToolContext) -> object:
        return act()

    execute: Executor = later if is_async else plain
    await ends_in_the_reason(start(execute, controller.signal), reason)
    assert reason.__context__ is None


@pytest.mark.criterion("06.45", "06.46", "06.48")
@pytest.mark.parametrize("then", ["succeed", "raise", "raise fatal", "give what has no form"])
async def test_an_output_whose_conversion_aborts_ends_in_the_reason(then: str) -> None:
    pydantic = pytest.importorskip("pydantic")
    controller = AbortController()
    base: Any = pydantic.BaseModel

    class Aborting(base):
        def model_dump(self, **_options: object) -> object:
            controller.abort(REASON)
            if then == "raise":
                raise ConnectionError
            if then == "raise fatal":
                raise NonRecoverableToolError("other")
            return {1: 2} if then == "give what has no form" else {"a": 1}

    await ends_in_the_reason(start(lambda _value, _context: Aborting(), controller.signal))


@pytest.mark.criterion("06.45")
async def test_an_output_that_comes_in_the_turn_of_the_abort_is_discarded() -> None:
    for abort_first in (True, False):
        controller, waiting = AbortController(), Waiting()
        signal = Counted(controller)
        task = start(waiting, signal)
        await waiting.started.wait()
        if abort_first:
            controller.abort(REASON)
            waiting.gate.set()
        else:
            waiting.gate.set()
            controller.abort(REASON)
        await ends_in_the_reason(task)
        assert signal.callbacks == 0


@pytest.mark.criterion("06.64", "06.69")
@pytest.mark.parametrize("how", ["coroutine", "task", "object"])
async def test_a_cancelled_caller_cancels_the_executor_and_waits_for_its_end(how: str) -> None:
    controller, waiting = AbortController(), Waiting("clean up")
    signal = Counted(controller)

    def execute(value: object, context: ToolContext) -> object:
        coroutine = waiting(value, context)
        if how == "task":
            return asyncio.get_running_loop().create_task(coroutine)
        return SimpleAwaitable(coroutine) if how == "object" else coroutine

    task = start(execute, signal)
    await waiting.started.wait()
    task.cancel("for a test")
    await turns()
    assert not task.done()
    assert waiting.log == ["started", "cancelled"]
    waiting.cleanup.set()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert caught.value.args == ("for a test",)
    assert waiting.log == ["started", "cancelled", "cleaned up", "finally"]
    assert task.cancelled()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert signal.callbacks == 0


@pytest.mark.criterion("06.64")
async def test_a_cancelled_caller_cancels_a_future_it_waits_for() -> None:
    future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    task = start(lambda _value, _context: future)
    await turns()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert future.cancelled()


@pytest.mark.criterion("06.64")
@pytest.mark.parametrize("steps", [0, 1, 2, 3])
@pytest.mark.parametrize("how", ["coroutine", "task"])
async def test_a_caller_cancelled_in_its_first_turns_leaves_no_task(steps: int, how: str) -> None:
    waiting = Waiting()

    def execute(value: object, context: ToolContext) -> object:
        coroutine = waiting(value, context)
        return asyncio.get_running_loop().create_task(coroutine) if how == "task" else coroutine

    task = start(execute)
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert waiting.log in ([], ["started", "cancelled", "finally"])


@pytest.mark.criterion("06.64")
async def test_a_timeout_around_a_call_works() -> None:
    waiting = Waiting()
    registry = ToolRegistry([define_tool("t", "d", Valid, waiting)])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await execute_tool_call(registry, CALL)
    assert waiting.log == ["started", "cancelled", "finally"]


@pytest.mark.criterion("06.65")
@pytest.mark.parametrize("then", ["swallow", "raise"])
@pytest.mark.parametrize("how", ["coroutine", "task"])
async def test_a_cancelled_caller_stays_cancelled_whatever_the_executor_does(then: str, how: str) -> None:
    waiting = Waiting(then)

    def execute(value: object, context: ToolContext) -> object:
        coroutine = waiting(value, context)
        return asyncio.get_running_loop().create_task(coroutine) if how == "task" else coroutine

    task = start(execute)
    await waiting.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert waiting.log == ["started", "cancelled", "finally"]


@pytest.mark.criterion("06.65")
async def test_a_second_cancellation_reaches_the_executor_as_well() -> None:
    log: list[str] = []

    async def twice(_value: object, _context: ToolContext) -> object:
        for _ in range(2):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                log.append("cancelled")
        return "output"

    task = start(twice)
    await turns()
    task.cancel()
    await turns()
    assert (log, task.done()) == (["cancelled"], False)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["cancelled", "cancelled"]


class OddError(BaseException):
    """Neither an `Exception` nor a cancellation."""


@pytest.mark.criterion("06.75")
@pytest.mark.parametrize("how", ["coroutine", "future"])
async def test_an_exit_in_the_cleanup_after_a_cancellation_is_not_hidden(how: str) -> None:
    error = OddError("in cleanup")
    stubborn = Stubborn()

    async def execute(_value: object, _context: ToolContext) -> object:
        try:
            await asyncio.Event().wait()
        finally:
            raise error

    task = start(execute if how == "coroutine" else lambda _value, _context: stubborn)
    await turns()
    task.cancel()
    await turns()
    if how == "future":
        stubborn.set_exception(error)
    with pytest.raises(OddError) as caught:
        await task
    assert caught.value is error


def invented(how: str) -> Executor:
    async def raises(_value: object, _context: ToolContext) -> object:
        raise asyncio.CancelledError

    def plain(_value: object, _context: ToolContext) -> object:
        raise asyncio.CancelledError

    async def awaits_a_cancelled_task(_value: object, _context: ToolContext) -> object:
        other = asyncio.ensure_future(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(other.cancel)
        return await other

    def returns_a_cancelled_future(_value: object, _context: ToolContext) -> object:
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        future.cancel()
        return future

    def returns_a_future_cancelled_later(_value: object, _context: ToolContext) -> object:
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.cancel)
        return future

    async def cancels_itself(_value: object, _context: ToolContext) -> object:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "output"

    return {
        "async": raises,
        "plain": plain,
        "awaits a cancelled task": awaits_a_cancelled_task,
        "returns a cancelled future": returns_a_cancelled_future,
        "returns a future cancelled later": returns_a_future_cancelled_later,
        "cancels itself": cancels_itself,
    }[how]


INVENTED = [
    "async",
    "plain",
    "awaits a cancelled task",
    "returns a cancelled future",
    "returns a future cancelled later",
    "cancels itself",
]


@pytest.mark.criterion("06.66", "06.75")
@pytest.mark.parametrize("how", INVENTED)
@pytest.mark.parametrize("absorbed", [False, True])
async def test_a_cancellation_that_nobody_asked_for_is_a_failure_of_the_tool(
    how: str, absorbed: bool
) -> None:
    registry = ToolRegistry([define_tool("t", "d", Valid, invented(how))])

    async def caller() -> ToolResultMessage:
        if absorbed:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                pass
        return await execute_tool_call(registry, CALL)

    result = await asyncio.ensure_future(caller())
    found = json.loads(result.content)["error"]
    assert (result.is_error, found["code"]) == (True, "TOOL_EXECUTION_FAILED")
    assert found["message"].strip()


@pytest.mark.criterion("06.66")
async def test_a_validator_that_invents_a_cancellation_fails_validation() -> None:
    def validate(_value: object) -> Any:
        raise asyncio.CancelledError

    registry = ToolRegistry([define_tool("t", "d", validate, lambda _value, _context: 1)])
    result = await execute_tool_call(registry, CALL)
    assert json.loads(result.content)["error"]["code"] == "TOOL_VALIDATION_FAILED"


@pytest.mark.criterion("06.66", "06.64")
@pytest.mark.parametrize("where", ["validate", "execute", "async execute"])
@pytest.mark.parametrize("then", ["return", "raise", "raise a cancellation"])
async def test_a_tool_that_cancels_its_caller_ends_in_one_cancellation(where: str, then: str) -> None:
    executed: list[object] = []

    def cancel_the_caller() -> None:
        tasks["caller"].cancel()
        if then == "raise":
            raise ConnectionError
        if then == "raise a cancellation":
            raise asyncio.CancelledError

    def validate(value: object) -> Valid[object]:
        if where == "validate":
            cancel_the_caller()
        return Valid(value)

    def execute(_value: object, _context: ToolContext) -> object:
        executed.append(1)
        if where == "execute":
            cancel_the_caller()
        return "output"

    async def later(value: object, context: ToolContext) -> object:
        cancel_the_caller()
        return execute(value, context)

    registry = ToolRegistry([define_tool("t", "d", validate, later if where == "async execute" else execute)])
    delivered: list[str] = []

    async def caller() -> None:
        try:
            await execute_tool_call(registry, CALL)
        except asyncio.CancelledError:
            delivered.append("call")
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            delivered.append("again")

    tasks: dict[str, asyncio.Task[None]] = {}
    tasks["caller"] = asyncio.get_running_loop().create_task(caller())
    await tasks["caller"]
    assert delivered == ["call"]
    assert executed == ([] if where == "validate" else executed)


@pytest.mark.criterion("06.67")
@pytest.mark.parametrize("then", ["swallow", "raise", "clean up"])
async def test_an_abort_does_not_wait_for_the_executor(then: str) -> None:
    controller, waiting = AbortController(), Waiting(then)
    task = start(waiting, controller.signal)
    await waiting.started.wait()
    controller.abort(REASON)
    await ends_in_the_reason(task)
    assert "cancelled" in waiting.log
    assert ("cleaned up" in waiting.log) is False
    waiting.cleanup.set()
    await turns()
    assert waiting.log[-1] == "finally"


@pytest.mark.criterion("06.67")
@pytest.mark.parametrize("kept_by", ["package", "caller"])
async def test_an_executor_left_behind_is_held_strongly_until_it_ends(kept_by: str) -> None:
    controller = AbortController()
    ended: list[str] = []
    reference: list[Any] = []

    class Gate:
        """Held by nobody but the executor."""

        def __init__(self) -> None:
            self.future: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    async def execute(_value: object, _context: ToolContext) -> object:
        gate = Gate()
        reference.append(weakref.ref(gate))
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await gate.future
            ended.append("cleaned up")
        raise ConnectionError("late")

    unfinished: set[asyncio.Future[object]] = set()
    registry = ToolRegistry([define_tool("t", "d", Valid, execute)])
    task = asyncio.get_running_loop().create_task(
        run_call(registry, CALL, controller.signal, unfinished if kept_by == "caller" else None)
    )
    await turns()
    controller.abort(REASON)
    await ends_in_the_reason(task)
    assert len(unfinished) == (1 if kept_by == "caller" else 0)
    del task
    gc.collect()
    gate = reference[0]()
    assert gate is not None
    gate.future.set_result(None)
    await turns()
    assert (ended, unfinished) == (["cleaned up"], set())


@pytest.mark.criterion("06.67")
async def test_an_executor_left_behind_is_cancelled_once_only() -> None:
    controller, waiting = AbortController(), Waiting("clean up")
    task = start(waiting, controller.signal)
    await waiting.started.wait()
    controller.abort(REASON)
    await ends_in_the_reason(task)
    waiting.cleanup.set()
    await turns()
    assert waiting.log == ["started", "cancelled", "cleaned up", "finally"]


@pytest.mark.criterion("06.67")
async def test_an_abort_in_the_turn_of_the_start_lets_no_coroutine_go_unawaited() -> None:
    for count in range(4):
        controller, waiting = AbortController(), Waiting()
        signal = Counted(controller)
        task = start(waiting, signal)
        for _ in range(count):
            await asyncio.sleep(0)
        controller.abort(REASON)
        await ends_in_the_reason(task)
        await turns()
        assert waiting.log in ([], ["started", "cancelled", "finally"])
        assert signal.callbacks == 0


@pytest.mark.criterion("06.68")
@pytest.mark.parametrize("order", ["abort first", "cancel first"])
@pytest.mark.parametrize("then", ["stop", "swallow", "raise", "clean up"])
async def test_task_cancellation_beats_the_signal_when_both_come_in_one_turn(order: str, then: str) -> None:
    controller, waiting = AbortController(), Waiting(then)
    signal = Counted(controller)
    task = start(waiting, signal)
    await waiting.started.wait()
    if order == "abort first":
        controller.abort(REASON)
        task.cancel()
    else:
        task.cancel()
        controller.abort(REASON)
    waiting.cleanup.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert waiting.log[-1] == "finally"
    assert signal.callbacks == 0


@pytest.mark.criterion("06.68")
async def test_an_abort_while_a_cancelled_call_waits_for_its_executor_changes_nothing() -> None:
    controller, waiting = AbortController(), Waiting("clean up")
    task = start(waiting, controller.signal)
    await waiting.started.wait()
    task.cancel()
    await turns()
    controller.abort(REASON)
    await turns()
    assert not task.done()
    waiting.cleanup.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert waiting.log == ["started", "cancelled", "cleaned up", "finally"]


@pytest.mark.criterion("06.69")
async def test_no_call_leaves_a_callback_at_the_signal_however_it_ends() -> None:
    controller = AbortController()
    signal = Counted(controller)

    async def value(_value: object, _context: ToolContext) -> object:
        await asyncio.sleep(0)
        return 1

    async def error(_value: object, _context: ToolContext) -> object:
        await asyncio.sleep(0)
        raise ConnectionError

    async def fatal(_value: object, _context: ToolContext) -> object:
        await asyncio.sleep(0)
        raise NonRecoverableToolError("stop")

    async def no_form(_value: object, _context: ToolContext) -> object:
        await asyncio.sleep(0)
        return object()

    executors: list[Executor] = [value, error, fatal, no_form, lambda _value, _context: 1]
    for execute in executors:
        for _ in range(3):
            await asyncio.gather(start(execute, signal), return_exceptions=True)
            assert signal.callbacks == 0
    cancelled = start(Waiting(), signal)
    await turns()
    cancelled.cancel()
    await asyncio.wait([cancelled])
    assert signal.callbacks == 0


@pytest.mark.criterion("06.69")
async def test_a_signal_whose_callbacks_cannot_be_added_leaves_no_executor_behind() -> None:
    waiting = Waiting()

    def fail(_callback: object) -> object:
        raise ConnectionError("no callbacks")

    signal = SimpleNamespace(
        aborted=False, reason=None, raise_if_aborted=lambda: None, wait=None, add_callback=fail
    )
    result = await start(waiting, signal)
    assert json.loads(result.content)["error"]["code"] == "TOOL_EXECUTION_FAILED"
    await turns()
    assert waiting.log in ([], ["started", "cancelled", "finally"])


@pytest.mark.criterion("06.66")
async def test_an_executor_cancelled_by_a_stranger_before_its_first_step_fails() -> None:
    before = asyncio.all_tasks()
    waiting = Waiting()
    task = start(waiting)
    await asyncio.sleep(0)
    (own,) = asyncio.all_tasks() - before - {task}
    own.cancel()
    result = await task
    assert json.loads(result.content)["error"]["code"] == "TOOL_EXECUTION_FAILED"


async def test_a_caller_cancelled_before_the_first_step_of_its_executor_runs_none_of_it() -> None:
    log: list[str] = []

    async def execute(_value: object, _context: ToolContext) -> object:
        log.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            log.append("ended")

    registry = ToolRegistry([define_tool("t", "d", Valid, execute)])
    task = asyncio.ensure_future(execute_tool_call(registry, CALL))
    await asyncio.sleep(0)  # the call has begun, and its executor stands in the loop's queue
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # Python 3.12 takes the first step inside the call; there the cancellation meets a wait.
    assert log == ([] if sys.version_info < (3, 12) else ["begun", "ended"])


def test_a_call_closed_from_outside_stops_its_executor() -> None:
    log: list[str] = []

    async def execute(_value: object, _context: ToolContext) -> object:
        try:
            await asyncio.Event().wait()
        finally:
            log.append("finally")

    async def main() -> None:
        registry = ToolRegistry([define_tool("t", "d", Valid, execute)])
        call = execute_tool_call(registry, CALL)
        call.send(None)  # as far as its first wait
        await turns()
        call.close()
        await turns()

    asyncio.run(main())
    assert log == ["finally"]


def test_a_loop_closed_under_a_waiting_call_makes_no_noise() -> None:
    registry = ToolRegistry([define_tool("t", "d", Valid, Waiting())])
    loop = asyncio.new_event_loop()
    heard: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _loop, context: heard.append(context))
    task = loop.create_task(cast("Coroutine[Any, Any, Any]", execute_tool_call(registry, CALL)))
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    del task
    gc.collect()
    assert [context["message"] for context in heard if "never retrieved" in context["message"]] == []


@pytest.mark.criterion("06.67")
@pytest.mark.parametrize("later", [0, 5])
def test_an_exit_of_an_executor_left_behind_leaves_the_event_loop(later: int) -> None:
    async def execute(_value: object, _context: ToolContext) -> object:
        try:
            await asyncio.Event().wait()
        finally:
            await turns(later)
            raise SystemExit(3)

    async def main() -> None:
        controller = AbortController()
        task = start(execute, controller.signal)
        await turns()
        controller.abort(REASON)
        await asyncio.gather(task, return_exceptions=True)
        await turns(10)

    with pytest.raises(SystemExit):
        asyncio.run(main())


@pytest.mark.criterion("06.38")
async def test_a_task_factory_of_the_loop_is_used() -> None:
    made: list[object] = []

    def factory(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> "asyncio.Task[Any]":
        made.append(coroutine)
        return asyncio.Task(coroutine, loop=loop, **options)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(cast("Any", factory))
    try:

        async def execute(_value: object, _context: ToolContext) -> object:
            await asyncio.sleep(0)
            return "output"

        registry = ToolRegistry([define_tool("t", "d", Valid, execute)])
        assert (await execute_tool_call(registry, CALL)).content == "output"
    finally:
        loop.set_task_factory(None)
    assert len(made) == 1


@pytest.mark.criterion("06.67")
async def test_stopping_twice_is_stopping_once() -> None:
    waiting = Waiting("clean up")
    execution = Execution(waiting(None, cast("Any", None)), None, 0)
    await waiting.started.wait()
    execution.stop()
    await turns()
    execution.stop()
    waiting.cleanup.set()
    await turns()
    assert waiting.log == ["started", "cancelled", "cleaned up", "finally"]


@pytest.mark.criterion("06.64")
@pytest.mark.parametrize("absorbed", [False, True])
def test_a_loop_that_shuts_down_interrupts_the_cleanup_of_an_executor_once(absorbed: bool) -> None:
    log: list[str] = []

    async def execute(_value: object, _context: ToolContext) -> object:
        own = asyncio.current_task()
        assert own is not None
        if absorbed:
            own.cancel()
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                log.append("absorbed")
        try:
            await asyncio.Event().wait()
        finally:
            log.append("interrupted")
            await turns(5)
            log.append("cleaned up")

    async def main() -> None:
        kept.append(start(execute))
        await turns()

    kept: list[asyncio.Task[ToolResultMessage]] = []
    asyncio.run(main())
    assert log == (["absorbed"] if absorbed else []) + ["interrupted", "cleaned up"]
    assert kept[0].cancelled()


@pytest.mark.criterion("06.64")
async def test_an_executor_that_absorbed_a_cancellation_is_still_cancelled_with_its_caller() -> None:
    waiting = Waiting()

    async def execute(value: object, context: ToolContext) -> object:
        own = asyncio.current_task()
        assert own is not None
        own.cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            waiting.log.append("absorbed")
        return await waiting(value, context)

    task = start(execute)
    await waiting.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert waiting.log == ["absorbed", "started", "cancelled", "finally"]


@pytest.mark.criterion("06.64")
async def test_a_cancellation_thrown_in_by_hand_ends_the_executor_too() -> None:
    waiting = Waiting()
    execution = Execution(waiting(None, cast("Any", None)), None, 0)
    call = execution.wait(AbortSignal.never())
    call.send(None)
    await waiting.started.wait()
    inner = call.throw(asyncio.CancelledError())
    assert inner is not None
    await turns()
    assert waiting.log == ["started", "cancelled", "finally"]
    call.close()


@pytest.mark.criterion("06.67")
async def test_an_abort_leaves_an_executor_that_is_being_cancelled_to_its_cleanup() -> None:
    controller, waiting = AbortController(), Waiting("clean up")
    before = asyncio.all_tasks()
    task = start(waiting, controller.signal)
    await waiting.started.wait()
    (own,) = asyncio.all_tasks() - before - {task}
    own.cancel()
    await turns()
    controller.abort(REASON)
    await ends_in_the_reason(task)
    waiting.cleanup.set()
    await turns()
    assert waiting.log == ["started", "cancelled", "cleaned up", "finally"]


@pytest.mark.criterion("06.36", "06.39", "06.64")
@pytest.mark.parametrize(
    "how", ["raise", "raise later", "raise fatal", "raise a fatal leaf", "no form", "cancel"]
)
async def test_a_call_that_ended_badly_leaves_no_reference_cycle(how: str) -> None:
    async def later(_value: object, _context: ToolContext) -> object:
        await asyncio.sleep(0)
        raise ConnectionError("lost")

    def fail(_value: object, _context: ToolContext) -> object:
        if how == "raise":
            raise ConnectionError("lost")
        if how == "raise fatal":
            raise NonRecoverableToolError("stop")
        raise ExceptionGroup("g", [ValueError("a"), NonRecoverableToolError("stop")])

    executors: dict[str, Executor] = {
        "raise later": later,
        "no form": lambda _value, _context: object(),
        "cancel": Waiting(),
    }
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        task = start(executors.get(how, fail))
        await turns()
        if how == "cancel":
            task.cancel()
        with contextlib.suppress(NonRecoverableToolError, asyncio.CancelledError):
            await task
        del task
        await turns()
        gc.collect()
        # What else runs in this process may leave cycles of its own. A failure keeps frames: they say whose.
        files = [item.f_code.co_filename for item in gc.garbage if isinstance(item, FrameType)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not [file for file in files if "kickwheel_agent_loop" in file or file == __file__]
