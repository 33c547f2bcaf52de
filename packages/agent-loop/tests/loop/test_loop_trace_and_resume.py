"""A run in one call, what a broken-off run leaves to go on with, and how much a run may buffer."""

import asyncio
import dataclasses
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_doubles import (
    USER,
    FakeModel,
    FakeStream,
    Gate,
    add,
    answers,
    call,
    collect,
    result_of,
    start,
    tools,
)

from kickwheel_agent_loop import LoopLimits, RunTrace, resumable_messages, run_agent_loop, run_to_end
from kickwheel_event_stream import AbortController
from kickwheel_protocol import (
    AssistantMessage,
    JsonObject,
    Message,
    ModelRequest,
    RunFinished,
    Signal,
    TextBlock,
    ToolCall,
    ToolContext,
    UserMessage,
    to_wire,
    validate_transcript,
)

ADD, TWO = call(), call(2)


def calling(*calls: ToolCall) -> AssistantMessage:
    return AssistantMessage("assistant", list(calls))


ANSWER = result_of(ADD, "42")
SAID = AssistantMessage("assistant", [TextBlock("hi")])


@pytest.mark.criterion("07.B9")
@pytest.mark.parametrize(
    ("messages", "length"),
    [
        pytest.param((), 0, id="empty"),
        pytest.param((USER, calling(ADD), ANSWER, SAID), 4, id="valid"),
        pytest.param((USER, calling(ADD)), 1, id="unanswered"),
        pytest.param((USER, calling(ADD, TWO), ANSWER), 1, id="half-answered"),
        pytest.param((USER, calling(ADD), USER, ANSWER), 4, id="answered-late"),
        pytest.param((USER, calling(ADD), ANSWER, calling(TWO), USER), 3, id="unanswered-in-the-middle"),
        pytest.param((USER, ANSWER, USER), 1, id="orphan"),
        pytest.param((USER, calling(ADD), ANSWER, ANSWER, USER), 3, id="answered-twice"),
        pytest.param((USER, calling(ADD), ANSWER, calling(ADD), ANSWER, USER), 3, id="id-twice"),
        pytest.param((calling(ADD, ADD), ANSWER, USER), 0, id="id-twice-in-one-message"),
        pytest.param((USER, calling(ADD), result_of(call(1, "other"), "x")), 1, id="other-name"),
        pytest.param((USER, cast("UserMessage", None), USER), 1, id="no-message"),
    ],
)
def test_the_longest_valid_prefix_is_kept(messages: tuple[Message, ...], length: int) -> None:
    kept = resumable_messages(messages)
    assert type(kept) is tuple
    assert kept == messages[:length]
    assert validate_transcript(kept) == ()
    assert (kept is messages) == (length == len(messages))
    assert resumable_messages(list(messages)) == kept


PIECES = st.sampled_from(
    [USER, SAID, calling(ADD), calling(TWO), calling(ADD, TWO), ANSWER, result_of(TWO, "1")]
)


@pytest.mark.criterion("07.B9")
@settings(derandomize=True, database=None, max_examples=300)
@given(st.lists(PIECES, max_size=9))
def test_no_longer_prefix_of_any_transcript_is_valid(messages: list[Message]) -> None:
    kept = resumable_messages(messages)
    valid = [end for end in range(len(messages) + 1) if not validate_transcript(messages[:end])]
    assert len(kept) == max(valid)


@pytest.mark.criterion("07.B9")
@pytest.mark.parametrize("answered", [0, 1])
async def test_a_broken_off_run_goes_on_with_a_new_user_message(answered: int) -> None:
    gate, controller = Gate(), AbortController()

    async def slow(_arguments: JsonObject, _context: ToolContext) -> object:
        await gate.wait()
        return None

    calls = [ADD, call(1, "slow")] if answered else [call(1, "slow")]
    model = FakeModel(answers(call(9)), answers(*calls))
    run = start(model, registry=tools(add=add, slow=slow), controller=controller)
    await gate.reached.wait()
    controller.abort()
    result = await run.result
    kept = resumable_messages(result.messages)
    assert kept == result.messages[:3]
    again = await start(FakeModel(answers("hi")), messages=(*kept, UserMessage("m9", "Go on."))).result
    assert again.status == "completed"
    assert resumable_messages(again.messages) is again.messages


