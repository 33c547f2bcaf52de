"""One call of a model double: every event read, the answer obtained, and what a long transcript adds.

Run: python benchmarks/scripted_model.py [--rounds N] [--case NAME] [--json FILE] [--quick]

The floor is a bare async generator of strings. Ours runs with every check on: a request captured, ids
compared, the terminal checked against what was streamed, the iterator claimed, an abort signal listened to.
The last case asks how much a request of 1,000 earlier messages adds to making the next request and calling
with it.
"""

import asyncio
import gc
import itertools
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import _harness

for name in ("OPENAI_AGENTS_DISABLE_TRACING", "OTEL_SDK_DISABLED", "DO_NOT_TRACK"):
    os.environ.setdefault(name, "true")
os.environ.setdefault("LANGSMITH_TRACING", "false")
os.environ.setdefault("OPENAI_API_KEY", "none")
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
logging.disable(logging.ERROR)

CHUNKS = {"1 chunk": 1, "10 chunks": 10, "1,000 chunks": 1000, "1 tool call": 1}
LONG = "1,000 earlier messages"
CASES = [*CHUNKS, LONG]
CALLS = {"1 chunk": 300, "10 chunks": 150, "1,000 chunks": 5, "1 tool call": 300, LONG: 300}
ARGUMENTS = {"city": "Hanoi", "days": 3}
ARGUMENTS_JSON = '{"city": "Hanoi", "days": 3}'

Call = Callable[[], Awaitable[object]]
Prepare = Callable[[int], Call]


def timed(case: str, prepare: Prepare) -> _harness.Run:
    """Make a run: fresh models outside the clock, then a number of calls inside it; seconds a call."""
    calls = CALLS[case]

    def run() -> float:
        async def main() -> float:
            call = prepare(calls + 5)
            for _ in range(5):
                await call()
            gc.collect()
            started = time.perf_counter()
            for _ in range(calls):
                await call()
            return (time.perf_counter() - started) / calls

        return asyncio.run(main())

    return run


def bare(case: str) -> _harness.Run:
    """Yield the strings and join them: the floor."""
    parts = ["token "] * CHUNKS.get(case, 1)

    async def play() -> AsyncIterator[str]:
        for part in parts:
            yield part

    async def call() -> str:
        return "".join([part async for part in play()])

    return timed(case, lambda _calls: call)


def ours(case: str, *, by_hand: bool, signalled: bool) -> _harness.Run:
    """Play a one-liner or a hand-written script, with every check on."""
    from kickwheel_event_stream import AbortController
    from kickwheel_protocol import (
        AssistantMessage,
        ModelChunk,
        ModelRequest,
        ModelResponse,
        Signal,
        TextBlock,
        TextDeltaChunk,
        ToolCall,
        ToolCallChunk,
        Usage,
        UserMessage,
    )
    from kickwheel_scripted_model import ScriptedModel, ScriptedResponseFactory, say
    from kickwheel_scripted_model import call as tool

    parts = ["token "] * CHUNKS.get(case, 1)
    usage = Usage(1, 1)

    async def text(request: ModelRequest, _signal: Signal) -> AsyncIterator[ModelChunk | ModelResponse]:
        for part in parts:
            yield TextDeltaChunk(request.id, part)
        message = AssistantMessage("m", [TextBlock("".join(parts))])
        yield ModelResponse("r", request.id, message, "stop", usage)

    async def one_tool(request: ModelRequest, _signal: Signal) -> AsyncIterator[ModelChunk | ModelResponse]:
        tool_call = ToolCall("call-1", "weather", ARGUMENTS)
        yield ToolCallChunk(request.id, tool_call)
        yield ModelResponse("r", request.id, AssistantMessage("m", [tool_call]), "toolCall", usage)

    hand = one_tool if case == "1 tool call" else text
    line: ScriptedResponseFactory = tool("weather", ARGUMENTS) if case == "1 tool call" else say(*parts)
    earlier = ModelRequest("r0", [UserMessage(f"m{n}", "hi") for n in range(1000 if case == LONG else 1)])
    last = UserMessage("last", "hi")

    def prepare(calls: int) -> Call:
        model = ScriptedModel([hand if by_hand else line] * calls, check_stream=True)
        signal = AbortController().signal if signalled else None

        async def once() -> object:
            request = earlier.followed_by("r1", last) if case == LONG else earlier
            stream = model.stream(request, signal)
            async for _chunk in stream:
                pass
            return await stream.result

        return once

    return timed(case, prepare)


def openai_agents(case: str) -> _harness.Run | None:
    """The double of openai-agents; it records its calls."""
    _harness.version("openai-agents")
    from agents import ModelSettings
    from agents.models.interface import ModelTracing
    from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
    from openai.types.responses import ResponseTextDeltaEvent

    size = CHUNKS.get(case, 1)
    done = "token " * size
    messages = [{"role": "user", "content": "hi"}] * (1001 if case == LONG else 1)

    def deltas(call: object) -> AsyncIterator[object]:
        async def play() -> AsyncIterator[object]:
            for number in range(size):
                yield ResponseTextDeltaEvent(
                    type="response.output_text.delta",
                    item_id="m",
                    output_index=0,
                    content_index=0,
                    delta="token ",
                    sequence_number=number,
                    logprobs=[],
                )

        return play()

    def prepare(calls: int) -> Call:
        if case == "1 tool call":
            step: object = [function_call("weather", ARGUMENTS_JSON, call_id="call-1")]
        else:
            step = [assistant_message(done)] if size == 1 else ModelStep.stream(deltas)
        model = ScriptedModel([step] * calls)
        settings = ModelSettings()

        async def once() -> object:
            events = [
                event
                async for event in model.stream_response(
                    None,
                    messages,
                    settings,
                    [],
                    None,
                    [],
                    ModelTracing.DISABLED,
                    previous_response_id=None,
                    conversation_id=None,
                    prompt=None,
                )
            ]
            return events[-1]

        return once

    return timed(case, prepare)


