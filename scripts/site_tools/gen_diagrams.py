"""The diagram of each checkpoint page: drawn from the package's table or types, or from a run made here."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar, cast, get_args

from site_tools.diagram_words import NAMES, VIETNAMESE
from site_tools.layout import LANGS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from site_tools.layout import Lang, Site

T = TypeVar("T")


def diagrams(_site: Site) -> dict[str, str]:
    """`NN-diagram.{en,vi}.md` for each checkpoint."""
    out: dict[str, str] = {}
    for number, draw in DRAWINGS.items():
        for lang in LANGS:
            rows = list(draw(_translator(lang)))
            title = NAMES[number][lang == "vi"]
            text = "\n".join([rows[0], f"    accTitle: {title}", *rows[1:]])
            out[f"includes/generated/{number}-diagram.{lang}.md"] = f"```mermaid\n{text}\n```\n"
    return out


def _translator(lang: Lang) -> Callable[[str], str]:
    """English labels stay; a Vietnamese label must exist, so that no English one slips in."""

    def say(label: str) -> str:
        return label if lang == "en" else VIETNAMESE[label]

    return say


def _run(work: Coroutine[object, object, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(30):
            return await work

    # In a thread of its own: the caller's may have a loop already.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(bounded())).result()


# --- drawn from tables and types ----------------------------------------------------------------------------


def protocol(say: Callable[[str], str]) -> Iterable[str]:
    """01: each union of the package, its discriminant, its members."""
    import kickwheel_protocol as protocol_package

    yield "flowchart LR"
    for union, field in (
        ("Message", "role"),
        ("AssistantBlock", "type"),
        ("ModelChunk", "type"),
        ("AgentEvent", "type"),
        ("RunResult", "status"),
    ):
        yield f'    {union}["{union}<br/>{say("told apart by")} {field}"]'
        for member in cast("tuple[type, ...]", get_args(getattr(protocol_package, union))):
            value = cast("str", getattr(member, field))
            yield f'    {union} -->|"{value}"| {member.__name__}'


def event_stream(say: Callable[[str], str]) -> Iterable[str]:
    """02: the states of a stream."""
    from kickwheel_event_stream._states import stream_diagram

    return _labelled(stream_diagram(), say)


def provider_adapter(say: Callable[[str], str]) -> Iterable[str]:
    """05: the parser's transitions."""
    from kickwheel_provider_adapter._diagram import LABELS, render_mermaid

    rows = render_mermaid({label: say(label) for label in LABELS}).rstrip("\n").split("\n")
    return [rows[0], *_merged(_counted(row, say) for row in rows[1:])]


def _counted(row: str, say: Callable[[str], str]) -> str:
    """A refusal's arrow says how many codes it stands for: the table below the diagram names them."""
    arrow, _, label = row.partition(": ")
    if not arrow.endswith("--> failed"):
        return row
    return f"{arrow}: {say('refused, codes')}: {len(label.split('<br/>'))}"


def _merged(rows: Iterable[str]) -> Iterable[str]:
    """Make one arrow, with a label line each, of those between the same two states: else they overlap."""
    labels: dict[str, list[str]] = {}
    for row in rows:
        arrow, _, label = row.partition(": ")
        labels.setdefault(arrow, []).append(label)
    for arrow, found in labels.items():
        yield f"{arrow}: {'<br/>'.join(found)}" if any(found) else arrow


def agent_loop(say: Callable[[str], str]) -> Iterable[str]:
    """07: the phases of a run."""
    from kickwheel_agent_loop._phases import render_mermaid

    return _labelled(render_mermaid().rstrip("\n").split("\n"), say)


def _labelled(rows: Iterable[str], say: Callable[[str], str]) -> Iterable[str]:
    for row in rows:
        arrow, colon, label = row.partition(": ")
        yield f"{arrow}: {say(label)}" if colon else row


# --- drawn from runs ----------------------------------------------------------------------------------------


def complete_trace(say: Callable[[str], str]) -> Iterable[str]:
    """00: the eight events of the fixed trace, with the identities that tie them together."""
    from kickwheel import run_prologue
    from kickwheel._prologue import ToolCallCompleted, ToolExecutionStarted, ToolResultAppended

    run = run_prologue()
    yield "sequenceDiagram"
    yield f"    participant U as {say('user')}"
    yield f"    participant M as {say('model')}"
    yield f"    participant T as {say('tool')}"
    yield f"    participant R as {say('run')}"
    for event in run.events:
        source, target = _PROLOGUE_ARROWS[event.type]
        detail = ""
        if isinstance(event, ToolCallCompleted | ToolExecutionStarted | ToolResultAppended):
            detail = f" {event.tool_call_id}"
        yield f"    {source}->>{target}: {event.sequence} {event.type}{detail}"


_PROLOGUE_ARROWS = {
    "user_message_accepted": ("U", "R"),
    "model_stream_opened": ("R", "M"),
    "tool_call_completed": ("M", "R"),
    "tool_execution_started": ("R", "T"),
    "tool_result_appended": ("T", "R"),
    "final_text_completed": ("M", "R"),
    "agent_ended": ("R", "U"),
}


