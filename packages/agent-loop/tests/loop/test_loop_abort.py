"""Cancellation by signal: data in, data out. Before, during and between model and tools."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import cast

import pytest
from loop_doubles import (
    USER,
    FakeModel,
    FakeStream,
    Gate,
    add,
    answers,
    call,
    chunks_of,
    collect,
    response_of,
    result_of,
    start,
    steps,
    told,
    tools,
    turns,
)

from kickwheel_agent_loop import resumable_messages
from kickwheel_event_stream import AbortController, AbortError, EventStream
from kickwheel_protocol import (
    AgentEvent,
    CancelledRun,
    FailedRun,
    JsonObject,
    ModelRequest,
    RunResult,
    Signal,
    ToolContext,
    ToolFinished,
    ToolResultMessage,
    ToolStarted,
    UserMessage,
)

ADD = call()
SLOW = call(1, "slow")


def waits(gate: Gate) -> Callable[[JsonObject, ToolContext], object]:
    async def slow(_arguments: JsonObject, _context: ToolContext) -> object:
        await gate.wait()
        return "late"

    return slow


def aborts(controller: AbortController, reason: object = None) -> Callable[[JsonObject, ToolContext], object]:
    def work(_arguments: JsonObject, _context: ToolContext) -> object:
        controller.abort(reason)
        return "done"

    return work


async def cancelled(run: EventStream[AgentEvent, RunResult], events: str) -> CancelledRun:
    seen, result = await collect(run)
    assert told(seen) == events
    assert type(result) is CancelledRun
    return result


@pytest.mark.criterion("07.33")
async def test_a_signal_aborted_before_the_call_gives_one_event_and_asks_nobody() -> None:
    controller, model = AbortController(), FakeModel()
    controller.abort("not today")
    messages = (USER, UserMessage("message-002", "And 1."))
    result = await cancelled(start(model, messages=messages, controller=controller), "R0")
    assert result == CancelledRun(messages, "not today")
    assert model.calls == 0


@pytest.mark.criterion("07.33", "07.74")
async def test_an_abort_in_the_turn_of_the_call_does_the_same() -> None:
    controller, model = AbortController(), FakeModel()
    run = start(model, controller=controller)
    controller.abort("not today")
    assert await cancelled(run, "R0") == CancelledRun((USER,), "not today")
    assert model.calls == 0


@pytest.mark.criterion("07.34")
async def test_partial_text_is_told_and_not_kept() -> None:
    controller, gate = AbortController(), Gate()
    run = start(FakeModel(steps("partial", gate)), controller=controller)
    await gate.reached.wait()
    controller.abort(" caller stopped ")
    assert await cancelled(run, "a0 c1 R2") == CancelledRun((USER,), " caller stopped ")


@pytest.mark.criterion("07.35", "07.83", "07.82")
async def test_an_abort_interrupts_a_read_once_and_closes_the_stream_once() -> None:
    controller, gate = AbortController(), Gate()
    model = FakeModel(steps("one", gate))
    run = start(model, controller=controller)
    await gate.reached.wait()
    controller.abort()
    await cancelled(run, "a0 c1 R2")
    await turns()
    assert (gate.cancellations, model.streams[0].closed, model.streams[0].left) == (1, 1, 1)


@pytest.mark.criterion("07.35", "07.83")
async def test_a_read_that_ignores_the_cancellation_is_not_waited_for_and_its_failure_is_silent() -> None:
    controller, gate = AbortController(), Gate(stubborn=True)
    model = FakeModel(steps("one", gate, RuntimeError("too late")))
    run = start(model, controller=controller)
    await gate.reached.wait()
    controller.abort()
    await cancelled(run, "a0 c1 R2")
    await turns()
    assert (gate.cancellations, model.streams[0].closed, model.streams[0].left) == (1, 1, 1)
    gate.open()
    await turns()
    assert (gate.cancellations, model.streams[0].closed, model.streams[0].left) == (1, 1, 1)


@pytest.mark.criterion("07.35", "07.83")
async def test_a_chunk_that_comes_after_the_abort_is_dropped() -> None:
    controller, gate = AbortController(), Gate(stubborn=True)
    run = start(FakeModel(steps("one", gate, "two")), controller=controller)
    await gate.reached.wait()
    controller.abort()
    gate.open()
    await cancelled(run, "a0 c1 R2")
    await turns()


class GeneratorStream(FakeStream):
    """Its iterator is an asynchronous generator, which refuses to be closed while it is at work."""

    log: list[str]

    def __init__(self, gate: Gate) -> None:
        super().__init__([], [])
        self.gate = gate
        self.log = []
        self.generator = self._generate()

    async def _generate(self) -> AsyncGenerator[object, None]:
        try:
            await self.gate.wait()
            yield None
        finally:
            self.log.append("finally")

    def __aiter__(self) -> AsyncGenerator[object, None]:  # pyright: ignore[reportIncompatibleMethodOverride] - the double is loose on purpose
        return self.generator


@pytest.mark.criterion("07.35", "07.83")
@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_generator_at_work_is_cancelled_and_closed_when_it_lets_go(stubborn: bool) -> None:
    controller, gate = AbortController(), Gate(stubborn=stubborn)
    stream = GeneratorStream(gate)
    run = start(FakeModel(lambda _request, _signal: stream), controller=controller)
    await gate.reached.wait()
    controller.abort()
    await cancelled(run, "a0 R1")
    await turns()
    assert stream.left == 1
    gate.open()
    await turns()
    assert stream.log == ["finally"]
    assert stream.left == 1


@pytest.mark.criterion("07.36")
@pytest.mark.parametrize("stubborn", [False, True])
async def test_an_abort_while_the_response_is_awaited_does_the_same(stubborn: bool) -> None:
    controller, gate = AbortController(), Gate(stubborn=stubborn)
    model = FakeModel(steps("hi", ending=[gate, RuntimeError("too late")]))
    run = start(model, controller=controller)
    await gate.reached.wait()
    controller.abort()
    assert await cancelled(run, "a0 c1 R2") == CancelledRun((USER,), str(AbortError()))
    await turns()
    assert (gate.cancellations, model.streams[0].closed, model.streams[0].left) == (1, 1, 1)
    gate.open()
    await turns()


@pytest.mark.criterion("07.37", "07.83")
@pytest.mark.parametrize("stubborn", [False, True])
async def test_an_abort_while_a_tool_runs_keeps_the_call_and_makes_up_no_result(stubborn: bool) -> None:
    controller, gate = AbortController(), Gate(stubborn=stubborn)
    model = FakeModel(answers(SLOW))
    run = start(model, registry=tools(slow=waits(gate)), controller=controller)
    await gate.reached.wait()
    controller.abort(RuntimeError("cancel Tool"))
    result = await cancelled(run, "a0 c1 s2 R3")
    assert result.reason == "cancel Tool"
    assert [message.role for message in result.messages] == ["user", "assistant"]
    await turns()
    assert gate.cancellations == 1
    gate.open()
    await turns()
    assert await run.result is result


@pytest.mark.criterion("07.38", "07.43")
async def test_an_abort_during_the_second_tool_keeps_the_first_result() -> None:
    controller, gate = AbortController(), Gate()
    registry = tools(add=lambda _a, _c: {"sum": 42}, slow=waits(gate))
    run = start(FakeModel(answers(ADD, SLOW)), registry=registry, controller=controller)
    await gate.reached.wait()
    controller.abort()
    result = await cancelled(run, "a0 c1 c2 s3 f4 s5 R6")
    assert result.messages[2:] == (result_of(ADD, '{"sum":42}'),)


@pytest.mark.criterion("07.39", "07.43")
async def test_an_abort_inside_a_tool_that_returns_normally_gives_no_result_for_it() -> None:
    controller = AbortController()
    effects: list[str] = []

    def work(_arguments: JsonObject, _context: ToolContext) -> object:
        effects.append("written")
        controller.abort("enough")
        return "done"

    run = start(FakeModel(answers(call(1, "work"))), registry=tools(work=work), controller=controller)
    result = await cancelled(run, "a0 c1 s2 R3")
    assert result.reason == "enough"
    assert len(result.messages) == 2
    assert effects == ["written"]


class UnprintableError(Exception):
    """An error that has no text to give."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class NoTextError(Exception):
    """An error whose text is no text."""

    def __str__(self) -> str:
        return cast("str", 42)


