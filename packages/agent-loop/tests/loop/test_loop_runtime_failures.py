"""Failures of tools and of the loop itself, and the order in which failures are named."""

import asyncio
from collections.abc import Awaitable, Callable
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
    collect,
    result_of,
    start,
    steps,
    told,
    tools,
    turns,
)

import kickwheel_agent_loop._run as run_module
import kickwheel_agent_loop._start as start_module
from kickwheel_agent_loop import NonRecoverableToolError, run_agent_loop
from kickwheel_agent_loop._phases import TRANSITIONS, Outcome, Phase, render_mermaid
from kickwheel_event_stream import AbortController, EventStream
from kickwheel_protocol import (
    AgentEvent,
    FailedRun,
    JsonObject,
    ModelRequest,
    RunResult,
    Signal,
    ToolContext,
)

ADD, BAD = call(), call(1, "bad")


class FatalError(NonRecoverableToolError):
    """A subclass is fatal too."""


def raises(error: BaseException) -> Callable[[JsonObject, ToolContext], object]:
    async def bad(_arguments: JsonObject, _context: ToolContext) -> object:
        await asyncio.sleep(0)
        raise error

    return bad


async def failed(run: EventStream[AgentEvent, RunResult], events: str, code: str, text: str) -> FailedRun:
    seen, result = await collect(run)
    assert told(seen) == events
    assert type(result) is FailedRun
    assert (result.error.code, result.error.message) == (code, text)
    return result


@pytest.mark.criterion("07.66")
@pytest.mark.parametrize(
    ("error", "text"),
    [
        pytest.param(NonRecoverableToolError("the disk is gone"), "the disk is gone", id="itself"),
        pytest.param(FatalError("subclass"), "subclass", id="subclass"),
        pytest.param(
            ExceptionGroup("g", [ValueError("a"), ExceptionGroup("h", [NonRecoverableToolError("leaf")])]),
            "leaf",
            id="in-a-group",
        ),
    ],
)
@pytest.mark.parametrize("parallel", [False, True])
async def test_a_fatal_tool_ends_the_run_with_its_text(error: Exception, text: str, parallel: bool) -> None:
    calls: list[str] = []

    def late(_arguments: JsonObject, _context: ToolContext) -> object:
        calls.append("late")
        return None

    registry = tools(add=add, bad=raises(error), late=late)
    turn = [ADD, BAD] if parallel else [ADD, BAD, call(1, "late")]
    events = "a0 c1 c2 s3 s4 f5 R6" if parallel else "a0 c1 c2 c3 s4 f5 s6 R7"
    model = FakeModel(answers(*turn), answers("never asked"))
    run = start(model, registry=registry, parallel=parallel)
    result = await failed(run, events, "TOOL_EXECUTION_FAILED", text)
    assert result.messages[2:] == (result_of(ADD, '{"sum":42}'),)
    assert calls == []
    assert model.calls == 1


@pytest.mark.criterion("07.66")
async def test_a_fatal_tool_without_a_text_still_gives_a_message() -> None:
    run = start(FakeModel(answers(BAD)), registry=tools(bad=raises(NonRecoverableToolError(" "))))
    result = await run.result
    assert type(result) is FailedRun
    assert result.error.message.strip()


class Oddity(BaseException):
    """A `BaseException` of somebody's own making."""


@pytest.mark.criterion("07.67")
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize(
    "error", [Oddity("odd"), BaseExceptionGroup("odd", [Oddity("x")])], ids=lambda e: type(e).__name__
)
async def test_an_odd_exception_of_a_tool_is_a_failure_of_the_run(
    error: BaseException, parallel: bool
) -> None:
    turn = [BAD, call(2, "add")] if parallel else [BAD]
    events = "a0 c1 c2 s3 s4 R5" if parallel else "a0 c1 s2 R3"
    run = start(FakeModel(answers(*turn)), registry=tools(bad=raises(error), add=add), parallel=parallel)
    await failed(run, events, "AGENT_RUNTIME_FAILED", str(error))