def pydantic_ai(case: str, *, function: bool) -> _harness.Run | None:
    """TestModel and FunctionModel of pydantic-ai."""
    _harness.version("pydantic-ai-slim")
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tools import ToolDefinition

    size = CHUNKS.get(case, 1)
    messages = [ModelRequest.user_text_prompt("hi") for _ in range(1001 if case == LONG else 1)]
    weather = ToolDefinition(name="weather", parameters_json_schema={"type": "object", "properties": {}})
    parameters = ModelRequestParameters(function_tools=[weather] if case == "1 tool call" else [])

    async def play(_messages: object, _info: object) -> AsyncIterator[object]:
        if case == "1 tool call":
            yield {0: DeltaToolCall(name="weather", json_args=ARGUMENTS_JSON, tool_call_id="call-1")}
            return
        for _ in range(size):
            yield "token "

    def prepare(_calls: int) -> Call:
        if function:
            model = FunctionModel(stream_function=play)
        elif case == "1 tool call":
            model = TestModel(call_tools=["weather"])
        else:
            model = TestModel(call_tools=[], custom_output_text=" ".join(["token"] * size))

        async def once() -> object:
            async with model.request_stream(messages, None, parameters) as response:
                async for _event in response:
                    pass
            return response.get()

        return once

    return timed(case, prepare)


def langchain(case: str) -> _harness.Run | None:
    """The fake chat model of langchain-core; it splits on white space and has no tool call in a stream."""
    _harness.version("langchain-core")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage

    if case == "1 tool call":
        return None
    size = (CHUNKS.get(case, 1) + 1) // 2
    messages = [HumanMessage("hi")] * (1001 if case == LONG else 1)

    def prepare(_calls: int) -> Call:
        model = GenericFakeChatModel(messages=itertools.repeat(AIMessage(" ".join(["token"] * size))))

        async def once() -> object:
            full = None
            async for chunk in model.astream(messages):
                full = chunk if full is None else full + chunk
            return full

        return once

    return timed(case, prepare)


def autogen(case: str) -> _harness.Run | None:
    """The replay client of autogen; it splits on white space and answers a tool call in one piece."""
    _harness.version("autogen-ext")
    from autogen_core import FunctionCall
    from autogen_core.models import CreateResult, RequestUsage, UserMessage
    from autogen_ext.models.replay import ReplayChatCompletionClient

    size = CHUNKS.get(case, 1)
    messages = [UserMessage(content="hi", source="user")] * (1001 if case == LONG else 1)
    answer: object = " ".join(["token"] * size)
    if case == "1 tool call":
        answer = CreateResult(
            finish_reason="function_calls",
            content=[FunctionCall(id="call-1", name="weather", arguments=ARGUMENTS_JSON)],
            usage=RequestUsage(prompt_tokens=1, completion_tokens=1),
            cached=False,
        )

    def prepare(calls: int) -> Call:
        model = ReplayChatCompletionClient([answer] * calls)

        async def once() -> object:
            if case == "1 tool call":
                return await model.create(messages)
            events = [event async for event in model.create_stream(messages)]
            return events[-1]

        return once

    return timed(case, prepare)


def llama_index(case: str) -> _harness.Run | None:
    """MockLLM of llama-index; it has no tool call and records nothing."""
    _harness.version("llama-index-core")
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.llms.mock import MockLLM

    if case == "1 tool call":
        return None
    messages = [ChatMessage(role="user", content="hi")] * (1001 if case == LONG else 1)

    def prepare(_calls: int) -> Call:
        model = MockLLM(max_tokens=CHUNKS.get(case, 1))

        async def once() -> object:
            events = [event async for event in await model.astream_chat(messages)]
            return events[-1]

        return once

    return timed(case, prepare)


CONTENDERS: dict[str, _harness.Contender] = {
    "bare async generator (floor)": bare,
    "kickwheel, one-liner, all checks": lambda case: ours(case, by_hand=False, signalled=False),
    "kickwheel, hand-written, all checks": lambda case: ours(case, by_hand=True, signalled=False),
    "kickwheel, hand-written, all checks, signal": lambda case: ours(case, by_hand=True, signalled=True),
    "openai-agents ScriptedModel (records)": openai_agents,
    "pydantic-ai TestModel": lambda case: pydantic_ai(case, function=False),
    "pydantic-ai FunctionModel": lambda case: pydantic_ai(case, function=True),
    "langchain-core GenericFakeChatModel": langchain,
    "autogen ReplayChatCompletionClient (streams unrecorded)": autogen,
    "llama-index MockLLM": llama_index,
}

if __name__ == "__main__":
    _harness.main(
        "One call of a model double",
        CASES,
        CONTENDERS,
        "bare async generator (floor)",
        targets={
            "1 chunk": "ours at most 16",
            "1,000 chunks": "ours at most 10",
            LONG: "no more than one pointer a message over `1 chunk`",
        },
    )
