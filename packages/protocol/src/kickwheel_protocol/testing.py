"""Hypothesis strategies for every record: properties of code that handles transcripts, requests and events.

This module needs `hypothesis`, which is not a dependency of the package; nothing else here imports it.

    from hypothesis import given
    from kickwheel_protocol.testing import transcripts

    @given(transcripts())
    def test_my_store_keeps_transcripts(messages): ...
"""

from typing import Final, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from . import (
    AgentEvent,
    AssistantBlock,
    AssistantMessage,
    CancelledRun,
    CompletedRun,
    FailedRun,
    JsonObject,
    JsonValue,
    MaxStepsRun,
    Message,
    MessageAccepted,
    ModelChunk,
    ModelChunkReceived,
    ModelRequest,
    ModelResponse,
    RunError,
    RunFinished,
    RunResult,
    StopReason,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    ToolFinished,
    ToolResultMessage,
    ToolStarted,
    Usage,
    UserMessage,
    WireRecord,
    freeze_json,
)

__all__ = [
    "blocks",
    "chunks",
    "events",
    "ids",
    "json_objects",
    "json_values",
    "messages",
    "requests",
    "responses",
    "run_results",
    "texts",
    "tool_calls",
    "tool_results",
    "transcripts",
    "usages",
    "wire_records",
]

MAX_COUNT: Final = 2**53 - 1
STOP_REASONS: Final[tuple[StopReason, ...]] = ("stop", "toolCall")

T = TypeVar("T")


def _any_of(*choices: SearchStrategy[T]) -> SearchStrategy[T]:
    return st.one_of(choices)


def ids() -> SearchStrategy[str]:
    """Make ids and tool names: not blank, without lone surrogates."""
    body = st.text(max_size=6)
    return st.tuples(body, st.sampled_from("aé😀7"), body).map("".join)


def texts(*, surrogates: bool = False) -> SearchStrategy[str]:
    """Make texts; with lone surrogates on request, but never a pair of them: JSON would join it."""
    if not surrogates:
        return st.text(max_size=20)
    halves = st.sampled_from(["\ud800", "\udbff", "\udc00", "\udfff"])
    return st.lists(st.one_of(st.text(max_size=4), halves), max_size=5).map("·".join)


def json_values() -> SearchStrategy[JsonValue]:
    """Make frozen JSON values of every kind."""
    numbers = st.integers(-MAX_COUNT, MAX_COUNT) | st.floats(allow_nan=False, allow_infinity=False)
    scalars = st.none() | st.booleans() | numbers | st.text(max_size=10)
    nested = st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
        max_leaves=12,
    )
    return nested.map(freeze_json)


def json_objects() -> SearchStrategy[JsonObject]:
    """Make frozen JSON objects, as the arguments of a tool call are."""
    return st.dictionaries(st.text(max_size=5), json_values(), max_size=4).map(JsonObject)


def tool_calls() -> SearchStrategy[ToolCall]:
    """Make tool calls."""
    return st.builds(ToolCall, ids(), ids(), json_objects())


def blocks() -> SearchStrategy[AssistantBlock]:
    """Make the blocks of assistant messages."""
    return _any_of(st.builds(TextBlock, texts()), tool_calls())


def tool_results() -> SearchStrategy[ToolResultMessage]:
    """Make tool results that answer no particular call."""
    return st.builds(ToolResultMessage, ids(), ids(), ids(), texts(), st.booleans())


def _assistant_messages() -> SearchStrategy[AssistantMessage]:
    return st.builds(AssistantMessage, ids(), st.lists(blocks(), max_size=3))


def messages() -> SearchStrategy[Message]:
    """Make messages of the three roles, unrelated to each other."""
    return _any_of(st.builds(UserMessage, ids(), texts()), _assistant_messages(), tool_results())


def _message_lists() -> SearchStrategy[list[Message]]:
    return st.lists(messages(), max_size=4)


@st.composite
def transcripts(draw: st.DrawFn) -> tuple[Message, ...]:
    """Make valid transcripts: every call has one later result of the same id and name."""
    made: list[Message] = []
    for turn in range(draw(st.integers(0, 4))):
        made.append(UserMessage(f"user-{turn}", draw(texts())))
        names = draw(st.lists(ids(), max_size=3))
        calls = [ToolCall(f"call-{turn}-{at}", name, draw(json_objects())) for at, name in enumerate(names)]
        made.append(AssistantMessage(f"assistant-{turn}", [TextBlock(draw(texts())), *calls]))
        for at, call in enumerate(draw(st.permutations(calls))):
            failed = draw(st.booleans())
            made.append(ToolResultMessage(f"result-{turn}-{at}", call.id, call.name, draw(texts()), failed))
    return tuple(made)


def requests() -> SearchStrategy[ModelRequest]:
    """Make model requests."""
    return st.builds(ModelRequest, ids(), _message_lists())


def chunks() -> SearchStrategy[ModelChunk]:
    """Make chunks of both kinds."""
    return _any_of(st.builds(TextDeltaChunk, ids(), texts()), st.builds(ToolCallChunk, ids(), tool_calls()))


def usages() -> SearchStrategy[Usage]:
    """Make token counts."""
    count = st.integers(0, MAX_COUNT)
    return st.builds(Usage, count, count)


def responses() -> SearchStrategy[ModelResponse]:
    """Make responses; stop reason and message agree only by chance."""
    reasons: SearchStrategy[StopReason] = st.sampled_from(STOP_REASONS)
    return st.builds(ModelResponse, ids(), ids(), _assistant_messages(), reasons, usages())


def run_results() -> SearchStrategy[RunResult]:
    """Make the four results of a run."""
    said = _message_lists()
    return _any_of(
        st.builds(CompletedRun, said, texts()),
        st.builds(CancelledRun, said, texts()),
        st.builds(MaxStepsRun, said, st.integers(0, MAX_COUNT)),
        st.builds(FailedRun, said, st.builds(RunError, ids(), texts())),
    )


def events() -> SearchStrategy[AgentEvent]:
    """Make the five agent events."""
    at = st.integers(0, MAX_COUNT)
    return _any_of(
        st.builds(MessageAccepted, at, messages()),
        st.builds(ModelChunkReceived, at, chunks()),
        st.builds(ToolStarted, at, tool_calls()),
        st.builds(ToolFinished, at, tool_results()),
        st.builds(RunFinished, at, run_results()),
    )


def wire_records() -> SearchStrategy[WireRecord]:
    """Make any record that a parser reads."""
    return _any_of(messages(), requests(), chunks(), responses(), events(), run_results())
