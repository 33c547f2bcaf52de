"""Focused test of checkpoint 07: ask, run the tools, show their results, repeat, and end as data."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar, cast

import pytest

from kickwheel_agent_loop import NonRecoverableToolError, define_tool, run_agent_loop
from kickwheel_event_stream import AbortController, AbortError
from kickwheel_protocol import (
    AgentEvent,
    AssistantMessage,
    CancelledRun,
    CompletedRun,
    FailedRun,
    MaxStepsRun,
    Message,
    ModelRequest,
    ModelResponse,
    RunResult,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    ToolContext,
    ToolResultMessage,
    Usage,
    UserMessage,
    Valid,
    validate_transcript,
)
from kickwheel_scripted_model import ScriptedModel, call, say

T = TypeVar("T")
criterion = pytest.mark.criterion
USER = UserMessage("message-001", "Add 20 and 22.")
ADD = ToolCall("call-add-001", "add", {"left": 20, "right": 22})
ECHOES = [ToolCall(f"call-echo-{number:03d}", "echo", {"text": str(number)}) for number in (1, 2, 3)]
LETTERS = {
    "message.accepted": "a",
    "model.chunk": "c",
    "tool.started": "s",
    "tool.finished": "f",
    "run.finished": "R",
}


def task(number: int) -> pytest.MarkDecorator:
    """Name the course task that a test belongs to."""
    return pytest.mark.task(number)


def run(coroutine: Coroutine[object, object, T]) -> T:
    """Run one bounded scenario on a loop of its own: nothing is reported to it and no task is left."""
    noise: list[object] = []

    async def bounded() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: noise.append(context))
        async with asyncio.timeout(3):
            value = await coroutine
            for _ in range(8):
                await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return value

    value = asyncio.run(bounded())
    assert noise == []
    return value


class Gate:
    """A place to wait at: `reached` says that somebody does."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    async def wait(self) -> None:
        self.reached.set()
        await asyncio.Event().wait()


class Stream:
    """A model stream played from a list: chunks are given, errors raised, gates waited at."""

    def __init__(self, steps: Sequence[object], response: object) -> None:
        self.steps = list(steps)
        self.response = response
        self.closed = 0

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> object:
        if not self.steps:
            raise StopAsyncIteration
        step = self.steps.pop(0)
        if isinstance(step, Gate):
            await step.wait()
        if isinstance(step, BaseException):
            raise step
        return step

    async def aclose(self) -> None:
        self.closed += 1

    @property
    def result(self) -> Awaitable[object]:
        async def give() -> object:
            return self.response

        return give()

    async def __aenter__(self) -> "Stream":
        return self

    async def __aexit__(self, *_: object) -> None: ...


class Model:
    """Gives stream after stream, and keeps the requests."""

    def __init__(self, *answers: Callable[[ModelRequest], Stream]) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []

    def stream(self, request: ModelRequest, signal: object = None) -> Any:
        self.requests.append(request)
        return self.answers.pop(0)(request)


def chunks_of(request: ModelRequest, parts: Sequence[str | ToolCall]) -> list[object]:
    return [
        TextDeltaChunk(request.id, part) if isinstance(part, str) else ToolCallChunk(request.id, part)
        for part in parts
    ]


def response_of(request: ModelRequest, parts: Sequence[str | ToolCall]) -> ModelResponse:
    blocks = [TextBlock(part) if isinstance(part, str) else part for part in parts]
    stop = "toolCall" if any(isinstance(part, ToolCall) for part in parts) else "stop"
    message = AssistantMessage(f"answer-to-{request.id}", blocks)
    return ModelResponse(f"response-to-{request.id}", request.id, message, stop, Usage(1, 1))


def answer(*parts: str | ToolCall) -> Callable[[ModelRequest], Stream]:
    return lambda request: Stream(chunks_of(request, parts), response_of(request, parts))


def steps(*given: object) -> Callable[[ModelRequest], Stream]:
    return lambda _request: Stream(given, None)


def accept(arguments: object) -> Valid[object]:
    return Valid(arguments)


def tool(name: str, work: Callable[[Any, ToolContext], object]) -> Any:
    return define_tool(name, f"The tool {name}.", accept, work)


