"""Small doubles for the agent loop: a model played from steps, tools with gates, and a run told in one line.

They fill the ports by hand, without `EventStream`, so that the tests of the loop rest on the ports alone.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from types import TracebackType
from typing import Final, TypeAlias, cast

from kickwheel_agent_loop import ToolRegistry, define_tool, run_agent_loop
from kickwheel_event_stream import AbortController, EventStream
from kickwheel_protocol import (
    AgentEvent,
    AssistantMessage,
    JsonObject,
    Message,
    Model,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    ModelStream,
    RunResult,
    Signal,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    ToolContext,
    ToolResultMessage,
    Usage,
    UserMessage,
    Valid,
)

USER: Final = UserMessage("message-001", "Add 20 and 22.")
USAGE: Final = Usage(1, 1)


class Gate:
    """A step of a stream that waits: `reached` says that it does, `open` lets it go on."""

    def __init__(self, *, stubborn: bool = False) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()
        self.cancellations = 0
        self._stubborn = stubborn

    def open(self) -> None:
        self.opened.set()

    async def wait(self) -> None:
        self.reached.set()
        while not self.opened.is_set():
            try:
                await self.opened.wait()
            except asyncio.CancelledError:
                self.cancellations += 1
                if not self._stubborn:
                    raise


Step: TypeAlias = object
"""A chunk (or any other object, to be given as one), an exception to raise, a `Gate`, or a plain function to
call.
"""


async def play(step: Step) -> tuple[bool, object]:
    """Do a step; say whether it is a value, and which."""
    if isinstance(step, Gate):
        await step.wait()
        return False, None
    if isinstance(step, BaseException):
        raise step
    if callable(step):
        step()
        return False, None
    return True, step


class FakeStream:
    """A model stream played from steps. It counts how it is entered, closed and left."""

    def __init__(self, steps: Sequence[Step], ending: Sequence[Step]) -> None:
        self.steps = list(steps)
        self.ending = list(ending)
        self.entered = self.closed = self.left = self.results = 0

    def __aiter__(self) -> AsyncIterator[ModelChunk]:
        return cast("AsyncIterator[ModelChunk]", self)

    async def __anext__(self) -> object:
        while self.steps:
            found, value = await play(self.steps.pop(0))
            if found:
                return value
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed += 1

    @property
    def result(self) -> Awaitable[ModelResponse]:
        self.results += 1
        return self._result()

    async def _result(self) -> ModelResponse:
        while self.ending:
            found, value = await play(self.ending.pop(0))
            if found:
                return cast("ModelResponse", value)
        raise AssertionError("the double has no response")

    async def __aenter__(self) -> object:
        self.entered += 1
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.left += 1


Answer: TypeAlias = Callable[[ModelRequest, Signal], object]
"""What a model does for one request."""


class FakeModel:
    """Answers request after request from a list; keeps what it was given, and the streams it gave."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.signals: list[Signal] = []
        self.streams: list[FakeStream] = []

    def stream(self, request: ModelRequest, signal: Signal | None = None) -> ModelStream:
        assert signal is not None
        self.requests.append(request)
        self.signals.append(signal)
        if not self.answers:
            raise RuntimeError("SCRIPT_EXHAUSTED")
        stream = self.answers.pop(0)(request, signal)
        if isinstance(stream, FakeStream):
            self.streams.append(stream)
        return cast("ModelStream", stream)

    @property
    def calls(self) -> int:
        return len(self.requests)


Part: TypeAlias = str | ToolCall
"""A text (one delta, one block) or a call."""


def chunks_of(request_id: str, parts: Sequence[Part]) -> list[ModelChunk]:
    """One chunk a part."""
    return [
        TextDeltaChunk(request_id, part) if isinstance(part, str) else ToolCallChunk(request_id, part)
        for part in parts
    ]


