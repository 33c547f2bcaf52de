"""Normal turns and the budget of model turns."""

import asyncio
import gc
from collections.abc import Callable

import pytest
from loop_doubles import (
    USER,
    FakeModel,
    FakeStream,
    Gate,
    answers,
    call,
    collect,
    echo,
    result_of,
    start,
    steps,
    told,
    tools,
)

from kickwheel_agent_loop import ToolRegistry, define_tool, run_agent_loop
from kickwheel_event_stream import AbortController
from kickwheel_protocol import (
    AgentEvent,
    AssistantMessage,
    CompletedRun,
    FailedRun,
    Invalid,
    JsonObject,
    MaxStepsRun,
    ModelChunk,
    ModelChunkReceived,
    ModelRequest,
    ModelResponse,
    Signal,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    ToolContext,
    ToolFinished,
    ToolResultMessage,
    ToolStarted,
    Usage,
    Valid,
    validate_transcript,
)

ADD = call(1, "add", {"left": 20, "right": 22})
ECHOES = [call(number, "echo", {"text": text}) for number, text in enumerate(("ONE", "TWO", "THREE"), 1)]


@pytest.mark.criterion("07.18")
async def test_the_final_text_is_the_texts_of_the_last_message() -> None:
    events, result = await collect(start(FakeModel(answers("The sum ", "is ", "42."))))
    assert told(events) == "a0 c1 c2 c3 R4"
    assert type(result) is CompletedRun
    assert result.final_text == "The sum is 42."


@pytest.mark.criterion("07.19")
async def test_a_round_trip_shows_the_model_its_call_and_the_result() -> None:
    model = FakeModel(answers(ADD), answers("The sum is 42."))
    result = await start(model, max_steps=2).result
    assert [request.id for request in model.requests] == ["request-001", "request-002"]
    assert model.requests[1].messages == (
        USER,
        AssistantMessage("assistant-of-request-001", [ADD]),
        ToolResultMessage("tool-result-call-add-001", "call-add-001", "add", '{"sum":42}', False),
    )
    assert result == CompletedRun(
        (
            *model.requests[1].messages,
            AssistantMessage("assistant-of-request-002", [TextBlock("The sum is 42.")]),
        ),
        "The sum is 42.",
    )


@pytest.mark.criterion("07.20")
async def test_two_calls_run_one_after_the_other_in_assistant_order() -> None:
    log: list[str] = []

    def logged(name: str) -> Callable[[JsonObject, ToolContext], object]:
        async def work(_arguments: JsonObject, _context: ToolContext) -> object:
            log.append(f"{name} begins")
            await asyncio.sleep(0)
            log.append(f"{name} ends")
            return name.upper()

        return work

    calls = [call(1, "first"), call(1, "second")]
    registry = tools(second=logged("second"), first=logged("first"))
    result = await start(FakeModel(answers(*calls), answers("ok")), registry=registry).result
    assert log == ["first begins", "first ends", "second begins", "second ends"]
    assert result.messages[2:4] == (result_of(calls[0], "FIRST"), result_of(calls[1], "SECOND"))


@pytest.mark.criterion("07.21")
async def test_an_unknown_tool_is_told_to_the_model_and_known_calls_run() -> None:
    missing = call(1, "missing")
    model = FakeModel(answers(missing, ECHOES[0]), answers("sorry"))
    events, _ = await collect(start(model, registry=tools(echo=echo)))
    assert told(events) == "a0 c1 c2 s3 f4 s5 f6 c7 R8"
    first, second = model.requests[1].messages[2:]
    assert isinstance(first, ToolResultMessage)
    assert first.is_error
    assert '"TOOL_NOT_FOUND"' in first.content
    assert second == result_of(ECHOES[0], "ONE")


def failing(_arguments: JsonObject, _context: ToolContext) -> object:
    raise ValueError("no service")


def raising(_arguments: object) -> Valid[object]:
    raise ValueError("validator failed")


def nothing(_value: object, _context: ToolContext) -> object:
    return None


