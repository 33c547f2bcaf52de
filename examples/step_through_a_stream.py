"""Hold a script between two chunks, look at the state, and let it go on."""

import asyncio
from collections.abc import AsyncIterator

from kickwheel_protocol import ModelChunk, ModelRequest, ModelResponse, Signal, TextDeltaChunk, UserMessage
from kickwheel_scripted_model import ScriptedModel, StepClock, say

clock = StepClock()


async def two_parts(request: ModelRequest, signal: Signal) -> AsyncIterator[ModelChunk | ModelResponse]:
    """Stop at a point after each chunk of a one-liner."""
    async for item in say("The sum ", "is 42.")(request, signal):
        yield item
        if isinstance(item, TextDeltaChunk):
            await clock.point(f"after {item.delta!r}")


async def main() -> None:
    """Look at the stream while its script is held."""
    model = ScriptedModel([two_parts])
    shown: list[str] = []
    async with model.stream(ModelRequest("request-1", [UserMessage("message-1", "20 + 22?")])) as stream:
        chunks = aiter(stream)
        await clock.reached("after 'The sum '")
        chunk = await anext(chunks)
        shown.append(chunk.delta if isinstance(chunk, TextDeltaChunk) else "")
        print(shown, stream.state, clock.waiting)
        clock.release("after 'The sum '")
        await clock.step("after 'is 42.'")
        shown += [chunk.delta async for chunk in chunks if isinstance(chunk, TextDeltaChunk)]
        print(shown, stream.state, clock.passed)


if __name__ == "__main__":
    asyncio.run(main())
