"""Execution: what an executor gets, what it may return, and what becomes of its failures."""

import asyncio
import json
import threading
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any, cast

import pytest

from kickwheel_agent_loop import (
    NonRecoverableToolError,
    ToolContractError,
    ToolRegistry,
    define_tool,
    execute_tool_call,
)
from kickwheel_agent_loop._executor import (
    _known_codes,  # pyright: ignore[reportPrivateUsage] - nothing public tells its size
    never_suspends,
    run_through,
)
from kickwheel_event_stream import AbortController, AbortError
from kickwheel_protocol import ToolCall, ToolContext, ToolResultMessage, Valid

Executor = Callable[[object, ToolContext], object]
CALL = ToolCall("call-1", "t", {})


def with_executor(execute: Executor) -> ToolRegistry:
    return ToolRegistry([define_tool("t", "d", Valid, execute)])


async def result_of(execute: Executor) -> ToolResultMessage:
    return await execute_tool_call(with_executor(execute), CALL)


def failed_with(message: str) -> ToolResultMessage:
    content = f'{{"error":{{"code":"TOOL_EXECUTION_FAILED","message":{json.dumps(message)}}}}}'
    return ToolResultMessage("tool-result-call-1", "call-1", "t", content, True)


def raising(error: BaseException, how: str) -> Executor:
    """An executor that raises: plain, in a coroutine before or after a wait, or through a future."""

    def plain(_value: object, _context: ToolContext) -> object:
        raise error

    async def at_once(_value: object, _context: ToolContext) -> object:
        raise error

    async def after_a_wait(_value: object, _context: ToolContext) -> object:
        await asyncio.sleep(0)
        raise error

    def future(_value: object, _context: ToolContext) -> object:
        given: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        given.set_exception(error)
        return given

    def pending_future(_value: object, _context: ToolContext) -> object:
        given: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(given.set_exception, error)
        return given

    return {
        "plain": plain,
        "async": at_once,
        "async after a wait": after_a_wait,
        "future": future,
        "pending future": pending_future,
    }[how]


HOWS = ["plain", "async", "async after a wait", "future", "pending future"]


@pytest.mark.criterion("06.34")
async def test_the_context_is_immutable_and_holds_the_given_signal_and_the_call_id() -> None:
    contexts: list[ToolContext] = []
    signal = AbortController().signal
    await execute_tool_call(with_executor(lambda _value, context: contexts.append(context)), CALL, signal)
    (context,) = contexts
    assert context.signal is signal
    assert context.tool_call_id == "call-1"
    with pytest.raises((AttributeError, TypeError)):
        context.tool_call_id = "other"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.criterion("06.35")
@pytest.mark.parametrize("is_async", [False, True])
async def test_structured_output_is_canonical_json_linked_to_its_call(is_async: bool) -> None:
    async def later(_value: object, _context: ToolContext) -> object:
        return {"sum": 42, "exact": True}

    registry = with_executor(later if is_async else lambda _value, _context: {"sum": 42, "exact": True})
    assert await execute_tool_call(registry, ToolCall("call-add-structured", "t", {})) == ToolResultMessage(
        id="tool-result-call-add-structured",
        tool_call_id="call-add-structured",
        tool_name="t",
        content='{"exact":true,"sum":42}',
        is_error=False,
    )


@pytest.mark.criterion("06.36")
@pytest.mark.parametrize("how", HOWS)
async def test_a_failure_is_a_result_with_its_message(how: str) -> None:
    error = ConnectionError("fixture service unavailable")
    assert await result_of(raising(error, how)) == failed_with("fixture service unavailable")


class BlankError(Exception):
    def __str__(self) -> str:
        return " \t\ufeff\n"


class BrokenError(Exception):
    def __str__(self) -> str:
        raise ValueError("in __str__")


class InventedError(Exception):
    def __str__(self) -> str:
        raise asyncio.CancelledError


class NoTextError(Exception):
    def __str__(self) -> Any:
        return cast("Any", 5)


