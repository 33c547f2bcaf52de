"""The repository around an editable installation: what only authors of the course need."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from kickwheel._atomic import write_atomically
from kickwheel._errors import SurroundingsError
from kickwheel._messages import Messages
from kickwheel._places import course_folder

_LINE_ID = re.compile(r"(?:\d\d[A-Z]?|S)\.[A-Z]?\d+")
_LIST_ITEM = re.compile(rf"\s*[-*]\s+({_LINE_ID.pattern})\b\s*(?:—|-|:)?\s*(.*)")
_CELL_BORDER = re.compile(r"(?<!\\)\|")


def find_repository(text: Messages) -> Path:
    """The root of the repository, or `TOOL_MISSING` in an installation without one."""
    for folder in course_folder().parents:
        if (folder / "spec" / "site.md").is_file() and (folder / "packages").is_dir():
            return folder
    raise SurroundingsError("TOOL_MISSING", text("error.no_repository"))


def contract_lines(folder: Path) -> dict[str, str]:
    """Every numbered line of the files in `spec/`: number to sentence."""
    lines: dict[str, str] = {}
    for path in sorted(folder.glob("*.md")):
        lines.update(_lines_of(path.read_text("utf-8")))
    return lines


def _lines_of(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        item = _LIST_ITEM.match(line)
        if item is not None:
            yield item[1], item[2].strip()
        elif line.startswith("|"):
            cells = [cell.strip().replace("\\|", "|") for cell in _CELL_BORDER.split(line.strip())[1:-1]]
            if cells and _LINE_ID.fullmatch(cells[0]):
                yield cells[0], " · ".join(cell for cell in cells[1:] if cell)


def sync(root: Path, *, only_check: bool) -> list[str]:
    """Make the copies inside the package equal to their sources; returns the paths that differed.

    The copies are the focused tests, the fixtures, and `criteria.json`, which is read off the contract.
    """
    wanted = _wanted(root)
    differing = [name for name, content in wanted.items() if _content(course_folder() / name) != content]
    stale = [name for name in _present() if name not in wanted]
    if not only_check:
        for name in differing:
            place = course_folder() / name
            place.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(place, wanted[name])
        for name in stale:
            (course_folder() / name).unlink()
    return sorted([*differing, *stale])


def _wanted(root: Path) -> dict[str, bytes]:
    wanted: dict[str, bytes] = {}
    for path in sorted((root / "tests" / "checkpoints").glob("test_*.py")):
        wanted[f"tests/checkpoints/{path.name}"] = path.read_bytes()
    for path in sorted((root / "fixtures").rglob("*")):
        if path.is_file():
            wanted[path.relative_to(root).as_posix()] = path.read_bytes()
    criteria = json.dumps(contract_lines(root / "spec"), ensure_ascii=False, indent=0) + "\n"
    wanted["criteria.json"] = criteria.encode()
    return wanted


def _present() -> list[str]:
    places = (course_folder() / "tests" / "checkpoints", course_folder() / "fixtures")
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    return [path.relative_to(course_folder()).as_posix() for path in files if "__pycache__" not in path.parts]


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
