"""`kickwheel trace` and `kickwheel convert`: the main job."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loop_guard import run

from kickwheel import _errors, _places, _trace_run
from kickwheel_agent_loop import run_agent_loop
from kickwheel_protocol import AgentEvent, RunResult, UserMessage, parse_event, parse_run_result, to_wire
from kickwheel_provider_adapter import FixtureProviderAdapter, dialects

ROUND_TRIP = _places.COURSE_FOLDER / "fixtures" / "provider-tool-roundtrip.json"

CHAT_TOOL = b"""data: {"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call-1",\
"function":{"name":"add","arguments":"{\\"left\\":20,\\"right\\":22}"}}]}}]}

data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"""
CHAT_TEXT = b"""data: {"id":"c2","choices":[{"index":0,"delta":{"content":"The sum is 42."},\
"finish_reason":"stop"}]}

data: [DONE]

"""


def fixture(*responses: list[dict[str, object]]) -> dict[str, object]:
    return {"schemaVersion": 1, "responses": [{"records": records} for records in responses]}


def start(name: str) -> dict[str, object]:
    return {"type": "response_start", "responseId": name, "role": "assistant"}


def end(name: str, reason: str = "stop") -> dict[str, object]:
    usage = {"inputTokens": 1, "outputTokens": 1}
    return {"type": "response_end", "responseId": name, "stopReason": reason, "usage": usage}


def call(name: str, tool: str, **arguments: object) -> dict[str, object]:
    return {"type": "tool_call", "id": name, "name": tool, "arguments": arguments}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)

    def put(name: str, content: object) -> str:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (tmp_path / name).write_bytes(data)
        return name

    return put


@pytest.mark.criterion("S.104")
def test_the_default_fixture_gives_the_six_events(kickwheel: Any) -> None:
    answer = kickwheel("trace", "--json")
    events = answer.json["events"]
    call_wire = {
        "type": "toolCall",
        "id": "call-add-001",
        "name": "add",
        "arguments": {"left": 20, "right": 22},
    }
    assert answer.exit == 0
    assert [(event["sequence"], event["type"]) for event in events] == [
        (0, "message.accepted"),
        (1, "model.chunk"),
        (2, "tool.started"),
        (3, "tool.finished"),
        (4, "model.chunk"),
        (5, "run.finished"),
    ]
    assert events[0]["payload"]["message"]["role"] == "user"
    assert events[1]["payload"]["chunk"]["toolCall"] == call_wire
    assert events[2]["payload"]["toolCall"] == call_wire
    assert events[3]["payload"]["message"]["id"] == "tool-result-call-add-001"
    assert events[3]["payload"]["message"]["content"] == '{"sum":42}'
    assert events[4]["payload"]["chunk"]["delta"] == "The sum is 42."
    assert events[5]["payload"]["result"] == answer.json["result"]
    assert answer.json["result"]["status"] == "completed"
    assert answer.json["result"]["finalText"] == "The sum is 42."


@pytest.mark.criterion("S.104")
def test_each_event_is_one_printed_line_with_its_ids_and_payload(kickwheel: Any) -> None:
    lines = kickwheel("trace").out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["0", "message.accepted"],
        ["1", "model.chunk"],
        ["2", "tool.started"],
        ["3", "tool.finished"],
        ["4", "model.chunk"],
        ["5", "run.finished"],
    ]
    assert "What is 20 + 22?" in lines[0]
    assert "call-add-001" in lines[1]
    assert 'add {"left":20,"right":22}' in lines[1]
    assert 'tool-result-call-add-001  {"sum":42}' in lines[3]
    assert lines[5].split(maxsplit=2)[2].startswith("completed")


async def run_the_loop() -> tuple[list[AgentEvent], RunResult]:
    async with run_agent_loop(
        messages=[UserMessage("message-001", "What is 20 + 22?")],
        model=FixtureProviderAdapter.from_file(ROUND_TRIP),
        tools=_trace_run.default_tools(),
        max_steps=8,
    ) as stream:
        return [event async for event in stream], await stream.result


@pytest.mark.criterion("S.101")
def test_the_json_equals_the_wire_form_of_what_the_loop_gives(kickwheel: Any) -> None:
    answer = kickwheel("trace", "--json", str(ROUND_TRIP))
    events, result = run(run_the_loop())
    assert answer.json["events"] == [to_wire(event) for event in events]
    assert answer.json["result"] == to_wire(result)
    assert answer.json["fixture"] == ROUND_TRIP.as_posix()
    assert [parse_event(event) for event in answer.json["events"]] == events
    assert parse_run_result(answer.json["result"]) == result


@pytest.mark.criterion("S.100")
def test_prompt_and_step_budget_reach_the_run(kickwheel: Any) -> None:
    answer = kickwheel("trace", "--json", "--prompt", "Xin chào\n", "--max-steps", "1")
    assert answer.exit == 1
    assert answer.json["events"][0]["payload"]["message"]["content"] == "Xin chào\n"
    assert answer.json["result"]["status"] == "maxSteps"
    assert answer.json["result"]["maxSteps"] == 1
    assert "error" not in answer.json
    assert kickwheel("trace", "--prompt", "").out.splitlines()[0].endswith('""')


@pytest.mark.criterion("S.100")
def test_a_registry_of_ones_own_replaces_the_tool_add(write: Any, kickwheel: Any) -> None:
    write("mine.py", TOOL_SOURCE)
    name = write("greet.json", fixture([start("r1"), call("c1", "greet"), end("r1", "tool_call")]))
    answer = kickwheel("trace", "--json", "--tools", "mine:TOOLS", "--max-steps", "1", name)
    assert answer.json["events"][3]["payload"]["message"]["content"] == "hello"


TOOL_SOURCE = b"""
from kickwheel_agent_loop import ToolRegistry, define_tool
from kickwheel_protocol import Valid