class Text(str):
    __slots__ = ()

    def _fail(self, *_arguments: object) -> Any:
        raise AssertionError("called")

    strip = replace = __len__ = encode = cast("Any", _fail)


class SubclassedTextError(Exception):
    def __str__(self) -> str:
        return Text("a text")


@pytest.mark.criterion("06.37")
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", [BlankError, BrokenError, NoTextError, InventedError, ValueError, KeyError])
async def test_an_error_without_a_readable_message_gets_one(kind: type[Exception], how: str) -> None:
    result = await result_of(raising(kind(), how))
    found = json.loads(result.content)["error"]
    assert found["code"] == "TOOL_EXECUTION_FAILED"
    assert found["message"].strip()


@pytest.mark.criterion("06.37")
async def test_the_message_may_be_long_or_of_another_text_class() -> None:
    assert await result_of(raising(SubclassedTextError(), "plain")) == failed_with("a text")
    result = await result_of(raising(ValueError("x" * 5000), "plain"))
    assert (len(result.content), result.is_error) == (4096, True)


@pytest.mark.criterion("06.37")
async def test_a_class_without_a_name_still_gives_a_message() -> None:
    nameless = type("", (Exception,), {})
    result = await result_of(raising(nameless(), "plain"))
    assert json.loads(result.content)["error"]["message"].strip()


@pytest.mark.criterion("06.37")
@pytest.mark.parametrize("then", ["returns", "raises"])
async def test_a_message_that_aborts_ends_in_the_reason(then: str) -> None:
    controller, reason = AbortController(), ValueError("stop")

    class AbortingError(Exception):
        def __str__(self) -> str:
            controller.abort(reason)
            if then == "raises":
                raise TypeError
            return "text"

    with pytest.raises(ValueError, match="stop") as caught:
        await execute_tool_call(with_executor(raising(AbortingError(), "plain")), CALL, controller.signal)
    assert caught.value is reason


class Custom:
    def __await__(self) -> Generator[Any, None, str]:
        yield from asyncio.sleep(0).__await__()
        return "custom"


@types.coroutine
def generator_based() -> Generator[Any, None, str]:
    yield from asyncio.sleep(0).__await__()
    return "generator"


async def native() -> str:
    await asyncio.sleep(0)
    return "native"


AWAITABLES: dict[str, tuple[Callable[[], object], str]] = {
    "coroutine": (native, "native"),
    "task": (lambda: asyncio.get_running_loop().create_task(native()), "native"),
    "future": (lambda: done_future("future"), "future"),
    "pending future": (lambda: done_future("later", soon=True), "later"),
    "object": (Custom, "custom"),
    "generator": (generator_based, "generator"),
    "gather": (lambda: asyncio.gather(native(), native()), '["native","native"]'),
    "shield": (lambda: asyncio.shield(native()), "native"),
}


def done_future(value: object, *, soon: bool = False) -> Awaitable[object]:
    future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    if soon:
        asyncio.get_running_loop().call_soon(future.set_result, value)
    else:
        future.set_result(value)
    return future


@pytest.mark.criterion("06.38")
@pytest.mark.parametrize("kind", AWAITABLES)
async def test_whatever_awaitable_an_executor_returns_is_awaited(kind: str) -> None:
    make, content = AWAITABLES[kind]
    result = await result_of(lambda _value, _context: make())
    assert (result.content, result.is_error) == (content, False)


@pytest.mark.criterion("06.38")
@pytest.mark.parametrize("is_async", [False, True])
async def test_an_executor_runs_on_the_thread_of_the_loop(is_async: bool) -> None:
    threads: list[int] = []

    async def later(_value: object, _context: ToolContext) -> None:
        threads.append(threading.get_ident())

    await result_of(later if is_async else lambda _value, _context: threads.append(threading.get_ident()))
    assert threads == [threading.get_ident()]


