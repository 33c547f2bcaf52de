"""Ends a full test run with one line on the spec: lines in all, tested, excused by reason (S.109)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CITED = pytest.StashKey[frozenset[str]]()

# Behind the others: the folder holds a site.py.
sys.path.append(str(ROOT / "scripts"))


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    if config.args == config.getini("testpaths") and not config.option.keyword and not config.option.markexpr:
        from spec_lines import cited

        config.stash[CITED] = frozenset(line for item in session.items for line in cited(item))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    cited = config.stash.get(CITED, None)
    if cited is None:
        return
    from site_tools.coverage import read_excused, summary
    from site_tools.speclines import read_spec

    line = summary(read_spec(ROOT / "spec"), cited, read_excused(ROOT / "spec" / "excused.toml"))
    terminalreporter.write_line(line)