def add(arguments: Any, _context: ToolContext) -> object:
    return {"sum": arguments["left"] + arguments["right"]}


def echo(arguments: Any, _context: ToolContext) -> object:
    return arguments["text"]


TOOLS = [tool("add", add), tool("echo", echo)]


def start(model: object = None, **options: object) -> Any:
    given: dict[str, object] = {
        "messages": [USER],
        "model": Model() if model is None else model,
        "tools": TOOLS,
        "max_steps": 8,
    }
    return cast("Callable[..., object]", run_agent_loop)(**given | options)


def told(events: Sequence[AgentEvent]) -> str:
    return " ".join(f"{LETTERS[event.type]}{event.sequence}" for event in events)


async def collect(running: Any) -> tuple[str, RunResult]:
    events = [event async for event in running]
    result = await running.result
    assert events[-1].result is result
    return told(events), result


def play(model: object = None, **options: object) -> tuple[str, RunResult]:
    async def scenario() -> tuple[str, RunResult]:
        return await collect(start(model, **options))

    return run(scenario())


def failure(model: object = None, **options: object) -> tuple[str, str, tuple[Message, ...]]:
    events, result = play(model, **options)
    assert type(result) is FailedRun
    assert result.error.message.strip()
    return events, result.error.code, result.messages


# Task 1


def refused(kind: type[Exception], name: str, **options: object) -> str:
    async def scenario() -> str:
        model = Model()
        with pytest.raises(kind) as caught:
            start(model, **options)
        assert type(caught.value) is kind
        assert name in str(caught.value)
        assert model.requests == []
        return str(caught.value)

    return run(scenario())


def accepted(**options: object) -> None:
    async def scenario() -> None:
        await start(Model(answer("hi")), **options).result

    run(scenario())


@task(1)
@criterion("07.01")
@pytest.mark.parametrize("value", [1.5, 1.0, float("nan"), "1", None, True], ids=repr)
def test_a_budget_that_is_no_exact_integer_is_a_type_error(value: object) -> None:
    refused(TypeError, "max_steps", max_steps=value)


@task(1)
@criterion("07.01", "07.02")
def test_a_budget_out_of_range_is_a_value_error_that_names_the_limit() -> None:
    refused(ValueError, "max_steps", max_steps=0)
    refused(ValueError, "max_steps", max_steps=-1)
    assert "64" in refused(ValueError, "max_steps", max_steps=65)
    accepted(max_steps=64)


@task(1)
@criterion("07.03")
def test_the_first_request_number_is_bounded_together_with_the_budget() -> None:
    refused(ValueError, "request_sequence_start", request_sequence_start=-1, max_steps=1)
    refused(ValueError, "request_sequence_start", request_sequence_start=64, max_steps=1)
    refused(ValueError, "request_sequence_start", request_sequence_start=63, max_steps=2)
    refused(TypeError, "request_sequence_start", request_sequence_start=True)
    refused(TypeError, "request_sequence_start", request_sequence_start=1.5)
    accepted(request_sequence_start=63, max_steps=1)


# Task 2

ORPHAN = (USER, ToolResultMessage("message-002", "call-none", "add", "42"))


@task(2)
@criterion("07.11", "07.17")
def test_an_invalid_transcript_is_told_with_its_first_issue_even_if_the_run_is_aborted() -> None:
    controller = AbortController()
    controller.abort()
    events, result = play(messages=ORPHAN, signal=controller.signal)
    assert events == "R0"
    assert type(result) is FailedRun
    assert result.error.code == "INVALID_TRANSCRIPT"
    assert result.error.message == validate_transcript(ORPHAN)[0].message
    assert result.messages == ORPHAN


@task(2)
@criterion("07.12", "07.14")
@pytest.mark.parametrize("messages", [None, "text", [None], [{"role": "user"}], [USER, "hi"]], ids=repr)
def test_what_is_no_list_of_records_is_refused_with_nothing_kept(messages: object) -> None:
    assert failure(messages=messages) == ("R0", "INVALID_TRANSCRIPT", ())


