"""Options: refused in the call itself, before the model, the tools or the signal are used."""

import asyncio
import dataclasses
import math
from collections.abc import Callable
from typing import cast

import pytest
from loop_doubles import USER, FakeModel, add, answers, call, collect, steps, told, tools

from kickwheel_agent_loop import LoopLimits, ToolContractError, ToolRegistry, run_agent_loop
from kickwheel_event_stream import AbortController, EventStream
from kickwheel_protocol import AgentEvent, CompletedRun, Model, ModelRequest, RunResult, Signal, UserMessage

LIMITS = LoopLimits()
DEFAULTS = {
    "max_agent_steps": 64,
    "max_initial_messages": 4096,
    "max_model_chunks_per_step": 1024,
    "max_model_text_code_points": 65536,
    "max_model_blocks_per_step": 1024,
    "max_tool_argument_depth": 32,
    "max_tool_argument_nodes": 257,
    "max_tool_argument_entries": 256,
    "max_tool_argument_string_code_points": 4096,
}


def begin(model: object = None, **options: object) -> EventStream[AgentEvent, RunResult]:
    """Call the loop with anything at all."""
    given: dict[str, object] = {
        "messages": [USER],
        "model": FakeModel(answers("hi")) if model is None else model,
        "tools": tools(add=add),
        "max_steps": 1,
    } | options
    return cast("Callable[..., EventStream[AgentEvent, RunResult]]", run_agent_loop)(**given)


class Untouchable:
    """A model that must not be asked."""

    def stream(self, request: ModelRequest, signal: Signal) -> object:
        raise AssertionError("the model was asked")


class HostileSignal:
    """Has the members of a signal; reading a value of it fails."""

    @property
    def aborted(self) -> bool:
        raise AssertionError("aborted was read")

    @property
    def reason(self) -> Exception | None:
        raise AssertionError("reason was read")

    def raise_if_aborted(self) -> None: ...

    async def wait(self) -> None: ...

    def add_callback(self, callback: Callable[[], object]) -> Callable[[], object]:
        raise AssertionError("add_callback was called")


async def refused(error: type[Exception], name: str, **options: object) -> str:
    before = asyncio.all_tasks()
    with pytest.raises(error) as caught:
        begin(Untouchable(), **options)
    assert type(caught.value) is error
    assert name in str(caught.value)
    assert asyncio.all_tasks() == before
    return str(caught.value)


@pytest.mark.criterion("07.01")
@pytest.mark.parametrize("value", [0, -1])
async def test_a_budget_below_one_step_is_a_value_error(value: int) -> None:
    await refused(ValueError, "max_steps", max_steps=value)


@pytest.mark.criterion("07.01")
@pytest.mark.parametrize("value", [1.5, 1.0, math.nan, math.inf, "1", None, True], ids=repr)
async def test_a_budget_that_is_no_exact_integer_is_a_type_error(value: object) -> None:
    await refused(TypeError, "max_steps", max_steps=value)


@pytest.mark.criterion("07.02")
async def test_the_largest_budget_is_64_and_65_is_refused_by_that_number() -> None:
    assert "64" in await refused(ValueError, "max_steps", max_steps=65)
    assert type(await begin(max_steps=64).result) is CompletedRun


@pytest.mark.criterion("07.03")
@pytest.mark.parametrize(("value", "steps_allowed"), [(-1, 1), (64, 1), (63, 2)])
async def test_a_request_number_out_of_range_is_a_value_error(value: int, steps_allowed: int) -> None:
    await refused(ValueError, "request_sequence_start", request_sequence_start=value, max_steps=steps_allowed)


@pytest.mark.criterion("07.03")
@pytest.mark.parametrize("value", [1.5, True, "0", None], ids=repr)
async def test_a_request_number_that_is_no_exact_integer_is_a_type_error(value: object) -> None:
    await refused(TypeError, "request_sequence_start", request_sequence_start=value)


@pytest.mark.criterion("07.03", "07.04")
@pytest.mark.parametrize(("value", "expected"), [(0, "request-001"), (4, "request-005"), (63, "request-064")])
async def test_request_numbers_go_on_from_where_they_are_told(value: int, expected: str) -> None:
    model = FakeModel(answers("hi"))
    await begin(model, request_sequence_start=value).result
    assert [request.id for request in model.requests] == [expected]


@pytest.mark.criterion("07.04", "07.73")
async def test_a_request_number_of_four_digits_is_written_in_full() -> None:
    model = FakeModel(answers("hi"))
    await begin(model, request_sequence_start=1233, limits=LoopLimits(max_agent_steps=2000)).result
    assert [request.id for request in model.requests] == ["request-1234"]


class NoStream:
    """Nothing to call."""

    stream = 7


