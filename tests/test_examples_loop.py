"""The program of the guide on the folder agent: what it prints, and what its tools refuse."""

import asyncio
import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from kickwheel_agent_loop import RunTrace, ToolRegistry, execute_tool_call
from kickwheel_protocol import ToolCall, ToolResultMessage, to_wire

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "folder_agent.py"
PRINTED = """\
ok    ["notes/team.txt","readme.txt"]
ok    Monday, 10:00, room 4.
error {"error":{"code":"TOOL_EXECUTION_FAILED","message":"../budget.txt is outside the folder"}}
done  The team meets on Monday at ten. There is no budget in this folder.
"""


def program() -> dict[str, object]:
    return cast("dict[str, object]", runpy.run_path(str(EXAMPLE)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file, a file beside it, and a link that leads out."""
    shared = tmp_path / "shared"
    (shared / "notes").mkdir(parents=True)
    (shared / "notes" / "team.txt").write_text("Monday", encoding="utf-8")
    (shared / "picture.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "shared-secret.txt").write_text("secret", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (shared / "link.txt").symlink_to(tmp_path / "secret.txt")
    (shared / "loop").symlink_to(shared / "loop")
    return shared


def read(folder: Path, name: str) -> ToolResultMessage:
    make = cast("Callable[[Path], ToolRegistry]", program()["folder_tools"])
    call = ToolCall("call-read-001", "read_file", {"name": name})
    return asyncio.run(execute_tool_call(make(folder), call))


def test_the_program_prints_what_its_guide_shows(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert capsys.readouterr().out == PRINTED


@pytest.mark.parametrize("language", ["en", "vi"])
def test_the_guide_shows_what_the_program_prints(language: str) -> None:
    page = (ROOT / "docs" / language / "guides" / "folder-agent.md").read_text(encoding="utf-8")
    assert f"```text\n{PRINTED}```" in page


def test_two_runs_over_two_folders_of_the_same_files_give_equal_events(tmp_path: Path) -> None:
    answer = cast("Callable[[Path], object]", program()["answer"])
    traces: list[RunTrace] = []
    for name in ("one", "two"):
        folder = tmp_path / name
        (folder / "notes").mkdir(parents=True)
        (folder / "notes" / "team.txt").write_text("Monday", encoding="utf-8")
        traces.append(asyncio.run(answer(folder)))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - a coroutine
    first, second = ([to_wire(event) for event in trace.events] for trace in traces)
    assert first == second
    assert str(tmp_path) not in json.dumps(first)


@pytest.mark.parametrize(
    "name",
    [
        "../secret.txt",
        "../shared-secret.txt",
        "notes/../../secret.txt",
        "link.txt",
        "/etc/hostname",
        "..",
        "notes/../..",
    ],
)
def test_a_path_that_leads_out_of_the_folder_is_refused(folder: Path, name: str) -> None:
    result = read(folder, name)
    assert result.is_error
    assert json.loads(result.content)["error"] == {
        "code": "TOOL_EXECUTION_FAILED",
        "message": f"{name} is outside the folder",
    }


@pytest.mark.parametrize(
    "name", ["", ".", "notes", "missing.txt", "loop", "a\x00b", "picture.bin", "x" * 5000]
)
def test_a_path_to_no_readable_file_is_an_error_without_the_folders_own_path(folder: Path, name: str) -> None:
    result = read(folder, name)
    assert result.is_error
    assert "TOOL_EXECUTION_FAILED" in result.content
    assert str(folder) not in result.content


def test_a_file_of_the_folder_is_read_also_by_a_roundabout_path(folder: Path) -> None:
    for name in (
        "notes/team.txt",
        "./notes/team.txt",
        "notes/../notes/team.txt",
        str(folder / "notes/team.txt"),
    ):
        assert read(folder, name) == ToolResultMessage(
            "tool-result-call-read-001", "call-read-001", "read_file", "Monday"
        )
