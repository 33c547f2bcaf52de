"""The authors' check of one checkpoint: its data, its starter, its tasks, its mutants, its pages."""

import ast
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from kickwheel import _regions
from kickwheel._course import MAX_CHECKPOINT_MINUTES, MAX_TASK_MINUTES, Checkpoint, Mutant
from kickwheel._errors import CourseDataError, KickwheelError, SurroundingsError
from kickwheel._mutants import MutantRun, run_on_reference
from kickwheel._packages import PACKAGES, installed, source_files, write_derived
from kickwheel._places import course_folder
from kickwheel._runner import RunReport, run_bounded, run_focused
from kickwheel._type_check import TypeFault, check_trees

WORKERS = 2
TIMEOUT = 60
SITE_TIMEOUT = 600
MIN_MUTANTS, MAX_MUTANTS = 2, 4


@dataclass(frozen=True, slots=True)
class DevCheck:
    """One finding: `status` is `ok` or `fail`; `detail` names the file of a fault."""

    checkpoint: str
    name: str
    status: str
    detail: str


class CheckpointChecker:
    """Runs every check of one checkpoint; the focused runs go through a small pool."""

    def __init__(
        self, site: "SiteCheck", checkpoint: Checkpoint, starters: "StarterCheck", contract: dict[str, str]
    ) -> None:
        """`starters` knows the type checker, and checks the starter of this checkpoint among others."""
        self._site, self._root, self._checkpoint = site, site.root, checkpoint
        self._starters, self._checker, self._contract = starters, starters.checker, contract
        self._data_file = f"course/checkpoints/{checkpoint.id}.toml"
        self._test = site.root / checkpoint.test_file

    def run(self) -> list[DevCheck]:
        """All findings, in a fixed order."""
        checks: tuple[tuple[str, Callable[[], Iterator[str]]], ...] = (
            ("minutes", self._minutes),
            ("regions", self._regions),
            ("derivation", self._derivation),
            ("copies", self._copies),
            ("focused-file", self._focused_file),
            ("starter-types", self._starter_types),
            ("tasks", self._tasks),
            ("mutants", self._mutants),
            ("pages", self._pages),
        )
        return [self._one(name, check) for name, check in checks]

    def _one(self, name: str, check: Callable[[], Iterator[str]]) -> DevCheck:
        try:
            faults = list(check())
        except (KickwheelError, OSError) as error:
            faults = [str(error)]
        return DevCheck(self._checkpoint.id, name, "fail" if faults else "ok", "\n".join(faults))

    def _minutes(self) -> Iterator[str]:
        checkpoint = self._checkpoint
        if checkpoint.minutes > MAX_CHECKPOINT_MINUTES:
            yield f"{self._data_file}: more than {MAX_CHECKPOINT_MINUTES} minutes"
        for task in checkpoint.tasks:
            if task.minutes > MAX_TASK_MINUTES:
                yield f"{self._data_file}: task {task.number} has more than {MAX_TASK_MINUTES} minutes"
        total = sum(task.minutes for task in checkpoint.tasks)
        if total != checkpoint.minutes:
            yield f"{self._data_file}: the tasks' minutes add up to {total}, not {checkpoint.minutes}"

    def _sources(self) -> Iterator[tuple[str, str]]:
        folder = installed(self._checkpoint.package)
        for relative in source_files(folder):
            if relative.suffix == ".py":
                yield relative.as_posix(), (folder / relative).read_text("utf-8")

    def _regions(self) -> Iterator[str]:
        checkpoint = self._checkpoint
        seen: set[int] = set()
        for name, source in self._sources():
            place = f"{checkpoint.package}/{name}"
            for region in _regions.regions(source, place):
                if region.checkpoint != checkpoint.id:
                    continue
                if not 1 <= region.task <= len(checkpoint.tasks):
                    yield f"{place}:{region.line}: task {region.task} is not in {self._data_file}"
                elif name not in checkpoint.modules:
                    yield f"{place}:{region.line}: {name} is not among the modules of {self._data_file}"
                seen.add(region.task)
        for task in checkpoint.tasks:
            if task.number not in seen:
                yield f"{self._data_file}: task {task.number} has no region"
        for module in checkpoint.modules:
            if not (installed(checkpoint.package) / module).is_file():
                yield f"{self._data_file}: {module} does not exist in {checkpoint.package}"

    def _derivation(self) -> Iterator[str]:
        for name, source in self._sources():
            first = _regions.derive(source, name, self._checkpoint.id)
            if first != _regions.derive(source, name, self._checkpoint.id):
                yield f"{name}: deriving twice gives two texts"
            try:
                ast.parse(first)
                ast.parse(_regions.derive(source, name, None))
            except SyntaxError as error:
                yield f"{self._checkpoint.package}/{name}: derived text, line {error.lineno}: {error.msg}"

    def _copies(self) -> Iterator[str]:
        names = [self._checkpoint.test_file, *(f"fixtures/{name}" for name in self._checkpoint.fixtures)]
        for name in names:
            source, copy = self._root / name, course_folder() / name
            if not source.is_file():
                yield f"{name} does not exist"
            elif not copy.is_file() or copy.read_bytes() != source.read_bytes():
                yield f"course/{name} is not the copy of {name}: kickwheel dev sync"

    def _focused_file(self) -> Iterator[str]:
        name = self._checkpoint.test_file
        yield from _foreign_imports(self._test.read_text("utf-8"), name, self._checkpoint.package)
        report = self._run_installed()
        yield from _why_not_green(report, f"{name}: the reference")
        for case in report.cases:
            if case.task_marks != 1:
                yield f"{name}: {case.test} has {case.task_marks} task marks"
            elif case.task is None or not 1 <= case.task <= len(self._checkpoint.tasks):
                yield f"{name}: {case.test} has no known task"
            if not case.criteria:
                yield f"{name}: {case.test} cites no line"
            for line in case.criteria:
                if line not in self._contract:
                    yield f"{name}: {case.test} cites {line}, which spec/ does not have"

    def _run_installed(self) -> RunReport:
        place = installed(self._checkpoint.package)
        return run_focused(self._test, self._checkpoint.package, None, place, timeout=TIMEOUT)

    def _starter_types(self) -> Iterator[str]:
        for fault in self._starters.faults(self._checkpoint.id):
            yield f"starter {fault.place()}: {fault.message}"

    def _tasks(self) -> Iterator[str]:
        """S.60 and S.61: every prefix of the tasks turns its own tests green and leaves the next task red."""
        numbers = [task.number for task in self._checkpoint.tasks]
        prefixes = [range(1, count + 1) for count in range(len(numbers) + 1)]
        with ThreadPoolExecutor(WORKERS) as pool:
            reports = list(pool.map(self._run_prefix, prefixes))
        for solved, report in zip(prefixes, reports, strict=True):
            yield from self._judge_prefix(len(solved), report)

    def _run_prefix(self, solved: range) -> RunReport:
        checkpoint = self._checkpoint
        with tempfile.TemporaryDirectory(prefix="kickwheel-tasks-") as folder:
            target = Path(folder)
            write_derived(checkpoint.package, target, checkpoint.id, solved)
            place = target / checkpoint.package
            return run_focused(self._test, checkpoint.package, target, place, timeout=TIMEOUT)

    def _judge_prefix(self, solved: int, report: RunReport) -> Iterator[str]:
        what = "the starter" if solved == 0 else f"tasks 1 to {solved} solved"
        file = self._checkpoint.test_file
        if report.import_failure is not None:
            failure = report.import_failure
            yield f"{file}: {what}: not collected: {failure.file}:{failure.line} {failure.reason}"
            return
        if report.hung or report.crashed:
            yield f"{file}: {what}: the run ended in {report.stopped_in}"
        red = {case.task for case in report.failures}
        early = [case.test for case in report.failures if (case.task or 0) <= solved]
        if early:
            yield f"{file}: {what}, yet red: {', '.join(early)}"
        last = len(self._checkpoint.tasks)
        needed = range(1, last + 1) if solved == 0 else range(solved + 1, min(solved + 1, last) + 1)
        for task in needed:
            if task not in red:
                yield f"{file}: {what}, yet every test of task {task} passes"

    def _mutants(self) -> Iterator[str]:
        mutants = self._checkpoint.mutants
        if not MIN_MUTANTS <= len(mutants) <= MAX_MUTANTS:
            yield f"{self._data_file}: {len(mutants)} mutants, not {MIN_MUTANTS} to {MAX_MUTANTS}"
        with ThreadPoolExecutor(WORKERS) as pool:
            for mutant, faults in zip(mutants, pool.map(self._judge_mutant, mutants), strict=True):
                yield from (f"{self._data_file}: {mutant.name}: {fault}" for fault in faults)

    def _judge_mutant(self, mutant: Mutant) -> list[str]:
        checker = self._checker if mutant.check == "types" else None
        try:
            run = run_on_reference(self._checkpoint, mutant, timeout=TIMEOUT, checker=checker)
        except CourseDataError as error:
            return [error.reason]
        faults = self._find_once(mutant)
        if not run.as_declared and not (mutant.check == "types" and checker is None):
            faults.append(f"declared {sorted(mutant.red)}, turned red {sorted(run.red)}")
        if run.report.import_failure is not None:
            faults.append(f"the mutated package does not import: {run.report.import_failure.reason}")
        return [*faults, *_uncovered(mutant, run)]

    def _find_once(self, mutant: Mutant) -> list[str]:
        """The text must be unique in the source file too, markers included: authors search for it there."""
        source = (installed(self._checkpoint.package) / mutant.file).read_text("utf-8")
        count = source.count(mutant.find)
        return [] if count == 1 else [f"'find' occurs {count} times in {mutant.file}"]

    def _pages(self) -> Iterator[str]:
        name = f"course/{self._checkpoint.folder_name}.md"
        pages = [self._root / "docs" / language / name for language in ("en", "vi")]
        missing = [page for page in pages if not page.is_file()]
        for page in missing:
            yield f"{page.relative_to(self._root).as_posix()} does not exist"
        if not missing:
            yield from self._site.faults(self._checkpoint.id)


