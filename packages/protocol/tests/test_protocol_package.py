"""The package as a whole: its names, its imports, its cost at the door (checkpoint 01)."""

import subprocess
import sys
from pathlib import Path

import pytest

import kickwheel_protocol

NAMES = """
MessageId ModelRequestId ModelResponseId ToolCallId JsonPrimitive JsonArray JsonObject JsonValue
TextBlock ToolCall AssistantBlock UserMessage AssistantMessage ToolResultMessage Message ModelRequest
TextDeltaChunk ToolCallChunk ModelChunk Usage StopReason ModelResponse Valid Invalid ToolValidation
ToolContext MessageAccepted ModelChunkReceived ToolStarted ToolFinished RunFinished AgentEvent
CompletedRun CancelledRun MaxStepsRun FailedRun RunError RunResult Signal ModelStream Model Tool
ProtocolError freeze_json thaw_json to_wire dump_json parse_message parse_messages parse_request
parse_chunk parse_response parse_event parse_run_result validate_transcript TranscriptIssue
"""


def fresh(program: str) -> str:
    """Run a program in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout


@pytest.mark.criterion("01.B3")
def test_the_public_names_are_complete() -> None:
    public = set(kickwheel_protocol.__all__)
    assert set(NAMES.split()) <= public
    assert public - set(NAMES.split()) == {"TranscriptIssueCode", "WireRecord"}
    assert all(hasattr(kickwheel_protocol, name) for name in public)
    assert list(kickwheel_protocol.__all__) == sorted(kickwheel_protocol.__all__)
    visible = {name for name in dir(kickwheel_protocol) if not name.startswith("_")}
    assert visible - public <= {"testing"}


@pytest.mark.criterion("01.B3")
def test_public_classes_show_the_short_path() -> None:
    for name in kickwheel_protocol.__all__:
        value: object = getattr(kickwheel_protocol, name)
        if isinstance(value, type) and value.__module__ != "builtins":
            assert (name, value.__module__) == (value.__name__, "kickwheel_protocol")
    assert kickwheel_protocol.MessageId is str


@pytest.mark.criterion("01.B3")
def test_the_package_brings_no_sibling_and_no_event_loop() -> None:
    loaded = fresh("import sys, kickwheel_protocol; print(*sorted(sys.modules))").split()
    tops = {name.partition(".")[0] for name in loaded}
    assert {name for name in tops if name.startswith("kickwheel")} == {"kickwheel_protocol"}
    assert not tops & {"asyncio", "dataclasses", "hypothesis", "pydantic", "socket", "ssl"}


@pytest.mark.criterion("01.B3")
def test_only_the_strategies_need_hypothesis() -> None:
    sources = Path(kickwheel_protocol.__file__).parent.glob("*.py")
    assert [file.name for file in sources if "hypothesis import" in file.read_text()] == ["testing.py"]
