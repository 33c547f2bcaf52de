"""The program of the guide on recorded streams, and `kickwheel trace --dialect` on real recordings."""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kickwheel_protocol import to_wire

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "replay_recorded_stream.py"
RECORDINGS = "fixtures/recordings"
TEXT = f"{RECORDINGS}/openai/chat-text-usage.sse"


def test_the_program_runs_and_prints_what_the_guide_shows(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert capsys.readouterr().out == (
        "0 message.accepted\n1 model.chunk\n2 tool.started\n3 tool.finished\ncompleted\n"
    )


def test_the_fixture_of_the_program_gives_the_same_trace_every_time() -> None:
    import asyncio

    program = runpy.run_path(str(EXAMPLE))
    traces = [asyncio.run(program["replay"]()) for _ in range(2)]
    first, second = ([to_wire(event) for event in trace.events] for trace in traces)
    assert first == second
    result = first[3]["payload"]["message"]  # pyright: ignore[reportIndexIssue, reportUnknownVariableType]
    assert result["content"] == '{"city":"New York City","sky":"clear"}'


def kickwheel(*arguments: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "kickwheel", "--json", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, json.loads(done.stdout)


@pytest.mark.criterion("S.100", "S.101", "S.102")
@pytest.mark.parametrize(
    ("dialect", "first", "second", "tool"),
    [
        ("openai-chat", "openai/chat-one-tool.sse", "openai/chat-text-usage.sse", "get_weather"),
        ("openai-chat", "azure/chat-tool.sse", "azure/chat-model-router.sse", "weather"),
        ("openai-chat", "openai-compatible/tool-index-starts-at-1.sse", "hf-router/text-no-done.sse", None),
        ("openai-chat", "gemini-openai/tool-empty-id-stop.sse", "perplexity/id-changes-no-done.sse", None),
        ("anthropic", "anthropic/text-then-tool.sse", "anthropic/text-basic.sse", "search"),
        ("ollama", "ollama/json-thinking-tool.json", "ollama/text.ndjson", None),
        ("gemini", "gemini/thinking-tool-signature.sse", "gemini/text.sse", None),
        (
            "openai-responses",
            "openai-responses/unicode-args.sse",
            "openai-responses/two-message-items.sse",
            None,
        ),
        ("bedrock-converse", "bedrock/json-three-tools.json", "bedrock/reasoning.ndjson", None),
    ],
)
def test_the_loop_runs_over_recorded_bodies(dialect: str, first: str, second: str, tool: str | None) -> None:
    code, told = kickwheel("trace", "--dialect", dialect, f"{RECORDINGS}/{first}", f"{RECORDINGS}/{second}")
    assert code == 0, told
    kinds = [event["type"] for event in told["events"]]
    assert kinds[0] == "message.accepted"
    assert kinds[-1] == "run.finished"
    assert "tool.started" in kinds
    assert kinds.count("tool.started") == kinds.count("tool.finished")
    assert told["result"]["status"] == "completed"
    assert told["result"]["finalText"]
    if tool is not None:
        started = told["events"][kinds.index("tool.started")]["payload"]["toolCall"]
        assert started["name"] == tool


@pytest.mark.criterion("S.102")
def test_a_recording_that_ends_at_a_token_limit_is_a_failed_run() -> None:
    code, told = kickwheel("trace", "--dialect", "openai-chat", f"{RECORDINGS}/vllm/text-length-no-usage.sse")
    assert code == 1
    assert told["result"]["status"] == "failed"
    assert told["result"]["error"]["code"] == "MODEL_STREAM_FAILED"


@pytest.mark.criterion("S.67")
@pytest.mark.parametrize("verb", ["trace", "convert"])
def test_wrong_dialects_and_empty_files_are_one_line_and_exit_2(verb: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty.sse"
    empty.write_bytes(b"")
    for arguments in (
        (verb, "--dialect", "cohere", TEXT),
        (verb, "--dialect", "openai-chat", str(empty)),
        (verb, "--dialect", "anthropic", TEXT),
        (verb, "--dialect", "openai-chat", str(tmp_path / "missing.sse")),
    ):
        code, told = kickwheel(*arguments)
        assert code == 2, (arguments, told)
        assert told["error"]["message"].count("\n") == 0


@pytest.mark.parametrize("verb", ["trace", "convert"])
def test_no_traceback_is_ever_shown(verb: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html>502</html>", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "kickwheel", verb, "--dialect", "gemini", str(page)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_converted_fixture_replays_like_its_recordings(tmp_path: Path) -> None:
    fixture = tmp_path / "fixture.json"
    bodies = (f"{RECORDINGS}/openai/chat-one-tool.sse", TEXT)
    code, told = kickwheel("convert", "--dialect", "openai-chat", *bodies, "-o", str(fixture))
    assert (code, told["responses"]) == (0, 2)
    direct = kickwheel("trace", "--dialect", "openai-chat", *bodies)[1]
    replayed = kickwheel("trace", str(fixture))[1]
    assert replayed["events"] == direct["events"]
    assert replayed["result"] == direct["result"]
