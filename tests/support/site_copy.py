"""A copy of the site's sources, in which a test plants one fault at a time."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from site_tools.layout import ROOT, Site

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

PARTS = ("docs", "includes", "spec", "examples", "fixtures", "tests/checkpoints", "overrides")
IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", "vendor")


def copy_sources(target: Path) -> Path:
    """Everything that the checks read, and no more."""
    for part in PARTS:
        shutil.copytree(ROOT / part, target / part, ignore=IGNORED)
    for package in sorted((ROOT / "packages").iterdir()):
        folder = target / "packages" / package.name
        shutil.copytree(package / "src", folder / "src", ignore=IGNORED)
        for name in ("pyproject.toml", "CHANGELOG.md"):
            shutil.copy(package / name, folder / name)
    for name in ("mkdocs.yml", "mkdocs.vi.yml"):
        shutil.copy(ROOT / name, target / name)
    return target


@contextmanager
def planted(root: Path, file: str, old: str, new: str) -> Generator[Site]:
    """The site with one text replaced, once; the file is as before afterwards."""
    path = root / file
    before = path.read_bytes()
    text = before.decode("utf-8")
    assert old in text, f"{old!r} is not in {file}"
    path.write_bytes(text.replace(old, new, 1).encode("utf-8"))
    try:
        yield Site(root)
    finally:
        path.write_bytes(before)


@contextmanager
def without(root: Path, file: str) -> Generator[Site]:
    """The site without one file."""
    path = root / file
    before = path.read_bytes()
    path.unlink()
    try:
        yield Site(root)
    finally:
        path.write_bytes(before)


@contextmanager
def added(root: Path, file: str, text: str) -> Generator[Site]:
    """The site with one file more."""
    path = root / file
    path.write_text(text, "utf-8")
    try:
        yield Site(root)
    finally:
        path.unlink()