@pytest.mark.criterion("06.38")
async def test_an_awaitable_that_came_out_of_an_awaitable_is_not_awaited_again() -> None:
    async def outer(_value: object, _context: ToolContext) -> object:
        return native()

    result = await result_of(outer)
    assert json.loads(result.content)["error"]["code"] == "TOOL_OUTPUT_SERIALIZATION_FAILED"


@pytest.mark.criterion("06.38")
async def test_a_plain_executor_starts_no_task_and_an_async_one_at_most_one() -> None:
    seen: list[int] = []
    await result_of(lambda _value, _context: seen.append(len(asyncio.all_tasks())))

    async def later(_value: object, _context: ToolContext) -> None:
        await asyncio.sleep(0)
        seen.append(len(asyncio.all_tasks()))

    await result_of(later)
    assert seen == [1, 2]


@pytest.mark.criterion("06.36")
async def test_a_future_that_cannot_be_awaited_here_is_a_failure_of_the_tool() -> None:
    other = asyncio.new_event_loop()
    try:
        foreign = other.create_future()
        result = await result_of(lambda _value, _context: foreign)
        own = await result_of(lambda _value, _context: asyncio.current_task())
    finally:
        other.close()
    for found in (result, own):
        assert json.loads(found.content)["error"]["code"] == "TOOL_EXECUTION_FAILED"


@pytest.mark.criterion("06.36")
async def test_an_await_method_that_fails_is_a_failure_of_the_tool() -> None:
    class Failing:
        def __await__(self) -> Any:
            raise ValueError("no await")

    class Odd:
        def __await__(self) -> Any:
            return 5

    assert await result_of(lambda _value, _context: Failing()) == failed_with("no await")
    odd = await result_of(lambda _value, _context: Odd())
    assert json.loads(odd.content)["error"]["code"] == "TOOL_EXECUTION_FAILED"


class FatalError(NonRecoverableToolError):
    """A subclass of its own."""


@pytest.mark.criterion("06.39")
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(
    "fatal", [NonRecoverableToolError("stop"), FatalError("stop")], ids=lambda e: type(e).__name__
)
async def test_a_fatal_error_is_raised_as_the_same_object(fatal: Exception, how: str) -> None:
    with pytest.raises(NonRecoverableToolError) as caught:
        await result_of(raising(fatal, how))
    assert caught.value is fatal


def look_alike() -> Exception:
    class NonRecoverableToolError(Exception):
        code = "NON_RECOVERABLE_TOOL_ERROR"

    return NonRecoverableToolError("stop")


def liar() -> Exception:
    class LyingError(Exception):
        code = "NON_RECOVERABLE_TOOL_ERROR"
        __class__: Any = NonRecoverableToolError  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    return LyingError("stop")


def caused(by: str) -> Exception:
    error = ValueError("stop")
    setattr(error, by, NonRecoverableToolError("inner"))
    return error


@pytest.mark.criterion("06.40")
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(
    "make",
    [look_alike, liar, lambda: caused("__cause__"), lambda: caused("__context__")],
    ids=["look-alike", "lying class", "cause", "context"],
)
async def test_only_a_genuine_fatal_error_is_fatal(make: Callable[[], Exception], how: str) -> None:
    assert await result_of(raising(make(), how)) == failed_with("stop")


@pytest.mark.criterion("06.42")
@pytest.mark.parametrize("how", HOWS)
async def test_a_contract_error_built_by_the_tool_is_a_failure_like_any_other(how: str) -> None:
    assert await result_of(raising(ToolContractError("INVALID_TOOL_CALL", "own"), how)) == failed_with("own")


class Odd(BaseException):
    """Neither an `Exception` nor a cancellation."""


class BothError(KeyboardInterrupt, ValueError):
    """An exit that is an `Exception` too."""


class OwnGroupError(BaseExceptionGroup[Any], Exception):
    """A group that is no `ExceptionGroup`, though an `Exception`."""