class FailingStream:
    """The attribute itself fails."""

    @property
    def stream(self) -> object:
        raise RuntimeError("no")


@pytest.mark.criterion("07.05")
@pytest.mark.parametrize(
    "model", [object(), 7, "model", NoStream(), FailingStream()], ids=lambda m: type(m).__name__
)
async def test_a_model_without_a_callable_stream_is_a_type_error(model: object) -> None:
    with pytest.raises(TypeError, match="model"):
        begin(model)


class RegistryLookAlike:
    """Has what a registry has."""

    names = ()

    def get(self, name: str) -> object:
        return None

    def snapshot(self) -> object:
        return self


class ListOfTools(list[object]):
    """A list that is not exactly one."""


@pytest.mark.criterion("07.05")
@pytest.mark.parametrize(
    "value", [None, {}, "add", RegistryLookAlike(), ListOfTools()], ids=lambda m: type(m).__name__
)
async def test_tools_that_are_no_registry_and_no_plain_list_are_a_type_error(value: object) -> None:
    await refused(TypeError, "tools", tools=value)


class HalfSignal:
    """Lacks `add_callback`."""

    aborted = False
    reason = None

    def raise_if_aborted(self) -> None: ...

    async def wait(self) -> None: ...


@pytest.mark.criterion("07.05")
@pytest.mark.parametrize(
    "value",
    [True, "signal", object(), HalfSignal(), HostileSignal, AbortController()],
    ids=lambda m: type(m).__name__,
)
async def test_a_signal_without_the_members_of_a_signal_is_a_type_error(value: object) -> None:
    await refused(TypeError, "signal", signal=value)


@pytest.mark.criterion("07.05")
async def test_checking_a_signal_reads_no_value_of_it() -> None:
    await refused(ValueError, "max_steps", signal=HostileSignal(), max_steps=0)
    run = begin(signal=HostileSignal(), messages="no list")
    assert told([event async for event in run]) == "R0"


@pytest.mark.criterion("07.71")
def test_without_a_running_loop_the_call_raises_a_runtime_error() -> None:
    with pytest.raises(RuntimeError):
        begin(Untouchable())


@pytest.mark.criterion("07.72")
@pytest.mark.parametrize("value", [None, {}, DEFAULTS, LoopLimits], ids=lambda m: type(m).__name__)
async def test_limits_that_are_no_limits_are_a_type_error(value: object) -> None:
    await refused(TypeError, "limits", limits=value)


@pytest.mark.criterion("07.72")
@pytest.mark.parametrize("value", [None, 1, True, b"parallel"], ids=repr)
async def test_a_tool_execution_that_is_no_string_is_a_type_error(value: object) -> None:
    await refused(TypeError, "tool_execution", tool_execution=value)


@pytest.mark.criterion("07.72")
@pytest.mark.parametrize("value", ["", "Parallel", "concurrent"])
async def test_an_unknown_tool_execution_is_a_value_error(value: str) -> None:
    await refused(ValueError, "tool_execution", tool_execution=value)


@pytest.mark.criterion("07.73")
def test_the_default_limits_are_the_numbers_of_the_contract() -> None:
    assert dataclasses.asdict(LIMITS) == DEFAULTS


@pytest.mark.criterion("07.73")
@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("value", [1.0, True, "5", None], ids=repr)
def test_a_limit_that_is_no_exact_integer_is_a_type_error(name: str, value: object) -> None:
    with pytest.raises(TypeError, match=name):
        cast("Callable[..., LoopLimits]", LoopLimits)(**{name: value})


@pytest.mark.criterion("07.73")
@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("value", [0, -1])
def test_a_limit_below_one_is_a_value_error(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=name):
        cast("Callable[..., LoopLimits]", LoopLimits)(**{name: value})


@pytest.mark.criterion("07.73")
def test_limits_cannot_be_changed_passed_by_position_or_subclassed() -> None:
    with pytest.raises(AttributeError):
        setattr(LIMITS, "max_agent_steps", 65)  # noqa: B010 - the checker knows that it is read-only
    with pytest.raises((AttributeError, TypeError)):
        setattr(LIMITS, "other", 65)  # noqa: B010 - as above
    with pytest.raises(TypeError):
        cast("Callable[..., LoopLimits]", LoopLimits)(64)
    with pytest.raises(TypeError):
        type("Sub", (LoopLimits,), {})
    assert LoopLimits() == LIMITS
    assert LoopLimits(max_agent_steps=65) != LIMITS


@pytest.mark.criterion("07.73")
async def test_a_changed_limit_replaces_its_number() -> None:
    limits = LoopLimits(max_agent_steps=100)
    model = FakeModel(*[answers(call(number)) for number in range(100)])
    result = await begin(model, max_steps=100, limits=limits).result
    assert result.status == "maxSteps"
    assert model.calls == 100
    await refused(ValueError, "max_steps", limits=LoopLimits(max_agent_steps=3), max_steps=4)
    await refused(ValueError, "request_sequence_start", limits=limits, request_sequence_start=100)


