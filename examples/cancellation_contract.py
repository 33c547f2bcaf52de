"""Three ways to stop a call, and what each leaves behind."""

import asyncio
from collections.abc import AsyncIterator

from kickwheel_event_stream import AbortController, AbortError
from kickwheel_protocol import ModelChunk, ModelRequest, ModelResponse, Signal, TextDeltaChunk, UserMessage
from kickwheel_scripted_model import ScriptedModel

REQUEST = ModelRequest("request-1", [UserMessage("message-1", "hello")])


async def held(request: ModelRequest, _signal: Signal) -> AsyncIterator[ModelChunk | ModelResponse]:
    """Say one word, then wait for ever."""
    try:
        yield TextDeltaChunk(request.id, "first")
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        print("  the script has cleaned up")


async def main() -> None:
    """Stop one call before it begins, one in its middle, and leave one early."""
    model = ScriptedModel([held, held])

    print("aborted before the call begins")
    early = AbortController()
    early.abort()
    try:
        await model.stream(REQUEST, early.signal).result
    except AbortError as error:
        print(f"  {error}, {model.pending_response_count} responses still queued")

    print("aborted in the middle")
    controller = AbortController()
    stream = model.stream(REQUEST, controller.signal)
    chunks = aiter(stream)
    print(f"  {await anext(chunks)}")
    controller.abort(TimeoutError("too slow"))
    try:
        await anext(chunks)
    except TimeoutError as error:
        print(f"  {error}")
    await stream.aclose()

    print("left early")
    async with model.stream(REQUEST) as stream:
        async for chunk in stream:
            print(f"  {chunk}")
            break
    print(f"  {len(asyncio.all_tasks())} task is left: this one")


if __name__ == "__main__":
    asyncio.run(main())