def message_ir(say: Callable[[str], str]) -> Iterable[str]:
    """03: the transcript of a real run, and which result answers which call."""
    from kickwheel_protocol import AssistantMessage, ToolResultMessage

    yield "flowchart LR"
    messages = _run(_sum_run()).result.messages
    calls: dict[str, str] = {}
    for index, message in enumerate(messages):
        text = f"{index} {message.role}<br/>{message.id}"
        if isinstance(message, AssistantMessage) and message.tool_calls:
            text += f"<br/>{say('calls')} {message.tool_calls[0].id}"
            calls[message.tool_calls[0].id] = f"m{index}"
        yield f'    m{index}["{text}"]'
    for index in range(1, len(messages)):
        yield f"    m{index - 1} --> m{index}"
    for index, message in enumerate(messages):
        if isinstance(message, ToolResultMessage):
            call = message.tool_call_id
            yield f'    m{index} -. "{say("answers")} {call}" .-> {calls[call]}'


async def _sum_run() -> _Trace:
    from kickwheel_agent_loop import ToolRegistry, run_to_end, tool
    from kickwheel_protocol import UserMessage
    from kickwheel_scripted_model import ScriptedModel, call, say

    @tool(description="Adds two numbers.")
    def add(left: int, right: int) -> int:
        return left + right

    script = [call("add", {"left": 20, "right": 22}, call_id="call-add-001"), say("The sum is 42.")]
    question = UserMessage("message-user-001", "What is 20 + 22?")
    return await run_to_end(
        messages=[question], model=ScriptedModel(script), tools=ToolRegistry([add]), max_steps=8
    )


def scripted_model(say: Callable[[str], str]) -> Iterable[str]:
    """04: two calls on a script of one response: chunks, the response, then the exhausted queue."""
    from kickwheel_protocol import ModelRequest, UserMessage
    from kickwheel_scripted_model import ScriptedModel, ScriptedModelError
    from kickwheel_scripted_model import say as speak

    model = ScriptedModel([speak("Hel", "lo")])
    rows = [
        "sequenceDiagram",
        f"    participant C as {say('caller')}",
        "    participant M as ScriptedModel",
        f"    participant Q as {say('queue')}",
    ]

    async def play(request_id: str) -> None:
        rows.append(f"    C->>M: stream({request_id})")
        stream = model.stream(ModelRequest(request_id, (UserMessage("message-001", "Hi"),)))
        rows.append(f"    Note over M: {say('attempted calls')}: {model.call_count}")
        before = model.pending_response_count
        try:
            async for chunk in stream:
                if before != model.pending_response_count:
                    rows.append(
                        f"    M->>Q: {say('take one')}, {say('left')}: {model.pending_response_count}"
                    )
                    before = model.pending_response_count
                rows.append(f"    M-->>C: {chunk.type}")
            response = await stream.result
            rows.append(f"    M-->>C: {response.id} ({response.stop_reason})")
        except ScriptedModelError as error:
            rows.append(f"    M->>Q: {say('take one')}, {say('left')}: {model.pending_response_count}")
            rows.append(f"    M--xC: {error.code}")

    async def both() -> None:
        await play("request-001")
        await play("request-002")

    _run(both())
    return rows


def tool_contract(say: Callable[[str], str]) -> Iterable[str]:
    """06: the steps of a tool call in order; each exit carries the code that a real failing call gave."""
    yield "flowchart TD"
    codes = _run(_failing_calls())
    steps = (
        ("find", "find the tool"),
        ("validate", "check the arguments"),
        ("execute", "run it"),
        ("write", "write it"),
    )
    for (key, label), (other, _) in zip(steps, [*steps[1:], ("done", "")], strict=True):
        yield f'    {key}["{say(label)}"] --> {other}'
        for code in codes[key]:
            yield f'    {key} --> {code}(["{code}"])'
    yield f'    done(["{say("one linked result")}"])'


async def _failing_calls() -> dict[str, list[str]]:
    from kickwheel_agent_loop import ToolRegistry, define_tool, execute_tool_call
    from kickwheel_protocol import Invalid, ToolCall, Valid

    def refuse(_value: object) -> Valid[int] | Invalid:
        return Invalid("no")

    def broken(_value: object) -> Valid[int]:
        raise ValueError("broken")

    def output(number: int) -> object:
        if number == 0:
            raise ValueError("broken")
        return object()

    tools = ToolRegistry(
        [
            define_tool("refuses", "Refuses its arguments.", refuse, lambda number, _: number),
            define_tool("validator", "Has a broken validator.", broken, lambda number, _: number),
            define_tool("raises", "Fails.", lambda _: Valid(0), lambda number, _: output(number)),
            define_tool(
                "unwritable", "Gives what is no JSON.", lambda _: Valid(1), lambda number, _: output(number)
            ),
        ]
    )
    steps = {
        "find": ["missing"],
        "validate": ["refuses", "validator"],
        "execute": ["raises"],
        "write": ["unwritable"],
    }
    found: dict[str, list[str]] = {}
    for step, names in steps.items():
        for name in names:
            message = await execute_tool_call(tools, ToolCall(f"call-{name}", name, {}))
            content = cast("dict[str, dict[str, str]]", json.loads(message.content))
            found.setdefault(step, []).append(content["error"]["code"])
    return found


if TYPE_CHECKING:
    from kickwheel_agent_loop import RunTrace as _Trace


DRAWINGS: dict[str, Callable[[Callable[[str], str]], Iterable[str]]] = {
    "00": complete_trace,
    "01": protocol,
    "02": event_stream,
    "03": message_ir,
    "04": scripted_model,
    "05": provider_adapter,
    "06": tool_contract,
    "07": agent_loop,
}