@pytest.mark.criterion("07.22")
@pytest.mark.parametrize(
    ("registry", "code"),
    [
        (
            ToolRegistry([define_tool("bad", "d", lambda _a: Invalid("no"), nothing)]),
            "TOOL_ARGUMENTS_INVALID",
        ),
        (ToolRegistry([define_tool("bad", "d", raising, nothing)]), "TOOL_VALIDATION_FAILED"),
        (tools(bad=failing), "TOOL_EXECUTION_FAILED"),
        (tools(bad=lambda _a, _c: object()), "TOOL_OUTPUT_SERIALIZATION_FAILED"),
    ],
)
async def test_a_recoverable_failure_is_told_to_the_model(registry: ToolRegistry, code: str) -> None:
    model = FakeModel(answers(call(1, "bad")), answers("sorry"))
    events, result = await collect(start(model, registry=registry))
    assert told(events) == "a0 c1 s2 f3 c4 R5"
    message = model.requests[1].messages[2]
    assert isinstance(message, ToolResultMessage)
    assert message.is_error
    assert f'"code":"{code}"' in message.content
    assert result.status == "completed"


@pytest.mark.criterion("07.23")
async def test_text_and_calls_share_a_turn_in_stream_order() -> None:
    model = FakeModel(answers("I will add. ", ADD, " Then stop."), answers("42"))
    events, result = await collect(start(model))
    chunks = [event.chunk for event in events if isinstance(event, ModelChunkReceived)]
    assert [chunk.type for chunk in chunks] == ["textDelta", "toolCall", "textDelta", "textDelta"]
    assert result.status == "completed"
    assert result.messages[1] == AssistantMessage(
        "assistant-of-request-001", [TextBlock("I will add. "), ADD, TextBlock(" Then stop.")]
    )


def turn(chunks: list[str | ToolCall], blocks: list[str | ToolCall]) -> FakeModel:
    return FakeModel(steps(*chunks, says=blocks), answers("ok"))


SAME = ToolCall("call-add-001", "add", {"right": 22, "left": 20})


@pytest.mark.criterion("07.24", "07.25", "07.26")
@pytest.mark.parametrize(
    ("chunks", "blocks"),
    [
        pytest.param(["a", "b", "c"], ["abc"], id="three-deltas-one-block"),
        pytest.param(["abc"], ["a", "", "bc"], id="one-delta-three-blocks"),
        pytest.param(["ab", "c"], ["a", "bc"], id="cut-elsewhere"),
        pytest.param(["a", ADD, "b", "c"], ["a", ADD, "bc"], id="around-a-call"),
        pytest.param([ADD], [SAME], id="key-order"),
        pytest.param([""], [""], id="empty-on-both-sides"),
        pytest.param(["", ""], [""], id="empty-twice"),
        pytest.param([], [], id="nothing-at-all"),
        pytest.param([ADD, ""], [ADD, ""], id="empty-after-a-call"),
    ],
)
async def test_chunks_and_response_agree_whatever_the_cuts(
    chunks: list[str | ToolCall], blocks: list[str | ToolCall]
) -> None:
    result = await start(turn(chunks, blocks)).result
    assert result.status == "completed"


@pytest.mark.criterion("07.26")
async def test_an_empty_answer_completes_with_an_empty_text() -> None:
    events, result = await collect(start(FakeModel(answers())))
    assert told(events) == "a0 R1"
    assert result == CompletedRun((USER, AssistantMessage("assistant-of-request-001", [])), "")


def given(**arguments: object) -> ToolCall:
    return ToolCall("call-add-001", "add", arguments)


@pytest.mark.criterion("07.24", "07.25", "07.26", "07.51", "07.52")
@pytest.mark.parametrize(
    ("chunks", "blocks"),
    [
        pytest.param(["hi"], ["ho"], id="other-text"),
        pytest.param(["hi"], ["hi", ADD], id="call-only-in-the-response"),
        pytest.param(["hi", ADD], ["hi"], id="call-only-in-the-chunks"),
        pytest.param([], [""], id="empty-block-without-chunk"),
        pytest.param([""], [], id="empty-chunk-without-block"),
        pytest.param(["a", ADD, "b"], ["ab", ADD], id="text-on-the-other-side-of-the-call"),
        pytest.param([ADD, "a"], ["a", ADD], id="other-order"),
        pytest.param([ADD, call(2)], [call(2), ADD], id="calls-in-other-order"),
        pytest.param([ADD], [ToolCall("call-add-002", "add", ADD.arguments)], id="other-id"),
        pytest.param([ADD], [ToolCall("call-add-001", "sub", ADD.arguments)], id="other-name"),
        pytest.param([given(x=1)], [given(x=2)], id="other-value"),
        pytest.param([given(x=1)], [given(x=True)], id="true-is-not-one"),
        pytest.param([given(x=[0])], [given(x=[False])], id="false-is-not-zero"),
        pytest.param([given(x=1)], [given(y=1)], id="other-key"),
        pytest.param([given(x=1)], [given(x=1, y=1)], id="further-key"),
        pytest.param([given(x=[1])], [given(x=[1, 1])], id="longer-array"),
        pytest.param([given(x=[1])], [given(x={})], id="other-kind"),
        pytest.param([given(x=None)], [given(x=0)], id="null-is-not-zero"),
        pytest.param([given(x={"y": "1"})], [given(x={"y": "2"})], id="nested"),
    ],
)
async def test_a_response_that_says_other_than_the_chunks_is_refused(
    chunks: list[str | ToolCall], blocks: list[str | ToolCall]
) -> None:
    model = turn(chunks, blocks)
    events, result = await collect(start(model))
    assert [event.type for event in events] == [
        "message.accepted",
        *["model.chunk"] * len(chunks),
        "run.finished",
    ]
    assert type(result) is FailedRun
    assert result.error.code == "MODEL_PROTOCOL_ERROR"
    assert result.messages == (USER,)
    assert model.calls == 1


