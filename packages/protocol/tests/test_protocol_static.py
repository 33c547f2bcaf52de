"""Static promises: basedpyright in strict mode judges each snippet of `static_cases` (checkpoint 01).

A line that ends in `# !` has at least one error, no other line has any; the checker runs once over all.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import kickwheel_protocol

CASES = Path(__file__).parent / "static_cases"
FILES = sorted(CASES.glob("case_*.py"))
CHECKER = shutil.which("basedpyright", path=str(Path(sys.executable).parent)) or shutil.which("basedpyright")

pytestmark = pytest.mark.skipif(CHECKER is None, reason="needs basedpyright")


@dataclass(frozen=True)
class Verdicts:
    """What the checker said: the lines with an error by file name."""

    errors: dict[str, set[int]]

    def of(self, file: Path) -> set[int]:
        return self.errors.get(file.name, set())


def check(folder: Path, *, extra_path: Path | None = None) -> Verdicts:
    """Run the checker once over all snippets of a folder."""
    configuration: dict[str, object] = {
        "include": [str(folder)],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(extra_path)] if extra_path else [],
    }
    project = folder / "pyrightconfig.json"
    project.write_text(json.dumps(configuration))
    assert CHECKER
    command = [CHECKER, "--project", str(project), "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(list(folder.glob("*.py")))
    errors: dict[str, set[int]] = {}
    for found in report["generalDiagnostics"]:
        if found["severity"] == "error":
            errors.setdefault(Path(found["file"]).name, set()).add(found["range"]["start"]["line"] + 1)
    return Verdicts(errors)


def marked(file: Path) -> set[int]:
    """Return the numbers of the lines that have to be errors."""
    return {number for number, line in enumerate(file.read_text().splitlines(), 1) if line.endswith("# !")}


def line_of(file: Path) -> str:
    """Return the spec line that a file's name cites: `case_01_20_discriminants` is for 01.20."""
    _, checkpoint, number, *_ = file.stem.split("_")
    return f"{checkpoint}.{number}"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Verdicts:
    """The checker's verdicts on all snippets, copied away from the settings of this repository."""
    folder = tmp_path_factory.mktemp("static")
    for file in FILES:
        shutil.copy(file, folder)
    return check(folder)


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, id=file.stem, marks=pytest.mark.criterion(line_of(file), "01.36")) for file in FILES],
)
def test_the_checker_finds_exactly_the_marked_lines(file: Path, verdicts: Verdicts) -> None:
    assert "ignore" not in file.read_text()
    assert verdicts.of(file) == marked(file)


@pytest.mark.criterion("01.36", "01.100")
def test_there_are_failing_and_passing_snippets() -> None:
    failing = [file for file in FILES if marked(file)]
    assert len([file for file in failing if line_of(file) == "01.100"]) == 10
    assert len(failing) > 30
    assert len(FILES) - len(failing) >= 10


DEFERRED = """
@final
class DeferredRun(Record, tag_field="status", tag="deferred", frozen=True):
    status: ClassVar[Literal["deferred"]] = "deferred"
    messages: tuple[Message, ...]
    resume_token: str


RunResult: TypeAlias = CompletedRun | CancelledRun | MaxStepsRun | FailedRun | DeferredRun
"""


@pytest.mark.criterion("01.108", "01.109", "01.36")
def test_a_fifth_run_result_without_a_branch_fails_the_type_check(tmp_path: Path) -> None:
    """The failure experiment: the checker alone notices, at every `assert_never` over the union."""
    package = tmp_path / "sources" / "kickwheel_protocol"
    shutil.copytree(
        Path(kickwheel_protocol.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    runs = package / "_runs.py"
    source = runs.read_text()
    union = "RunResult: TypeAlias = CompletedRun | CancelledRun | MaxStepsRun | FailedRun\n"
    assert source.count(union) == 1
    runs.write_text(source.replace(union, DEFERRED))
    snippets = tmp_path / "snippets"
    snippets.mkdir()
    for name in ("case_01_108_run.py", "case_01_109_discriminants.py", "case_01_108_message.py"):
        shutil.copy(CASES / name, snippets)
    verdicts = check(snippets, extra_path=package.parent)
    by_class, by_status = snippets / "case_01_108_run.py", snippets / "case_01_109_discriminants.py"
    assert verdicts.of(by_class) == lines_with(by_class, "assert_never(r)")
    assert verdicts.of(by_status) == lines_with(by_status, "assert_never(r)")
    assert verdicts.of(snippets / "case_01_108_message.py") == set()


def lines_with(file: Path, text: str) -> set[int]:
    found = {number for number, line in enumerate(file.read_text().splitlines(), 1) if text in line}
    assert found
    return found