def response_of(request_id: str, parts: Sequence[Part]) -> ModelResponse:
    """The response that the chunks of these parts add up to."""
    content = [TextBlock(part) if isinstance(part, str) else part for part in parts]
    stop = "toolCall" if any(isinstance(part, ToolCall) for part in parts) else "stop"
    message = AssistantMessage(f"assistant-of-{request_id}", content)
    return ModelResponse(f"response-of-{request_id}", request_id, message, stop, USAGE)


def answers(*parts: Part) -> Answer:
    """A flawless turn."""
    return lambda request, _signal: FakeStream(chunks_of(request.id, parts), [response_of(request.id, parts)])


def steps(
    *chunks: Step | Part, ending: Sequence[Step] | None = None, says: Sequence[Part] | None = None
) -> Answer:
    """A turn step by step: texts and calls become chunks. It ends with their response, or as told."""

    def answer(request: ModelRequest, _signal: Signal) -> FakeStream:
        parts = [chunk for chunk in chunks if isinstance(chunk, str | ToolCall)]
        played = [
            chunks_of(request.id, [chunk])[0] if isinstance(chunk, str | ToolCall) else chunk
            for chunk in chunks
        ]
        closing = (
            [response_of(request.id, parts if says is None else says)] if ending is None else list(ending)
        )
        return FakeStream(played, closing)

    return answer


def call(number: int = 1, name: str = "add", arguments: object = None) -> ToolCall:
    """A call `call-NAME-00N`."""
    return ToolCall(f"call-{name}-{number:03d}", name, {} if arguments is None else arguments)


def result_of(tool_call: ToolCall, content: str, *, is_error: bool = False) -> ToolResultMessage:
    """The message that a call with this output gives."""
    return ToolResultMessage(f"tool-result-{tool_call.id}", tool_call.id, tool_call.name, content, is_error)


def tools(**functions: Callable[[JsonObject, ToolContext], object]) -> ToolRegistry:
    """A registry of tools that accept any arguments."""

    def accept(arguments: object) -> Valid[JsonObject]:
        return Valid(cast("JsonObject", arguments))

    return ToolRegistry([define_tool(name, name, accept, work) for name, work in functions.items()])


def add(_arguments: JsonObject, _context: ToolContext) -> object:
    """The tool of the round trip."""
    return {"sum": 42}


def echo(arguments: JsonObject, _context: ToolContext) -> object:
    """Give the text argument back."""
    return arguments["text"]


class Abandoned:
    """An awaitable that never ends and that does nothing."""

    def __await__(self) -> Generator[object, None, None]:
        return asyncio.get_running_loop().create_future().__await__()


def start(
    model: object,
    *,
    messages: Sequence[Message] = (USER,),
    registry: object = None,
    max_steps: int = 8,
    controller: AbortController | None = None,
    parallel: bool = False,
) -> EventStream[AgentEvent, RunResult]:
    """Start a run with what most tests need."""
    return run_agent_loop(
        messages=messages,
        model=cast("Model", model),
        tools=cast("ToolRegistry", tools(add=add) if registry is None else registry),
        max_steps=max_steps,
        signal=None if controller is None else controller.signal,
        tool_execution="parallel" if parallel else "sequential",
    )


LETTERS: Final = {
    "message.accepted": "a",
    "model.chunk": "c",
    "tool.started": "s",
    "tool.finished": "f",
    "run.finished": "R",
}


def told(events: Sequence[AgentEvent]) -> str:
    """Events in one line, as the table of the contract writes them: `a0 c1 R2`."""
    return " ".join(f"{LETTERS[event.type]}{event.sequence}" for event in events)


async def collect(run: EventStream[AgentEvent, RunResult]) -> tuple[list[AgentEvent], RunResult]:
    """Read a run to its end."""
    events = [event async for event in run]
    return events, await run.result


async def turns(count: int = 5) -> None:
    """Let the event loop pass a few times."""
    for _ in range(count):
        await asyncio.sleep(0)
