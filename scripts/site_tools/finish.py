"""Finishing: what the built pages need and the page builder does not do. Works on the built files only.

Tooltips once a section (S.30), links from line numbers to the contract, bare search words (S.40), links
into the English site (S.41), one sitemap (S.42), a box on stale translations (S.34), no other host (S.46).
"""

from __future__ import annotations

import json
import posixpath
import re
import unicodedata
from typing import TYPE_CHECKING, cast

from site_tools.layout import is_english_only
from site_tools.tokens import article, rewrite_article

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from site_tools.layout import Lang, Site

FOREIGN_SCRIPT = re.compile(
    r"https?://[^\"'`\s]*/(?:mermaid@[^\"'`\s]*/mermaid\.min\.js|resize-observer-polyfill)"
)
LOCAL_SCRIPT = "assets/vendor/mermaid.min.js"
DIALOG = re.compile(r'<div class="md-search" data-md-component="search" role="dialog">')
STALE_BOX = {
    "en": ("", ""),
    "vi": (
        "Bản dịch có thể cũ",
        "Trang tiếng Anh đã thay đổi sau khi bản dịch này được viết. Khi hai trang khác nhau, hãy tin "
        "trang tiếng Anh.",
    ),
}


class FinishError(RuntimeError):
    """The built site is not what finishing expects; names the file."""


def finish(site: Site, out: Path, urls: Mapping[Lang, str]) -> None:
    """Finishes a site that was just built into `out` (English) and `out/vi`."""
    _scripts(out)
    stale = {path for path, english, page in site.pairs() if page.meta.get("source_sha256") != english.digest}
    contract = _contract_anchors(out)
    for lang, file in _html(out):
        text = file.read_text("utf-8")
        page = _Html(out, file, lang, urls)
        text = page.named_dialog(text)
        text = page.local_links(text)
        text = rewrite_article(text, lambda match, page=page: page.cited(match, contract))
        if lang == "vi" and stale.intersection(page.sources()):
            text = page.stale_box(text)
        file.write_text(text, "utf-8", newline="\n")
    fold_search(out / "vi" / "search" / "search_index.json")
    sitemap(out, urls)


def _html(out: Path) -> Iterator[tuple[Lang, Path]]:
    for file in sorted(out.rglob("*.html")):
        yield ("vi" if file.relative_to(out).parts[0] == "vi" else "en"), file


def _scripts(out: Path) -> None:
    """No script names another host, and no map file is served."""
    for base in (out, out / "vi"):
        for file in sorted((base / "assets").rglob("*.map")):
            file.unlink()
        for file in [*sorted((base / "assets").rglob("*.js")), *sorted((base / "assets").rglob("*.css"))]:
            if "vendor" in file.parts:
                continue
            text = file.read_text("utf-8")
            text = re.sub(r"\n?(?://|/\*)# sourceMappingURL=\S+(?:\s*\*/)?", "", text)
            file.write_text(FOREIGN_SCRIPT.sub(LOCAL_SCRIPT, text), "utf-8", newline="\n")


def _contract_anchors(out: Path) -> dict[str, str]:
    """Line number to the page that holds it, relative to the English site's root."""
    found: dict[str, str] = {}
    for file in sorted((out / "reference" / "contract").glob("*/index.html")):
        page = file.parent.relative_to(out).as_posix() + "/"
        for match in re.finditer(r'<strong id="([^"]+)">', file.read_text("utf-8")):
            found[match[1]] = f"{page}#{match[1]}"
    return found