class OddText(str):
    """A subclass of `str`."""

    __slots__ = ()


@pytest.mark.criterion("07.40")
@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        pytest.param("user left", "user left", id="string"),
        pytest.param("  spaced  ", "  spaced  ", id="untrimmed"),
        pytest.param(None, str(AbortError()), id="default"),
        pytest.param(AbortError(), str(AbortError()), id="default-made-by-hand"),
        pytest.param(AbortError("by hand"), "by hand", id="string-made-by-hand"),
        pytest.param("", "The run was cancelled", id="empty"),
        pytest.param(" \ufeff\t", "The run was cancelled", id="blank"),
        pytest.param(42, "The run was cancelled", id="number"),
        pytest.param(ValueError, "The run was cancelled", id="class"),
        pytest.param(RuntimeError("cancel Tool"), "cancel Tool", id="exception"),
        pytest.param(RuntimeError(""), "The run was cancelled", id="exception-without-text"),
        pytest.param(RuntimeError(" \n"), "The run was cancelled", id="exception-with-blank-text"),
        pytest.param(UnprintableError(), "The run was cancelled", id="exception-that-cannot-be-printed"),
        pytest.param(NoTextError(), "The run was cancelled", id="exception-with-something-else"),
        pytest.param(TimeoutError("5 s"), "5 s", id="timeout"),
        pytest.param(AbortError(OddText("odd")), "odd", id="subclass-of-str"),
    ],
)
async def test_the_reason_of_a_run_is_taken_from_the_signals(reason: object, expected: str) -> None:
    controller = AbortController()
    controller.abort(reason)
    assert await cancelled(start(FakeModel(), controller=controller), "R0") == CancelledRun((USER,), expected)