ESCAPING: dict[str, BaseException] = {
    "KeyboardInterrupt": KeyboardInterrupt("x"),
    "SystemExit": SystemExit(3),
    "GeneratorExit": GeneratorExit("x"),
    "another": Odd("x"),
    "an exit that is an Exception": BothError("x"),
    "a base group": BaseExceptionGroup("g", [Odd("x"), ValueError("y")]),
    "a base group of a cancellation": BaseExceptionGroup("g", [asyncio.CancelledError(), ValueError("y")]),
    "a base group around a fatal error": BaseExceptionGroup("g", [Odd("x"), NonRecoverableToolError("y")]),
    "an own group class": OwnGroupError("g", [ValueError("y")]),
}


@pytest.mark.criterion("06.75")
@pytest.mark.parametrize("how", HOWS[:3])
@pytest.mark.parametrize("name", ESCAPING)
async def test_what_is_no_ordinary_exception_propagates_unchanged(name: str, how: str) -> None:
    error = ESCAPING[name]
    with pytest.raises(type(error)) as caught:
        await result_of(raising(error, how))
    assert caught.value is error


@pytest.mark.criterion("06.75")
@pytest.mark.parametrize("name", ESCAPING)
async def test_a_validator_or_a_conversion_cannot_hide_an_exit_either(name: str) -> None:
    error = ESCAPING[name]

    def fail(_value: object) -> Any:
        raise error

    registry = ToolRegistry([define_tool("t", "d", fail, lambda _value, _context: 1)])
    with pytest.raises(type(error)) as caught:
        await execute_tool_call(registry, CALL)
    assert caught.value is error
    with pytest.raises(type(error)) as converted:
        await result_of(lambda _value, _context: converting(error))
    assert converted.value is error


def converting(error: BaseException) -> object:
    """An output whose conversion raises."""
    pydantic = pytest.importorskip("pydantic")
    base: Any = pydantic.BaseModel

    class Failing(base):
        def model_dump(self, **_options: object) -> object:
            raise error

    return Failing()


@pytest.mark.criterion("06.75")
@pytest.mark.parametrize("name", ESCAPING)
async def test_an_exit_wins_over_an_aborted_signal(name: str) -> None:
    controller, error = AbortController(), ESCAPING[name]

    def aborting(_value: object, _context: ToolContext) -> object:
        controller.abort(ValueError("stop"))
        raise error

    with pytest.raises(type(error)) as caught:
        await execute_tool_call(with_executor(aborting), CALL, controller.signal)
    assert caught.value is error


RECOVERABLE: dict[str, tuple[BaseException, str | None]] = {
    "TimeoutError": (TimeoutError("late"), "late"),
    "StopIteration": (StopIteration("end"), None),
    "StopAsyncIteration": (StopAsyncIteration("end"), None),
    "AbortError raised by hand": (AbortError("by hand"), None),
    "an invented cancellation": (asyncio.CancelledError(), None),
    "an invented cancellation with a text": (asyncio.CancelledError("why"), None),
    "RecursionError": (RecursionError("deep"), "deep"),
    "MemoryError": (MemoryError("full"), "full"),
    "group": (ExceptionGroup("g", [ValueError("a")]), "a"),
    "nested groups": (
        ExceptionGroup(
            "unhandled errors in a TaskGroup", [ValueError("a"), ExceptionGroup("g", [TypeError("b")])]
        ),
        "a; b",
    ),
}


@pytest.mark.criterion("06.75", "06.76")
@pytest.mark.parametrize("how", HOWS[:3])
@pytest.mark.parametrize("name", RECOVERABLE)
async def test_everything_else_is_recoverable(name: str, how: str) -> None:
    error, message = RECOVERABLE[name]
    result = await result_of(raising(error, how))
    found = json.loads(result.content)["error"]
    assert (result.is_error, found["code"]) == (True, "TOOL_EXECUTION_FAILED")
    assert found["message"].strip()
    assert message is None or found["message"] == message


