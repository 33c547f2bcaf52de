"""The adapter and the scripted model share one registry of iterators: each refuses what the other owns."""

from collections.abc import AsyncIterator

import pytest

from kickwheel_protocol import (
    AssistantMessage,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Signal,
    TextBlock,
    TextDeltaChunk,
    Usage,
)
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError
from kickwheel_scripted_model import ScriptedModel, ScriptedModelError

REQUEST = ModelRequest("request-001", ())
ITEMS: list[ModelChunk | ModelResponse] = [
    TextDeltaChunk("request-001", "hello"),
    ModelResponse(
        "response-001",
        "request-001",
        AssistantMessage("message-001", [TextBlock("hello")]),
        "stop",
        Usage(1, 2),
    ),
]
RECORDS: list[object] = [
    {"type": "response_start", "responseId": "r1", "role": "assistant"},
    {
        "type": "response_end",
        "responseId": "r1",
        "stopReason": "stop",
        "usage": {"inputTokens": 1, "outputTokens": 2},
    },
]


async def chunks() -> AsyncIterator[ModelChunk | ModelResponse]:
    for item in ITEMS:
        yield item


async def records() -> AsyncIterator[object]:
    for record in RECORDS:
        yield record


@pytest.mark.criterion("05.72")
async def test_an_iterator_of_a_scripted_model_is_refused_by_the_adapter_and_plays_on() -> None:
    shared = chunks()

    def factory(_request: ModelRequest, _signal: Signal) -> AsyncIterator[ModelChunk | ModelResponse]:
        return shared

    scripted = ScriptedModel([factory]).stream(REQUEST)
    adapter = FixtureProviderAdapter({"schemaVersion": 1, "responses": [{"records": shared}]})
    with pytest.raises(FixtureProviderError) as caught:
        await adapter.stream(REQUEST).result
    assert caught.value.code == "PROVIDER_ITERATOR_REUSED"
    assert (await scripted.result).id == "response-001"


@pytest.mark.criterion("05.72")
async def test_an_iterator_of_the_adapter_is_refused_by_a_scripted_model_and_plays_on() -> None:
    shared = records()

    def factory(_request: ModelRequest, _signal: Signal) -> AsyncIterator[ModelChunk | ModelResponse]:
        return shared  # pyright: ignore[reportReturnType] - the wrong source, on purpose

    adapter = FixtureProviderAdapter({"schemaVersion": 1, "responses": [{"records": shared}]})
    played = adapter.stream(REQUEST)
    with pytest.raises(ScriptedModelError) as caught:
        await ScriptedModel([factory]).stream(REQUEST).result
    assert caught.value.code == "SCRIPT_ITERATOR_REUSED"
    assert (await played.result).id == "r1"