@pytest.mark.criterion("07.67")
@pytest.mark.parametrize("where", ["call", "enter", "iterate", "read", "result", "await", "leave"])
@pytest.mark.parametrize("kind", [Oddity, GeneratorExit])
async def test_an_odd_exception_of_a_model_is_a_failure_of_the_run(
    where: str, kind: type[BaseException]
) -> None:
    class Stream(FakeStream):
        async def __aenter__(self) -> object:
            if where == "enter":
                raise kind("odd")
            return self

        def __aiter__(self) -> "Stream":  # pyright: ignore[reportIncompatibleMethodOverride] - loose on purpose
            if where == "iterate":
                raise kind("odd")
            return self

        async def __anext__(self) -> object:
            if where == "read":
                raise kind("odd")
            return await super().__anext__()

        @property
        def result(self) -> Awaitable[object]:  # pyright: ignore[reportIncompatibleMethodOverride] - as above
            if where == "result":
                raise kind("odd")
            return self._later()

        async def _later(self) -> object:
            if where == "await":
                raise kind("odd")
            return await self._result()

        async def __aexit__(self, *_: object) -> None:
            if where == "leave":
                raise kind("odd")

    def answer(request: ModelRequest, signal: Signal) -> FakeStream:
        if where == "call":
            raise kind("odd")
        plain = cast("FakeStream", answers(ADD)(request, signal))
        return Stream(plain.steps, plain.ending)

    told_chunk = where in {"result", "await", "leave"}
    await failed(
        start(FakeModel(answer)), "a0 c1 R2" if told_chunk else "a0 R1", "AGENT_RUNTIME_FAILED", "odd"
    )