@pytest.mark.criterion("06.75")
@pytest.mark.parametrize("name", RECOVERABLE)
async def test_the_recoverable_code_names_the_step_that_failed(name: str) -> None:
    error, _ = RECOVERABLE[name]

    def fail(_value: object) -> Any:
        raise error

    registry = ToolRegistry([define_tool("t", "d", fail, lambda _value, _context: 1)])
    validated = await execute_tool_call(registry, CALL)
    assert json.loads(validated.content)["error"]["code"] == "TOOL_VALIDATION_FAILED"
    converted = await result_of(lambda _value, _context: converting(error))
    assert json.loads(converted.content)["error"]["code"] == "TOOL_OUTPUT_SERIALIZATION_FAILED"


def group_around(*errors: Exception) -> ExceptionGroup[Exception]:
    return ExceptionGroup("outer", [ValueError("a"), ExceptionGroup("inner", list(errors)), TypeError("b")])


@pytest.mark.criterion("06.75", "06.77")
@pytest.mark.parametrize("how", HOWS)
async def test_a_group_with_a_fatal_leaf_raises_the_first_one_depth_first(how: str) -> None:
    first, second = FatalError("first"), NonRecoverableToolError("second")
    group = ExceptionGroup("top", [group_around(KeyError("k"), first), second])
    with pytest.raises(NonRecoverableToolError) as caught:
        await result_of(raising(group, how))
    assert caught.value is first


@pytest.mark.criterion("06.75")
async def test_a_fatal_leaf_is_found_in_validator_and_conversion_too() -> None:
    fatal = FatalError("leaf")

    def fail(_value: object) -> Any:
        raise group_around(fatal)

    registry = ToolRegistry([define_tool("t", "d", fail, lambda _value, _context: 1)])
    with pytest.raises(FatalError) as caught:
        await execute_tool_call(registry, CALL)
    assert caught.value is fatal
    with pytest.raises(FatalError) as converted:
        await result_of(lambda _value, _context: converting(group_around(fatal)))
    assert converted.value is fatal


@pytest.mark.criterion("06.76")
async def test_leaves_without_a_message_get_one_in_their_place() -> None:
    group = ExceptionGroup("g", [ValueError("a"), KeyError(), TypeError("b")])
    result = await result_of(raising(group, "plain"))
    parts = json.loads(result.content)["error"]["message"].split("; ")
    assert (parts[0], parts[2], len(parts)) == ("a", "b", 3)
    assert parts[1].strip()


@pytest.mark.criterion("06.76")
async def test_the_exceptions_property_of_a_group_subclass_is_not_asked() -> None:
    class Sly(ExceptionGroup[Exception]):
        @property
        def exceptions(self) -> Any:
            raise AssertionError("asked")

    group = Sly("g", [ValueError("a"), ValueError("b")])
    assert await result_of(raising(group, "plain")) == failed_with("a; b")


@pytest.mark.criterion("06.77")
async def test_a_task_group_that_lost_a_child_to_a_fatal_error_raises_the_leaf() -> None:
    fatal = FatalError("child")
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("sibling")

    async def fails() -> None:
        await asyncio.sleep(0)
        raise fatal

    async def execute(_value: object, _context: ToolContext) -> object:
        async with asyncio.TaskGroup() as group:
            group.create_task(waits())
            group.create_task(fails())

    with pytest.raises(FatalError) as caught:
        await result_of(execute)
    assert caught.value is fatal
    assert ended == ["sibling"]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.criterion("06.76")
async def test_a_task_group_and_a_timeout_inside_a_tool_work_as_anywhere() -> None:
    async def child() -> None:
        raise ValueError("a")

    async def grouped(_value: object, _context: ToolContext) -> object:
        async with asyncio.TaskGroup() as group:
            group.create_task(child())
            await asyncio.Event().wait()

    async def timed(_value: object, _context: ToolContext) -> object:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "too late"

    assert await result_of(grouped) == failed_with("a")
    assert (await result_of(timed)).content == "too late"


