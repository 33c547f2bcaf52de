"""Faults that users of other runtimes have reported, each as a small run of this one."""

import asyncio

import pytest
from loop_doubles import (
    USAGE,
    USER,
    FakeModel,
    FakeStream,
    Gate,
    answers,
    call,
    chunks_of,
    collect,
    result_of,
    start,
    steps,
    told,
    tools,
    turns,
)

from kickwheel_agent_loop import NonRecoverableToolError
from kickwheel_event_stream import AbortController, EventStream
from kickwheel_protocol import (
    AssistantMessage,
    FailedRun,
    JsonObject,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Signal,
    TextBlock,
    ToolContext,
    ToolFinished,
    ToolResultMessage,
    UserMessage,
    validate_transcript,
)

THREE = [call(number) for number in (1, 2, 3)]


@pytest.mark.criterion("07.54")
async def test_calls_with_the_stop_reason_stop_are_never_a_silent_completion() -> None:
    """Row 7: a loop looked at the stop reason only, ran none of the calls and reported success."""

    def answer(request: ModelRequest, _signal: Signal) -> FakeStream:
        message = AssistantMessage("assistant-001", [TextBlock("I will. "), *THREE])
        response = ModelResponse("r", request.id, message, "stop", USAGE)
        return FakeStream(list[object](chunks_of(request.id, ["I will. ", *THREE])), [response])

    ran: list[str] = []
    registry = tools(add=lambda _a, context: ran.append(context.tool_call_id))
    result = await start(FakeModel(answer), registry=registry).result
    assert type(result) is FailedRun
    assert result.error.code == "MODEL_PROTOCOL_ERROR"
    assert ran == []


@pytest.mark.criterion("07.76")
@pytest.mark.parametrize("parallel", [False, True])
async def test_two_calls_of_one_function_each_get_their_own_result(parallel: bool) -> None:
    """Row 24: the first result was taken for both calls, and the second raised."""
    registry = tools(weather=lambda arguments, _c: arguments["city"])
    calls = [call(1, "weather", {"city": "Hanoi"}), call(2, "weather", {"city": "Bonn"})]
    result = await start(
        FakeModel(answers(*calls), answers("ok")), registry=registry, parallel=parallel
    ).result
    assert result.messages[2:4] == (result_of(calls[0], "Hanoi"), result_of(calls[1], "Bonn"))


@pytest.mark.criterion("07.46")
@pytest.mark.parametrize("before", [0, 2])
async def test_a_producer_that_dies_after_the_stream_was_handed_out_hangs_nobody(before: int) -> None:
    """Row 44: the consumer waited for ever."""

    def answer(request: ModelRequest, _signal: Signal) -> object:
        stream: EventStream[ModelChunk, ModelResponse] = EventStream()
        for chunk in chunks_of(request.id, ["a", "b"][:before]):
            stream.push(chunk)
        asyncio.get_running_loop().call_soon(stream.fail, RuntimeError("the producer died"))
        return stream

    events, result = await collect(start(FakeModel(answer)))
    assert [event.type for event in events].count("model.chunk") == before
    assert type(result) is FailedRun
    assert result.error.message == "the producer died"


@pytest.mark.criterion("07.46", "07.66", "07.70")
@pytest.mark.parametrize("where", ["model", "tool"])
async def test_iterating_a_run_that_fails_ends(where: str) -> None:
    """Row 46: the failure path never told the end, so reading the events hung."""

    def fatal(_arguments: JsonObject, _context: ToolContext) -> object:
        raise NonRecoverableToolError("no")

    model = FakeModel(steps(RuntimeError("no")) if where == "model" else answers(call(1, "fatal")))
    events = [event async for event in start(model, registry=tools(fatal=fatal))]
    assert events[-1].type == "run.finished"


