"""A whole agent run: N tool round trips and a final text, with a fake model that looks at nothing.

Run: python benchmarks/agent_loop.py [--rounds N] [--case NAME] [--json FILE] [--quick]

The floor is a bare loop over dicts: it parses the arguments, awaits the tool and appends; no events, no
checks, no cancellation. Every contender replays answers that were made outside the clock, with one trivial
tool. Figures are microseconds a model turn. Ours runs with everything on: a request record a turn, an event
for each chunk and around each tool, checks of chunks and response, an abort signal for model and tools. Three
models drive it: streams filled by hand, `EventStream`s, and `ScriptedModel`. After the tables comes what a
turn costs in a long run compared with a short one, and what 1,000 earlier messages add to it.

Targets: at most 25 times the floor a turn (15 would be better); at least 6 times faster than the fastest
peer; a turn of the run of 200 at most 1.15 times one of the run of 10; at most 5 µs a turn for 1,000 earlier
messages.
"""

import asyncio
import gc
import json
import logging
import os
import statistics
import time
from collections.abc import Awaitable, Callable

import _harness

for name in ("OPENAI_AGENTS_DISABLE_TRACING", "OTEL_SDK_DISABLED", "DO_NOT_TRACK"):
    os.environ.setdefault(name, "true")
os.environ.setdefault("LANGSMITH_TRACING", "false")
os.environ.setdefault("OPENAI_API_KEY", "none")
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
logging.disable(logging.ERROR)

TRIPS = {"1 round trip": 1, "10 round trips": 10, "50 round trips": 50, "200 round trips": 200}
LONG = "10 round trips after 1,000 messages"
CASES = [*TRIPS, LONG]
SECONDS = 0.1  # of runs in each round

Go = Callable[[], Awaitable[int]]
"""One whole run; gives the number of model turns."""
Prepare = Callable[[int, int], Go]
"""Make everything that a run needs outside the clock: round trips, earlier messages."""


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def arguments(number: int) -> str:
    return f'{{"a": {number}, "b": 2}}'


def size(case: str) -> tuple[int, int]:
    return (10, 1000) if case == LONG else (TRIPS[case], 0)


def timed(case: str, prepare: Prepare) -> _harness.Run:
    """Make a run of the harness: seconds a model turn, each agent run on fresh material."""
    trips, earlier = size(case)

    def run() -> float:
        async def once() -> float:
            go = prepare(trips, earlier)
            started = time.perf_counter()
            turns = await go()
            elapsed = time.perf_counter() - started
            assert turns == trips + 1, turns
            return elapsed

        async def main() -> float:
            first = await once()
            times = max(1, min(200, int(SECONDS / first)))
            gc.collect()
            return statistics.mean([await once() for _ in range(times)]) / (trips + 1)

        return asyncio.run(main())

    return run


def contender(make: Callable[[], Prepare]) -> _harness.Contender:
    """Build a contender once, import errors included, and use it for every case."""
    made: list[Prepare] = []

    def choose(case: str) -> _harness.Run:
        if not made:
            made.append(make())
        return timed(case, made[0])

    return choose


def bare() -> Prepare:
    """The floor."""

    def prepare(trips: int, earlier: int) -> Go:
        replies = [
            {"calls": [{"id": f"c{n}", "name": "add", "arguments": arguments(n)}]} for n in range(trips)
        ]
        replies.append({"text": "done"})
        before = [{"role": "user", "text": f"message {n}"} for n in range(earlier)]

        async def go() -> int:
            turns = 0
            tools = {"add": add}

            async def model(_messages: list) -> dict:
                return replies[turns]

            messages = [*before, {"role": "user", "text": "go"}]
            while True:
                reply = await model(messages)
                turns += 1
                messages.append(reply)
                if not reply.get("calls"):
                    return turns
                for one in reply["calls"]:
                    output = await tools[one["name"]](**json.loads(one["arguments"]))
                    messages.append({"role": "tool", "id": one["id"], "text": str(output)})

        return go

    return prepare


