"""Focused test of checkpoint 01: a closed, read-only vocabulary whose records check themselves."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import pytest

from kickwheel_event_stream import AbortController
from kickwheel_protocol import (
    AgentEvent,
    AssistantMessage,
    CancelledRun,
    CompletedRun,
    FailedRun,
    Invalid,
    JsonObject,
    MaxStepsRun,
    Message,
    MessageAccepted,
    ModelChunk,
    ModelChunkReceived,
    ModelRequest,
    ModelResponse,
    ProtocolError,
    RunError,
    RunFinished,
    RunResult,
    TextBlock,
    TextDeltaChunk,
    Tool,
    ToolCall,
    ToolCallChunk,
    ToolContext,
    ToolFinished,
    ToolResultMessage,
    ToolStarted,
    ToolValidation,
    Usage,
    UserMessage,
    Valid,
)

criterion = pytest.mark.criterion
USER = UserMessage(id="message-001", content="Add 20 and 22.")
RESULT = ToolResultMessage(id="message-003", tool_call_id="call-add-001", tool_name="add", content="42")


def add_call() -> ToolCall:
    return ToolCall(id="call-add-001", name="add", arguments={"left": 20, "right": 22})


def assistant() -> AssistantMessage:
    return AssistantMessage(id="message-002", content=[TextBlock("I will add them. "), add_call()])


def transcript() -> tuple[Message, ...]:
    return (USER, assistant(), RESULT)


def runs() -> list[RunResult]:
    messages = transcript()
    return [
        CompletedRun(messages, "Done."),
        CancelledRun(messages, "caller aborted"),
        MaxStepsRun(messages, 4),
        FailedRun(messages, RunError("MODEL_FAILED", "provider offline")),
    ]


# Task 1: a record that checks itself


@criterion("01.01")
@pytest.mark.task(1)
def test_a_message_is_told_by_its_class() -> None:
    def show(message: Message) -> str:
        match message:
            case UserMessage(content=text):
                return text
            case AssistantMessage(content=blocks):
                parts = [
                    block.text if isinstance(block, TextBlock) else f"{block.name}:{block.id}"
                    for block in blocks
                ]
                return "".join(parts)
            case ToolResultMessage(tool_name=name, content=text):
                return f"{name}:{text}"
            case _:
                assert_never(message)

    assert [show(message) for message in transcript()] == [
        "Add 20 and 22.",
        "I will add them. add:call-add-001",
        "add:42",
    ]


@criterion("01.02")
@pytest.mark.task(1)
def test_a_chunk_is_told_by_its_type() -> None:
    def read(chunk: ModelChunk) -> str:
        return chunk.delta if chunk.type == "textDelta" else chunk.tool_call.id

    call = ToolCall("call-add-002", "add", {})
    assert read(TextDeltaChunk("request-001", "The sum ")) == "The sum "
    assert read(ToolCallChunk("request-001", call)) == "call-add-002"


@criterion("01.46", "01.58")
@pytest.mark.task(1)
@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"id": " "}, "id"),
        ({"id": 1}, "id"),
        ({"name": ""}, "name"),
        ({"arguments": [1]}, "arguments"),
        ({"arguments": {"values": [1, object()]}}, "arguments.values[1]"),
        ({"name": "\ufeff", "arguments": None}, "name"),
        ({"id": None, "name": None}, "id"),
    ],
)
def test_a_call_names_its_first_bad_field(fields: dict[str, Any], path: str) -> None:
    good: dict[str, Any] = {"id": "call-1", "name": "add", "arguments": {}}
    with pytest.raises(ProtocolError) as caught:
        ToolCall(**{**good, **fields})
    assert caught.value.path == path
    assert path in str(caught.value)


@criterion("01.46")
@pytest.mark.task(1)
@pytest.mark.parametrize(
    ("content", "path"),
    [("text", "content"), (None, "content"), ([TextBlock("a"), USER], "content[1]"), ([None], "content[0]")],
)
def test_an_assistant_message_holds_blocks_only(content: Any, path: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        AssistantMessage("message-002", content)
    assert caught.value.path == path


@criterion("01.40", "01.60", "01.61")
@pytest.mark.task(1)
def test_what_is_in_a_record_can_no_longer_change() -> None:
    arguments: dict[str, Any] = {"left": 20, "nested": {"values": [1]}}
    blocks: list[Any] = [TextBlock("a"), ToolCall("call-1", "add", arguments)]
    message = AssistantMessage("message-002", blocks)
    blocks.clear()
    arguments["nested"]["values"].append(2)
    call = message.tool_calls[0]
    assert len(message.content) == 2
    assert type(message.content) is tuple
    assert call.arguments == {"left": 20, "nested": JsonObject({"values": [1]})}
    assert isinstance(call.arguments, Mapping)
    changeable: Any = call
    for attempt in (
        lambda: changeable.arguments.__setitem__("left", 1),
        lambda: setattr(changeable, "name", "other"),
        lambda: delattr(changeable, "name"),
        lambda: setattr(changeable, "extra", 1),
    ):
        with pytest.raises((AttributeError, TypeError)):
            attempt()


@criterion("01.40")
@pytest.mark.task(1)
def test_a_user_message_refuses_every_change() -> None:
    changeable: Any = USER
    for attempt in (
        lambda: setattr(changeable, "content", "other"),
        lambda: delattr(changeable, "content"),
        lambda: setattr(changeable, "extra", 1),
    ):
        with pytest.raises((AttributeError, TypeError)):
            attempt()
    assert not hasattr(USER, "__dict__")
    assert assistant().id == "message-002"


@criterion("01.65", "01.66", "01.67")
@pytest.mark.task(1)
def test_a_record_inside_a_record_is_the_same_object() -> None:
    arguments = JsonObject({"left": 20})
    call = ToolCall("call-1", "add", arguments)
    blocks = (TextBlock("a"), call)
    message = AssistantMessage("message-002", blocks)
    assert call.arguments is arguments
    assert message.content is blocks
    assert message.tool_calls[0] is call
    assert ToolCallChunk("request-001", call).tool_call is call


@criterion("01.03", "01.10")
@pytest.mark.task(1)
def test_a_response_says_which_request_it_answers() -> None:
    request = ModelRequest("request-001", [USER])
    response = ModelResponse("response-001", request.id, assistant(), "toolCall", Usage(12, 8))
    assert (response.id, response.request_id, response.stop_reason) == (
        "response-001",
        request.id,
        "toolCall",
    )
    assert type(response.id) is str


@dataclass(frozen=True)
class Pair:
    left: int
    right: int


class Add:
    """A tool as the protocol has it: a synchronous check, then an awaited effect."""

    name = "add"
    description = "Add two numbers."

    def validate(self, value: object, /) -> ToolValidation[Pair]:
        if not isinstance(value, JsonObject):
            return Invalid("arguments must be an object")
        left, right = value.get("left"), value.get("right")
        if type(left) is not int or type(right) is not int:
            return Invalid("left and right must be numbers")
        return Valid(Pair(left, right))

    async def execute(self, value: Pair, context: ToolContext, /) -> dict[str, int]:
        context.signal.raise_if_aborted()
        return {"sum": value.left + value.right}


@criterion("01.05", "01.06")
@pytest.mark.task(1)
def test_a_tool_validates_first_and_executes_what_it_approved() -> None:
    tool: Tool[Pair, dict[str, int]] = Add()
    decision = tool.validate(add_call().arguments)
    assert decision.ok is True
    context = ToolContext(AbortController().signal, "call-add-001")

    async def execute() -> dict[str, int]:
        return await tool.execute(decision.value, context)

    assert asyncio.run(execute()) == {"sum": 42}
    for bad in (None, "left", JsonObject({"left": "20", "right": 22}), JsonObject({"left": 20})):
        refused = tool.validate(bad)
        assert refused.ok is False
        assert refused.error


# Task 2: four ways to end


@criterion("01.07", "01.108")
@pytest.mark.task(2)
def test_each_end_of_a_run_has_its_branch_by_class() -> None:
    def show(run: RunResult) -> str:
        match run:
            case CompletedRun(final_text=text):
                return text
            case CancelledRun(reason=reason):
                return reason
            case MaxStepsRun(max_steps=steps):
                return str(steps)
            case FailedRun(error=error):
                return error.code
            case _:
                assert_never(run)

    assert [show(run) for run in runs()] == ["Done.", "caller aborted", "4", "MODEL_FAILED"]


@criterion("01.07", "01.109")
@pytest.mark.task(2)
def test_each_end_of_a_run_has_its_branch_by_status() -> None:
    def show(run: RunResult) -> str:
        if run.status == "completed":
            text = run.final_text
        elif run.status == "cancelled":
            text = run.reason
        elif run.status == "maxSteps":
            text = str(run.max_steps)
        elif run.status == "failed":
            text = run.error.code
        else:
            assert_never(run)
        return text

    assert [show(run) for run in runs()] == ["Done.", "caller aborted", "4", "MODEL_FAILED"]


@criterion("01.11", "01.12")
@pytest.mark.task(2)
def test_the_ends_of_a_run_are_values_that_keep_their_messages() -> None:
    messages = transcript()
    for run in (CompletedRun(messages, ""), FailedRun(messages, RunError("CODE", ""))):
        assert run.messages is messages
        assert not isinstance(run, Exception)
    assert [run.status for run in runs()] == ["completed", "cancelled", "maxSteps", "failed"]


@criterion("01.46", "01.48", "01.53")
@pytest.mark.task(2)
@pytest.mark.parametrize(
    ("kind", "fields", "path"),
    [
        (CompletedRun, {"final_text": 1}, "final_text"),
        (CompletedRun, {"messages": [USER, None]}, "messages[1]"),
        (CancelledRun, {"reason": None}, "reason"),
        (MaxStepsRun, {"max_steps": True}, "max_steps"),
        (MaxStepsRun, {"max_steps": -1}, "max_steps"),
        (FailedRun, {"error": "MODEL_FAILED"}, "error"),
        (FailedRun, {"messages": "text", "error": "x"}, "messages"),
    ],
)
def test_an_end_of_a_run_names_its_first_bad_field(kind: Any, fields: dict[str, object], path: str) -> None:
    good: dict[Any, dict[str, Any]] = {
        CompletedRun: {"messages": (), "final_text": "Done."},
        CancelledRun: {"messages": (), "reason": "caller aborted"},
        MaxStepsRun: {"messages": (), "max_steps": 4},
        FailedRun: {"messages": (), "error": RunError("CODE", "text")},
    }
    assert kind(**good[kind]).messages == ()
    with pytest.raises(ProtocolError) as caught:
        kind(**{**good[kind], **fields})
    assert caught.value.path == path


@criterion("01.04")
@pytest.mark.task(2)
def test_the_five_events_have_their_types_and_sequences() -> None:
    call = add_call()
    events: list[AgentEvent] = [
        MessageAccepted(0, USER),
        ModelChunkReceived(1, ToolCallChunk("request-001", call)),
        ToolStarted(2, call),
        ToolFinished(3, RESULT),
        RunFinished(4, CompletedRun(transcript(), "Done.")),
    ]
    assert [(event.type, event.sequence) for event in events] == [
        ("message.accepted", 0),
        ("model.chunk", 1),
        ("tool.started", 2),
        ("tool.finished", 3),
        ("run.finished", 4),
    ]


# Task 3: the next request


@criterion("01.79")
@pytest.mark.task(3)
def test_the_next_request_shares_what_is_there() -> None:
    first = ModelRequest("request-001", [USER])
    message = assistant()
    second = first.followed_by("request-002", message, RESULT)
    assert second == ModelRequest("request-002", (USER, message, RESULT))
    assert [a is b for a, b in zip(second.messages, (USER, message, RESULT), strict=True)] == [True] * 3
    assert first.messages == (USER,)


@criterion("01.79", "01.52")
@pytest.mark.task(3)
def test_a_bad_new_message_is_counted_from_the_first_of_the_whole() -> None:
    first = ModelRequest("request-001", [USER])
    bad: Any = {"role": "user"}
    with pytest.raises(ProtocolError) as caught:
        first.followed_by("request-002", RESULT, bad)
    assert caught.value.path == "messages[2]"
    with pytest.raises(ProtocolError) as caught:
        first.followed_by(" ", RESULT)
    assert caught.value.path == "id"


@criterion("01.50", "01.51")
@pytest.mark.task(3)
def test_relations_between_records_are_not_checked_here() -> None:
    orphan = ModelRequest("request-001", []).followed_by("request-002", RESULT, RESULT)
    assert orphan.messages == (RESULT, RESULT)
    response = ModelResponse("response-001", "request-unknown", assistant(), "stop", Usage(0, 0))
    assert response.stop_reason == "stop"
