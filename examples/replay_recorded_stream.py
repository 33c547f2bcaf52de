"""Two recorded response bodies become a fixture, and the fixture drives a run with a real tool."""

import asyncio
import json
from pathlib import Path

from kickwheel_agent_loop import RunTrace, run_to_end, tool
from kickwheel_protocol import UserMessage
from kickwheel_provider_adapter import FixtureProviderAdapter, dialects

RECORDINGS = Path(__file__).resolve().parent.parent / "fixtures" / "recordings" / "openai"


@tool
def get_weather(city: str) -> dict[str, str]:
    """Tell the weather of a city."""
    return {"city": city, "sky": "clear"}


def fixture_text() -> str:
    """The two bodies as one fixture: what `kickwheel convert` writes."""
    bodies = [(RECORDINGS / name).read_bytes() for name in ("chat-one-tool.sse", "chat-text-usage.sse")]
    return json.dumps(dialects.to_fixture("openai-chat", bodies), ensure_ascii=False, allow_nan=False)


async def replay() -> RunTrace:
    """One run over the fixture: the tool call of the first body, then the text of the second."""
    return await run_to_end(
        messages=[UserMessage("message-001", "What is the weather in New York City?")],
        model=FixtureProviderAdapter(json.loads(fixture_text())),
        tools=[get_weather],
        max_steps=2,
    )


def main() -> None:
    """Print the order of events and how the run ended."""
    trace = asyncio.run(replay())
    for event in trace.events[:4]:
        print(event.sequence, event.type)
    print(trace.result.status)


if __name__ == "__main__":
    main()
