"""The numbered lines of `spec/`: a list item or a table row that begins with its number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

NUMBER = r"(?:\d\d[A-Z]?|S)\.[A-Z]?\d+"
LINE = re.compile(rf"^\s*(?:[-*]|\|)\s+(?P<number>{NUMBER})(?=[\s|])(?P<text>.*)$")
CITED = re.compile(r"(?<![\w.,])(?:0\d[A-Z]?|S)\.[A-Z]?\d+(?![\w])(?!\.\d)")
"""A line number inside running text. Checkpoints begin with 0, so 12.5 is only a number."""


@dataclass(frozen=True, slots=True)
class SpecLine:
    """One numbered line: where it stands and its sentence."""

    number: str
    sentence: str
    file: str
    line: int

    @property
    def section(self) -> str:
        """The two digits (or S) that its file begins with."""
        return self.number[:1] if self.number.startswith("S") else self.number[:2]

    @property
    def is_cost(self) -> bool:
        return self.number.split(".")[1].startswith("C") and self.number.startswith(("S", "0"))


def read_spec(folder: Path) -> list[SpecLine]:
    """Every line of every file, in order of file and place. Doubles are kept: a check reports them."""
    lines: list[SpecLine] = []
    for path in sorted(folder.glob("*.md")):
        lines += parse(path.read_text("utf-8"), f"spec/{path.name}")
    return lines


def parse(text: str, file: str) -> list[SpecLine]:
    rows = text.split("\n")
    found: list[SpecLine] = []
    fence = False
    for index, row in enumerate(rows):
        if row.lstrip().startswith("```"):
            fence = not fence
        match = None if fence else LINE.match(row)
        if match is None:
            continue
        sentence = match["text"]
        if not row.lstrip().startswith("|"):
            sentence += _continuation(rows, index + 1)
        found.append(SpecLine(match["number"], _clean(sentence), file, index + 1))
    return found


def _continuation(rows: list[str], start: int) -> str:
    """The wrapped rest of a list item: indented lines that begin no item and no fence."""
    rest: list[str] = []
    for row in rows[start:]:
        if not row.startswith("  ") or re.match(r"\s*([-*|]|```)", row):
            break
        rest.append(row.strip())
    return "".join(" " + part for part in rest)


def _clean(sentence: str) -> str:
    sentence = sentence.strip().strip("|").strip()
    return sentence.removeprefix("—").removeprefix("–").strip()
