"""Runs focused files against the right code, keeps the score, and shows what went wrong."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from kickwheel._context import Context
from kickwheel._course import Checkpoint
from kickwheel._errors import SurroundingsError
from kickwheel._output import one_line
from kickwheel._packages import installed
from kickwheel._places import course_folder
from kickwheel._practice import Practice
from kickwheel._runner import CaseResult, RunReport, run_focused

Json = dict[str, object]

SHOWN_FAILURES = 3
SHOWN_PRINTED = 10


@dataclass(frozen=True, slots=True)
class Focused:
    """One focused run: the checkpoint, what was tested, and how it ended."""

    checkpoint: Checkpoint
    target: str
    root: Path
    report: RunReport
    task: int | None = None

    @property
    def green(self) -> bool:
        """Whether every selected test passed."""
        return self.report.green


def packaged_test(checkpoint: Checkpoint) -> Path:
    """The focused file as it ships inside the package."""
    return course_folder() / checkpoint.test_file


def run_checkpoint(
    checkpoint: Checkpoint, practice: Practice | None, *, task: int | None, timeout: float
) -> Focused:
    """Run a checkpoint's focused file against the learner's folder, or against the installed package."""
    if practice is None:
        place = installed(checkpoint.package)
        file = packaged_test(checkpoint)
        report = run_focused(file, checkpoint.package, None, place, task=task, timeout=timeout)
        return Focused(checkpoint, "installed", place.parent, report, task)
    work, file = practice.work(checkpoint), practice.folder / checkpoint.test_file
    for needed in (file, practice.package(checkpoint)):
        if not needed.exists():
            path = practice.relative(needed)
            raise SurroundingsError("STATE_UNREADABLE", "error.folder_incomplete", path=path)
    report = run_focused(
        file, checkpoint.package, work, practice.package(checkpoint), task=task, timeout=timeout
    )
    return Focused(checkpoint, "work", practice.folder, report, task)


def keep_score(practice: Practice, run: Focused) -> None:
    """Write the outcome of a run into the progress file."""
    checkpoint, entry = run.checkpoint, practice.progress.entry(run.checkpoint.id)
    fingerprint = practice.fingerprint(checkpoint)
    fresh = entry.files == fingerprint
    scores = task_scores(run)
    if not fresh:
        entry.clear_tasks()
    for number, (passed, failed) in scores.items():
        if run.task is None or run.task == number:
            entry.set_task(number, "green" if passed and not failed else "red")
    if run.task is None:
        entry.state = "green" if run.green else "red"
        entry.files = fingerprint
    elif not run.green or not (fresh and entry.state == "green"):
        # One task alone says nothing about the whole; it can only take the green away.
        entry.state = "red"
        entry.files = fingerprint
    practice.progress.save()


def task_scores(run: Focused) -> dict[int, tuple[int, int]]:
    """Passed and failed tests of each task; all of them failed when the file could not run."""
    scores = {
        task.number: (0, 0) for task in run.checkpoint.tasks if run.task is None or run.task == task.number
    }
    for case in run.report.cases:
        if case.task is not None and case.outcome != "skipped":
            passed, failed = scores.get(case.task, (0, 0))
            good = case.outcome == "passed"
            scores[case.task] = (passed + good, failed + (not good))
    return dict(sorted(scores.items()))


def describe(run: Focused, context: Context) -> Json:
    """The JSON object of one run."""
    failures = [_failure(case) for case in run.report.failures] + broken_run(run, context)
    return {
        "checkpoint": run.checkpoint.id,
        "target": run.target,
        "file": run.checkpoint.test_file,
        "passed": run.report.passed,
        "failed": len(failures),
        "tasks": [
            {"task": number, "passed": passed, "failed": failed}
            for number, (passed, failed) in task_scores(run).items()
        ],
        "failures": failures,
    }


def broken_run(run: Focused, context: Context) -> list[Json]:
    """The entry of `failures` for a run that did not get through: no import, a hang, a crash."""
    report = run.report
    if report.import_failure is not None:
        failure = report.import_failure
        place = _place(failure.file, failure.line, run.root)
        message = context.text("test.import_failure", place=place, reason=failure.reason)
        return [{"test": None, "criteria": [], "task": None, "message": message}]
    if report.hung or report.crashed:
        key = "test.hung" if report.hung else "test.crashed"
        where = report.stopped_in or context.text("test.no_test")
        message = context.text(key, test=where)
        return [{"test": report.stopped_in, "criteria": [], "task": None, "message": message}]
    if not report.cases:
        return [{"test": None, "criteria": [], "task": None, "message": context.text("test.nothing_ran")}]
    return []


def show(run: Focused, context: Context) -> None:
    """Print one run for people: what failed and where to go on, or that all is green."""
    out, text, checkpoint = context.out, context.text, run.checkpoint
    for failure in broken_run(run, context):
        out.print(out.style(str(failure["message"]), "red"))
        if run.report.crashed:
            out.print(_tail(run.report.output))
    # A starter fails everywhere at once: the first few, in the order of the tasks, are what one can act on.
    failures = sorted(run.report.failures, key=lambda case: case.task or 0)
    shown = failures[: 1 if context.out.quiet else SHOWN_FAILURES]
    for case in shown:
        _show_failure(case, run, context)
    if len(failures) > len(shown):
        out.print(text("test.more", count=len(failures) - len(shown)))
    if run.green:
        title = checkpoint.title[text.language]
        line = text("test.green", id=checkpoint.id, title=title, count=run.report.passed)
        out.print(out.style(line, "green"))
        return
    failed = len(run.report.failures) + len(broken_run(run, context))
    counts = {"passed": run.report.passed, "failed": failed}
    out.print(out.style(text("test.red", id=checkpoint.id, **counts), "red"))


def _show_failure(case: CaseResult, run: Focused, context: Context) -> None:
    out, text = context.out, context.text
    for line in case.criteria:
        out.print(out.style(f"{line}  {criteria().get(line, '')}", "bold"))
    out.print(f"  {out.style(case.test, 'cyan')}")
    for line in case.message.splitlines():
        out.print(f"    {one_line(line)}")
    for frame in case.frames:
        place = _place(frame.file, frame.line, run.root)
        out.print(out.style(f"    {place}  {frame.function}", "dim"))
    for line in case.printed.splitlines()[-SHOWN_PRINTED:]:
        out.print(out.style(f"    | {one_line(line)}", "dim"))
    checkpoint = run.checkpoint
    task = f"#task-{case.task}" if case.task is not None else ""
    out.print(text("test.page", page=f"{checkpoint.page}{task}"))
    command = f"kickwheel test {checkpoint.id}" + (f" --task {case.task}" if case.task is not None else "")
    out.print(text("test.again", command=command))
    out.print()


def criteria() -> Mapping[str, str]:
    """The contract: line number to sentence."""
    return _read_criteria(course_folder() / "criteria.json")


@cache
def _read_criteria(path: Path) -> Mapping[str, str]:
    return cast("dict[str, str]", json.loads(path.read_text("utf-8"))) if path.exists() else {}


def _failure(case: CaseResult) -> Json:
    return {
        "test": case.test,
        "criteria": list(case.criteria),
        "task": case.task,
        "message": case.message,
    }


def _place(file: str | None, line: int | None, root: Path) -> str:
    if file is None:
        return "?"
    path = Path(file)
    for base in (root.resolve(), course_folder()):
        if path.is_relative_to(base):
            path = path.relative_to(base)
            break
    return path.as_posix() if line is None else f"{path.as_posix()}:{line}"


def _tail(output: str) -> str:
    return "\n".join(f"    {one_line(line)}" for line in output.splitlines()[-8:])
