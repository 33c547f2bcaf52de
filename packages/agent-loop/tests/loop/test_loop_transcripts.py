"""What a run owns from the call on, and with which transcripts it begins."""

from collections.abc import Iterator, Sequence
from typing import cast

import pytest
from loop_doubles import USER, FakeModel, add, answers, call, collect, echo, start, told, tools

from kickwheel_agent_loop import LoopLimits
from kickwheel_event_stream import AbortController
from kickwheel_protocol import (
    AssistantMessage,
    CancelledRun,
    CompletedRun,
    FailedRun,
    MessageAccepted,
    ModelChunkReceived,
    RunError,
    RunFinished,
    TextBlock,
    ToolCall,
    ToolFinished,
    ToolResultMessage,
    ToolStarted,
    UserMessage,
    to_wire,
    validate_transcript,
)

ADD = call()


@pytest.mark.criterion("07.06")
async def test_a_message_list_changed_after_the_call_changes_nothing() -> None:
    messages = [USER]
    model = FakeModel(answers("hi"))
    run = start(model, messages=messages)
    messages.append(UserMessage("message-002", "Too late."))
    messages[0] = UserMessage("message-003", "Swapped.")
    events, result = await collect(run)
    assert told(events) == "a0 c1 R2"
    assert events[0] == MessageAccepted(0, USER)
    assert model.requests[0].messages == (USER,)
    assert result.messages[0] is USER


@pytest.mark.criterion("07.07")
async def test_a_tool_registered_after_the_call_is_unknown_to_the_run() -> None:
    registry = tools(add=add)
    model = FakeModel(answers(ADD, call(1, "echo", {"text": "x"})), answers("done"))
    run = start(model, registry=registry)
    late = tools(echo=echo).get("echo")
    assert late is not None
    registry.register(late)
    result = await run.result
    contents = [message for message in result.messages if isinstance(message, ToolResultMessage)]
    assert [message.is_error for message in contents] == [False, True]
    assert contents[0].content == '{"sum":42}'
    assert '"TOOL_NOT_FOUND"' in contents[1].content


@pytest.mark.criterion("07.08")
async def test_nothing_of_events_and_result_can_be_changed_and_the_result_is_one_object() -> None:
    run = start(FakeModel(answers(ADD), answers("done")))
    events, result = await collect(run)
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.result is result
    assert await run.result is result
    assert type(result.messages) is tuple
    for value in (*events, result, *result.messages):
        for name in ("sequence", "message", "messages", "status", "extra"):
            with pytest.raises((AttributeError, TypeError)):
                setattr(value, name, None)


@pytest.mark.criterion("07.09", "07.75", "07.19")
async def test_each_request_holds_the_whole_transcript_and_earlier_ones_do_not_grow() -> None:
    model = FakeModel(answers(ADD), answers(call(2)), answers("done"))
    result = await start(model).result
    assert type(result) is CompletedRun
    messages = result.messages
    assert [request.messages for request in model.requests] == [messages[:1], messages[:3], messages[:5]]
    for request in model.requests:
        assert type(request.messages) is tuple
        assert validate_transcript(request.messages) == ()
        assert all(mine is kept for mine, kept in zip(request.messages, messages, strict=False))


@pytest.mark.criterion("07.75", "07.08")
async def test_records_are_passed_on_as_the_same_objects() -> None:
    run = start(FakeModel(answers(ADD), answers("done")))
    events, result = await collect(run)
    accepted, chunk, started, finished = events[:4]
    assert isinstance(accepted, MessageAccepted)
    assert accepted.message is USER
    assert isinstance(chunk, ModelChunkReceived)
    assert isinstance(started, ToolStarted)
    assert started.tool_call is ADD
    assert isinstance(finished, ToolFinished)
    assert finished.message is result.messages[2]


@pytest.mark.criterion("07.10")
@pytest.mark.parametrize("empty", [[], ()])
async def test_a_run_may_begin_with_no_message_at_all(empty: Sequence[UserMessage]) -> None:
    events, result = await collect(start(FakeModel(answers("hi")), messages=empty))
    assert told(events) == "c0 R1"
    assert len(result.messages) == 1


def calling(*calls: ToolCall) -> AssistantMessage:
    return AssistantMessage(f"assistant-{calls[0].id}", list(calls))


def answering(tool_call: ToolCall, *, name: str | None = None) -> ToolResultMessage:
    return ToolResultMessage(f"result-{tool_call.id}", tool_call.id, name or tool_call.name, "42")


async def refusal(messages: object, limits: LoopLimits | None = None) -> FailedRun:
    """Begin a run with what must be refused: one event, and the model is not asked."""
    model = FakeModel()
    events, result = await collect(start(model, messages=cast("Sequence[UserMessage]", messages)))
    assert told(events) == "R0"
    assert model.calls == 0
    assert type(result) is FailedRun
    assert result.error.code == "INVALID_TRANSCRIPT"
    return result


