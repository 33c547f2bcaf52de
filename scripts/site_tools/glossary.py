"""`docs/glossary.toml`: the words, their Vietnamese renderings, their definitions."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Term:
    """A word with a fixed rendering: `rendering` is written, the words in `banned` must not stay."""

    term: str
    anchor: str
    rendering: str
    banned: tuple[str, ...]
    en: str
    vi: str


@dataclass(frozen=True, slots=True)
class Keep:
    """A domain noun that stays English in Vietnamese text."""

    term: str
    anchor: str
    en: str
    vi: str


@dataclass(frozen=True, slots=True)
class Glossary:
    """Both lists."""

    terms: tuple[Term, ...]
    keep: tuple[Keep, ...]

    @classmethod
    def read(cls, path: Path) -> Glossary:
        data = cast("dict[str, list[dict[str, object]]]", tomllib.loads(path.read_text("utf-8")))
        terms = tuple(
            Term(
                str(row["term"]),
                str(row["anchor"]),
                str(row["rendering"]),
                tuple(str(word) for word in cast("list[object]", row["banned"])),
                str(row["en"]),
                str(row["vi"]),
            )
            for row in data["terms"]
        )
        keep = tuple(
            Keep(str(row["term"]), str(row["anchor"]), str(row["en"]), str(row["vi"])) for row in data["keep"]
        )
        return cls(terms, keep)

    def entries(self) -> list[Term | Keep]:
        """All words, in the order of the glossary page."""
        return sorted([*self.terms, *self.keep], key=lambda entry: entry.term)
