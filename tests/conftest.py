"""Ends a full test run with one line on the spec: lines in all, tested, excused by reason (S.109)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol

import pytest
from parallel import is_full_run

ROOT = Path(__file__).resolve().parents[1]
CITED = pytest.StashKey[frozenset[str]]()
HANDED_OVER = "cited_spec_lines"


class Worker(Protocol):
    """A process of a parallel run, as the one that started it sees it."""

    config: pytest.Config


# Behind the others: the folder holds a site.py.
sys.path.append(str(ROOT / "scripts"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which lines are cited; a worker of a parallel run, which alone collects, hands them over."""
    config = session.config
    handed_over: dict[str, object] | None = getattr(config, "workeroutput", None)
    if session.items and is_full_run(config):
        from spec_lines import cited

        lines = frozenset(line for item in session.items for line in cited(item))
        config.stash[CITED] = lines
        if handed_over is not None:
            handed_over[HANDED_OVER] = sorted(lines)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Worker) -> None:
    """Take what a worker handed over; all have collected the same tests."""
    lines = getattr(node, "workeroutput", {}).get(HANDED_OVER)
    if lines is not None:
        node.config.stash[CITED] = frozenset(lines)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    cited = config.stash.get(CITED, None)
    if cited is None:
        return
    from site_tools.coverage import read_excused, summary
    from site_tools.speclines import read_spec

    line = summary(read_spec(ROOT / "spec"), cited, read_excused(ROOT / "spec" / "excused.toml"))
    terminalreporter.write_line(line)