def ours(kind: str) -> Callable[[], Prepare]:
    """Kickwheel, with a model of the given kind."""

    def make() -> Prepare:
        import kickwheel_protocol as p
        from kickwheel_agent_loop import LoopLimits, ToolRegistry, define_tool, run_agent_loop
        from kickwheel_event_stream import EventStream

        class Stream:
            """Chunks and response at hand."""

            __slots__ = ("_chunks", "_response")

            def __init__(self, chunks: tuple, response: p.ModelResponse) -> None:
                self._chunks = iter(chunks)
                self._response = response

            def __aiter__(self) -> "Stream":
                return self

            async def __anext__(self) -> object:
                for chunk in self._chunks:
                    return chunk
                raise StopAsyncIteration

            @property
            def result(self) -> Awaitable[object]:
                return self._give()

            async def _give(self) -> object:
                return self._response

            async def __aenter__(self) -> "Stream":
                return self

            async def __aexit__(self, *_: object) -> None: ...

        class Model:
            def __init__(self, turns: list) -> None:
                self.turns = iter(turns)
                self.call_count = 0

            def stream(self, request: p.ModelRequest, signal: object = None) -> object:
                self.call_count += 1
                chunks, response = next(self.turns)
                if kind == "hand":
                    return Stream(chunks, response)
                stream: EventStream = EventStream()
                for chunk in chunks:
                    stream.push(chunk)
                stream.finish(response)
                return stream

        def scripted(turns: list) -> object:
            from kickwheel_scripted_model import ScriptedModel

            def factory(chunks: tuple, response: p.ModelResponse) -> object:
                async def play(_request: object, _signal: object) -> object:
                    for chunk in chunks:
                        yield chunk
                    yield response

                return play

            return ScriptedModel([factory(*turn) for turn in turns])

        def validate(value: object) -> object:
            a, b = value["a"], value["b"]
            return p.Valid((a, b)) if type(a) is int and type(b) is int else p.Invalid("two integers")

        async def execute(value: tuple, _context: object) -> int:
            return await add(*value)

        registry = ToolRegistry([define_tool("add", "Add two numbers.", validate, execute)])
        limits = LoopLimits(max_agent_steps=1000)

        def turn(number: int, part: object) -> tuple:
            name = f"request-{number + 1:03d}"
            is_call = type(part) is p.ToolCall
            chunk = p.ToolCallChunk(name, part) if is_call else p.TextDeltaChunk(name, part.text)
            message = p.AssistantMessage(f"m{number}", [part])
            stop = "toolCall" if is_call else "stop"
            return (chunk,), p.ModelResponse(f"r{number}", name, message, stop, p.Usage(1, 1))

        def prepare(trips: int, earlier: int) -> Go:
            turns = [turn(n, p.ToolCall(f"c{n}", "add", json.loads(arguments(n)))) for n in range(trips)]
            turns.append(turn(trips, p.TextBlock("done")))
            messages = [
                *[p.UserMessage(f"u{n}", f"message {n}") for n in range(earlier)],
                p.UserMessage("u", "go"),
            ]
            model = scripted(turns) if kind == "scripted" else Model(turns)

            async def go() -> int:
                run = run_agent_loop(
                    messages=messages, model=model, tools=registry, max_steps=trips + 1, limits=limits
                )
                async for _event in run:
                    pass
                assert (await run.result).status == "completed"
                return model.call_count

            return go

        return prepare

    return make


def pydantic_ai() -> Prepare:
    _harness.version("pydantic-ai-slim")
    from pydantic_ai import Agent, UsageLimits
    from pydantic_ai import messages as m
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import RequestUsage

    state: dict = {}

    async def reply(_messages: list, _info: object) -> object:
        state["turns"] += 1
        return state["replies"][state["turns"] - 1]

    agent = Agent(FunctionModel(reply), tools=[add])
    usage, no_limit = RequestUsage(input_tokens=1, output_tokens=1), UsageLimits(request_limit=None)

    def prepare(trips: int, earlier: int) -> Go:
        replies = [
            m.ModelResponse([m.ToolCallPart("add", arguments(n), tool_call_id=f"c{n}")], usage=usage)
            for n in range(trips)
        ]
        state.update(turns=0, replies=[*replies, m.ModelResponse([m.TextPart("done")], usage=usage)])
        history = [m.ModelRequest([m.UserPromptPart(f"message {n}")]) for n in range(earlier)]

        async def go() -> int:
            result = await agent.run("go", message_history=history or None, usage_limits=no_limit)
            assert result.output == "done"
            return state["turns"]

        return go

    return prepare


def openai_agents() -> Prepare:
    _harness.version("openai-agents")
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    set_tracing_disabled(True)
    state: dict = {}

    class Fake(Model):
        async def get_response(self, *_: object, **__: object) -> ModelResponse:
            state["turns"] += 1
            return ModelResponse([state["replies"][state["turns"] - 1]], Usage(requests=1), None)

        def stream_response(self, *_: object, **__: object) -> object:
            raise NotImplementedError

    agent = Agent(name="a", model=Fake(), tools=[function_tool(add)])

    def prepare(trips: int, earlier: int) -> Go:
        text = ResponseOutputText(annotations=[], text="done", type="output_text")
        last = ResponseOutputMessage(
            id="m", content=[text], role="assistant", status="completed", type="message"
        )
        replies = [
            ResponseFunctionToolCall(
                id=f"c{n}", call_id=f"c{n}", type="function_call", name="add", arguments=arguments(n)
            )
            for n in range(trips)
        ]
        state.update(turns=0, replies=[*replies, last])
        history = [{"role": "user", "content": f"message {n}"} for n in range(earlier)]

        async def go() -> int:
            given = [*history, {"role": "user", "content": "go"}]
            result = await Runner.run(agent, given, max_turns=trips + 2)
            assert result.final_output == "done"
            return state["turns"]

        return go

    return prepare


