"""Runs the agent loop on a fixture through the provider adapter: the main job of the command."""

import asyncio
from typing import NamedTuple, TypeGuard

from kickwheel_agent_loop import ToolDefinition, ToolRegistry, define_tool, run_agent_loop
from kickwheel_event_stream import EventStream
from kickwheel_protocol import (
    AgentEvent,
    Invalid,
    JsonObject,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    RunResult,
    Signal,
    ToolContext,
    ToolValidation,
    UserMessage,
    Valid,
)
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError

DEFAULT_PROMPT = "What is 20 + 22?"
DEFAULT_MAX_STEPS = 8

Number = int | float


class Sum(NamedTuple):
    """The validated arguments of the default tool."""

    left: Number
    right: Number


class TraceOutcome(NamedTuple):
    """All events of a run, its result, and the adapter's own error when it refused the fixture."""

    events: tuple[AgentEvent, ...]
    result: RunResult
    refusal: FixtureProviderError | None


class _Watched:
    """Passes requests on to the adapter and keeps its streams, so that a refusal keeps its own code.

    The loop reports a failed model as `MODEL_STREAM_FAILED`; whoever edits a fixture needs `PROVIDER_…`.
    """

    def __init__(self, adapter: FixtureProviderAdapter) -> None:
        self._adapter = adapter
        self._streams: list[EventStream[ModelChunk, ModelResponse]] = []

    def stream(
        self, request: ModelRequest, signal: Signal | None = None
    ) -> EventStream[ModelChunk, ModelResponse]:
        """One stream of the adapter, remembered."""
        stream = self._adapter.stream(request, signal)
        self._streams.append(stream)
        return stream

    async def refusal(self) -> FixtureProviderError | None:
        """The first error of the adapter among the streams that failed."""
        for stream in self._streams:
            if stream.state == "failed":
                error = await _failure(stream)
                if error is not None:
                    return error
        return None


async def _failure(stream: EventStream[ModelChunk, ModelResponse]) -> FixtureProviderError | None:
    try:
        await stream.result
    except FixtureProviderError as error:
        return error
    except Exception:
        return None
    return None


def _validate_sum(arguments: object, /) -> ToolValidation[Sum]:
    if isinstance(arguments, JsonObject):
        left, right = arguments.get("left"), arguments.get("right")
        if _is_number(left) and _is_number(right):
            return Valid(Sum(left, right))
    return Invalid("add takes an object with two numbers, left and right")


def _is_number(value: object) -> TypeGuard[Number]:
    return isinstance(value, int | float) and not isinstance(value, bool)


async def _add(value: Sum, _context: ToolContext, /) -> dict[str, Number]:
    return {"sum": value.left + value.right}


def default_tools() -> ToolRegistry:
    """A registry with the one real tool `add`, which returns `{"sum": left + right}`."""
    add: ToolDefinition[Sum, dict[str, Number]] = define_tool("add", "Adds two numbers.", _validate_sum, _add)
    return ToolRegistry([add])


async def run_trace(
    adapter: FixtureProviderAdapter, *, prompt: str, max_steps: int, tools: ToolRegistry
) -> TraceOutcome:
    """Run the loop to its end and collect everything it said."""
    model = _Watched(adapter)
    question = UserMessage(id="message-001", content=prompt)
    async with run_agent_loop(messages=[question], model=model, tools=tools, max_steps=max_steps) as run:
        events = [event async for event in run]
        result = await run.result
    return TraceOutcome(tuple(events), result, await model.refusal())


def trace_fixture(
    adapter: FixtureProviderAdapter, *, prompt: str, max_steps: int, tools: ToolRegistry
) -> TraceOutcome:
    """`run_trace` on an event loop of its own."""
    return asyncio.run(run_trace(adapter, prompt=prompt, max_steps=max_steps, tools=tools))
