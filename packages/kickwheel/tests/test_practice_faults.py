"""A practice folder when things go wrong: hangs, crashes, type errors, broken runtimes, old packages."""

from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from kickwheel import _assemble, _runner, _type_check
from kickwheel._errors import CourseDataError, RefusedError, SurroundingsError
from kickwheel._messages import Messages
from kickwheel._runner import Ended
from kickwheel.verbs import doctor

Solve = Callable[..., None]
FILE = Path("work/00-complete-agent-trace/lab_alpha/_sums_00.py")


@pytest.mark.criterion("S.83")
def test_a_hang_ends_after_the_timeout_and_names_its_test(practice: Path, kickwheel: Any) -> None:
    FILE.write_text("def double(x):\n    while True:\n        pass\n\n\ndef triple(x):\n    return 3 * x\n")
    answer = kickwheel("test", "00", "--timeout", "2.5", "--json")
    assert answer.exit == 1
    (failure,) = answer.json["failures"]
    assert failure["test"] == "test_double_is_twice"
    assert "test_double_is_twice" in kickwheel("test", "00", "--timeout", "2.5").out


@pytest.mark.criterion("S.83")
def test_a_crash_names_its_test_and_shows_the_last_words(practice: Path, kickwheel: Any) -> None:
    FILE.write_text("import os\n\n\ndef double(x):\n    os._exit(4)\n\n\ndef triple(x):\n    return 3 * x\n")
    answer = kickwheel("test", "00")
    assert answer.exit == 1
    assert "test_double_is_twice" in answer.out


@pytest.mark.criterion("S.82")
def test_a_file_that_leaves_the_process_is_red_too(practice: Path, kickwheel: Any) -> None:
    FILE.write_text("raise SystemExit(0)\n")
    answer = kickwheel("test", "00", "--json")
    assert answer.exit == 1
    assert answer.json["failures"][0]["test"] is None


@pytest.mark.criterion("S.84")
def test_types_of_a_folder_are_checked_with_its_tests(practice: Path, kickwheel: Any, solve: Solve) -> None:
    solve(practice, "00")
    answer = kickwheel("test", "00", "--types", "--json")
    assert (answer.exit, answer.json["types"]) == (0, [])
    FILE.write_text(FILE.read_text().replace("return 2 * x", "return float(2 * x)"))
    answer = kickwheel("test", "00", "--types", "--json")
    assert (answer.exit, answer.json["failed"]) == (1, 0)
    assert [(fault["file"], fault["line"]) for fault in answer.json["types"]] == [(FILE.as_posix(), 6)]
    shown = kickwheel("test", "00", "--previous", "--types")
    assert shown.exit == 1
    assert kickwheel("test", "00", "--types").exit == 1


@pytest.mark.criterion("S.84")
def test_without_the_checker_types_are_refused(practice: Path, kickwheel: Any, monkeypatch: Any) -> None:
    def nothing(_name: str) -> None:
        return None

    monkeypatch.setattr(_type_check, "find_tool", nothing)
    monkeypatch.setattr(doctor, "find_tool", nothing)
    answer = kickwheel("test", "00", "--types", "--json")
    assert (answer.exit, answer.json["error"]["code"]) == (3, "TOOL_MISSING")
    checks = {check["name"]: check["status"] for check in kickwheel("doctor", "--json").json["checks"]}
    assert checks["basedpyright"] == "warn"


@pytest.mark.criterion("S.84")
@pytest.mark.parametrize(
    "ended", [Ended(3, "", "no such option"), Ended(0, "not json", ""), Ended(None, "", "")]
)
def test_a_checker_that_does_not_run_is_a_missing_tool(
    ended: Ended, tmp_path: Path, monkeypatch: Any
) -> None:
    def run(*_: object) -> Ended:
        return ended

    monkeypatch.setattr(_type_check, "run_bounded", run)
    with pytest.raises(SurroundingsError) as caught:
        _type_check.check_paths("checker", [tmp_path], [], [tmp_path])
    assert caught.value.code == "TOOL_MISSING"


