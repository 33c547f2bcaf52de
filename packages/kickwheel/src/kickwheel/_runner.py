"""Starts the child process that runs one focused file, bounds it, and reads what it reported."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from kickwheel._errors import SurroundingsError

DEFAULT_TIMEOUT = 60
_CHILD = Path(__file__).with_name("_child.py")
_DROPPED = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_CURRENT_TEST", "PYTHONWARNINGS", "COV_CORE_SOURCE")


@dataclass(frozen=True, slots=True)
class Frame:
    """One place of a traceback."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one test ended."""

    test: str
    task: int | None
    criteria: tuple[str, ...]
    outcome: str
    message: str
    frames: tuple[Frame, ...]
    task_marks: int = 1
    printed: str = ""


@dataclass(frozen=True, slots=True)
class ImportFailure:
    """Why the focused file could not be collected: the learner's file that does not import."""

    file: str | None
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class RunReport:
    """How one focused run ended."""

    cases: tuple[CaseResult, ...]
    import_failure: ImportFailure | None = None
    hung: bool = False
    stopped_in: str | None = None
    """The test that was running when the child was ended or died."""
    crashed: bool = False
    output: str = ""

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(case.outcome == "passed" for case in self.cases)

    @property
    def failures(self) -> tuple[CaseResult, ...]:
        """The tests that failed."""
        return tuple(case for case in self.cases if case.outcome == "failed")

    @property
    def green(self) -> bool:
        """Whether every test ran and none failed."""
        broken = self.import_failure is not None or self.hung or self.crashed
        return not broken and not self.failures and self.passed > 0


def run_focused(
    file: Path,
    package: str,
    target: Path | None,
    expected: Path,
    *,
    task: int | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> RunReport:
    """Run one focused file against the packages in `target` (`None`: the installed ones).

    Raises `WRONG_CODE_UNDER_TEST` when the package under test was not loaded from the folder `expected`.
    """
    with tempfile.TemporaryDirectory(prefix="kickwheel-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        spec = {
            "file": str(file.resolve()),
            "package": package,
            "target": None if target is None else str(target.resolve()),
            "expected": str(expected.resolve()),
            "task": task,
            "report": str(place / "report"),
        }
        (place / "spec.json").write_text(json.dumps(spec), "utf-8")
        (place / "cwd").mkdir()
        command = [sys.executable, "-P", "-B", str(_CHILD), str(place / "spec.json")]
        return _read(place / "report", run_bounded(command, place / "cwd", timeout), expected)


@dataclass(frozen=True, slots=True)
class Ended:
    """A child process that is over; `code` is `None` when it was ended for time."""

    code: int | None
    output: str
    errors: str


def run_bounded(command: Sequence[str], cwd: Path, timeout: float) -> Ended:
    """Run a command in a process group of its own; nothing of the group outlives this call."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=child_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=os.name == "posix",
        )
        try:
            code: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end_group(process)
        return Ended(code, _text_of(output), _text_of(errors))


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def child_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a child: no foreign pytest options, nothing compiled into the learner's folder."""
    kept = {key: value for key, value in environment.items() if key not in _DROPPED}
    fixed = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
    return {**kept, **fixed, "NO_COLOR": "1"}


def find_tool(name: str) -> str | None:
    """A console tool: beside this interpreter, else on the path."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _read(path: Path, ended: Ended, expected: Path) -> RunReport:
    lines: list[dict[str, object]] = []
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            with contextlib.suppress(ValueError):  # the last line of a killed run may be half written
                lines.append(json.loads(line))
    return _interpret(lines, ended, expected)


def _interpret(lines: list[dict[str, object]], ended: Ended, expected: Path) -> RunReport:
    for line in lines:
        if line["kind"] == "wrong":
            found = Path(str(line["found"])).as_posix()
            values = {"found": found, "expected": expected.as_posix()}
            raise SurroundingsError("WRONG_CODE_UNDER_TEST", "error.wrong_code", **values)
    cases = _merge([_case(line) for line in lines if line["kind"] == "test"])
    failure = next((_import_failure(line) for line in lines if line["kind"] == "import"), None)
    finished = any(line["kind"] == "end" for line in lines)
    running = [str(line["test"]) for line in lines if line["kind"] == "running"]
    crashed = ended.code is not None and failure is None and not (finished and ended.code in (0, 1))
    return RunReport(
        cases=cases,
        import_failure=failure,
        hung=ended.code is None,
        stopped_in=running[-1] if running and (ended.code is None or crashed) else None,
        crashed=crashed,
        output=ended.output + ended.errors,
    )


def _merge(cases: list[CaseResult]) -> tuple[CaseResult, ...]:
    """One result a test: a failing setup or teardown beats a passing call."""
    merged: dict[str, CaseResult] = {}
    for case in cases:
        known = merged.get(case.test)
        if known is None or known.outcome != "failed":
            merged[case.test] = case
    return tuple(merged.values())


def _case(line: Mapping[str, object]) -> CaseResult:
    task = line["task"]
    return CaseResult(
        test=str(line["test"]),
        task=task if isinstance(task, int) else None,
        criteria=tuple(str(item) for item in cast("list[object]", line["criteria"])),
        outcome=str(line["outcome"]),
        message=str(line["message"]),
        frames=tuple(_frame(frame) for frame in cast("list[dict[str, object]]", line["frames"])),
        task_marks=cast("int", line["task_marks"]),
        printed=str(line["printed"]),
    )


def _frame(frame: Mapping[str, object]) -> Frame:
    return Frame(str(frame["file"]), cast("int", frame["line"]), str(frame["function"]))


def _import_failure(line: Mapping[str, object]) -> ImportFailure:
    file, number = line["file"], line["line"]
    return ImportFailure(
        file if isinstance(file, str) else None,
        number if isinstance(number, int) else None,
        str(line["reason"]),
    )