SMALL = LoopLimits(
    max_agent_steps=3,
    max_initial_messages=2,
    max_model_chunks_per_step=2,
    max_model_text_code_points=5,
    max_model_blocks_per_step=2,
    max_tool_argument_depth=1,
    max_tool_argument_nodes=3,
    max_tool_argument_entries=5,
    max_tool_argument_string_code_points=4,
)


@pytest.mark.criterion("07.73")
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param(FakeModel(answers("a", "b")), "a0 c1 c2 R3 completed", id="chunks-within"),
        pytest.param(FakeModel(steps("a", "b", "c")), "a0 c1 c2 R3 failed", id="chunks-over"),
        pytest.param(FakeModel(answers("abcde")), "a0 c1 R2 completed", id="text-within"),
        pytest.param(FakeModel(steps("abcdef")), "a0 R1 failed", id="text-over"),
        pytest.param(FakeModel(steps("abc", says=["a", "b", "c"])), "a0 c1 R2 failed", id="blocks-over"),
        pytest.param(FakeModel(steps(call(1, "add", {"a": {"b": {}}}))), "a0 R1 failed", id="depth-over"),
        pytest.param(FakeModel(steps(call(1, "add", {"a": [1, 2]}))), "a0 R1 failed", id="nodes-over"),
        pytest.param(FakeModel(steps(call(1, "add", {"a": "wxyz"}))), "a0 R1 failed", id="string-over"),
        pytest.param(
            FakeModel(answers(call(1, "add", {"a": "xyz"})), answers("ok")),
            "a0 c1 s2 f3 c4 R5 completed",
            id="string-within",
        ),
    ],
)
async def test_every_limit_is_asked_for_in_the_run(model: FakeModel, expected: str) -> None:
    events, result = await collect(begin(model, max_steps=3, limits=SMALL))
    assert f"{told(events)} {result.status}" == expected


@pytest.mark.criterion("07.73")
async def test_the_entry_limit_counts_apart_from_the_node_limit() -> None:
    limits = LoopLimits(max_tool_argument_entries=2)
    events, _ = await collect(begin(FakeModel(steps(call(1, "add", {"a": [1, 2]}))), limits=limits))
    assert told(events) == "a0 R1"
    events, _ = await collect(begin(FakeModel(answers(call(1, "add", {"a": [1]}))), limits=limits))
    assert told(events) == "a0 c1 s2 f3 R4"


class CountingModel:
    """Counts how often its `stream` is read, and called."""

    def __init__(self) -> None:
        self.reads = 0
        self.inner = FakeModel(answers(call()), answers("hi"))

    @property
    def stream(self) -> object:
        self.reads += 1
        return self.inner.stream


@pytest.mark.criterion("07.74")
async def test_the_model_is_not_asked_before_the_next_turn_and_its_stream_is_read_once() -> None:
    model = CountingModel()
    run = begin(cast("Model", model), max_steps=2)
    assert (model.reads, model.inner.calls) == (1, 0)
    await run.result
    assert (model.reads, model.inner.calls) == (1, 2)


@pytest.mark.criterion("07.B13")
@pytest.mark.parametrize("kind", [list, tuple])
async def test_a_list_or_tuple_of_tools_becomes_a_registry(kind: Callable[[list[object]], object]) -> None:
    definition = tools(add=add).get("add")
    given = kind([definition])
    run = begin(FakeModel(answers(call()), answers("hi")), tools=given, max_steps=2)
    if isinstance(given, list):
        cast("list[object]", given).clear()
    assert told([event async for event in run]) == "a0 c1 s2 f3 c4 R5"


@pytest.mark.criterion("07.B13")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ([7], "INVALID_TOOL_DEFINITION"),
        ([tools(add=add).get("add")] * 2, "DUPLICATE_TOOL_NAME"),
    ],
)
async def test_a_bad_list_of_tools_raises_the_errors_of_the_registry(given: list[object], code: str) -> None:
    before = asyncio.all_tasks()
    with pytest.raises(ToolContractError) as caught:
        begin(Untouchable(), tools=given)
    assert caught.value.code == code
    assert asyncio.all_tasks() == before


@pytest.mark.criterion("07.17")
async def test_an_option_error_beats_an_invalid_transcript_and_an_aborted_signal() -> None:
    controller = AbortController()
    controller.abort()
    await refused(ValueError, "max_steps", messages=None, signal=controller.signal, max_steps=0)


async def test_an_empty_registry_is_a_registry() -> None:
    assert type(await begin(tools=ToolRegistry(), messages=[UserMessage("m", "hi")]).result) is CompletedRun