@pytest.mark.criterion("07.41", "07.69")
@pytest.mark.parametrize(
    "flaw",
    [
        pytest.param(lambda: RuntimeError("offline"), id="stream-fails"),
        pytest.param(lambda: "no chunk", id="no-chunk"),
        pytest.param(lambda: asyncio.CancelledError(), id="invented-cancellation"),
    ],
)
async def test_an_abort_beats_every_failure_of_the_model(flaw: Callable[[], object]) -> None:
    controller = AbortController()

    def answer(_request: ModelRequest, _signal: Signal) -> FakeStream:
        made = flaw()
        return FakeStream([controller.abort, made], [])

    await cancelled(start(FakeModel(answer), controller=controller), "a0 R1")


@pytest.mark.criterion("07.41", "07.69")
async def test_an_abort_made_by_the_text_of_the_failure_beats_the_failure() -> None:
    controller = AbortController()

    class AbortingError(Exception):
        def __str__(self) -> str:
            controller.abort("seen")
            return "offline"

    result = await cancelled(start(FakeModel(steps(AbortingError())), controller=controller), "a0 R1")
    assert result.reason == "seen"


@pytest.mark.criterion("07.41", "07.69")
async def test_an_abort_beats_a_fatal_tool_and_a_broken_model_call() -> None:
    from kickwheel_agent_loop import NonRecoverableToolError

    controller = AbortController()

    def fatal(_arguments: JsonObject, _context: ToolContext) -> object:
        controller.abort()
        raise NonRecoverableToolError("gone")

    run = start(FakeModel(answers(call(1, "fatal"))), registry=tools(fatal=fatal), controller=controller)
    await cancelled(run, "a0 c1 s2 R3")

    second = AbortController()

    def broken(_request: ModelRequest, _signal: Signal) -> FakeStream:
        second.abort()
        raise RuntimeError("offline")

    await cancelled(start(FakeModel(broken), controller=second), "a0 R1")


@pytest.mark.criterion("07.42")
async def test_a_cancelled_transcript_may_end_in_an_unanswered_call_and_is_refused_when_fed_back() -> None:
    controller, gate = AbortController(), Gate()
    run = start(FakeModel(answers(SLOW)), registry=tools(slow=waits(gate)), controller=controller)
    await gate.reached.wait()
    controller.abort()
    result = await run.result
    again = await start(FakeModel(answers("hi")), messages=result.messages).result
    assert type(again) is FailedRun
    assert again.error.code == "INVALID_TRANSCRIPT"
    assert (
        await start(FakeModel(answers("hi")), messages=resumable_messages(result.messages)).result
    ).status == ("completed")


