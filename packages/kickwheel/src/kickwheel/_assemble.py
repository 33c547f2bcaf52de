"""One runtime of the learner's green checkpoints and the reference for the rest, in a temporary folder."""

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from kickwheel._course import Checkpoint, load_course
from kickwheel._fixture_input import DEFAULT_FIXTURE
from kickwheel._messages import LANGUAGES, MESSAGES
from kickwheel._packages import PACKAGES, write_derived
from kickwheel._places import course_folder
from kickwheel._practice import Practice, learner_files
from kickwheel._runner import DEFAULT_TIMEOUT, run_bounded

Json = dict[str, object]

_LAUNCH = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from kickwheel.__main__ import main; sys.exit(main())"
)


def assemble(practice: Practice, target: Path) -> tuple[Checkpoint, ...]:
    """Write all six packages to `target`; returns the checkpoints whose modules are the learner's."""
    for package in {*PACKAGES, *(checkpoint.package for checkpoint in load_course().checkpoints)}:
        write_derived(package, target, None)
    _add_data(target / "kickwheel" / "course")
    green = tuple(c for c in load_course().checkpoints if practice.state(c) == "green")
    for checkpoint in green:
        _take_over(practice.package(checkpoint), target / checkpoint.package, checkpoint.modules)
    return green


def _take_over(mine: Path, place: Path, modules: Sequence[str]) -> None:
    """Copy the learner's modules, and files of their own that the reference does not have."""
    for path in learner_files(mine):
        relative = path.relative_to(mine)
        goal = place / relative
        if relative.as_posix() in modules or not goal.exists():
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, goal)


def trace_assembled(target: Path, words: Sequence[str], *, timeout: float = DEFAULT_TIMEOUT) -> Json:
    """The JSON object of `kickwheel trace` on an assembled runtime, in a process of its own.

    A runtime that breaks before it can answer gives exit 1 and the last line it said.
    """
    command = [sys.executable, "-P", "-B", "-c", _LAUNCH, str(target), "trace", "--json", *words]
    ended = run_bounded(command, target, timeout)
    try:
        return cast("Json", json.loads(ended.output))
    except ValueError:
        last = ended.errors.strip().splitlines()[-1:] or [f"no answer within {timeout} seconds"]
        return {"exit": 1, "fixture": None, "events": [], "result": None, "broken": last[0]}


def _add_data(course: Path) -> None:
    """What `trace` itself reads: its texts and the fixture that ships."""
    (course / "fixtures").mkdir(parents=True)
    for language in LANGUAGES:
        shutil.copy(MESSAGES / f"messages.{language}.toml", course)
    shutil.copy(course_folder() / "fixtures" / DEFAULT_FIXTURE, course / "fixtures")
