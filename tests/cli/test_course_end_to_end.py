"""The command on the real course, as a learner and as its authors use it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kickwheel import _dev_check, _places
from kickwheel._course import load_course
from kickwheel._messages import Messages
from kickwheel._repo import contract_lines, sync
from kickwheel._type_check import find_checker

ROOT = Path(__file__).resolve().parents[2]
IDS = [f"0{number}" for number in range(8)]


def run(cwd: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-B", "-m", *command],
        cwd=cwd,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def kickwheel(cwd: Path, *words: str) -> tuple[int, dict[str, Any]]:
    done = run(cwd, "kickwheel", "--json", *words)
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A practice folder straight from `start`."""
    base = tmp_path_factory.mktemp("fresh")
    code, _ = kickwheel(base, "start", "course")
    assert code == 0
    return base / "course"


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A practice folder in which every checkpoint's reference has been put in place."""
    base = tmp_path_factory.mktemp("solved")
    kickwheel(base, "start", "course")
    for number in IDS:
        code, answer = kickwheel(base / "course", "solution", number, "--apply", "--yes")
        assert (code, answer["backup"]) == (0, f".kickwheel/backups/{number}-1")
    return base / "course"


@pytest.mark.criterion("S.63")
@pytest.mark.parametrize("folder", ["tests/checkpoints", "fixtures"])
def test_the_copies_in_the_package_equal_their_sources(folder: str) -> None:
    def files(base: Path) -> dict[str, bytes]:
        found = sorted(path for path in base.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {path.relative_to(base).as_posix(): path.read_bytes() for path in found}

    wanted = files(ROOT / folder)
    wanted.pop("conftest.py", None)
    assert files(_places.COURSE_FOLDER / folder) == wanted


@pytest.mark.criterion("S.63", "S.109")
def test_every_copy_and_the_list_of_contract_lines_is_current() -> None:
    assert sync(ROOT, only_check=True) == []


@pytest.mark.criterion("S.65")
def test_the_minutes_of_tasks_and_checkpoints_fit() -> None:
    for checkpoint in load_course().checkpoints:
        assert checkpoint.minutes <= 45
        assert max(task.minutes for task in checkpoint.tasks) <= 10
        assert sum(task.minutes for task in checkpoint.tasks) == checkpoint.minutes


class NoSite(_dev_check.SiteCheck):
    """Leaves the pages to the tests of the site."""

    def faults(self, checkpoint: str) -> Iterator[str]:
        yield from ()


@pytest.fixture(scope="module")
def starters() -> _dev_check.StarterCheck:
    """The type checker, which looks at all starters in one run."""
    return _dev_check.StarterCheck(find_checker(Messages("en")), load_course().checkpoints)


@pytest.mark.slow
@pytest.mark.criterion("S.57", "S.58", "S.59", "S.60", "S.61", "S.62", "S.64", "S.97")
@pytest.mark.parametrize("number", IDS)
def test_the_authors_check_of_each_checkpoint_is_green(
    number: str, starters: _dev_check.StarterCheck
) -> None:
    checkpoint = load_course().checkpoints[int(number)]
    contract = contract_lines(ROOT / "spec")
    checker = _dev_check.CheckpointChecker(NoSite(ROOT), checkpoint, starters, contract)
    found = {check.name: check.detail for check in checker.run() if check.status != "ok"}
    found.pop("pages", None)
    assert found == {}


@pytest.mark.criterion("S.79", "S.63")
@pytest.mark.parametrize("number", IDS)
def test_each_focused_file_passes_against_the_installed_packages(number: str, tmp_path: Path) -> None:
    code, answer = kickwheel(tmp_path, "test", number)
    assert (code, answer["target"], answer["failed"], answer["failures"]) == (0, "installed", 0, [])
    assert answer["passed"] > 0


@pytest.mark.criterion("S.76", "S.78")
def test_a_fresh_folder_is_open_everywhere_and_checkpoint_00_is_red(fresh: Path) -> None:
    code, answer = kickwheel(fresh, "list")
    assert code == 0
    assert [(row["id"], row["state"]) for row in answer["checkpoints"]] == [(n, "open") for n in IDS]
    code, answer = kickwheel(fresh, "test", "00")
    assert (code, answer["target"]) == (1, "work")
    assert all(task["failed"] for task in answer["tasks"])


@pytest.mark.criterion("S.92", "S.94")
@pytest.mark.slow
def test_the_reference_in_every_folder_is_green_and_makes_one_runtime(solved: Path) -> None:
    code, answer = kickwheel(solved, "test", "--all")
    assert [(r["checkpoint"], r["target"], r["failures"]) for r in answer["results"]] == [
        (number, "work", []) for number in IDS
    ]
    assert code == 0
    code, answer = kickwheel(solved, "verify")
    assert (code, answer["yours"], answer["trace_equal"]) == (0, IDS, True)
    mine, default = kickwheel(solved, "trace", "--mine"), kickwheel(solved, "trace")
    assert mine[0] == 0
    assert {key: mine[1][key] for key in ("events", "result")} == {
        key: default[1][key] for key in ("events", "result")
    }
    assert kickwheel(solved, "next")[1]["state"] == "done"
    assert kickwheel(solved, "diff", "00")[1]["files"][0]["diff"] == ""


@pytest.mark.criterion("S.98")
def test_plain_pytest_tests_the_work_folder(fresh: Path, solved: Path) -> None:
    for number, slug in (("00", "complete_agent_trace"), ("02", "event_stream")):
        file = f"tests/checkpoints/test_{number}_{slug}.py"
        assert run(fresh, "pytest", "-q", file).returncode == 1
        assert run(solved, "pytest", "-q", file).returncode == 0


@pytest.mark.criterion("S.98")
def test_plain_pytest_refuses_two_files_and_says_why(solved: Path) -> None:
    files = [
        "tests/checkpoints/test_00_complete_agent_trace.py",
        "tests/checkpoints/test_02_event_stream.py",
    ]
    for words in (files, []):
        done = run(solved, "pytest", "-q", *words)
        assert done.returncode not in (0, 1)
        assert "one focused file at a time" in done.stdout + done.stderr


@pytest.mark.criterion("S.84")
@pytest.mark.slow
def test_types_are_checked_on_request(solved: Path, fresh: Path) -> None:
    code, answer = kickwheel(solved, "test", "00", "--types")
    assert (code, answer["types"]) == (0, [])
    code, answer = kickwheel(fresh, "test", "00", "--types")
    assert (code, answer["types"]) == (1, [])


@pytest.mark.criterion("S.84")
def test_without_the_type_checker_the_line_to_install_it_is_named(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kickwheel import _type_check
    from kickwheel._errors import SurroundingsError

    def nothing(_name: str) -> None:
        return None

    monkeypatch.setattr(_type_check, "find_tool", nothing)
    with pytest.raises(SurroundingsError) as caught:
        find_checker(Messages("en"))
    assert caught.value.code == "TOOL_MISSING"
    assert "pip install basedpyright" in caught.value.message(Messages("en"))


@pytest.mark.criterion("S.90")
@pytest.mark.slow
def test_the_experiment_of_checkpoint_01_is_seen_by_the_type_checker_only(tmp_path: Path) -> None:
    code, answer = kickwheel(tmp_path, "break", "01")
    assert (code, answer["mutant"], answer["red"]) == (0, "fifth-result-unhandled", [])
    assert answer["types"]


@pytest.mark.criterion("S.87", "S.64")
@pytest.mark.parametrize(
    ("number", "name"),
    [
        ("00", "wrong-result-id"),
        ("02", "push-after-finish"),
        ("03", "orphan-accepted"),
        ("04", "invents-an-answer"),
        ("05", "missing-terminal-accepted"),
        ("06", "execute-before-validate"),
        ("07", "budget-counts-tools"),
    ],
)
def test_the_failure_experiment_of_each_checkpoint_behaves_as_declared(
    number: str, name: str, tmp_path: Path
) -> None:
    code, answer = kickwheel(tmp_path, "break", number)
    assert (code, answer["mutant"], answer["as_declared"]) == (0, name, True)
    assert answer["red"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.criterion("S.95")
def test_doctor_finds_nothing_to_mend(fresh: Path) -> None:
    code, answer = kickwheel(fresh, "doctor")
    assert code == 0
    assert [check for check in answer["checks"] if check["status"] == "fail"] == []