@pytest.mark.criterion("07.43")
@pytest.mark.parametrize("parallel", [False, True])
async def test_no_result_message_is_made_up_for_an_interrupted_call(parallel: bool) -> None:
    controller, gate = AbortController(), Gate()
    model = FakeModel(answers(SLOW, call(2, "slow")))
    run = start(model, registry=tools(slow=waits(gate)), controller=controller, parallel=parallel)
    await gate.reached.wait()
    controller.abort()
    events, result = await collect(run)
    assert not [event for event in events if isinstance(event, ToolFinished)]
    assert not [message for message in result.messages if isinstance(message, ToolResultMessage)]


def at_first_chunk(controller: AbortController) -> FakeModel:
    return FakeModel(steps(controller.abort, "one", "two"))


def between_chunks(controller: AbortController) -> FakeModel:
    return FakeModel(steps("one", controller.abort, "two"))


def at_the_end_of_chunks(controller: AbortController) -> FakeModel:
    return FakeModel(steps("one", controller.abort))


def with_the_response(controller: AbortController) -> FakeModel:
    return FakeModel(lambda request, _signal: FakeStream([], [controller.abort, response_of(request.id, [])]))


def in_the_call(controller: AbortController) -> FakeModel:
    def answer(request: ModelRequest, _signal: Signal) -> FakeStream:
        controller.abort()
        return FakeStream([], [response_of(request.id, [])])

    return FakeModel(answer)


class AbortsOn(FakeStream):
    """Aborts when it is entered, iterated or left."""

    def __init__(self, where: str, controller: AbortController, request: ModelRequest) -> None:
        super().__init__([], [response_of(request.id, [])])
        self.where, self.controller = where, controller
        if where == "leave":
            self.ending = [response_of(request.id, [ADD])]
            self.steps = list[object](chunks_of(request.id, [ADD]))

    async def __aenter__(self) -> object:
        if self.where == "enter":
            self.controller.abort()
        return await super().__aenter__()

    def __aiter__(self) -> "AbortsOn":  # pyright: ignore[reportIncompatibleMethodOverride] - as above
        if self.where == "iterate":
            self.controller.abort()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.where == "leave":
            self.controller.abort()
        await super().__aexit__(None, None, None)


def on(where: str) -> Callable[[AbortController], FakeModel]:
    return lambda controller: FakeModel(lambda request, _signal: AbortsOn(where, controller, request))


@pytest.mark.criterion("07.82", "07.75")
@pytest.mark.parametrize(
    ("make", "events"),
    [
        pytest.param(in_the_call, "a0 R1", id="inside-stream"),
        pytest.param(on("enter"), "a0 R1", id="entering"),
        pytest.param(on("iterate"), "a0 R1", id="iterating"),
        pytest.param(at_first_chunk, "a0 R1", id="with-the-first-chunk"),
        pytest.param(between_chunks, "a0 c1 R2", id="with-a-later-chunk"),
        pytest.param(at_the_end_of_chunks, "a0 c1 R2", id="with-the-end"),
        pytest.param(with_the_response, "a0 R1", id="with-the-response"),
        pytest.param(on("leave"), "a0 c1 R2", id="leaving-before-tools"),
    ],
)
async def test_an_abort_wins_at_every_point_of_a_model_turn(
    make: Callable[[AbortController], FakeModel], events: str
) -> None:
    controller = AbortController()
    model = make(controller)
    result = await cancelled(start(model, controller=controller), events)
    assert result.messages == (USER,)
    await turns()
    assert model.streams[0].left == model.streams[0].entered


@pytest.mark.criterion("07.82")
async def test_an_abort_wins_before_each_tool_and_before_the_next_request() -> None:
    controller = AbortController()
    registry = tools(add=lambda _a, _c: {"sum": 42}, abort=aborts(controller))
    run = start(FakeModel(answers(call(1, "abort"), ADD)), registry=registry, controller=controller)
    await cancelled(run, "a0 c1 c2 s3 R4")