@pytest.mark.criterion("07.B3", "07.B4")
@pytest.mark.parametrize("fatal", [False, True])
async def test_a_failing_parallel_tool_leaves_no_orphan(fatal: bool) -> None:
    """Row 51: the sibling of a failing tool went on as an orphan."""
    gate = Gate()

    def bad(_arguments: JsonObject, _context: ToolContext) -> object:
        raise NonRecoverableToolError("no") if fatal else ValueError("no")

    async def slow(_arguments: JsonObject, _context: ToolContext) -> object:
        await gate.wait()
        return "late"

    calls = [call(1, "slow"), call(1, "bad"), call(2, "slow")]
    run = start(FakeModel(answers(*calls), answers("ok")), registry=tools(bad=bad, slow=slow), parallel=True)
    await gate.reached.wait()
    await turns()
    gate.open()
    result = await run.result
    await turns()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    results = [message for message in result.messages if isinstance(message, ToolResultMessage)]
    assert [message.is_error for message in results] == ([False] if fatal else [False, True, False])


@pytest.mark.criterion("07.21")
async def test_a_tool_that_does_not_exist_is_no_crash() -> None:
    """Row 53."""
    events, result = await collect(start(FakeModel(answers(call(1, "imagined")), answers("sorry"))))
    assert told(events) == "a0 c1 s2 f3 c4 R5"
    assert result.status == "completed"


@pytest.mark.criterion("07.38", "07.43", "07.B9")
async def test_a_batch_broken_off_can_be_taken_up_again() -> None:
    """Row 54: the history was left with calls that no later request could carry."""
    from kickwheel_agent_loop import resumable_messages

    controller, gate = AbortController(), Gate()

    async def slow(_arguments: JsonObject, _context: ToolContext) -> object:
        await gate.wait()
        return None

    model = FakeModel(answers(call(1), call(1, "slow")))
    run = start(model, registry=tools(add=lambda _a, _c: 42, slow=slow), controller=controller)
    await gate.reached.wait()
    controller.abort()
    result = await run.result
    assert validate_transcript(result.messages) != ()
    kept = resumable_messages(result.messages)
    assert validate_transcript(kept) == ()
    assert kept == (USER,)


@pytest.mark.criterion("07.77")
async def test_a_listener_that_throws_takes_no_result_away() -> None:
    """Row 56: the finished result vanished from the history."""
    run = start(FakeModel(answers(call()), answers("ok")))
    with pytest.raises(RuntimeError, match="listener"):
        async for event in run:
            if isinstance(event, ToolFinished):
                raise RuntimeError("listener")
    assert result_of(call(), '{"sum":42}') in (await run.result).messages


@pytest.mark.criterion("07.B2", "07.20")
@pytest.mark.parametrize("parallel", [False, True])
async def test_results_stand_in_the_order_of_the_calls_whichever_ends_first(parallel: bool) -> None:
    """Row 57: they were written in the order of completion."""

    async def slow(_arguments: JsonObject, _context: ToolContext) -> object:
        await turns(9)
        return "slow"

    registry = tools(slow=slow, fast=lambda _a, _c: "fast")
    calls = [call(1, "slow"), call(1, "fast")]
    result = await start(
        FakeModel(answers(*calls), answers("ok")), registry=registry, parallel=parallel
    ).result
    assert result.messages[2:4] == (result_of(calls[0], "slow"), result_of(calls[1], "fast"))


@pytest.mark.criterion("07.78", "07.32")
async def test_a_model_that_never_stops_is_stopped_without_a_dangling_call() -> None:
    """Row 59."""
    model = FakeModel(*[answers(call(number)) for number in range(70)])
    result = await start(model, max_steps=64).result
    assert result.status == "maxSteps"
    assert model.calls == 64
    assert validate_transcript(result.messages) == ()


@pytest.mark.criterion("07.45", "07.42")
async def test_after_a_turn_cut_short_a_second_user_turn_has_a_valid_transcript() -> None:
    """Row 60: a length stop with a complete call left the call unanswered in the history."""
    cut_short = steps(call(), ending=[RuntimeError("the answer was cut off at its length limit")])
    result = await start(FakeModel(cut_short)).result
    assert type(result) is FailedRun
    assert result.messages == (USER,)
    again = (*result.messages, UserMessage("message-002", "Shorter, please."))
    assert validate_transcript(again) == ()
    assert (await start(FakeModel(answers("ok")), messages=again).result).status == "completed"