@pytest.mark.criterion("07.25")
async def test_equal_calls_that_are_not_one_object_are_equal_at_any_depth() -> None:
    left, right = given(x=[{"a": [1, "s", None, True]}]), given(x=[{"a": [1, "s", None, True]}])
    assert left is not right
    assert (await start(turn([left], [right])).result).status == "completed"


@pytest.mark.criterion("07.27")
async def test_awaiting_only_the_result_is_enough() -> None:
    assert (await start(FakeModel(answers(ADD), answers("ok"))).result).status == "completed"


@pytest.mark.criterion("07.27")
async def test_iterating_in_part_does_not_stop_the_run() -> None:
    run = start(FakeModel(answers(ADD), answers("ok")))
    async for _event in run:
        break
    assert (await run.result).status == "completed"


@pytest.mark.criterion("07.27")
async def test_a_dropped_run_goes_on_to_its_end() -> None:
    gate, asked_again = Gate(), asyncio.Event()
    start(FakeModel(steps(ADD, gate), steps(asked_again.set)))
    await gate.reached.wait()
    gc.collect()
    gate.open()
    await asked_again.wait()


@pytest.mark.criterion("07.28")
async def test_model_and_tools_receive_a_signal_of_the_run_with_the_callers_reason() -> None:
    seen: list[Signal] = []

    def keep(_arguments: JsonObject, context: ToolContext) -> object:
        seen.append(context.signal)
        return None

    controller, gate, reason = AbortController(), Gate(), RuntimeError("enough")
    model = FakeModel(answers(call(1, "keep")), steps(gate))
    run = start(model, registry=tools(keep=keep), controller=controller)
    await gate.reached.wait()
    assert [signal.aborted for signal in (*model.signals, *seen)] == [False, False, False]
    controller.abort(reason)
    for signal in (*model.signals, *seen):
        assert signal is not controller.signal
        assert signal.aborted
        assert signal.reason is reason
    assert (await run.result).status == "cancelled"


@pytest.mark.criterion("07.28")
async def test_without_a_callers_signal_there_is_still_a_signal_that_does_not_abort() -> None:
    model = FakeModel(answers("hi"))
    await start(model).result
    assert isinstance(model.signals[0], object)
    assert model.signals[0].aborted is False


@pytest.mark.criterion("07.28")
async def test_usage_has_no_part_in_the_result() -> None:
    def costly(request: ModelRequest, _signal: Signal) -> FakeStream:
        message = AssistantMessage("assistant-of-request-001", [])
        return FakeStream([], [ModelResponse("r", request.id, message, "stop", Usage(2**53 - 1, 2**53 - 1))])

    assert await start(FakeModel(costly)).result == await start(FakeModel(answers())).result


@pytest.mark.criterion("07.76")
async def test_two_calls_of_one_tool_each_get_their_own_result_in_call_order() -> None:
    result = await start(FakeModel(answers(*ECHOES), answers("ok")), registry=tools(echo=echo)).result
    assert result.messages[2:5] == tuple(
        result_of(one, text) for one, text in zip(ECHOES, ("ONE", "TWO", "THREE"), strict=True)
    )


