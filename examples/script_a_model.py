"""Decide what the model says: in one line, in a sum of lines, or with code that sees the request."""

import asyncio
from collections.abc import AsyncIterator

from kickwheel_protocol import (
    AssistantMessage,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Signal,
    TextBlock,
    TextDeltaChunk,
    Usage,
    UserMessage,
    dump_json,
)
from kickwheel_scripted_model import ScriptedModel, ScriptedModelError, call, say


async def echo(request: ModelRequest, _signal: Signal) -> AsyncIterator[ModelChunk | ModelResponse]:
    """Answer with the last message: a script may look at what it is asked."""
    last = request.messages[-1]
    text = last.content if isinstance(last, UserMessage) else "?"
    yield TextDeltaChunk(request.id, text)
    message = AssistantMessage("message-echo", [TextBlock(text)])
    yield ModelResponse("response-echo", request.id, message, "stop", Usage(1, 1))


async def main() -> None:
    """Call once for each response, and once too often."""
    model = ScriptedModel([say("Let me ", "add.") + call("add", {"left": 20, "right": 22}), echo])
    for number in (1, 2, 3):
        stream = model.stream(ModelRequest(f"request-{number}", [UserMessage("message-1", "hello")]))
        try:
            async for chunk in stream:
                print(dump_json(chunk))
            response = await stream.result
            print(response.id, response.stop_reason)
        except ScriptedModelError as error:
            print(error.code, *error.script, sep="\n  ")


if __name__ == "__main__":
    asyncio.run(main())
