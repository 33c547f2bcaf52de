"""Which test cites which spec line: pytest itself collects, in a child process, and reports its marks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import cast

PLUGIN = "spec_lines"
"""`tests/support/spec_lines.py`: writes the collection when the option is given."""


@dataclass(frozen=True, slots=True)
class Case:
    """One collected test case."""

    file: str
    name: str
    lines: tuple[str, ...]
    task: int | None
    skipped: bool
    """Whether it carries an unconditional skip."""

    @property
    def function(self) -> str:
        """Its name without parameters and classes."""
        return self.name.split("[", 1)[0].rsplit("::", 1)[-1]


class CollectionError(RuntimeError):
    """The tests could not be collected; the text is what pytest said."""


_cache: dict[Path, list[Case]] = {}


def collect(root: Path) -> list[Case]:
    """Every test of the repository, once per process."""
    if root not in _cache:
        _cache[root] = _collect(root)
    return _cache[root]


def _collect(root: Path) -> list[Case]:
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "collection.json"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            PLUGIN,
        ]
        command += [f"--spec-collection={file}"]
        done = subprocess.run(
            command,
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(root / "tests" / "support"), "KICKWHEEL_COLLECTING": "1"},
        )
        if done.returncode not in (0, 5) or not file.exists():
            said = done.stdout + done.stderr
            rows_said = [row for row in said.split("\n") if row.startswith(("E  ", "ERROR", "_____"))]
            raise CollectionError("\n".join(rows_said)[-2000:] or said[-2000:])
        rows = cast("list[dict[str, object]]", json.loads(file.read_text("utf-8")))
    return [
        Case(
            str(row["file"]),
            str(row["name"]),
            tuple(cast("list[str]", row["lines"])),
            cast("int | None", row["task"]),
            bool(row["skipped"]),
        )
        for row in rows
    ]


def forget(root: Path) -> None:
    """Collect anew next time: the tests have changed."""
    _cache.pop(root, None)
