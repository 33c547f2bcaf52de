"""`kickwheel break`: deliberate faults on the reference and on one's own file, and the way back."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kickwheel import _atomic, _journal, _mutants, _practice
from kickwheel._errors import SurroundingsError
from kickwheel.verbs import break_

Solve = Callable[..., None]
FILE = Path("work/00-complete-agent-trace/lab_alpha/_sums_00.py")
RED = ["test_triple_is_three_times[1]", "test_triple_is_three_times[2]"]


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.criterion("S.87")
def test_the_first_mutant_turns_exactly_the_declared_tests_red(kickwheel: Any, lab: Any) -> None:
    before = files_of(lab.root)
    answer = kickwheel("break", "00", "--json")
    assert answer.exit == 0
    assert {key: answer.json[key] for key in ("checkpoint", "mutant", "on", "question", "why")} == {
        "checkpoint": "00",
        "mutant": "adds-too-much",
        "on": "reference",
        "question": "Which tests notice?",
        "why": "The sum is one too high.",
    }
    assert answer.json["expected"] == RED
    assert answer.json["red"] == RED
    assert answer.json["as_declared"] is True
    assert "+    return double(x) + x + 1\n" in answer.json["diff"]
    assert "[solution" not in answer.json["diff"]
    assert files_of(lab.root) == before


@pytest.mark.criterion("S.87")
def test_question_diff_red_tests_and_why_are_shown_in_order(kickwheel: Any, lab: Any) -> None:
    out = kickwheel("break", "00", "--lang", "vi").out
    wanted = ["Test nào phát hiện?", "+    return double(x) + x + 1", *RED, "Tổng thừa một đơn vị."]
    places = [out.index(text) for text in wanted]
    assert places == sorted(places)


@pytest.mark.criterion("S.87")
def test_a_mutant_that_does_something_else_is_exit_1(kickwheel: Any, own_lab: Any) -> None:
    path = own_lab.course / "checkpoints" / "00.toml"
    path.write_text(path.read_text().replace('red = ["test_triple_is_three_times[1]", ', "red = ["))
    answer = kickwheel("break", "00", "--json")
    assert (answer.exit, answer.json["as_declared"], answer.json["red"]) == (1, False, RED)


@pytest.mark.criterion("S.87")
def test_the_mutants_are_listed(kickwheel: Any, lab: Any) -> None:
    answer = kickwheel("break", "00", "--list", "--json")
    assert answer.exit == 0
    assert answer.json["mutants"] == [
        {"name": "adds-too-much", "title": "adds too much", "criteria": ["S.61"]},
        {"name": "ill-typed", "title": "ill typed", "criteria": ["S.90"]},
    ]
    assert len(kickwheel("break", "00", "--list").out.splitlines()) == 2


@pytest.mark.criterion("S.87")
def test_a_tried_mutant_is_kept_in_the_progress(practice: Path, kickwheel: Any) -> None:
    kickwheel("break", "00")
    kickwheel("break", "00")
    progress = json.loads((practice / ".kickwheel/progress.json").read_text())
    assert progress["checkpoints"]["00"]["breaks"] == ["adds-too-much"]


@pytest.mark.criterion("S.90")
def test_a_mutant_for_the_type_checker_leaves_the_tests_green(kickwheel: Any, lab: Any) -> None:
    answer = kickwheel("break", "00", "ill-typed", "--json")
    assert (answer.exit, answer.json["red"], answer.json["as_declared"]) == (0, [], True)
    assert [fault["file"] for fault in answer.json["types"]] == ["lab_alpha/_sums_00.py"]


@pytest.mark.criterion("S.88")
def test_mine_edits_runs_and_restores(practice: Path, kickwheel: Any, solve: Solve) -> None:
    solve(practice, "00")
    before = files_of(practice)
    answer = kickwheel("break", "00", "--mine", "--json")
    assert (answer.exit, answer.json["on"], answer.json["red"]) == (0, "mine", RED)
    assert files_of(practice) == before


@pytest.mark.criterion("S.88")
@pytest.mark.parametrize("content", ["", "return double(x) + x\nreturn double(x) + x\n", None])
def test_mine_is_refused_when_the_text_does_not_stand_there_once(
    content: str | None, practice: Path, kickwheel: Any
) -> None:
    if content is None:
        FILE.unlink()
    else:
        FILE.write_text(content)
    before = files_of(practice)
    answer = kickwheel("break", "00", "--mine")
    assert answer.exit == 2
    assert files_of(practice) == before


@pytest.mark.criterion("S.88")
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_mine_restores_after_a_failure_and_an_interrupt(
    error: type[BaseException], practice: Path, kickwheel: Any, solve: Solve, monkeypatch: Any
) -> None:
    solve(practice, "00")
    before = files_of(practice)
    seen: list[bytes] = []

    def fail(*_: object, **__: object) -> None:
        seen.append(FILE.read_bytes())
        raise error

    monkeypatch.setattr(break_, "run_mutated", fail)
    if error is KeyboardInterrupt:
        assert kickwheel("break", "00", "--mine").exit == 130
    else:
        with pytest.raises(error):
            kickwheel("break", "00", "--mine")
    assert b"x + 1" in seen[0]
    assert files_of(practice) == before


@pytest.mark.criterion("S.89")
def test_a_held_edit_blocks_all_but_four_until_undo(practice: Path, kickwheel: Any, solve: Solve) -> None:
    solve(practice, "00")
    before = files_of(practice)
    assert kickwheel("break", "00", "--mine", "--hold").exit == 0
    assert b"x + 1" in FILE.read_bytes()
    refused = (
        ["test", "00"],
        ["start"],
        ["hint"],
        ["break", "00"],
        ["break", "00", "--list"],
        ["diff", "00"],
        ["solution", "00"],
        ["reset", "00", "--yes"],
        ["verify"],
        ["trace"],
        ["watch"],
    )
    for words in refused:
        answer = kickwheel(*words)
        assert answer.exit == 2, words
        assert "BREAK_PENDING" in answer.err, words
    for words in (["list"], ["next"], ["doctor"], []):
        assert kickwheel(*words).exit == 0
    answer = kickwheel("break", "--undo", "--json")
    assert (answer.exit, answer.json["restored"], answer.json["backup"]) == (0, FILE.as_posix(), None)
    assert files_of(practice) == before
    assert kickwheel("break", "--undo").exit == 2


@pytest.mark.criterion("S.89")
def test_undo_keeps_what_was_written_into_a_held_file(practice: Path, kickwheel: Any, solve: Solve) -> None:
    solve(practice, "00")
    original = FILE.read_bytes()
    kickwheel("break", "00", "--mine", "--hold")
    FILE.write_text("my later thought\n")
    answer = kickwheel("break", "--undo", "--json")
    assert FILE.read_bytes() == original
    assert Path(answer.json["backup"]).read_text() == "my later thought\n"


@pytest.mark.criterion("S.89")
def test_undo_brings_back_a_file_that_is_gone(practice: Path, kickwheel: Any, solve: Solve) -> None:
    solve(practice, "00")
    original = FILE.read_bytes()
    kickwheel("break", "00", "--mine", "--hold")
    FILE.unlink()
    assert kickwheel("break", "--undo").exit == 0
    assert FILE.read_bytes() == original


@pytest.mark.criterion("S.89")
def test_the_record_is_written_before_the_edit(
    practice: Path, kickwheel: Any, solve: Solve, monkeypatch: Any
) -> None:
    solve(practice, "00")
    original = FILE.read_bytes()
    written: list[str] = []
    write = _atomic.write_atomically

    def note(path: Path, content: bytes) -> None:
        written.append(path.name)
        write(path, content)

    monkeypatch.setattr(_journal, "write_atomically", note)
    kickwheel("break", "00", "--mine")
    assert written == ["held.json", "_sums_00.py", "_sums_00.py"]
    assert FILE.read_bytes() == original


@pytest.mark.criterion("S.89")
def test_a_record_without_its_edit_is_undone_too(practice: Path, kickwheel: Any, solve: Solve) -> None:
    solve(practice, "00")
    found = _practice.find_practice(practice)
    assert found is not None
    original = FILE.read_bytes()
    held = _journal.Held("00", "adds-too-much", FILE.as_posix(), original, _journal.fingerprint(b"edited"))
    _journal.edit_with_record(found, held, original)
    assert kickwheel("test", "00").exit == 2
    assert kickwheel("break", "--undo").exit == 0
    assert FILE.read_bytes() == original
    assert kickwheel("test", "00").exit == 0


@pytest.mark.criterion("S.89")
def test_an_unreadable_record_is_said_and_left_alone(practice: Path, kickwheel: Any) -> None:
    record = practice / ".kickwheel" / "held.json"
    for content in (b"", b"[]", b'{"original": "?"}'):
        record.write_bytes(content)
        answer = kickwheel("break", "--undo", "--json")
        assert (answer.exit, answer.json["error"]["code"]) == (3, "STATE_UNREADABLE")
        assert record.read_bytes() == content


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


@pytest.mark.criterion("S.73", "S.89")
@pytest.mark.skipif(os.name != "posix", reason="signals of this kind exist on POSIX only")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_process_leaves_no_edit_behind(
    number: signal.Signals, practice: Path, kickwheel: Any, solve: Solve, lab: Any
) -> None:
    solve(practice, "00")
    test = practice / "tests/checkpoints/test_00_complete_agent_trace.py"
    mark = practice.parent / "child.pid"
    packaged = lab.course / "tests/checkpoints/test_00_complete_agent_trace.py"
    before, source = files_of(practice), packaged.read_bytes()
    hang = (
        f"import os, time, pathlib\npathlib.Path({str(mark)!r}).write_text(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    packaged.write_text(hang)
    try:
        code = f"""