@pytest.mark.criterion("07.82")
@pytest.mark.parametrize("abort_first", [False, True])
async def test_an_abort_wins_the_tie_with_a_chunk_of_the_same_turn(abort_first: bool) -> None:
    controller, gate = AbortController(), Gate()
    run = start(FakeModel(steps(gate, "one")), controller=controller)
    await gate.reached.wait()
    for act in (controller.abort, gate.open) if abort_first else (gate.open, controller.abort):
        act()
    await cancelled(run, "a0 R1")


@pytest.mark.criterion("07.82")
@pytest.mark.parametrize("abort_first", [False, True])
async def test_an_abort_wins_the_tie_with_a_tool_of_the_same_turn(abort_first: bool) -> None:
    controller, gate = AbortController(), Gate()
    run = start(FakeModel(answers(SLOW)), registry=tools(slow=waits(gate)), controller=controller)
    await gate.reached.wait()
    for act in (controller.abort, gate.open) if abort_first else (gate.open, controller.abort):
        act()
    await cancelled(run, "a0 c1 s2 R3")


@pytest.mark.criterion("07.82", "07.86")
async def test_an_abort_after_the_end_changes_nothing() -> None:
    controller, model = AbortController(), FakeModel(answers("hi"))
    run = start(model, controller=controller)
    result = await run.result
    controller.abort()
    await turns()
    assert await run.result is result
    assert result.status == "completed"
    assert model.signals[0].aborted is False


class ListedSignal:
    """A signal of somebody else's making, with its callbacks in sight."""

    def __init__(self) -> None:
        self.aborted = False
        self.reason: Exception | None = None
        self.callbacks: list[Callable[[], object]] = []

    def abort(self, reason: Exception | None) -> None:
        self.aborted, self.reason = True, reason
        for callback in list(self.callbacks):
            callback()
            callback()

    def raise_if_aborted(self) -> None: ...

    def wait(self) -> Awaitable[object]:
        raise AssertionError("nobody waits here")

    def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
        self.callbacks.append(callback)
        return lambda: self.callbacks.remove(callback)


def begin(model: FakeModel, signal: ListedSignal, **registry: object) -> EventStream[AgentEvent, RunResult]:
    from kickwheel_agent_loop import run_agent_loop

    return run_agent_loop(
        messages=[USER],
        model=model,
        tools=tools(**cast("dict[str, Callable[[JsonObject, ToolContext], object]]", registry)),
        max_steps=4,
        signal=signal,
    )


@pytest.mark.criterion("07.86")
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(lambda: FakeModel(answers("hi")), id="completed"),
        pytest.param(lambda: FakeModel(steps(RuntimeError("offline"))), id="failed"),
        pytest.param(lambda: FakeModel(*[answers(call(n, "none")) for n in range(4)]), id="max-steps"),
    ],
)
async def test_after_its_end_a_run_has_left_the_callers_signal(model: Callable[[], FakeModel]) -> None:
    signal = ListedSignal()
    run = begin(model(), signal)
    await run.result
    assert signal.callbacks == []


@pytest.mark.criterion("07.86", "07.28")
@pytest.mark.parametrize("reason", [RuntimeError("theirs"), None])
async def test_a_foreign_signal_is_followed_and_left(reason: Exception | None) -> None:
    signal, gate = ListedSignal(), Gate()
    model = FakeModel(steps(gate))
    run = begin(model, signal)
    await gate.reached.wait()
    assert len(signal.callbacks) == 1
    signal.abort(reason)
    assert signal.callbacks == [] or (await run.result).status == "cancelled"
    await run.result
    assert signal.callbacks == []
    assert model.signals[0].aborted
    if reason is not None:
        assert model.signals[0].reason is reason


@pytest.mark.criterion("07.86")
async def test_a_run_left_early_has_left_the_callers_signal_too() -> None:
    signal, gate = ListedSignal(), Gate()
    async with begin(FakeModel(steps(gate)), signal):
        await gate.reached.wait()
    assert signal.callbacks == []
    assert signal.aborted is False


