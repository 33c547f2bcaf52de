"""Walks the tags of a built article and changes text without re-serialising the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from site_tools.speclines import CITED

if TYPE_CHECKING:
    from collections.abc import Callable

TOKEN = re.compile(r"<!--.*?-->|<(?P<end>/)?(?P<name>[a-zA-Z][\w-]*)(?P<rest>[^>]*)>", re.DOTALL)
QUIET = {
    "a",
    "code",
    "pre",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "script",
    "style",
    "summary",
    "button",
    "svg",
}
NO_TIP = QUIET - {"summary"}
BREAKS = re.compile(r"(?<=\w)([/_])(?=\w)")
"""Where long names in a table may go on in the next line."""
TITLE = re.compile(r'title="([^"]*)"')


def article(text: str) -> tuple[int, int]:
    """Where the article's content begins and ends; the whole text when there is none."""
    start = text.find('<article class="md-content__inner')
    if start < 0:
        return 0, 0
    return text.index(">", start) + 1, text.index("</article>", start)


def rewrite_article(text: str, cited: Callable[[re.Match[str]], str]) -> str:
    """Prunes tooltips to one a section and term, and hands each line number in running text to `cited`."""
    start, end = article(text)
    return text[:start] + _Walker(cited).run(text[start:end]) + text[end:]


class _Walker:
    def __init__(self, cited: Callable[[re.Match[str]], str]) -> None:
        self.cited = cited
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.dropped: list[bool] = []
        self.cell = False

    def run(self, text: str) -> str:
        parts: list[str] = []
        last = 0
        for match in TOKEN.finditer(text):
            parts.append(self._text(text[last : match.start()]))
            parts.append(self._tag(match))
            last = match.end()
        parts.append(self._text(text[last:]))
        return "".join(parts)

    def _text(self, text: str) -> str:
        if self.open[-1:] == ["code"] and self.cell:
            return BREAKS.sub(r"\1<wbr>", text)
        return text if QUIET.intersection(self.open) else CITED.sub(self.cited, text)

    def _tag(self, match: re.Match[str]) -> str:
        name = (match["name"] or "").lower()
        if name in {"td", "th"}:
            self.cell = not match["end"]
        if name == "abbr":
            return self._abbr(match)
        if name not in QUIET or match["rest"].endswith("/"):
            return match[0]
        if match["end"]:
            if name in self.open:
                self.open.reverse()
                self.open.remove(name)
                self.open.reverse()
        else:
            self.open.append(name)
            if name in {"h1", "h2"}:
                self.seen.clear()
        return match[0]

    def _abbr(self, match: re.Match[str]) -> str:
        if match["end"]:
            return "" if self.dropped and self.dropped.pop() else match[0]
        title = TITLE.search(match["rest"])
        key = title[1] if title else ""
        drop = bool(NO_TIP.intersection(self.open)) or key in self.seen
        self.dropped.append(drop)
        if not drop:
            self.seen.add(key)
        return "" if drop else match[0]
