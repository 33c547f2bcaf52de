"""Checks that both languages say the same: structure, fences, tables, links, codes, numbers; staleness."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from typing import TYPE_CHECKING, cast

from site_tools.layout import Fault, is_english_only
from site_tools.pages import plain
from site_tools.speclines import CITED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from site_tools.layout import Site
    from site_tools.pages import Page

CODE = re.compile(r"(?<![\w-])[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+(?![\w-])")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)*(?![\w])")

Item = tuple[object, int]
"""Something to compare, and its line."""


def parity(site: Site) -> list[Fault]:
    """S.31, S.33: for each pair, each kind of part in the same sequence; a difference names both places."""
    faults: list[Fault] = []
    for path, english, vietnamese in site.pairs():
        for kind, parts in KINDS.items():
            faults += _compare(kind, english, parts(english, path), vietnamese, parts(vietnamese, path))
    return faults


def _compare(kind: str, en: Page, left: Sequence[Item], vi: Page, right: Sequence[Item]) -> list[Fault]:
    for index in range(max(len(left), len(right))):
        a = left[index] if index < len(left) else ("nothing", _end(en))
        b = right[index] if index < len(right) else ("nothing", _end(vi))
        if a[0] != b[0]:
            message = f"{kind} differ: {_short(b[0])}, but {_short(a[0])} in {en.file}:{a[1]}"
            return [Fault("parity", vi.file, b[1], message)]
    return []


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else text[:117] + "…"


def _end(page: Page) -> int:
    return page.first_line + page.body.count("\n")


def _same_language(text: str) -> str:
    """Includes differ by the language in their name only."""
    return re.sub(r"\.vi\.md\b", ".en.md", text)


def _headings(page: Page, _path: str) -> list[Item]:
    return [((h.level, h.anchor if h.level > 1 else ""), h.line) for h in page.headings]


def _fences(page: Page, _path: str) -> list[Item]:
    return [((f.language, _same_language("\n".join(f.body))), f.line) for f in page.fences]


def _boxes(page: Page, _path: str) -> list[Item]:
    return [((b.kind, b.type), b.line) for b in page.boxes]


def _tables(page: Page, _path: str) -> list[Item]:
    return [(t.shape, t.line) for t in page.tables]


def _snippets(page: Page, _path: str) -> list[Item]:
    return [(_same_language(target), line) for target, line in page.snippets]


def _links(page: Page, path: str) -> list[Item]:
    return [(link_target(target, path), line) for target, line in page.links()]


def link_target(target: str, path: str) -> str:
    """A link's target; one into the English-only pages is written from the root in both languages."""
    if re.match(r"[a-z]+:|#|\[", target):
        return target
    file, mark, fragment = target.partition("#")
    full = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
    return f"en:{full}{mark}{fragment}" if is_english_only(full) else target


def _codes(page: Page, _path: str) -> list[Item]:
    return [(match[0], n) for n, row in page.outside_fences() for match in CODE.finditer(row)]


def _lines(page: Page, _path: str) -> list[Item]:
    return [(match[0], n) for n, row in page.outside_fences() for match in CITED.finditer(row)]


KINDS: dict[str, Callable[[Page, str], list[Item]]] = {
    "headings": _headings,
    "fences": _fences,
    "boxes": _boxes,
    "tables": _tables,
    "includes": _snippets,
    "links": _links,
    "codes": _codes,
    "line numbers": _lines,
}


def numbers(site: Site) -> list[Fault]:
    """S.31: the same numbers in both languages, whatever the order of words in a sentence."""
    faults: list[Fault] = []
    for path, english, vietnamese in site.pairs():
        left, right = _figures(english), _figures(vietnamese)
        if left != right and path not in {"glossary.md"}:
            more, less = dict(right - left), dict(left - right)
            message = f"numbers differ: {_list(more)} only here, {_list(less)} only in {english.file}"
            faults.append(Fault("figures", vietnamese.file, 0, message))
    return faults


def _figures(page: Page) -> Counter[str]:
    return Counter(m[0] for part in page.prose for m in NUMBER.finditer(plain(part.text)))


def _list(counts: dict[str, int]) -> str:
    return ", ".join(sorted(counts)) or "none"


def stale(site: Site) -> list[Fault]:
    """S.34: the English body that a translation was made from is still the same."""
    faults: list[Fault] = []
    for path, english, vietnamese in site.pairs():
        found = cast("object", vietnamese.meta.get("source_sha256"))
        if found != english.digest:
            remedy = f"scripts/site.py stamp {path}"
            message = f"{english.file} has changed since; when the translation is right: {remedy}"
            faults.append(Fault("stale", vietnamese.file, 1, message))
    return faults