class FlipsAt(ListedSignal):
    """Is aborted from the given look at it on, and never calls back: only looking finds out."""

    def __init__(self, look: int) -> None:
        self.looks = 0
        self.look = look
        super().__init__()

    @property
    def aborted(self) -> bool:
        self.looks += 1
        return self.looks > self.look

    @aborted.setter
    def aborted(self, value: bool) -> None: ...

    def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
        return lambda: None


@pytest.mark.criterion("07.82")
async def test_at_whatever_look_the_abort_is_seen_a_consistent_prefix_was_told() -> None:
    """One round trip, aborted at its first look, its second, and so on: every point is passed."""
    full = ["a0", "c1", "s2", "f3", "c4", "R5"]
    seen: set[tuple[str, int]] = set()
    look = 0
    while True:
        signal, model = FlipsAt(look), FakeModel(answers(ADD), answers("done"))
        events, result = await collect(begin(model, signal, add=add))
        if result.status == "completed":
            assert told(events) == " ".join(full)
            break
        prefix = full[: len(events) - 1]
        assert told(events) == " ".join([*prefix, f"R{len(prefix)}"])
        assert type(result) is CancelledRun
        assert [message.role for message in result.messages][:1] == ["user"]
        seen.add((told(events), model.calls))
        look += 1
    assert seen >= {
        ("R0", 0),  # before the first event
        ("a0 R1", 0),  # before the request
        ("a0 R1", 1),  # after a chunk, before its event
        ("a0 c1 R2", 1),  # after the response, before the message; before the tool
        ("a0 c1 s2 R3", 1),  # after the tool, before its result
        ("a0 c1 s2 f3 R4", 1),  # before the second request
        ("a0 c1 s2 f3 R4", 2),
        ("a0 c1 s2 f3 c4 R5", 2),
    }


async def test_a_foreign_signal_without_working_callbacks_is_looked_at() -> None:
    class Mute(ListedSignal):
        def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
            return lambda: None

    signal = Mute()

    def flip() -> None:
        signal.aborted, signal.reason = True, RuntimeError("silently")

    result = await begin(FakeModel(steps("one", flip, "two")), signal).result
    assert result == CancelledRun((USER,), "silently")


async def test_a_signal_that_calls_back_at_once_is_followed() -> None:
    class AtOnce(ListedSignal):
        def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
            remove = super().add_callback(callback)
            self.abort(RuntimeError("at once"))
            return remove

    signal = AtOnce()
    result = await begin(FakeModel(), signal).result
    assert result == CancelledRun((USER,), "at once")
    assert signal.callbacks == []


@pytest.mark.criterion("07.83")
async def test_a_task_group_inside_a_tool_is_cancelled_as_a_whole() -> None:
    controller, gates = AbortController(), [Gate(), Gate()]

    async def grouped(_arguments: JsonObject, _context: ToolContext) -> object:
        async with asyncio.TaskGroup() as group:
            for gate in gates:
                group.create_task(gate.wait())
        return "never"

    run = start(
        FakeModel(answers(call(1, "grouped"))), registry=tools(grouped=grouped), controller=controller
    )
    for gate in gates:
        await gate.reached.wait()
    controller.abort()
    result = await cancelled(run, "a0 c1 s2 R3")
    await turns()
    assert [gate.cancellations for gate in gates] == [1, 1]
    assert len(result.messages) == 2


async def test_a_timeout_inside_a_tool_is_the_tools_own_business() -> None:
    async def timed(_arguments: JsonObject, _context: ToolContext) -> object:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "timed out"

    run = start(FakeModel(answers(call(1, "timed")), answers("ok")), registry=tools(timed=timed))
    events, result = await collect(run)
    assert told(events) == "a0 c1 s2 f3 c4 R5"
    assert result.messages[2] == result_of(call(1, "timed"), "timed out")


@pytest.mark.criterion("07.82")
async def test_no_tool_starts_after_an_abort_seen_in_between() -> None:
    controller = AbortController()
    calls = [call(number, "abort") for number in (1, 2)]
    run = start(FakeModel(answers(*calls)), registry=tools(abort=aborts(controller)), controller=controller)
    events, _ = await collect(run)
    assert [event.tool_call for event in events if isinstance(event, ToolStarted)] == calls[:1]