@task(2)
@criterion("07.13")
def test_4097_messages_are_refused() -> None:
    assert failure(messages=[USER] * 4097) == ("R0", "INVALID_TRANSCRIPT", ())


@task(2)
@criterion("07.33")
@pytest.mark.parametrize("before", [True, False])
def test_an_abort_before_the_first_turn_gives_one_event_and_asks_nobody(before: bool) -> None:
    async def scenario() -> tuple[str, RunResult]:
        controller = AbortController()
        if before:
            controller.abort("not today")
        running = start(Model(), signal=controller.signal)
        controller.abort("not today")
        return await collect(running)

    assert run(scenario()) == ("R0", CancelledRun((USER,), "not today"))


@task(2)
@criterion("07.40")
@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("user left", "user left"),
        (None, str(AbortError())),
        ("", "The run was cancelled"),
        (42, "The run was cancelled"),
        (RuntimeError("cancel Tool"), "cancel Tool"),
        (RuntimeError(" "), "The run was cancelled"),
    ],
    ids=repr,
)
def test_the_reason_of_a_run_is_taken_from_the_signals_and_is_never_blank(reason: object, text: str) -> None:
    controller = AbortController()
    controller.abort(reason)
    assert play(signal=controller.signal) == ("R0", CancelledRun((USER,), text))


# Task 3


async def aborted_at(gate: Gate, running: Any, controller: AbortController) -> tuple[str, RunResult]:
    reading = asyncio.ensure_future(collect(running))
    await gate.reached.wait()
    controller.abort("caller stopped")
    return await reading


@task(3)
@criterion("07.34", "07.35")
def test_partial_text_is_told_and_not_kept() -> None:
    async def scenario() -> None:
        gate, controller = Gate(), AbortController()
        stream = Stream([TextDeltaChunk("request-001", "partial"), gate], None)
        running = start(Model(lambda _request: stream), signal=controller.signal)
        events, result = await aborted_at(gate, running, controller)
        assert events == "a0 c1 R2"
        assert result == CancelledRun((USER,), "caller stopped")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert stream.closed == 1

    run(scenario())


@task(3)
@criterion("07.44", "07.46")
def test_a_stream_that_fails_ends_the_run_and_its_chunks_keep_their_events() -> None:
    offline = RuntimeError("provider offline")
    assert failure(Model(steps(offline))) == ("a0 R1", "MODEL_STREAM_FAILED", (USER,))
    model = Model(lambda request: Stream([*chunks_of(request, ["a", "b"]), offline], None))
    assert failure(model) == ("a0 c1 c2 R3", "MODEL_STREAM_FAILED", (USER,))


@task(3)
@criterion("07.49", "07.53")
@pytest.mark.parametrize(
    "chunk", [TextDeltaChunk("request-999", "hi"), None, "hi", {"type": "textDelta"}, USER], ids=repr
)
def test_what_is_no_chunk_of_this_request_is_not_told(chunk: object) -> None:
    assert failure(Model(steps(chunk))) == ("a0 R1", "MODEL_PROTOCOL_ERROR", (USER,))


@task(3)
@criterion("07.56")
def test_the_1025th_chunk_ends_the_turn() -> None:
    events, code, _ = failure(Model(steps(*[TextDeltaChunk("request-001", "x")] * 1025)))
    assert events == " ".join(["a0", *[f"c{number}" for number in range(1, 1025)], "R1025"])
    assert code == "MODEL_PROTOCOL_ERROR"


@task(3)
@criterion("07.57")
def test_text_over_the_limit_is_not_told_also_when_a_call_splits_it() -> None:
    big = TextDeltaChunk("request-001", "😀" * 65537)
    assert failure(Model(steps(big))) == ("a0 R1", "MODEL_PROTOCOL_ERROR", (USER,))
    model = Model(lambda request: Stream(chunks_of(request, ["a" * 65536, ADD, "b"]), None))
    assert failure(model) == ("a0 c1 c2 R3", "MODEL_PROTOCOL_ERROR", (USER,))