@pytest.mark.criterion("S.94")
def test_a_runtime_that_breaks_is_exit_1_with_its_last_word(
    practice: Path, kickwheel: Any, monkeypatch: Any
) -> None:
    def run(*_: object) -> Ended:
        return Ended(1, "", "Traceback\nValueError: broken")

    monkeypatch.setattr(_assemble, "run_bounded", run)
    answer = kickwheel("trace", "--mine", "--json")
    assert (answer.exit, answer.json["broken"], answer.json["events"]) == (1, "ValueError: broken", [])
    assert kickwheel("trace", "--mine").out == "ValueError: broken\n"
    verified = kickwheel("verify", "--json")
    assert (verified.exit, verified.json["trace_equal"]) == (1, False)


@pytest.mark.criterion("S.100")
def test_the_learners_runtime_takes_the_options_of_trace(
    practice: Path, kickwheel: Any, tmp_path: Path
) -> None:
    answer = kickwheel("trace", "--mine", "--json", "--max-steps", "1", "--prompt", "Hi")
    assert (answer.exit, answer.json["result"]["status"]) == (1, "maxSteps")
    Path("f.json").write_text('{"schemaVersion": 2}')
    answer = kickwheel("trace", "--mine", "f.json", "--json")
    assert (answer.exit, answer.json["error"]["code"]) == (1, "PROVIDER_INVALID_FIXTURE")
    assert answer.json["fixture"] == "f.json"


@pytest.mark.criterion("S.95")
@pytest.mark.parametrize(
    ("version", "good"),
    [("8.4", True), ("8.4.2", True), ("9.9.9", True), ("10", False), ("8.3.9", False), ("10.0rc1", False)],
)
def test_bounds_are_compared_number_by_number(
    version: str, good: bool, monkeypatch: Any, kickwheel: Any
) -> None:
    real = metadata.version

    def fake(name: str) -> str:
        return version if name == "pytest" else real(name)

    monkeypatch.setattr(metadata, "version", fake)
    checks = {check["name"]: check for check in kickwheel("doctor", "--json").json["checks"]}
    assert (checks["pytest"]["status"] == "ok") is good
    assert bool(checks["pytest"]["fix"]) is not good


@pytest.mark.criterion("S.95")
def test_a_package_that_is_absent_fails(monkeypatch: Any, kickwheel: Any) -> None:
    real = metadata.version

    def fake(name: str) -> str:
        if name == "kickwheel-protocol":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", fake)
    answer = kickwheel("doctor", "--json")
    checks = {check["name"]: check for check in answer.json["checks"]}
    assert answer.exit == 3
    assert checks["kickwheel-protocol"]["status"] == "fail"
    assert checks["kickwheel-protocol"]["fix"] == "pip install kickwheel-protocol"


@pytest.mark.criterion("S.95")
def test_an_old_python_fails(monkeypatch: Any, kickwheel: Any) -> None:
    monkeypatch.setattr(doctor, "MINIMUM_PYTHON", (99, 0))
    checks = {check["name"]: check["status"] for check in kickwheel("doctor", "--json").json["checks"]}
    assert checks["python"] == "fail"


@pytest.mark.criterion("S.76")
def test_a_folder_that_cannot_be_made_is_refused(lab: Any, kickwheel: Any) -> None:
    Path("file").write_text("mine")
    answer = kickwheel("start", "file/inside", "--json")
    assert (answer.exit, answer.json["error"]["code"]) == (2, "USAGE")
    answer = kickwheel("--folder", "here", "start", "--json")
    assert (answer.exit, answer.json["folder"]) == (0, Path("here").resolve().as_posix())


def test_every_error_says_its_message_in_both_languages() -> None:
    error = SurroundingsError("TOOL_MISSING", "error.tool_missing", tool="x", line="y")
    assert error.message(Messages("en")) != error.message(Messages("vi"))
    assert RefusedError("USAGE", "plain").message(Messages("vi")) == "plain"
    assert CourseDataError("f", 3, "r").message(Messages("en")) == "f:3: r"


def test_the_environment_of_a_child_keeps_what_is_not_pytests() -> None:
    child = _runner.child_environment({"HOME": "/h", "PYTEST_ADDOPTS": "-x", "PYTHONPATH": "/p"})
    assert child["HOME"] == "/h"
    assert child["PYTHONPATH"] == "/p"
    assert "PYTEST_ADDOPTS" not in child