@pytest.mark.criterion("07.77")
async def test_a_consumer_that_fails_at_tool_finished_loses_no_result() -> None:
    run = start(FakeModel(answers(ADD), answers("ok")))
    with pytest.raises(LookupError):
        async for event in run:
            if isinstance(event, ToolFinished):
                raise LookupError("the listener failed")
    result = await run.result
    assert result.status == "completed"
    assert result.messages[2] == result_of(ADD, '{"sum":42}')


@pytest.mark.criterion("07.77")
async def test_a_consumer_that_fails_at_tool_finished_inside_the_block_keeps_the_result() -> None:
    gate = Gate()
    run = start(FakeModel(answers(ADD), steps(gate)))
    with pytest.raises(LookupError):
        async with run:
            async for event in run:
                if isinstance(event, ToolFinished):
                    raise LookupError("the listener failed")
    result = await run.result
    assert result.status == "cancelled"
    assert result.messages[1:] == (
        AssistantMessage("assistant-of-request-001", [ADD]),
        result_of(ADD, '{"sum":42}'),
    )


@pytest.mark.criterion("07.29")
async def test_one_step_finishes_its_whole_batch_and_asks_no_more() -> None:
    model = FakeModel(answers(*ECHOES), answers("never asked"))
    events, result = await collect(start(model, registry=tools(echo=echo), max_steps=1))
    assert type(result) is MaxStepsRun
    assert result.max_steps == 1
    assert events[-1].sequence == 10
    assert model.calls == 1
    assert len(model.answers) == 1
    assert [event.tool_call for event in events if isinstance(event, ToolStarted)] == ECHOES


@pytest.mark.criterion("07.30")
async def test_with_one_step_more_the_run_completes() -> None:
    model = FakeModel(answers(*ECHOES), answers("ONE TWO THREE"))
    result = await start(model, registry=tools(echo=echo), max_steps=2).result
    assert type(result) is CompletedRun
    assert result.final_text == "ONE TWO THREE"
    assert model.answers == []


@pytest.mark.criterion("07.31")
async def test_an_answer_in_the_last_step_completes() -> None:
    assert type(await start(FakeModel(answers("hi")), max_steps=1).result) is CompletedRun


@pytest.mark.criterion("07.32")
async def test_the_messages_of_a_used_up_budget_are_a_valid_transcript() -> None:
    result = await start(FakeModel(answers(*ECHOES)), registry=tools(echo=echo), max_steps=1).result
    assert [message.role for message in result.messages] == ["user", "assistant", *["toolResult"] * 3]
    assert validate_transcript(result.messages) == ()


@pytest.mark.criterion("07.78")
@pytest.mark.parametrize("allowed", [1, 2, 7])
async def test_a_model_that_always_calls_is_stopped_after_exactly_the_budget(allowed: int) -> None:
    rounds = [answers(call(2 * number), call(2 * number + 1)) for number in range(allowed + 1)]
    model = FakeModel(*rounds)
    result = await start(model, max_steps=allowed).result
    assert result.status == "maxSteps"
    assert model.calls == allowed
    assert validate_transcript(result.messages) == ()


@pytest.mark.criterion("07.70")
async def test_sequences_rise_by_one_over_all_kinds_of_events() -> None:
    events: list[AgentEvent] = []
    run = start(FakeModel(answers("a", ADD, ECHOES[0]), answers("b", "c")), registry=tools(echo=echo))
    async for event in run:
        events.append(event)
    assert [event.sequence for event in events] == list(range(len(events)))
    assert [event.type for event in events].count("run.finished") == 1
    assert events[-1].type == "run.finished"


async def test_a_real_event_stream_is_a_model_stream() -> None:
    from kickwheel_event_stream import EventStream

    class Model:
        def stream(
            self, request: ModelRequest, signal: Signal | None = None
        ) -> EventStream[ModelChunk, ModelResponse]:
            stream: EventStream[ModelChunk, ModelResponse] = EventStream()
            first = len(request.messages) == 1
            parts: list[TextBlock | ToolCall] = [ADD if first else TextBlock("ok")]
            chunk = ToolCallChunk(request.id, ADD) if first else TextDeltaChunk(request.id, "ok")
            stream.push(chunk)
            message = AssistantMessage(request.id, parts)
            stream.finish(
                ModelResponse("r", request.id, message, "toolCall" if first else "stop", Usage(1, 1))
            )
            return stream

    run = run_agent_loop(messages=[USER], model=Model(), tools=tools(add=lambda _a, _c: 42), max_steps=2)
    assert told([event async for event in run]) == "a0 c1 s2 f3 c4 R5"