@task(3)
@criterion("07.59")
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"x": "a" * 4096}, id="text"),
        pytest.param({"x": [0] * 256}, id="array"),
        pytest.param({str(key): 0 for key in range(257)}, id="object"),
    ],
)
def test_arguments_over_a_limit_are_not_told(arguments: object) -> None:
    chunk = ToolCallChunk("request-001", ToolCall("call-add-001", "add", arguments))
    assert failure(Model(steps(chunk))) == ("a0 R1", "MODEL_PROTOCOL_ERROR", (USER,))


# Task 4


@task(4)
@criterion("07.18", "07.04", "07.24")
def test_a_direct_answer_completes_whatever_the_cuts() -> None:
    model = Model(
        lambda request: Stream(chunks_of(request, ["The ", "sum"]), response_of(request, ["The sum"]))
    )
    events, result = play(model, request_sequence_start=4)
    assert events == "a0 c1 c2 R3"
    assert type(result) is CompletedRun
    assert result.final_text == "The sum"
    assert [request.id for request in model.requests] == ["request-005"]


def disagreeing(chunks: Sequence[str | ToolCall], response: Callable[[ModelRequest], object]) -> Model:
    return Model(lambda request: Stream(chunks_of(request, chunks), response(request)))


def forged(request: ModelRequest, stop: str, *parts: str | ToolCall) -> ModelResponse:
    message = response_of(request, parts).message
    return ModelResponse("response-001", request.id, message, cast("Any", stop), Usage(1, 1))


FLAWS: dict[str, tuple[Sequence[str | ToolCall], Callable[[ModelRequest], object]]] = {
    "no-record": (["hi"], lambda _request: None),
    "other-request": (["hi"], lambda _request: response_of(ModelRequest("request-002", ()), ["hi"])),
    "other-text": (["hi"], lambda request: response_of(request, ["ho"])),
    "empty-text": ([""], lambda request: response_of(request, [])),
    "call-not-streamed": (["hi"], lambda request: response_of(request, ["hi", ADD])),
    "call-not-kept": ([ADD], lambda request: response_of(request, [])),
    "true-is-not-one": (
        [ToolCall("call-add-001", "add", {"x": 1})],
        lambda request: response_of(request, [ToolCall("call-add-001", "add", {"x": True})]),
    ),
    "stop-with-a-call": ([ADD], lambda request: forged(request, "stop", ADD)),
    "tool-call-without-one": (["hi"], lambda request: forged(request, "toolCall", "hi")),
}


@task(4)
@criterion("07.50", "07.51", "07.52", "07.25", "07.26", "07.54")
@pytest.mark.parametrize("flaw", FLAWS)
def test_a_response_that_says_other_than_the_chunks_is_refused(flaw: str) -> None:
    assert failure(disagreeing(*FLAWS[flaw])) == ("a0 c1 R2", "MODEL_PROTOCOL_ERROR", (USER,))


@task(4)
@criterion("07.55")
def test_a_call_id_may_not_come_twice_in_a_response() -> None:
    model = Model(answer(ADD, ADD))
    assert failure(model) == ("a0 c1 c2 R3", "MODEL_PROTOCOL_ERROR", (USER,))


@task(4)
@criterion("07.55")
def test_a_call_id_of_the_transcript_may_not_come_again() -> None:
    history = (USER, AssistantMessage("message-002", [ADD]), ToolResultMessage("m3", ADD.id, "add", "42"))
    model = Model(answer(ADD))
    assert failure(model, messages=history) == ("a0 a1 a2 c3 R4", "MODEL_PROTOCOL_ERROR", history)


# Task 5


@task(5)
@criterion("07.19", "07.09")
def test_a_round_trip_shows_the_model_its_call_and_the_result() -> None:
    model = ScriptedModel([call("add", {"left": 20, "right": 22}), say("The sum is 42.")])
    events, result = play(model, max_steps=2)
    assert events == "a0 c1 s2 f3 c4 R5"
    assert type(result) is CompletedRun
    assert result.final_text == "The sum is 42."
    assert [request.id for request in model.requests] == ["request-001", "request-002"]
    assert [message.role for message in model.requests[0].messages] == ["user"]
    assert model.requests[1].messages[2] == ToolResultMessage(
        "tool-result-call-add-001", "call-add-001", "add", '{"sum":42}', False
    )