@pytest.mark.criterion("07.11", "07.16")
@pytest.mark.parametrize(
    "messages",
    [
        pytest.param((USER, answering(ADD)), id="orphan-result"),
        pytest.param((USER, calling(ADD)), id="unanswered-call"),
        pytest.param((calling(ADD), calling(ADD), answering(ADD)), id="duplicate-call-ids"),
        pytest.param((calling(ADD, ADD), answering(ADD)), id="duplicate-call-ids-in-one-message"),
        pytest.param((answering(ADD), calling(ADD)), id="result-before-call"),
        pytest.param((calling(ADD), answering(ADD, name="subtract")), id="name-mismatch"),
        pytest.param((calling(ADD), answering(ADD), answering(ADD)), id="duplicate-result"),
    ],
)
async def test_a_transcript_that_does_not_link_up_is_told_with_its_first_issue(
    messages: tuple[UserMessage, ...],
) -> None:
    result = await refusal(list(messages))
    issues = validate_transcript(messages)
    assert result == FailedRun(messages, RunError("INVALID_TRANSCRIPT", issues[0].message))
    assert all(kept is given for kept, given in zip(result.messages, messages, strict=True))


@pytest.mark.criterion("07.16")
async def test_duplicate_message_ids_are_not_checked() -> None:
    events, result = await collect(start(FakeModel(answers("hi")), messages=[USER, USER]))
    assert told(events) == "a0 a1 c2 R3"
    assert result.status == "completed"


class LookAlike:
    """Has the attributes of a user message; reading one fails the test."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"{name} was read")


def forged(kind: type[object]) -> list[object]:
    """A record made without its constructor, where Python permits it."""
    try:
        return [object.__new__(kind)]
    except TypeError:
        return []


FORGED: list[object] = [
    *forged(UserMessage),
    *forged(AssistantMessage),
    *forged(ToolResultMessage),
    *[AssistantMessage("m", cast("list[TextBlock]", [block])) for block in forged(TextBlock)],
    *[AssistantMessage("m", cast("list[ToolCall]", [block])) for block in forged(ToolCall)],
]


@pytest.mark.criterion("07.12")
@pytest.mark.parametrize(
    "entry",
    [None, "text", to_wire(USER), LookAlike(), TextBlock("x"), ADD, UserMessage, *FORGED],
    ids=lambda value: type(value).__name__,
)
async def test_an_entry_that_is_no_message_record_is_refused_without_being_looked_at(entry: object) -> None:
    assert (await refusal([USER, entry])).messages == ()


@pytest.mark.criterion("07.13")
async def test_4096_messages_are_accepted_and_4097_are_not() -> None:
    history = [UserMessage(f"m{number}", "x") for number in range(4097)]
    assert (await refusal(history)).messages == ()
    result = await start(FakeModel(answers("hi")), messages=history[:4096]).result
    assert result.status == "completed"
    assert len(result.messages) == 4097


class LyingList(list[UserMessage]):
    """Every method that a look at it would call fails the test."""

    def __len__(self) -> int:
        raise AssertionError("its length was asked for")

    def __iter__(self) -> Iterator[UserMessage]:
        raise AssertionError("it was iterated")


def generated() -> object:
    raise AssertionError("the generator was advanced")
    yield


@pytest.mark.criterion("07.14")
@pytest.mark.parametrize(
    "messages",
    [None, generated(), LyingList(), {USER.id: USER}, {1}, "messages", 7, iter([USER]), USER],
    ids=lambda value: type(value).__name__,
)
async def test_what_is_no_plain_list_or_tuple_is_refused_untouched(messages: object) -> None:
    assert (await refusal(messages)).messages == ()


def assistant(*blocks: TextBlock | ToolCall) -> AssistantMessage:
    return AssistantMessage("assistant-001", list(blocks))


@pytest.mark.criterion("07.15")
@pytest.mark.parametrize(
    "message",
    [
        pytest.param(assistant(*[TextBlock("")] * 1025), id="blocks"),
        pytest.param(assistant(TextBlock("é" * 65536), TextBlock("x")), id="text"),
        pytest.param(assistant(call(1, "add", {"x": "a" * 4096})), id="arguments"),
    ],
)
async def test_a_starting_assistant_message_over_a_limit_is_refused(message: AssistantMessage) -> None:
    answer = [answering(block) for block in message.content if isinstance(block, ToolCall)]
    assert (await refusal([USER, message, *answer])).messages == ()


@pytest.mark.criterion("07.15")
async def test_a_starting_assistant_message_at_the_limits_is_accepted() -> None:
    big = call(1, "add", {"x": "a" * 4095})
    message = assistant(TextBlock("é" * 65536), *[TextBlock("")] * 1022, big)
    events, _ = await collect(start(FakeModel(answers("hi")), messages=[message, answering(big)]))
    assert told(events) == "a0 a1 c2 R3"


@pytest.mark.criterion("07.17")
async def test_an_invalid_transcript_beats_an_aborted_signal() -> None:
    controller = AbortController()
    controller.abort()
    run = start(FakeModel(), messages=[USER, answering(ADD)], controller=controller)
    events, result = await collect(run)
    assert told(events) == "R0"
    assert type(result) is FailedRun
    assert result.error.code == "INVALID_TRANSCRIPT"
    assert type(await start(FakeModel(), controller=controller).result) is CancelledRun


@pytest.mark.criterion("07.55")
async def test_call_ids_of_the_starting_transcript_are_taken() -> None:
    model = FakeModel(answers(ADD), answers("never asked"))
    result = await start(model, messages=[USER, calling(ADD), answering(ADD)]).result
    assert type(result) is FailedRun
    assert result.error.code == "MODEL_PROTOCOL_ERROR"
    assert len(result.messages) == 3
    assert model.calls == 1
