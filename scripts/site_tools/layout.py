"""Where things are, and what the site is made of. Everything takes a root: tests plant faults in a copy."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from site_tools.course import Checkpoint
    from site_tools.glossary import Glossary
    from site_tools.pages import Page
    from site_tools.speclines import SpecLine

Lang = Literal["en", "vi"]
LANGS: tuple[Lang, Lang] = ("en", "vi")
ROOT = Path(__file__).resolve().parents[2]

CHECKPOINTS: Mapping[str, str] = {
    "00": "complete-agent-trace",
    "01": "protocol",
    "02": "event-stream",
    "03": "message-ir",
    "04": "scripted-model",
    "05": "provider-adapter",
    "06": "tool-contract",
    "07": "agent-loop",
}
PACKAGES: Mapping[str, str] = {
    "kickwheel": "kickwheel",
    "kickwheel-protocol": "protocol",
    "kickwheel-event-stream": "event-stream",
    "kickwheel-scripted-model": "scripted-model",
    "kickwheel-provider-adapter": "provider-adapter",
    "kickwheel-agent-loop": "agent-loop",
}
"""Distribution name to folder under `packages/`."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that is wrong: which check, where, what."""

    check: str
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: [{self.check}] {self.message}"


def is_english_only(path: str) -> bool:
    """Whether the page at this path (relative to docs/en) exists once, in English."""
    return path.startswith(("reference/kickwheel", "reference/contract/", "changelog/"))


class Site:
    """The sources of the site under one root, read once."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root

    def docs(self, lang: Lang) -> Path:
        return self.root / "docs" / lang

    def paths(self, lang: Lang) -> list[str]:
        """Pages of one language, relative to its folder, sorted."""
        base = self.docs(lang)
        return sorted(p.relative_to(base).as_posix() for p in base.rglob("*.md"))

    @cached_property
    def _pages(self) -> dict[tuple[Lang, str], Page]:
        from site_tools.pages import Page

        return {
            (lang, path): Page.read(self.docs(lang) / path, f"docs/{lang}/{path}", lang)
            for lang in LANGS
            for path in self.paths(lang)
        }

    def page(self, lang: Lang, path: str) -> Page | None:
        return self._pages.get((lang, path))

    def pages(self, lang: Lang) -> Iterator[tuple[str, Page]]:
        for (page_lang, path), page in self._pages.items():
            if page_lang == lang:
                yield path, page

    def pairs(self) -> Iterator[tuple[str, Page, Page]]:
        for path, english in self.pages("en"):
            vietnamese = self.page("vi", path)
            if vietnamese is not None:
                yield path, english, vietnamese

    @cached_property
    def spec(self) -> list[SpecLine]:
        from site_tools.speclines import read_spec

        return read_spec(self.root / "spec")

    @cached_property
    def spec_numbers(self) -> frozenset[str]:
        return frozenset(line.number for line in self.spec)

    @cached_property
    def glossary(self) -> Glossary:
        from site_tools.glossary import Glossary

        return Glossary.read(self.root / "docs" / "glossary.toml")

    @cached_property
    def course(self) -> dict[str, Checkpoint]:
        """Course data by checkpoint number."""
        from site_tools.course import read_course

        return read_course(self.root / "packages/kickwheel/src/kickwheel/course/checkpoints")

    def course_page(self, number: str) -> str:
        return f"course/{number}-{CHECKPOINTS[number]}.md"

    def focused_test(self, number: str) -> str:
        return f"tests/checkpoints/test_{number}_{CHECKPOINTS[number].replace('-', '_')}.py"

    @cached_property
    def versions(self) -> dict[str, str]:
        """Version of each distribution, from its pyproject.toml."""
        found: dict[str, str] = {}
        for name, folder in PACKAGES.items():
            data = tomllib.loads((self.root / "packages" / folder / "pyproject.toml").read_text("utf-8"))
            project = cast("dict[str, object]", data["project"])
            found[name] = str(project["version"])
        return found
