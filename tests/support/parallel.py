"""Runs the whole suite in parallel, a process a core; a run that names files, tests or words has one.

A file is one unit of work, so that what its fixtures built is built once. `TOGETHER` joins folders that share
a costly session fixture; `BY_FUNCTION` and `BY_CASE` divide long files whose tests share next to nothing.
`-n 0` runs everything in one process, `-n 4` anything in four. Without pytest-xdist nothing changes.
"""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs] its source is annotated
    from xdist.scheduler.loadscope import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs]

TOGETHER = ("tests/site",)
"""Folders that are one unit: their tests look at one build of the site in one browser."""

BY_FUNCTION = ("tests/cli/test_course_end_to_end.py",)
"""Files whose test functions are units, each with all its parameters."""

BY_CASE = ("packages/kickwheel/tests/test_dev_verbs.py",)
"""Files of which every case is a unit."""

MAX_PROCESSES = 8


def is_full_run(config: pytest.Config) -> bool:
    """Whether every test is meant: no path, no `-k`, no `-m`."""
    return config.args == config.getini("testpaths") and not (config.option.keyword or config.option.markexpr)


def unit_of(nodeid: str) -> str:
    """The unit of work that a test belongs to."""
    file = nodeid.partition("::")[0]
    if file in BY_CASE:
        return nodeid
    if file in BY_FUNCTION:
        return nodeid.partition("[")[0]
    return next((folder for folder in TOGETHER if PurePosixPath(file).is_relative_to(folder)), file)


def processes() -> int:
    """One a core that this process may use; each collects all tests, so that many more are no faster."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_PROCESSES)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Ask for a process a core, unless the command line says how many or wants to look inside."""
    option = config.option
    if config.pluginmanager.has_plugin("xdist") and not hasattr(config, "workerinput"):
        chosen = option.numprocesses is not None or option.tx or option.dist != "no"
        inside = option.usepdb or option.collectonly
        if not chosen and not inside and is_full_run(config) and processes() > 1:
            option.numprocesses = processes()
            option.dist = "loadscope"
            option.loadscopereorder = False  # the long files come first in the order of collection
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Hand out units."""
    if config.option.dist != "loadscope":
        return None
    from xdist.scheduler.loadscope import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs]

    class ByUnit(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    return ByUnit(config, log)
