"""One page of Markdown as the checks see it: front matter, headings, fences, boxes, tables, links, prose."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import yaml

if TYPE_CHECKING:
    from pathlib import Path

    from site_tools.layout import Lang

FENCE = re.compile(r"^(?P<indent>\s*)(?P<ticks>`{3,}|~{3,})\s*(?P<info>.*?)\s*$")
HEADING = re.compile(r"^(?P<marks>#{1,6})\s+(?P<text>.*?)(?:\s+\{(?P<attrs>[^}]*)\})?\s*$")
BOX = re.compile(r"^\s*(?P<kind>!!!|\?\?\?\+?)\s+(?P<type>[\w-]+)(?:\s+\"(?P<title>.*)\")?\s*$")
SNIPPET = re.compile(r"^\s*--8<--\s+[\"'](?P<target>[^\"']+)[\"']\s*$")
LINK = re.compile(
    r"!?\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\](?:\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)|\[(?P<ref>[^\]]*)\])"
)
INLINE_CODE = re.compile(r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)")
LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
UNREADABLE = "(unreadable)"
"""The only key of a front matter that is no YAML; its value says why."""
TABLE_RULE = re.compile(r"^\s*\|?[\s:|-]+\|?\s*$")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: level, text, anchor, line."""

    level: int
    text: str
    anchor: str
    line: int


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: the word after the ticks, its lines, its first line number."""

    info: str
    body: tuple[str, ...]
    line: int

    @property
    def language(self) -> str:
        return self.info.split()[0].strip("{}.") if self.info else ""


@dataclass(frozen=True, slots=True)
class Box:
    """An admonition or a folded block."""

    kind: str
    type: str
    title: str
    line: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table's shape: rows (with the head, without the rule) and columns, and its cells' texts."""

    cells: tuple[tuple[str, ...], ...]
    line: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.cells), max((len(row) for row in self.cells), default=0)


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph, list item, heading, box title or table cell: text as written, kind, section, line."""

    text: str
    kind: str
    section: str
    line: int

    @property
    def plain(self) -> str:
        """Without code, link targets, attributes and HTML."""
        return plain(self.text)


def plain(text: str) -> str:
    """Running text without code, link targets, attribute lists and HTML tags."""
    text = INLINE_CODE.sub(" ", text)
    text = LINK.sub(lambda m: m["text"], text)
    text = re.sub(r"\{[:#.][^}]*\}", " ", text)
    text = re.sub(r"<[^>]+>", " ", text)
    return re.sub(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}", "", text)


@dataclass
class Page:
    """A parsed page."""

    file: str
    lang: Lang
    meta: dict[str, object]
    body: str
    first_line: int
    headings: list[Heading] = field(default_factory=list[Heading])
    fences: list[Fence] = field(default_factory=list[Fence])
    boxes: list[Box] = field(default_factory=list[Box])
    tables: list[Table] = field(default_factory=list[Table])
    prose: list[Prose] = field(default_factory=list[Prose])
    snippets: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    raw: bytes = b""

    @classmethod
    def read(cls, path: Path, file: str, lang: Lang) -> Page:
        raw = path.read_bytes()
        page = cls.parse(raw.decode("utf-8").replace("\r\n", "\n"), file, lang)
        page.raw = raw
        return page

    @classmethod
    def parse(cls, text: str, file: str, lang: Lang) -> Page:
        meta, body, first = split_front_matter(text)
        page = cls(file, lang, meta, body, first)
        _Parser(page).run()
        return page

    @property
    def digest(self) -> str:
        """SHA-256 of the body: what `source_sha256` of the translation names."""
        return hashlib.sha256(self.body.encode("utf-8")).hexdigest()

    @property
    def title(self) -> str:
        return str(self.meta.get("title", ""))

    def links(self) -> list[tuple[str, int]]:
        """Link targets in order, references as `[ref]`, with their lines; code is skipped."""
        found: list[tuple[str, int]] = []
        for number, row in self.outside_fences():
            for match in LINK.finditer(INLINE_CODE.sub(lambda m: "`" + "x" * len(m["code"]) + "`", row)):
                target = match["target"]
                found.append(
                    (target or f"[{row[match.start('ref') : match.end('ref')] or match['text']}]", number)
                )
        return found

    def outside_fences(self) -> list[tuple[int, str]]:
        inside = {n for fence in self.fences for n in range(fence.line, fence.line + len(fence.body) + 2)}
        return [
            (n, row)
            for n, row in enumerate(self.body.split("\n"), self.first_line)
            if n not in inside and not SNIPPET.match(row)
        ]

    def section(self, anchor: str) -> str:
        """The source text of an H2 section, without its heading."""
        rows = self.body.split("\n")
        start = next((h.line for h in self.headings if h.level == 2 and h.anchor == anchor), None)
        if start is None:
            return ""
        end = next(
            (h.line for h in self.headings if h.level <= 2 and h.line > start), self.first_line + len(rows)
        )
        return "\n".join(rows[start - self.first_line + 1 : end - self.first_line])


def split_front_matter(text: str) -> tuple[dict[str, object], str, int]:
    """Front matter, the body after it, and the body's first line number."""
    if not text.startswith("---\n"):
        return {}, text, 1
    end = text.find("\n---\n", 3)
    if end < 0:
        return {}, text, 1
    try:
        loaded: object = yaml.safe_load(text[4 : end + 1])
    except yaml.YAMLError as error:
        loaded = {UNREADABLE: str(error)}
    meta = cast("dict[str, object]", loaded) if isinstance(loaded, dict) else {}
    body = text[end + 5 :]
    return meta, body, text[: end + 5].count("\n") + 1