class StarterCheck:
    """The type checker over the starters of some checkpoints (S.59), run once for all of them."""

    def __init__(self, checker: str | None, checkpoints: Sequence[Checkpoint]) -> None:
        """`checker` is its path, or `None` to leave types out; nothing runs before the first question."""
        self.checker = checker
        self._checkpoints = checkpoints
        self._found: dict[str, list[TypeFault]] | None = None
        self._broken: dict[str, KickwheelError] = {}

    def faults(self, checkpoint: str) -> list[TypeFault]:
        """The errors in the starter of a checkpoint; raises what went wrong while it was made."""
        if self.checker is None:
            return []
        if self._found is None:
            self._found = self._run(self.checker)
        if checkpoint in self._broken:
            raise self._broken[checkpoint]
        return self._found[checkpoint]

    def _run(self, checker: str) -> dict[str, list[TypeFault]]:
        with tempfile.TemporaryDirectory(prefix="kickwheel-starters-") as folder:
            trees: dict[str, Path] = {}
            for checkpoint in self._checkpoints:
                tree = Path(folder) / checkpoint.id
                try:
                    write_derived(checkpoint.package, tree, checkpoint.id)
                except KickwheelError as error:
                    self._broken[checkpoint.id] = error
                else:
                    trees[checkpoint.id] = tree
            return check_trees(checker, trees)