import signal
import sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
from kickwheel import _places
_places.COURSE_FOLDER = Path({str(lab.course)!r})
sys.path.insert(0, {str(lab.packages)!r})
from kickwheel._cli import main
sys.exit(main(["break", "00", "--mine", "--yes"]))
"""
        process = subprocess.Popen([sys.executable, "-c", code], cwd=practice, stderr=subprocess.PIPE)
        wait_until(lambda: mark.exists() and mark.read_text() != "")
        assert b"x + 1" in FILE.read_bytes()
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    finally:
        packaged.write_bytes(source)
    child = int(mark.read_text())
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
        os.killpg(child, signal.SIGKILL)
        assert b"x + 1" in FILE.read_bytes()
        assert kickwheel("break", "--undo").exit == 0
    else:
        assert process.returncode == (130 if number == signal.SIGINT else 128 + number)
        assert errors.decode().count("\n") == (1 if number == signal.SIGINT else 0)
        wait_until(lambda: not alive(child))
    assert test.read_bytes() == source
    assert files_of(practice) == before


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split() if Path("/proc/self").exists() else True


@pytest.mark.criterion("S.64")
def test_an_edit_needs_its_text_exactly_once() -> None:
    mutant: Any = type("M", (), {"find": "a", "replace": "b"})
    assert _mutants.apply_edit(b"xay", mutant) == b"xby"
    assert _mutants.apply_edit(b"xy", mutant) is None
    assert _mutants.apply_edit(b"aa", mutant) is None


@pytest.mark.criterion("S.87")
@pytest.mark.parametrize(
    ("declared", "found", "same"),
    [
        (("test_a",), ("test_a",), True),
        (("test_a",), ("TestX::test_a",), True),
        (("TestX::test_a",), ("TestX::test_a",), True),
        (("test_a",), ("test_a", "test_b"), False),
        (("test_a", "test_b"), ("test_a",), False),
        (("test_a[1]",), ("test_a[2]",), False),
        (("test_a",), (), False),
    ],
)
def test_red_tests_are_compared_by_name(
    declared: tuple[str, ...], found: tuple[str, ...], same: bool
) -> None:
    assert _mutants.same_tests(declared, found) is same


def test_the_journal_reports_a_folder_it_cannot_read(practice: Path) -> None:
    found = _practice.find_practice(practice)
    assert found is not None
    assert _journal.read_held(found) is None
    (practice / ".kickwheel/held.json").mkdir()
    with pytest.raises(SurroundingsError):
        _journal.read_held(found)