class _Html:
    """One built file: where it is, and the rewriting that depends on it."""

    def __init__(self, out: Path, file: Path, lang: Lang, urls: Mapping[Lang, str]) -> None:
        self.out, self.file, self.lang, self.urls = out, file, lang, urls
        self.folder = file.parent.relative_to(out).as_posix()

    def sources(self) -> tuple[str, ...]:
        """The paths under the docs folder that can have become this page."""
        inner = self.folder.removeprefix("vi").removeprefix("/") if self.lang == "vi" else self.folder
        inner = inner.removeprefix(".")
        if self.file.name != "index.html":
            return ()
        return (f"{inner}.md", f"{inner}/index.md") if inner else ("index.md",)

    def relative(self, target: str) -> str:
        """A link from this page to a place in the site, given from the English root."""
        path, mark, fragment = target.partition("#")
        link = posixpath.relpath(path or ".", self.folder if self.folder != "." else ".")
        return link + ("/" if path.endswith("/") or not path else "") + mark + fragment

    def named_dialog(self, text: str) -> str:
        name = "Tìm kiếm" if self.lang == "vi" else "Search"
        text, count = DIALOG.subn(
            f'<div class="md-search" data-md-component="search" role="dialog" aria-label="{name}">', text
        )
        if not count and "md-search__inner" in text:
            raise FinishError(f"{self.file}: the search dialog looks different; give it its name again")
        return text.replace(
            "Initializing search", "Đang chuẩn bị tìm kiếm" if self.lang == "vi" else "Getting ready"
        )

    def local_links(self, text: str) -> str:
        """`en:` links and absolute links to this site become relative ones; the canonical link stays."""

        def english(match: re.Match[str]) -> str:
            return f'href="{self.checked(match["path"], match["fragment"] or "")}"'

        text = re.sub(r'href="en:(?P<path>[^"#]*)(?P<fragment>#[^"]*)?"', english, text)

        def own(match: re.Match[str]) -> str:
            if 'rel="canonical"' in match["before"]:
                return match[0]
            return f'{match["before"]}href="{self.relative(match["path"])}"'

        root = re.escape(self.urls["en"])
        return re.sub(rf'(?P<before><[a-z]+[^<>]*?)href="{root}(?P<path>[^"]*)"', own, text)

    def checked(self, path: str, fragment: str) -> str:
        """The relative link for a source path of the English site; it must exist."""
        target = path.removesuffix("index.md").removesuffix(".md")
        target += "/" if target and not target.endswith("/") else ""
        file = self.out / target / "index.html"
        if not file.exists():
            raise FinishError(f"{self.file}: en:{path} leads to no English page")
        if fragment and f'id="{fragment[1:]}"' not in file.read_text("utf-8"):
            raise FinishError(f"{self.file}: en:{path}{fragment} leads to no anchor")
        return self.relative(target + fragment)

    def cited(self, match: re.Match[str], contract: Mapping[str, str]) -> str:
        """A line number in running text becomes a link to the line."""
        target = contract.get(match[0])
        if target is None or target.startswith(f"{self.folder}/#"):
            return match[0]
        return f'<a class="kw-line" href="{self.relative(target)}">{match[0]}</a>'

    def stale_box(self, text: str) -> str:
        title, sentence = STALE_BOX[self.lang]
        head = f'<p class="admonition-title">{title}</p>'
        box = f'<div class="admonition warning kw-stale">{head}<p>{sentence}</p></div>'
        start, end = article(text)
        place = text.find("</h1>", start, end)
        place = place + len("</h1>") if place >= 0 else start
        return text[:place] + box + text[place:]


# --- search -------------------------------------------------------------------------------------------------


def fold(word: str) -> str:
    """A word without its Vietnamese marks: `đợi` becomes `doi`."""
    decomposed = unicodedata.normalize("NFD", word)
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return bare.replace("đ", "d").replace("Đ", "D")


def fold_search(index: Path) -> None:
    """Adds the accent-free form of each entry's accented words to its tags."""
    data = cast("dict[str, object]", json.loads(index.read_text("utf-8")))
    for entry in cast("list[dict[str, object]]", data["docs"]):
        text = re.sub(r"<[^>]+>", " ", f"{entry.get('title', '')} {entry.get('text', '')}").lower()
        words = sorted({fold(word) for word in re.findall(r"\w+", text) if fold(word) != word})
        if words:
            tags = cast("list[str]", entry.get("tags", []))
            entry["tags"] = [*tags, " ".join(words)]
    index.write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")), "utf-8", newline="\n")


# --- the sitemap --------------------------------------------------------------------------------------------


def sitemap(out: Path, urls: Mapping[Lang, str]) -> None:
    """One sitemap for both languages, without dates."""
    pages = [file.parent.relative_to(out).as_posix() for _, file in _html(out) if file.name == "index.html"]
    english = [
        ("" if page == "." else page + "/") for page in pages if page != "vi" and not page.startswith("vi/")
    ]
    rows: list[str] = []
    for path in english:
        both: dict[Lang, str] = {"en": urls["en"] + path}
        if not is_english_only(path.rstrip("/") + ".md"):
            both["vi"] = urls["vi"] + path
        links = "".join(
            f'<xhtml:link rel="alternate" hreflang="{lang}" href="{url}"/>' for lang, url in both.items()
        )
        rows += [f"<url><loc>{url}</loc>{links}</url>" for url in both.values()]
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        'xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
    )
    (out / "sitemap.xml").write_text(head + "\n".join(rows) + "\n</urlset>\n", "utf-8", newline="\n")
    for name in ("sitemap.xml.gz", "vi/sitemap.xml", "vi/sitemap.xml.gz"):
        (out / name).unlink(missing_ok=True)