@pytest.mark.criterion("07.B10")
async def test_events_and_result_come_in_one_value() -> None:
    trace = await run_to_end(
        messages=[USER], model=FakeModel(answers(ADD), answers("ok")), tools=tools(add=add), max_steps=2
    )
    events, result = await collect(start(FakeModel(answers(ADD), answers("ok")), max_steps=2))
    assert trace == RunTrace(tuple(events), result)
    assert type(trace.events) is tuple
    last = trace.events[-1]
    assert isinstance(last, RunFinished)
    assert trace.result is last.result
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(trace, "result", None)  # noqa: B010 - the checker knows that it is read-only


@pytest.mark.criterion("07.B10")
async def test_every_option_is_passed_on() -> None:
    controller = AbortController()
    model = FakeModel(answers(ADD, TWO), answers("ok"))
    trace = await run_to_end(
        messages=[USER],
        model=model,
        tools=[tools(add=add).get("add")],  # pyright: ignore[reportArgumentType] - it is there
        max_steps=2,
        signal=controller.signal,
        request_sequence_start=7,
        limits=LoopLimits(max_agent_steps=9),
        tool_execution="parallel",
    )
    assert [request.id for request in model.requests] == ["request-008", "request-009"]
    kinds = [event.type for event in trace.events]
    assert kinds[3:7] == ["tool.started", "tool.started", "tool.finished", "tool.finished"]
    stopped = AbortController()
    stopped.abort("enough")
    trace = await run_to_end(messages=[], model=model, tools=[], max_steps=1, signal=stopped.signal)
    assert to_wire(trace.result) == {"status": "cancelled", "messages": [], "reason": "enough"}


@pytest.mark.criterion("07.B10")
async def test_option_errors_are_raised_when_it_is_awaited() -> None:
    running = run_to_end(messages=[], model=FakeModel(), tools=[], max_steps=0)
    with pytest.raises(ValueError, match="max_steps"):
        await running


@pytest.mark.criterion("07.B11")
async def test_cancelling_it_stops_the_run_and_waits_for_cleanup() -> None:
    gate, cleaned = Gate(), list[str]()

    async def slow(_arguments: JsonObject, _context: ToolContext) -> object:
        try:
            await gate.wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append("tool")
        return None

    model = FakeModel(answers(call(1, "slow")))
    running = asyncio.ensure_future(
        run_to_end(messages=[USER], model=model, tools=tools(slow=slow), max_steps=2)
    )
    await gate.reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cleaned == ["tool"]
    assert model.signals[0].aborted
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.criterion("07.B11")
async def test_when_it_returns_no_task_of_the_run_is_left() -> None:
    class SlowToLeave(FakeStream):
        async def __aexit__(self, *_: object) -> None:
            for _turn in range(9):
                await asyncio.sleep(0)
            await super().__aexit__(None, None, None)

    def answer(request: ModelRequest, signal: Signal) -> FakeStream:
        plain = cast("FakeStream", answers("hi")(request, signal))
        return SlowToLeave(plain.steps, plain.ending)

    model = FakeModel(answer)
    await run_to_end(messages=[USER], model=model, tools=[], max_steps=2)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert model.streams[0].left == 1


def largest(limits: LoopLimits) -> int:
    """Events of a run at every limit: accepted, per step chunks and two a call, and the last one."""
    per_step = limits.max_model_chunks_per_step + 2 * limits.max_model_blocks_per_step
    return limits.max_initial_messages + limits.max_agent_steps * per_step + 1


@pytest.mark.criterion("07.B12")
async def test_a_run_at_all_its_limits_buffers_the_number_of_events_that_follows_from_them() -> None:
    assert largest(LoopLimits()) == 200705
    limits = LoopLimits(
        max_agent_steps=3,
        max_initial_messages=4,
        max_model_chunks_per_step=5,
        max_model_blocks_per_step=5,
    )
    rounds = [answers(*[call(5 * step + number) for number in range(5)]) for step in range(3)]
    run = run_agent_loop(
        messages=[USER] * 4, model=FakeModel(*rounds), tools=tools(add=add), max_steps=3, limits=limits
    )
    assert (await run.result).status == "maxSteps"
    assert len([event async for event in run]) == largest(limits)
