"""Runs basedpyright over a learner's folder, a starter or a mutated package."""

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from kickwheel._course import Checkpoint
from kickwheel._errors import SurroundingsError
from kickwheel._messages import Messages
from kickwheel._places import course_folder
from kickwheel._practice import Practice
from kickwheel._runner import find_tool, run_bounded

CHECKER = "basedpyright"
INSTALL_LINE = "pip install basedpyright"
TYPE_CHECKING_MODE = "standard"
"""The mode of a practice folder, also written into its `pyproject.toml`."""

_TIMEOUT = 180.0


@dataclass(frozen=True, slots=True)
class TypeFault:
    """One error of the type checker; `line` counts from 1."""

    file: str
    line: int
    message: str

    def place(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}"

    def as_json(self) -> dict[str, object]:
        """The object shown in JSON."""
        return {"file": self.file, "line": self.line, "message": self.message}


def find_checker(text: Messages) -> str:
    """The path of the type checker, or `TOOL_MISSING` with the line that installs it."""
    tool = find_tool(CHECKER)
    if tool is None:
        raise SurroundingsError("TOOL_MISSING", text("error.tool_missing", tool=CHECKER, line=INSTALL_LINE))
    return tool


def check_checkpoint(checker: str, checkpoint: Checkpoint, practice: Practice | None) -> list[TypeFault]:
    """Check a learner's package and its focused file, or, outside a folder, the focused file alone."""
    if practice is None:
        return check_paths(checker, [course_folder() / checkpoint.test_file], [], [course_folder()])
    paths = [practice.package(checkpoint), practice.folder / checkpoint.test_file]
    return check_paths(checker, paths, [practice.work(checkpoint)], [practice.folder])


def check_paths(
    checker: str, paths: Sequence[Path], extra_paths: Sequence[Path], roots: Sequence[Path]
) -> list[TypeFault]:
    """The errors over `paths`, relative to one of `roots`; `extra_paths` come before what is installed."""
    extra = [str(path.resolve()) for path in extra_paths]
    entries = _run(checker, {"include": [str(path.resolve()) for path in paths], "extraPaths": extra})
    resolved = [root.resolve() for root in roots]
    return [_fault(entry, resolved) for entry in entries]


def check_trees(checker: str, trees: Mapping[str, Path]) -> dict[str, list[TypeFault]]:
    """The errors over each named folder, found in one run; a folder's own packages come before the installed.

    The folders may hold packages of the same name: each is an environment of its own. An error in none of
    them counts for all.
    """
    roots = {name: path.resolve() for name, path in trees.items()}
    folders = [str(root) for root in roots.values()]
    environments = [{"root": folder} for folder in folders]
    entries = _run(checker, {"include": folders, "executionEnvironments": environments}) if folders else []
    placed = [(entry, _tree_of(entry, roots)) for entry in entries]
    return {
        name: [_fault(entry, [root]) for entry, tree in placed if tree in (name, None)]
        for name, root in roots.items()
    }


def _run(checker: str, settings: dict[str, object]) -> list[dict[str, object]]:
    """The errors of one run of the type checker with these settings."""
    with tempfile.TemporaryDirectory(prefix="kickwheel-types-", ignore_cleanup_errors=True) as folder:
        config = Path(folder) / "pyrightconfig.json"
        config.write_text(json.dumps({**settings, "typeCheckingMode": TYPE_CHECKING_MODE}), "utf-8")
        command = [checker, "-p", str(config), "--pythonpath", sys.executable, "--outputjson"]
        ended = run_bounded(command, Path(folder), _TIMEOUT)
    try:
        if ended.code not in (0, 1):
            raise ValueError(ended.code)
        found = cast("dict[str, list[dict[str, object]]]", json.loads(ended.output))
    except ValueError as error:
        tail = (ended.output + ended.errors).strip().splitlines()[-1:] or ["no output"]
        raise SurroundingsError("TOOL_MISSING", "error.tool_broken", tool=CHECKER, reason=tail[0]) from error
    return [entry for entry in found["generalDiagnostics"] if entry["severity"] == "error"]


def _tree_of(entry: dict[str, object], roots: Mapping[str, Path]) -> str | None:
    path = Path(str(entry["file"]))
    return next((name for name, root in roots.items() if path.is_relative_to(root)), None)


def _fault(entry: dict[str, object], roots: Sequence[Path]) -> TypeFault:
    path = Path(str(entry["file"]))
    shown = next((path.relative_to(root) for root in roots if path.is_relative_to(root)), path)
    span = cast("dict[str, dict[str, int]]", entry.get("range", {"start": {"line": 0}}))
    return TypeFault(shown.as_posix(), span["start"]["line"] + 1, str(entry["message"]).splitlines()[0])