async def greet(_value, _context, /):
    return "hello"


TOOLS = ToolRegistry([define_tool("greet", "Greets.", Valid, greet)])
"""


@pytest.mark.criterion("S.100")
@pytest.mark.parametrize(
    "name", ["mine", "mine:", ":TOOLS", "nowhere:TOOLS", "mine:NOPE", "mine:ONE", "leaves:TOOLS", "raises:X"]
)
def test_tools_that_cannot_be_loaded_are_one_line_and_exit_2(name: str, write: Any, kickwheel: Any) -> None:
    write("mine.py", b"ONE = 1\n")
    write("leaves.py", b"import sys\nsys.exit(7)\n")
    write("raises.py", b"raise ValueError('two\\nlines')\n")
    for module in ("mine", "leaves", "raises"):
        sys.modules.pop(module, None)
    answer = kickwheel("trace", "--tools", name)
    assert (answer.exit, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert "USAGE" in answer.err


@pytest.mark.criterion("S.100")
def test_the_prologue_prints_the_eight_events_of_checkpoint_00(kickwheel: Any) -> None:
    answer = kickwheel("trace", "--prologue", "--json")
    assert answer.exit == 0
    assert [event["sequence"] for event in answer.json["events"]] == list(range(8))
    assert answer.json["result"] == {"status": "completed", "finalText": "The sum is 42."}
    lines = kickwheel("trace", "--prologue").out.splitlines()
    assert [line.split()[1] for line in lines] == [event["type"] for event in answer.json["events"]]


@pytest.mark.criterion("S.102")
@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({"schemaVersion": 2, "responses": []}, "PROVIDER_INVALID_FIXTURE"),
        ([], "PROVIDER_INVALID_FIXTURE"),
        (b'{"schemaVersion": 1, "schemaVersion": 1, "responses": []}', "PROVIDER_INVALID_FIXTURE"),
        (b"[" * 5000 + b"]" * 5000, "PROVIDER_INVALID_FIXTURE"),
    ],
)
def test_a_document_that_is_no_fixture_is_exit_1_with_the_adapters_code(
    content: object, code: str, write: Any, kickwheel: Any
) -> None:
    name = write("f.json", content)
    answer = kickwheel("trace", "--json", name)
    assert (answer.exit, answer.json["error"]["code"]) == (1, code)
    assert answer.json["fixture"] == name
    plain = kickwheel("trace", name)
    assert (plain.exit, plain.out, plain.err.count("\n")) == (1, "", 1)


@pytest.mark.criterion("S.102")
@pytest.mark.parametrize(
    ("records", "code"),
    [
        ([start("r1")], "PROVIDER_MISSING_TERMINAL"),
        ([{"type": "surprise"}], "PROVIDER_UNKNOWN_EVENT"),
        ([start("r1"), start("r1")], "PROVIDER_DUPLICATE_START"),
        ([{"type": "transport_error", "code": "RESET", "message": "gone"}], "PROVIDER_TRANSPORT_ERROR"),
    ],
)
def test_a_stream_that_the_adapter_refuses_keeps_its_own_code(
    records: list[dict[str, object]], code: str, write: Any, kickwheel: Any
) -> None:
    answer = kickwheel("trace", "--json", write("f.json", fixture(records)))
    assert (answer.exit, answer.json["error"]["code"]) == (1, code)
    assert answer.json["result"]["status"] == "failed"
    assert answer.json["result"]["error"]["code"] == "MODEL_STREAM_FAILED"


@pytest.mark.criterion("S.102")
def test_a_queue_that_runs_out_is_a_failed_run(write: Any, kickwheel: Any) -> None:
    one = fixture([start("r1"), call("c1", "add", left=1, right=2), end("r1", "tool_call")])
    answer = kickwheel("trace", "--json", write("f.json", one))
    assert (answer.exit, answer.json["error"]["code"]) == (1, "PROVIDER_EXHAUSTED")


@pytest.mark.criterion("S.102")
@pytest.mark.parametrize(
    "content", [b"", b"not json", b'{"a": 1', b"\xff\xfe", b'{"a": NaN}', b'{"schemaVersion": 1} x']
)
def test_a_file_that_is_not_json_is_unreadable(content: bytes, write: Any, kickwheel: Any) -> None:
    answer = kickwheel("trace", "--json", write("f.json", content))
    assert (answer.exit, answer.json["error"]["code"]) == (2, "FIXTURE_UNREADABLE")


@pytest.mark.criterion("S.102")
@pytest.mark.parametrize("name", ["missing.json", ".", "a\0b"])
def test_a_file_that_is_missing_is_unreadable(name: str, write: Any, kickwheel: Any) -> None:
    answer = kickwheel("trace", name)
    assert (answer.exit, answer.out) == (2, "")
    assert "FIXTURE_UNREADABLE" in answer.err


@pytest.mark.criterion("S.102")
def test_an_unknown_tool_shows_as_its_result_and_the_run_goes_on(write: Any, kickwheel: Any) -> None:
    text: list[dict[str, object]] = [start("r2"), {"type": "text_delta", "text": "Then no."}, end("r2")]
    name = write("f.json", fixture([start("r1"), call("c1", "divide"), end("r1", "tool_call")], text))
    answer = kickwheel("trace", "--json", name)
    assert answer.exit == 0
    message = answer.json["events"][3]["payload"]["message"]
    assert message["isError"] is True
    assert json.loads(message["content"])["error"]["code"] == "TOOL_NOT_FOUND"


@pytest.mark.criterion("S.100")
@pytest.mark.parametrize(
    "arguments", [{}, {"left": 1}, {"left": "1", "right": 2}, {"left": True, "right": 2}]
)
def test_add_refuses_what_is_not_two_numbers(arguments: Any, write: Any, kickwheel: Any) -> None:
    name = write("f.json", fixture([start("r1"), call("c1", "add", **arguments), end("r1", "tool_call")]))
    answer = kickwheel("trace", "--json", "--max-steps", "1", name)
    content = json.loads(answer.json["events"][3]["payload"]["message"]["content"])
    assert content["error"]["code"] == "TOOL_ARGUMENTS_INVALID"


@pytest.mark.criterion("S.102")
@pytest.mark.parametrize(
    "words",
    [
        ["a.json", "b.json"],
        ["--max-steps", "0"],
        ["--max-steps", "65"],
        ["--max-steps", "-1"],
        ["--max-steps", "1.5"],
        ["--prologue", "a.json"],
        ["--prologue", "--mine"],
        ["--dialect", "ollama"],
        ["--dialect", "olama", "a.json"],
        ["--wrong"],
    ],
)
def test_bad_usage_is_one_line_and_exit_2(words: list[str], kickwheel: Any) -> None:
    answer = kickwheel("trace", *words)
    assert (answer.exit, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "USAGE" in answer.err


@pytest.mark.criterion("S.103")
def test_two_runs_print_the_same_bytes_under_any_seed_locale_and_width() -> None:
    outputs: set[bytes] = set()
    for seed, locale, width in (("0", "C", "61"), ("7", "vi_VN.UTF-8", "200"), ("42", "en_US.UTF-8", "80")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "COLUMNS": width}
        for words in (["trace"], ["trace", "--json"]):
            done = subprocess.run(
                [sys.executable, "-m", "kickwheel", *words],
                capture_output=True,
                env=environment,
                timeout=30,
                check=True,
            )
            outputs.add(done.stdout)
            assert done.stderr == b""
    assert len(outputs) == 2


@pytest.mark.criterion("S.69")
def test_colour_is_added_to_the_same_lines(kickwheel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    plain = kickwheel("trace").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = kickwheel("trace").out
    assert "\x1b[" in coloured
    assert "\x1b[" not in plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert kickwheel("trace").out == plain


@pytest.mark.criterion("S.100")
def test_recorded_bodies_run_through_the_loop(write: Any, kickwheel: Any) -> None:
    files = [write("1.sse", CHAT_TOOL), write("2.sse", CHAT_TEXT)]
    answer = kickwheel("trace", "--json", "--dialect", "openai-chat", *files)
    assert answer.exit == 0
    assert answer.json["result"]["finalText"] == "The sum is 42."
    assert answer.json["events"][3]["payload"]["message"]["content"] == '{"sum":42}'


@pytest.mark.criterion("S.102")
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "FIXTURE_UNREADABLE"),
        (b"  \n", "FIXTURE_UNREADABLE"),
        (b'{"type":"message_stop"}', "FIXTURE_UNREADABLE"),
        (None, "FIXTURE_UNREADABLE"),
    ],
)
@pytest.mark.parametrize("verb", ["trace", "convert"])
def test_a_body_that_is_empty_missing_or_of_another_dialect_is_one_line(
    verb: str, content: bytes | None, code: str, write: Any, kickwheel: Any
) -> None:
    good = write("1.sse", CHAT_TOOL)
    bad = "missing.sse" if content is None else write("2.sse", content)
    answer = kickwheel(verb, "--dialect", "openai-chat", good, bad)
    assert (answer.exit, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert code in answer.err
    assert bad in answer.err


@pytest.mark.criterion("05D.08")
def test_convert_writes_the_fixture_that_the_dialect_gives(write: Any, kickwheel: Any) -> None:
    files = [write("1.sse", CHAT_TOOL), write("2.sse", CHAT_TEXT)]
    wanted = dialects.to_fixture("openai-chat", [CHAT_TOOL, CHAT_TEXT])
    answer = kickwheel("convert", "--dialect", "openai-chat", *files, "-o", "fixture.json", "--json")
    assert (answer.exit, answer.json["output"], answer.json["responses"]) == (0, "fixture.json", 2)
    assert json.loads(Path("fixture.json").read_text("utf-8")) == wanted
    assert kickwheel("trace", "fixture.json").exit == 0
    assert json.loads(kickwheel("convert", "--dialect", "openai-chat", *files).out) == wanted
    assert kickwheel("convert", "--json", "--dialect", "openai-chat", *files).json["fixture"] == wanted
    assert {path.name for path in Path().iterdir()} == {"1.sse", "2.sse", "fixture.json"}


def test_convert_says_when_it_cannot_write_and_leaves_nothing(write: Any, kickwheel: Any) -> None:
    name = write("1.sse", CHAT_TEXT)
    answer = kickwheel("convert", "--dialect", "openai-chat", name, "-o", "no/such/folder.json")
    assert (answer.exit, answer.err.count("\n")) == (2, 1)
    assert not Path("no").exists()
    assert kickwheel("convert", name).exit == 2
    assert kickwheel("convert", "--dialect", "openai-chat").exit == 2


def test_convert_keeps_the_old_file_when_the_bodies_are_refused(write: Any, kickwheel: Any) -> None:
    write("fixture.json", b"old")
    name = write("1.sse", b"nothing known")
    assert kickwheel("convert", "--dialect", "openai-chat", name, "-o", "fixture.json").exit == 2
    assert Path("fixture.json").read_bytes() == b"old"


def test_convert_describes_each_body(write: Any, kickwheel: Any) -> None:
    cut = write(
        "cut.sse", CHAT_TEXT.replace(b'"finish_reason":"stop"', b'"x":1').partition(b"data: [DONE]")[0]
    )
    full = write("full.sse", CHAT_TOOL)
    answer = kickwheel("convert", "--dialect", "openai-chat", cut, full, "-o", "f.json")
    assert answer.exit == 0
    first, second, last = answer.out.splitlines()
    assert first.startswith("cut.sse")
    assert "tool_call" in second
    assert "f.json" in last


@pytest.mark.criterion("S.66")
def test_what_a_tool_prints_stays_out_of_the_json(write: Any, kickwheel: Any) -> None:
    source = TOOL_SOURCE.replace(b'return "hello"', b'print("noise")\n    return "hello"')
    write("loud.py", b"print('imported')\n" + source)
    sys.modules.pop("loud", None)
    name = write("greet.json", fixture([start("r1"), call("c1", "greet"), end("r1", "tool_call")]))
    answer = kickwheel("trace", "--json", "--tools", "loud:TOOLS", "--max-steps", "1", name)
    assert answer.json["result"]["status"] == "maxSteps"
    assert answer.err.splitlines() == ["imported", "noise"]


@pytest.mark.criterion("S.66", "S.73")
def test_an_interrupted_call_is_one_json_object_too(kickwheel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from kickwheel.verbs import trace

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trace, "trace_fixture", interrupt)
    answer = kickwheel("trace", "--json")
    assert (answer.exit, answer.json) == (130, {"schema": 1, "command": "trace", "exit": 130})
    plain = kickwheel("trace")
    assert (plain.exit, plain.out, plain.err.count("\n")) == (130, "", 1)


@pytest.mark.criterion("S.10")
def test_the_codes_of_the_command_are_those_of_the_contract() -> None:
    assert len({*_errors.REFUSAL_CODES, *_errors.FAULT_CODES}) == 14


@pytest.mark.criterion("S.102")
def test_fixture_check_names_every_fault_with_its_place(write: Any, kickwheel: Any) -> None:
    good = write("good.json", fixture([start("r1"), end("r1")]))
    bad = write("bad.json", fixture([start("r1")], [{"type": "surprise"}]))
    assert kickwheel("fixture", "check", good).exit == 0
    answer = kickwheel("fixture", "check", good, bad, "--json")
    assert answer.exit == 1
    first, second = answer.json["files"]
    assert first == {"path": good, "ok": True, "responses": 1, "faults": []}
    assert [fault["code"] for fault in second["faults"]] == [
        "PROVIDER_MISSING_TERMINAL",
        "PROVIDER_UNKNOWN_EVENT",
    ]
    assert all(fault["line"] == 1 and fault["column"] > 1 for fault in second["faults"])
    shown = kickwheel("fixture", "check", good, bad)
    assert len(shown.out.splitlines()) == 3
    missing = kickwheel("fixture", "check", good, "missing.json", "--json")
    assert (missing.exit, missing.json["error"]["code"]) == (2, "FIXTURE_UNREADABLE")