@task(5)
@criterion("07.20")
def test_two_calls_run_one_after_the_other_in_assistant_order() -> None:
    model = Model(answer(*ECHOES[:2]), answer("ok"))
    events, result = play(model)
    assert events == "a0 c1 c2 s3 f4 s5 f6 c7 R8"
    results = [message for message in result.messages if isinstance(message, ToolResultMessage)]
    assert [(message.tool_call_id, message.content) for message in results] == [
        ("call-echo-001", "1"),
        ("call-echo-002", "2"),
    ]


@task(5)
@criterion("07.21")
def test_an_unknown_tool_is_told_to_the_model() -> None:
    model = Model(answer(ToolCall("call-none-001", "none", {})), answer("sorry"))
    events, result = play(model)
    assert events == "a0 c1 s2 f3 c4 R5"
    message = result.messages[2]
    assert isinstance(message, ToolResultMessage)
    assert message.is_error
    assert "TOOL_NOT_FOUND" in message.content


@task(5)
@criterion("07.29", "07.32")
def test_one_step_finishes_its_whole_batch_and_asks_no_more() -> None:
    model = Model(answer(*ECHOES), answer("never asked"))
    events, result = play(model, max_steps=1)
    assert events == "a0 c1 c2 c3 s4 f5 s6 f7 s8 f9 R10"
    assert type(result) is MaxStepsRun
    assert result.max_steps == 1
    assert validate_transcript(result.messages) == ()
    assert len(model.requests) == 1


@task(5)
@criterion("07.30")
def test_with_one_step_more_the_run_completes() -> None:
    model = Model(answer(*ECHOES), answer("1 2 3"))
    assert type(play(model, max_steps=2)[1]) is CompletedRun


@task(5)
@criterion("07.78")
def test_a_model_that_always_calls_is_stopped_after_exactly_the_budget() -> None:
    calls = [ToolCall(f"call-echo-{number}", "echo", {"text": "x"}) for number in range(8)]
    model = Model(*[answer(*calls[2 * turn : 2 * turn + 2]) for turn in range(4)])
    result = play(model, max_steps=3)[1]
    assert type(result) is MaxStepsRun
    assert len(model.requests) == 3
    assert validate_transcript(result.messages) == ()


@task(5)
@criterion("07.38", "07.43")
def test_an_abort_in_the_second_tool_keeps_the_first_result_and_makes_up_none() -> None:
    async def scenario() -> tuple[str, RunResult]:
        gate, controller = Gate(), AbortController()

        async def wait(_arguments: object, _context: ToolContext) -> object:
            await gate.wait()
            return None

        model = Model(answer(ECHOES[0], ToolCall("call-wait-001", "wait", {})))
        running = start(model, tools=[*TOOLS, tool("wait", wait)], signal=controller.signal)
        return await aborted_at(gate, running, controller)

    events, result = run(scenario())
    assert events == "a0 c1 c2 s3 f4 s5 R6"
    assert type(result) is CancelledRun
    assert [message.role for message in result.messages] == ["user", "assistant", "toolResult"]


@task(5)
@criterion("07.66")
def test_a_fatal_tool_ends_the_run_with_its_text() -> None:
    def fatal(_arguments: object, _context: ToolContext) -> object:
        raise NonRecoverableToolError("the disk is gone")

    model = Model(answer(ToolCall("call-fatal-001", "fatal", {})), answer("never asked"))
    events, result = play(model, tools=[tool("fatal", fatal)])
    assert events == "a0 c1 s2 R3"
    assert type(result) is FailedRun
    assert (result.error.code, result.error.message) == ("TOOL_EXECUTION_FAILED", "the disk is gone")


@task(5)
@criterion("07.45")
def test_a_model_that_is_exhausted_in_its_second_turn_keeps_the_first() -> None:
    events, code, messages = failure(ScriptedModel([call("add", {"left": 20, "right": 22})]))
    assert (events, code) == ("a0 c1 s2 f3 R4", "MODEL_STREAM_FAILED")
    assert [message.role for message in messages] == ["user", "assistant", "toolResult"]
