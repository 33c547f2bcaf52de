"""Deliberate faults: apply an edit, run the focused file, compare what turned red with what was declared."""

import ast
import difflib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kickwheel._course import Checkpoint, Mutant
from kickwheel._errors import CourseDataError
from kickwheel._focused import packaged_test
from kickwheel._packages import write_derived
from kickwheel._places import course_folder
from kickwheel._runner import RunReport, run_focused
from kickwheel._type_check import TypeFault, check_paths


@dataclass(frozen=True, slots=True)
class MutantRun:
    """What a mutant did: its edit as a diff, the tests it turned red, for `types` the checker's errors."""

    mutant: Mutant
    diff: str
    report: RunReport
    types: tuple[TypeFault, ...] | None = None
    red_types: tuple[str, ...] = ()

    @property
    def red(self) -> tuple[str, ...]:
        """The tests that turned red; a test that hung counts."""
        names = [case.test for case in self.report.failures]
        if self.report.stopped_in is not None and self.report.stopped_in not in names:
            names.append(self.report.stopped_in)
        return tuple(names)

    @property
    def as_declared(self) -> bool:
        """Whether exactly the declared tests turned red."""
        if self.report.import_failure is not None:
            return False
        if self.mutant.check == "types":
            return not self.red and bool(self.types) and _covers(self.mutant.red, self.red_types)
        return same_tests(self.mutant.red, self.red) and not self.report.crashed


def apply_edit(content: bytes, mutant: Mutant) -> bytes | None:
    """The edited content, or `None` when the text to replace does not occur exactly once."""
    find = mutant.find.encode()
    if content.count(find) != 1:
        return None
    return content.replace(find, mutant.replace.encode())


def unified_diff(before: bytes, after: bytes, name: str) -> str:
    """The edit as a unified diff."""
    lines = difflib.unified_diff(
        before.decode("utf-8", "replace").splitlines(keepends=True),
        after.decode("utf-8", "replace").splitlines(keepends=True),
        f"a/{name}",
        f"b/{name}",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def run_on_reference(
    checkpoint: Checkpoint, mutant: Mutant, *, timeout: float, checker: str | None
) -> MutantRun:
    """Copy the reference package, apply the edit, run the focused file (and the type checker, if given)."""
    with tempfile.TemporaryDirectory(prefix="kickwheel-break-", ignore_cleanup_errors=True) as folder:
        target = Path(folder)
        write_derived(checkpoint.package, target, None)
        place = target / checkpoint.package / mutant.file
        before = place.read_bytes() if place.is_file() else b""
        after = apply_edit(before, mutant)
        if after is None:
            file = f"course/checkpoints/{checkpoint.id}.toml"
            reason = f"mutant {mutant.name}: 'find' does not occur exactly once in {mutant.file}"
            raise CourseDataError(file, None, reason)
        place.write_bytes(after)
        diff = unified_diff(before, after, f"{checkpoint.package}/{mutant.file}")
        return run_mutated(checkpoint, mutant, diff, target, timeout=timeout, checker=checker)


def run_mutated(
    checkpoint: Checkpoint, mutant: Mutant, diff: str, target: Path, *, timeout: float, checker: str | None
) -> MutantRun:
    """Run the focused file on a folder that holds the edited package."""
    file = packaged_test(checkpoint)
    package = target / checkpoint.package
    report = run_focused(file, checkpoint.package, target, package, timeout=timeout)
    if mutant.check != "types" or checker is None:
        return MutantRun(mutant, diff, report)
    faults = check_paths(checker, [package, file], [target], [target, course_folder()])
    return MutantRun(mutant, diff, report, tuple(faults), _enclosing_tests(faults, file))


def same_tests(declared: tuple[str, ...], found: tuple[str, ...]) -> bool:
    """Whether both name the same tests; a declared name may leave out the class."""
    return {_short(name, declared) for name in found} == set(declared) and len(found) >= len(declared)


def _short(name: str, declared: tuple[str, ...]) -> str:
    last = name.rpartition("::")[2]
    return last if name not in declared and last in declared else name


def _covers(declared: tuple[str, ...], found: tuple[str, ...]) -> bool:
    return set(declared) <= set(found)


def _enclosing_tests(faults: list[TypeFault], file: Path) -> tuple[str, ...]:
    """The functions of the focused file that hold an error."""
    tree = ast.parse(file.read_text("utf-8"))
    spans = [
        (node.name, node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lines = [fault.line for fault in faults if Path(fault.file).name == file.name]
    return tuple(
        sorted({name for name, first, last in spans if any(first <= line <= last for line in lines)})
    )