def slug(text: str) -> str:
    """The anchor that the site gives a heading without one."""
    text = unicodedata.normalize("NFKD", plain(text.replace("`", ""))).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


class _Parser:
    """Walks the lines of a body once."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.rows = page.body.split("\n")
        self.section = ""
        self.paragraph: list[str] = []
        self.paragraph_line = 0
        self.paragraph_kind = "paragraph"

    def run(self) -> None:
        index = 0
        while index < len(self.rows):
            index = self._step(index)
        self._flush()

    def _step(self, index: int) -> int:
        row, number = self.rows[index], self.page.first_line + index
        if match := FENCE.match(row):
            self._flush()
            return self._fence(index, match["ticks"], match["info"])
        if match := SNIPPET.match(row):
            self._flush()
            self.page.snippets.append((match["target"], number))
        elif match := HEADING.match(row):
            self._flush()
            self._heading(match, number)
        elif match := BOX.match(row):
            self._flush()
            self.page.boxes.append(Box(match["kind"], match["type"], match["title"] or "", number))
            if match["title"]:
                self.page.prose.append(Prose(match["title"], "box", self.section, number))
        elif row.lstrip().startswith("|"):
            self._flush()
            return self._table(index)
        elif not row.strip() or re.match(r"\s*</?[a-z]+[^>]*>\s*$", row):
            self._flush()
        else:
            self._text(row, number)
        return index + 1

    def _fence(self, index: int, ticks: str, info: str) -> int:
        body: list[str] = []
        end = index + 1
        while end < len(self.rows) and not re.match(rf"^\s*{re.escape(ticks)}\s*$", self.rows[end]):
            body.append(self.rows[end])
            end += 1
        self.page.fences.append(Fence(info, tuple(body), self.page.first_line + index))
        for offset, row in enumerate(body):
            if match := SNIPPET.match(row):
                self.page.snippets.append((match["target"], self.page.first_line + index + 1 + offset))
        return end + 1

    def _heading(self, match: re.Match[str], number: int) -> None:
        anchor = re.search(r"#(\S+)", match["attrs"] or "")
        heading = Heading(
            len(match["marks"]), match["text"], anchor[1] if anchor else slug(match["text"]), number
        )
        self.page.headings.append(heading)
        if heading.level == 2:
            self.section = heading.anchor
        self.page.prose.append(Prose(heading.text, "heading", self.section, number))

    def _table(self, index: int) -> int:
        first = index
        cells: list[tuple[str, ...]] = []
        while index < len(self.rows) and self.rows[index].lstrip().startswith("|"):
            row = self.rows[index]
            if not (TABLE_RULE.match(row) and "-" in row):
                parts = _split_row(row)
                cells.append(parts)
                self.page.prose += [
                    Prose(part, "cell", self.section, self.page.first_line + index) for part in parts if part
                ]
            index += 1
        self.page.tables.append(Table(tuple(cells), self.page.first_line + first))
        return index

    def _text(self, row: str, number: int) -> None:
        item = LIST_ITEM.match(row)
        if item or not self.paragraph:
            self._flush()
            self.paragraph_line = number
            self.paragraph_kind = "item" if item else "paragraph"
            row = row[item.end() :] if item else row
        self.paragraph.append(row.strip())

    def _flush(self) -> None:
        if self.paragraph:
            text = " ".join(self.paragraph)
            self.page.prose.append(Prose(text, self.paragraph_kind, self.section, self.paragraph_line))
            self.paragraph = []


def _split_row(row: str) -> tuple[str, ...]:
    """Cells of a table row; bars that are escaped or in code do not divide."""
    masked = INLINE_CODE.sub(lambda m: "x" * len(m[0]), row.strip()).replace("\\|", "xx")
    row = row.strip()
    cuts = [i for i, char in enumerate(masked) if char == "|"]
    bounds = [-1, *cuts] if not masked.startswith("|") else cuts
    if not masked.endswith("|"):
        bounds = [*bounds, len(row)]
    return tuple(row[a + 1 : b].strip() for a, b in pairwise(bounds))