@pytest.mark.criterion("07.67")
@pytest.mark.parametrize("where", ["call", "read", "tool", "parallel"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_or_exit_leaves_the_event_loop(where: str, kind: type[BaseException]) -> None:
    def answer(request: ModelRequest, signal: Signal) -> object:
        if where == "call":
            raise kind("out")
        if where == "read":
            return steps(lambda: out())(request, signal)
        return answers(*[BAD, call(2, "bad")] if where == "parallel" else [BAD])(request, signal)

    def out() -> object:
        raise kind("out")

    runs: list[EventStream[AgentEvent, RunResult]] = []
    heard: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _l, context: heard.append(str(context)))
        runs.append(
            start(
                FakeModel(answer),
                registry=tools(bad=raises(kind("out"))),
                parallel=where == "parallel",
            )
        )
        await runs[0].result

    with pytest.raises(kind):
        asyncio.run(main())
    assert heard == []


class BadSignal:
    """A signal one of whose members fails, at once or once it is told to."""

    def __init__(self, member: str) -> None:
        self.member = member
        self.callbacks: list[Callable[[], object]] = []
        self.broken = False
        self.flag = False

    def _check(self, member: str) -> None:
        if member == self.member:
            raise RuntimeError(f"{member} is broken")

    @property
    def aborted(self) -> bool:
        self._check("aborted")
        if self.broken:
            raise RuntimeError("aborted broke later")
        return self.flag

    @property
    def reason(self) -> Exception | None:
        self._check("reason")
        return None

    def raise_if_aborted(self) -> None: ...

    async def wait(self) -> None: ...

    def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
        self._check("add_callback")
        self.callbacks.append(callback)

        def remove() -> None:
            self._check("remove")
            self.callbacks.remove(callback)

        return remove

    def abort(self) -> None:
        self.flag = True
        for callback in tuple(self.callbacks):
            callback()


def begin(model: FakeModel, signal: BadSignal) -> EventStream[AgentEvent, RunResult]:
    return run_agent_loop(messages=[USER], model=model, tools=tools(add=add), max_steps=4, signal=signal)


@pytest.mark.criterion("07.68", "07.69")
@pytest.mark.parametrize("member", ["aborted", "add_callback"])
async def test_a_signal_that_cannot_be_used_fails_the_run_before_its_first_event(member: str) -> None:
    model = FakeModel()
    await failed(begin(model, BadSignal(member)), "R0", "SIGNAL_ACCESS_FAILED", f"{member} is broken")
    assert model.calls == 0


@pytest.mark.criterion("07.68", "07.69")
async def test_a_reason_that_cannot_be_read_fails_the_run_and_stops_the_model() -> None:
    signal, gate = BadSignal("reason"), Gate()
    model = FakeModel(steps("one", gate))
    run = begin(model, signal)
    await gate.reached.wait()
    signal.abort()
    await failed(run, "a0 c1 R2", "SIGNAL_ACCESS_FAILED", "reason is broken")
    await turns()
    assert model.signals[0].aborted
    assert gate.cancellations == 1
    assert model.streams[0].left == 1
    assert signal.callbacks == []


@pytest.mark.criterion("07.68")
async def test_a_reason_that_cannot_be_read_at_the_start_fails_the_run() -> None:
    signal = BadSignal("reason")
    signal.abort()
    await failed(begin(FakeModel(), signal), "R0", "SIGNAL_ACCESS_FAILED", "reason is broken")


@pytest.mark.criterion("07.68", "07.69")
@pytest.mark.parametrize("flaw", [None, RuntimeError("offline")])
async def test_a_signal_that_breaks_later_beats_every_other_failure(flaw: Exception | None) -> None:
    signal = BadSignal("")

    def breaks() -> None:
        signal.broken = True

    model = FakeModel(steps("one", breaks, "two" if flaw is None else flaw))
    await failed(begin(model, signal), "a0 c1 R2", "SIGNAL_ACCESS_FAILED", "aborted broke later")


class OddSignalError(BaseException):
    """Neither an `Exception` nor an exit."""


@pytest.mark.criterion("07.68", "07.69")
@pytest.mark.parametrize("member", ["aborted", "reason", "add_callback"])
@pytest.mark.parametrize("kind", [OddSignalError, asyncio.CancelledError, GeneratorExit])
async def test_a_signal_may_fail_with_anything_and_is_named_for_it(
    member: str, kind: type[BaseException]
) -> None:
    """What it raises is the signal's fault, and never taken for a cancellation of the run."""

    class OddSignal(BadSignal):
        def _check(self, member: str) -> None:
            if member == self.member:
                raise kind(f"{member} is odd")

    signal = OddSignal(member)
    if member == "reason":
        signal.abort()
    await failed(begin(FakeModel(), signal), "R0", "SIGNAL_ACCESS_FAILED", f"{member} is odd")


@pytest.mark.criterion("07.68", "07.67")
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_exit_raised_by_a_signal_leaves_the_event_loop(kind: type[BaseException]) -> None:
    class Exits(BadSignal):
        def _check(self, member: str) -> None:
            if member == self.member:
                raise kind

    async def main() -> None:
        await begin(FakeModel(), Exits("aborted")).result

    with pytest.raises(kind):
        asyncio.run(main())


async def test_a_signal_that_cannot_forget_does_no_harm() -> None:
    assert (await begin(FakeModel(answers("hi")), BadSignal("remove")).result).status == "completed"


@pytest.mark.criterion("07.69")
async def test_a_broken_contract_is_named_before_the_failure_of_the_stream() -> None:
    """The stream breaks the contract first and fails afterwards: the first fault of a turn ends it."""
    run = start(FakeModel(steps(cast("object", 7), RuntimeError("offline"))))
    result = await run.result
    assert type(result) is FailedRun
    assert result.error.code == "MODEL_PROTOCOL_ERROR"


@pytest.mark.criterion("07.67")
async def test_a_fault_inside_the_loop_is_data_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise LookupError("a bug of ours")

    monkeypatch.setattr(start_module, "validate_transcript", broken)
    await failed(start(FakeModel()), "R0", "AGENT_RUNTIME_FAILED", "a bug of ours")


@pytest.mark.criterion("07.70")
@pytest.mark.parametrize("when", ["start", "read"])
async def test_only_broken_bookkeeping_fails_the_stream_itself(
    monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def broken(*_: object) -> object:
        raise LookupError("no result can be built")

    controller, gate = AbortController(), Gate()
    run = start(FakeModel(steps("one", gate)), controller=controller)
    if when == "read":
        await gate.reached.wait()
    monkeypatch.setattr(run_module, "reason_text", broken)
    controller.abort()
    with pytest.raises(LookupError):
        await run.result
    assert run.state == "failed"
    await turns()


@pytest.mark.criterion("07.70")
def test_the_table_of_phases_is_closed_and_drawn_in_full() -> None:
    sources = {phase for phase, _outcome in TRANSITIONS}
    assert sources == {Phase.START, Phase.MODEL, Phase.TOOLS}
    assert set(TRANSITIONS.values()) == {Phase.MODEL, Phase.TOOLS, Phase.DONE}
    assert all(TRANSITIONS[phase, Outcome.STOPPED] is Phase.DONE for phase in sources)
    assert render_mermaid() == (
        "stateDiagram-v2\n"
        "    [*] --> start\n"
        "    start --> model: valid transcript, not aborted\n"
        "    start --> done: failure or abort\n"
        "    model --> tools: toolCall\n"
        "    model --> done: stop\n"
        "    model --> done: failure or abort\n"
        "    tools --> model: all calls answered\n"
        "    tools --> done: last step used up\n"
        "    tools --> done: failure or abort\n"
        "    done --> [*]\n"
    )