@pytest.mark.criterion("06.77")
@pytest.mark.parametrize("fatal", [False, True])
async def test_groups_nested_ten_thousand_deep_cause_no_recursion_error(fatal: bool) -> None:
    leaf: Exception = FatalError("leaf") if fatal else ValueError("leaf")
    group = ExceptionGroup("g", [leaf])
    for _ in range(10_000):
        group = ExceptionGroup("g", [group])
    if fatal:
        with pytest.raises(FatalError):
            await result_of(raising(group, "plain"))
    else:
        assert await result_of(raising(group, "plain")) == failed_with("leaf")


@pytest.mark.criterion("06.76")
async def test_groups_that_share_their_parts_are_searched_once_a_part() -> None:
    group = ExceptionGroup("g", [ValueError("leaf")])
    for _ in range(60):
        group = ExceptionGroup("g", [group, group])
    result = await result_of(raising(group, "plain"))
    assert result.content.startswith('{"error":{"code":"TOOL_EXECUTION_FAILED","message":"leaf; leaf; ')
    assert len(result.content) == 4096


@pytest.mark.criterion("06.49")
async def test_two_executions_of_one_tool_keep_their_own_ids_and_contents() -> None:
    gates = {"first": asyncio.Event(), "second": asyncio.Event()}
    ended: list[str] = []

    async def execute(_value: object, context: ToolContext) -> object:
        await gates[context.tool_call_id].wait()
        ended.append(context.tool_call_id)
        return {"for": context.tool_call_id}

    registry = with_executor(execute)
    before = registry.names, registry.get("t")
    tasks = [asyncio.ensure_future(execute_tool_call(registry, ToolCall(name, "t", {}))) for name in gates]
    await asyncio.sleep(0)
    for name in reversed(gates):
        gates[name].set()
        await asyncio.sleep(0)
    results = await asyncio.gather(*tasks)
    assert ended == ["second", "first"]
    assert [(one.id, one.tool_call_id, one.content) for one in results] == [
        (f"tool-result-{name}", name, f'{{"for":"{name}"}}') for name in gates
    ]
    assert (registry.names, registry.get("t")) == before


@pytest.mark.criterion("06.38")
async def test_a_coroutine_that_cannot_wait_needs_no_task() -> None:
    tasks: list[int] = []

    async def at_once(value: object, _context: ToolContext) -> object:
        tasks.append(len(asyncio.all_tasks()))
        return {"given": value}

    assert (await result_of(at_once)).content == '{"given":{}}'
    assert tasks == [1]


@pytest.mark.criterion("06.38")
async def test_a_coroutine_that_has_run_before_is_a_failure_of_the_tool() -> None:
    async def at_once() -> int:
        return 1

    used = at_once()
    assert await used == 1
    result = await result_of(lambda _value, _context: used)
    assert json.loads(result.content)["error"]["code"] == "TOOL_EXECUTION_FAILED"


@pytest.mark.criterion("06.38")
async def test_each_way_to_wait_is_recognised() -> None:
    async def awaits() -> int:
        return await native_number()

    async def iterates() -> int:
        return sum([number async for number in numbers_later()])

    async def loops() -> int:
        total = 0
        async for number in numbers_later():
            total += number
        return total

    async def enters() -> int:
        async with asyncio.Lock():
            return 3

    async def none_of_them() -> int:
        return 3

    made = [awaits(), iterates(), loops(), enters(), none_of_them()]
    assert [never_suspends(one) for one in made] == [False, False, False, False, True]
    assert [await one for one in made] == [3] * 5


async def native_number() -> int:
    return 3


async def numbers_later() -> AsyncIterator[int]:
    yield 1
    yield 2


@pytest.mark.criterion("06.38")
async def test_what_is_known_of_coroutines_stays_bounded() -> None:
    for number in range(1100):
        namespace: dict[str, Any] = {}
        exec(f"async def made():\n    return {number}", namespace)
        one = namespace["made"]()
        assert never_suspends(one)
        assert await one == number
    assert len(_known_codes) <= 1024


@pytest.mark.criterion("06.38")
async def test_a_coroutine_that_waits_after_all_is_never_taken_for_done() -> None:
    waiting = native()
    with pytest.raises(RuntimeError):
        run_through(waiting)
    waiting.close()
