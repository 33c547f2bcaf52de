"""Pytest plugin: writes which test cites which spec line, and ends a full run with one line of figures.

`--spec-collection=FILE` writes the collected tests as JSON; `tests/conftest.py` asks for the closing line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

OPTION = "--spec-collection"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        OPTION, metavar="FILE", default=None, help="write the collected tests and their spec lines"
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    target: object = session.config.getoption(OPTION)
    if isinstance(target, str):
        rows = [describe(item, session.config.rootpath) for item in session.items]
        Path(target).write_text(json.dumps(rows), "utf-8")


def describe(item: pytest.Item, root: Path) -> dict[str, object]:
    """One test case: file, name, cited lines, task, and whether it is always skipped."""
    file = item.path.relative_to(root).as_posix() if item.path.is_relative_to(root) else str(item.path)
    return {
        "file": file,
        "name": item.nodeid.split("::", 1)[-1],
        "lines": list(cited(item)),
        "task": next((mark.args[0] for mark in item.iter_markers("task")), None),
        "skipped": always_skipped(item),
    }


def cited(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("criterion"):
        for line in mark.args:
            yield str(line)


def always_skipped(item: pytest.Item) -> bool:
    """A `skip` mark, or a `skipif` whose condition is the constant True."""
    if item.get_closest_marker("skip") is not None:
        return True
    return any(mark.args and mark.args[0] is True for mark in item.iter_markers("skipif"))