class SiteCheck:
    """The site's own checks of pages and translations (S.16 to S.34), run once for all checkpoints."""

    def __init__(self, root: Path) -> None:
        """Nothing runs before the first question."""
        self.root = root
        self._found: list[str] | None = None

    def faults(self, checkpoint: str) -> Iterator[str]:
        """The faults in files of a checkpoint."""
        if self._found is None:
            self._found = self._run()
        for fault in self._found:
            name = fault.partition(":")[0].rpartition("/")[2]
            if name.startswith((f"{checkpoint}-", f"{checkpoint}.", f"test_{checkpoint}_")):
                yield fault

    def _run(self) -> list[str]:
        script = self.root / "scripts" / "site.py"
        ended = run_bounded([sys.executable, str(script), "check", "--json"], self.root, SITE_TIMEOUT)
        try:
            checks = cast("list[dict[str, object]]", json.loads(ended.output)["checks"])
        except ValueError as error:
            reason = (ended.errors.strip().splitlines() or ["no answer"])[-1]
            values = {"tool": "scripts/site.py", "reason": reason}
            raise SurroundingsError("TOOL_MISSING", "error.tool_broken", **values) from error
        failed = [check for check in checks if check["status"] == "fail"]
        return [str(fault) for check in failed for fault in cast("list[str]", check["detail"])]


def _uncovered(mutant: Mutant, run: MutantRun) -> Iterator[str]:
    cited = {line for case in run.report.failures for line in case.criteria}
    if mutant.check == "tests":
        for line in mutant.criteria:
            if line not in cited:
                yield f"no red test cites {line}"


def _why_not_green(report: RunReport, what: str) -> Iterator[str]:
    if report.import_failure is not None:
        yield f"{what}: {report.import_failure.reason}"
    elif report.hung or report.crashed:
        yield f"{what}: the run ended in {report.stopped_in}"
    elif not report.cases:
        yield f"{what}: no test ran"
    for case in report.failures:
        yield f"{what}: {case.test} fails"


def _foreign_imports(source: str, name: str, package: str) -> Iterator[str]:
    allowed = {*sys.stdlib_module_names, "pytest", package, *PACKAGES}
    for node in ast.walk(ast.parse(source)):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or "."]
        for module in modules:
            if module.partition(".")[0] not in allowed:
                yield f"{name}: imports {module}"