def langgraph() -> Prepare:
    _harness.version("langgraph", "langchain")
    from langchain.agents import create_agent
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool

    state: dict = {}

    class Fake(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "fake"

        def bind_tools(self, *_: object, **__: object) -> "Fake":
            return self

        def _generate(self, *_: object, **__: object) -> ChatResult:
            raise NotImplementedError

        async def _agenerate(self, *_: object, **__: object) -> ChatResult:
            state["turns"] += 1
            return ChatResult(generations=[ChatGeneration(message=state["replies"][state["turns"] - 1])])

    graph = create_agent(Fake(), [tool(add)])

    def prepare(trips: int, earlier: int) -> Go:
        replies = [
            AIMessage("", tool_calls=[{"name": "add", "args": {"a": n, "b": 2}, "id": f"c{n}"}])
            for n in range(trips)
        ]
        state.update(turns=0, replies=[*replies, AIMessage("done")])
        messages = [HumanMessage(f"message {n}") for n in range(earlier + 1)]

        async def go() -> int:
            result = await graph.ainvoke({"messages": messages}, {"recursion_limit": 4 * trips + 20})
            assert result["messages"][-1].content == "done"
            return state["turns"]

        return go

    return prepare


def smolagents() -> Prepare:
    _harness.version("smolagents")
    from smolagents import LogLevel, Model, ToolCallingAgent, tool
    from smolagents import models as m
    from smolagents.memory import TaskStep

    state: dict = {}

    class Fake(Model):
        def generate(self, *_: object, **__: object) -> m.ChatMessage:
            state["turns"] += 1
            return state["replies"][state["turns"] - 1]

    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers.

        Args:
            a: one
            b: the other
        """
        return a + b

    agent = ToolCallingAgent(tools=[add], model=Fake(), verbosity_level=LogLevel.OFF)

    def reply(number: int, name: str, given: dict) -> m.ChatMessage:
        function = m.ChatMessageToolCallFunction(given, name)
        calls = [m.ChatMessageToolCall(function, f"c{number}", "function")]
        return m.ChatMessage(m.MessageRole.ASSISTANT, "", tool_calls=calls, token_usage=m.TokenUsage(1, 1))

    def prepare(trips: int, earlier: int) -> Go:
        replies = [reply(n, "add", {"a": n, "b": 2}) for n in range(trips)]
        state.update(turns=0, replies=[*replies, reply(trips, "final_answer", {"answer": "done"})])
        agent.memory.reset()
        agent.monitor.reset()
        agent.memory.steps.extend(TaskStep(task=f"message {n}") for n in range(earlier))

        async def go() -> int:
            assert agent.run("go", max_steps=trips + 2, reset=False) == "done"
            return state["turns"]

        return go

    return prepare


def llama_index() -> Prepare:
    _harness.version("llama-index-core")
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
    from llama_index.core.llms.mock import MockFunctionCallingLLM
    from llama_index.core.tools import FunctionTool

    state: dict = {}

    def respond(_messages: object, **_: object) -> ChatMessage:
        state["turns"] += 1
        return state["replies"][state["turns"] - 1]

    agent = FunctionAgent(
        name="a",
        description="d",
        tools=[FunctionTool.from_defaults(async_fn=add, name="add", description="Add.")],
        llm=MockFunctionCallingLLM(response_generator=respond, is_chat_model=True),
        timeout=None,
    )

    def prepare(trips: int, earlier: int) -> Go:
        def reply(number: int) -> ChatMessage:
            given = {"a": number, "b": 2}
            block = ToolCallBlock(tool_call_id=f"c{number}", tool_name="add", tool_kwargs=given)
            return ChatMessage(role="assistant", blocks=[block])

        last = ChatMessage(role="assistant", content="done")
        state.update(turns=0, replies=[*[reply(n) for n in range(trips)], last])
        history = [ChatMessage(role="user", content=f"message {n}") for n in range(earlier)]

        async def go() -> int:
            result = await agent.run(user_msg="go", chat_history=history or None, max_iterations=trips + 5)
            assert result.response.content == "done"
            return state["turns"]

        return go

    return prepare


def autogen() -> Prepare:
    _harness.version("autogen-agentchat", "autogen-ext")
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core import FunctionCall
    from autogen_core.model_context import UnboundedChatCompletionContext
    from autogen_core.models import CreateResult, ModelFamily, RequestUsage, UserMessage
    from autogen_core.tools import FunctionTool
    from autogen_ext.models.replay import ReplayChatCompletionClient

    class Fake(ReplayChatCompletionClient):
        """The replay client counts the words of the whole history in each call; this one looks at nothing."""

        turns = 0

        async def create(self, *_: object, **__: object) -> CreateResult:
            self.turns += 1
            return self.chat_completions[self.turns - 1]

    tool = FunctionTool(add, "Add two numbers.")
    info = {
        "vision": False,
        "function_calling": True,
        "json_output": False,
        "family": ModelFamily.UNKNOWN,
        "structured_output": False,
    }

    def result(reason: str, content: object) -> CreateResult:
        return CreateResult(finish_reason=reason, usage=RequestUsage(1, 1), cached=False, content=content)

    def prepare(trips: int, earlier: int) -> Go:
        replies = [
            result("function_calls", [FunctionCall(id=f"c{n}", name="add", arguments=arguments(n))])
            for n in range(trips)
        ]
        client = Fake([*replies, result("stop", "done")], info)
        history = [UserMessage(content=f"message {n}", source="user") for n in range(earlier)]
        agent = AssistantAgent(
            "a",
            client,
            tools=[tool],
            max_tool_iterations=trips + 5,
            reflect_on_tool_use=False,
            system_message=None,
            model_context=UnboundedChatCompletionContext(initial_messages=history),
        )

        async def go() -> int:
            outcome = await agent.run(task="go")
            assert outcome.messages[-1].content == "done"
            return client.turns

        return go

    return prepare


CONTENDERS: dict[str, _harness.Contender] = {
    "bare loop": contender(bare),
    "kickwheel": contender(ours("hand")),
    "kickwheel, EventStream": contender(ours("push")),
    "kickwheel, ScriptedModel": contender(ours("scripted")),
    "pydantic-ai": contender(pydantic_ai),
    "openai-agents": contender(openai_agents),
    "langgraph": contender(langgraph),
    "smolagents": contender(smolagents),
    "llama-index": contender(llama_index),
    "autogen": contender(autogen),
}


def growth() -> None:
    """What a turn costs in a long run, and after many messages, measured turn about in one process."""
    prepare = ours("hand")()
    runs = {case: timed(case, prepare) for case in ("10 round trips", "200 round trips", LONG)}
    rounds = [{case: run() for case, run in runs.items()} for _ in range(7)][1:]
    ratio = statistics.median(one["200 round trips"] / one["10 round trips"] for one in rounds)
    # The run over an empty transcript also pays for beginning; what 1,000 messages add there is told as well.
    added = statistics.median((one[LONG] - one["10 round trips"]) * 1e6 for one in rounds)
    print("### What length costs (kickwheel)\n\n| question | figure |\n|---|---:|")
    print(f"| a turn of a run of 200, in turns of a run of 10 | {ratio:.2f} |")
    print(f"| added to a turn by 1,000 earlier messages, the start of the run included | {added:.2f} µs |")
    print(f"| the same without the start: marginal turn | {marginal(prepare):.2f} µs |\n")


def marginal(prepare: Prepare) -> float:
    """Microseconds that 1,000 earlier messages add to one further turn, free of what begins a run."""
    figures: list[float] = []
    for _ in range(7):
        cost: dict[tuple[int, int], float] = {}
        for earlier in (0, 1000):
            for trips in (10, 50):

                async def main(trips: int = trips, earlier: int = earlier) -> float:
                    best = float("inf")
                    for _ in range(20):
                        go = prepare(trips, earlier)
                        started = time.perf_counter()
                        await go()
                        best = min(best, time.perf_counter() - started)
                    return best

                cost[trips, earlier] = asyncio.run(main())
        slopes = [(cost[50, earlier] - cost[10, earlier]) / 40 for earlier in (0, 1000)]
        figures.append((slopes[1] - slopes[0]) * 1e6)
    return statistics.median(figures)


if __name__ == "__main__":
    _harness.main(
        "Agent loop: microseconds a model turn",
        CASES,
        CONTENDERS,
        "bare loop",
        rounds=5,
        targets=dict.fromkeys(CASES, "at most 25 × floor, at least 6 × faster than any peer"),
    )
    growth()
