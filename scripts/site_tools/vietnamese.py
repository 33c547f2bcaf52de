"""Checks on Vietnamese text: fixed renderings, first glosses, spelling form, numbers."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from site_tools.layout import LANGS, Fault
from site_tools.pages import Page, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from site_tools.glossary import Term
    from site_tools.layout import Site

VIETNAMESE = re.compile(
    "[ăâđêôơưĂÂĐÊÔƠƯàáảãạằắẳẵặầấẩẫậèéẻẽẹềếểễệìíỉĩịòóỏõọồốổỗộờớởỡợùúủũụừứửữựỳýỷỹỵ"
    "ÀÁẢÃẠẰẮẲẴẶẦẤẨẪẬÈÉẺẼẸỀẾỂỄỆÌÍỈĨỊÒÓỎÕỌỒỐỔỖỘỜỚỞỠỢÙÚỦŨỤỪỨỬỮỰỲÝỶỸỴ]"
)
FULL_WIDTH = re.compile("[\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]")
THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:[.,\u00a0\u202f]\d{3})+(?![\d.,]*\d)")


def _word(text: str) -> str:
    return rf"(?<![\w-]){re.escape(text)}(?![\w-])"


def renderings(site: Site) -> list[Fault]:
    """S.28: no listed English word stays in Vietnamese prose but in code and the bracket of a first gloss."""
    faults: list[Fault] = []
    patterns = [(t, re.compile("|".join(map(_word, t.banned)), re.IGNORECASE)) for t in site.glossary.terms]
    for page in _vietnamese(site):
        glossed: set[str] = set()
        for text, line in _texts(page):
            text = _without_glosses(text, site.glossary.terms, glossed)
            for term, pattern in patterns:
                for match in pattern.finditer(text):
                    message = f'"{match[0]}" stays in English; write "{term.rendering}"'
                    faults.append(Fault("renderings", page.file, line, message))
    return faults


def _vietnamese(site: Site) -> Iterator[Page]:
    for _, page in site.pages("vi"):
        yield page
    for file in sorted((site.root / "includes").rglob("*.vi.md")):
        if file.name != "glossary.vi.md":
            yield Page.read(file, file.relative_to(site.root).as_posix(), "vi")


def _texts(page: Page) -> Iterator[tuple[str, int]]:
    yield plain(str(page.meta.get("title", ""))), 1
    yield plain(str(page.meta.get("description", ""))), 1
    for part in page.prose:
        yield part.plain, part.line


def _without_glosses(text: str, terms: tuple[Term, ...], glossed: set[str]) -> str:
    """Drops the bracket after the first use of each rendering."""
    for term in terms:
        pattern = re.compile(rf"({re.escape(term.rendering)}\s*)\(([^)]*)\)", re.IGNORECASE)
        for match in pattern.finditer(text):
            if term.term not in glossed and _glosses(match[2], term):
                glossed.add(term.term)
                text = text[: match.start(2)] + "…" + text[match.end(2) :]
                break
    return text


def _glosses(bracket: str, term: Term) -> bool:
    return any(re.search(_word(word), bracket, re.IGNORECASE) for word in (term.term, *term.banned))


def first_use(site: Site) -> list[Fault]:
    """S.29: the first use of a fixed rendering on a page is written `Vietnamese (English)`."""
    faults: list[Fault] = []
    for _, page in site.pages("vi"):
        for term in site.glossary.terms:
            for part in page.prose:
                if part.kind == "heading":
                    continue
                place = _first(part.plain, term, site.glossary.terms)
                if place is None:
                    continue
                bracket = re.match(r"[\s*_]*\(([^)]*)\)", part.plain[place:])
                if bracket is None or not _glosses(bracket[1], term):
                    message = f'first use of "{term.rendering}" must be "{term.rendering} ({term.term})"'
                    faults.append(Fault("first use", page.file, part.line, message))
                break
    return faults


def _first(text: str, term: Term, terms: tuple[Term, ...]) -> int | None:
    """Where the first use of a rendering ends, if it is not part of a longer one."""
    longer = [t.rendering for t in terms if term.rendering in t.rendering and t.rendering != term.rendering]
    for match in re.finditer(_word(term.rendering), text, re.IGNORECASE):
        inside = any(
            other.start() <= match.start() and match.end() <= other.end()
            for rendering in longer
            for other in re.finditer(_word(rendering), text, re.IGNORECASE)
        )
        if not inside:
            return match.end()
    return None


def spelling(site: Site) -> list[Fault]:
    """S.32: NFC, LF, no full-width punctuation, Vietnamese with its marks."""
    faults: list[Fault] = []
    for page in _vietnamese(site):
        if b"\r" in page.raw:
            faults.append(Fault("spelling", page.file, 0, "lines end with LF"))
        for number, row in enumerate(page.body.split("\n"), page.first_line):
            if unicodedata.normalize("NFC", row) != row:
                faults.append(Fault("spelling", page.file, number, "text is not in NFC"))
            if match := FULL_WIDTH.search(row):
                faults.append(Fault("spelling", page.file, number, f"full-width character {match[0]}"))
        for part in page.prose:
            words = part.plain.split()
            if part.kind in {"paragraph", "item"} and len(words) >= 20 and not VIETNAMESE.search(part.plain):
                faults.append(
                    Fault("spelling", page.file, part.line, "20 words or more without a Vietnamese mark")
                )
    return faults


def numbers(site: Site) -> list[Fault]:
    """S.31: numbers are written without thousands separators."""
    faults: list[Fault] = []
    for lang in LANGS:
        for path, page in site.pages(lang):
            if path.startswith(("reference/contract/", "changelog/")):
                continue
            for part in page.prose:
                if match := THOUSANDS.search(part.text):
                    faults.append(
                        Fault("numbers", page.file, part.line, f"{match[0]} has a thousands separator")
                    )
    return faults
