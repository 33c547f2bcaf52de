"""The build itself: its steps, what stops it, and what finishing leaves behind."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest
import yaml
from site_tools import build, finish, vendor
from site_tools.build import Options, StepError, site_urls
from site_tools.cli import main
from site_tools.layout import ROOT, is_english_only

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

STEPS = ("_vendor", "_generated", "_mkdocs", "_finish")


@pytest.mark.criterion("S.36")
def test_the_steps_run_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[object] = []

    def noted(name: str) -> Callable[..., None]:
        def step(_options: Options, *rest: str) -> None:
            ran.append((name, *rest))

        return step

    for name in STEPS:
        monkeypatch.setattr(build, name, noted(name))
    build.build(Options(ROOT, tmp_path, quiet=True))
    assert ran == [("_vendor",), ("_generated",), ("_mkdocs", "en"), ("_mkdocs", "vi"), ("_finish",)]


@pytest.mark.criterion("S.36", "S.38")
def test_a_failing_step_stops_the_build_with_its_name_and_exit_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(_root: Path, _library: vendor.Library = vendor.MERMAID) -> str:
        raise vendor.VendorError("wrong hash")

    def later(_options: Options) -> None:
        pytest.fail("a later step ran")

    monkeypatch.setattr(vendor, "vendor", wrong)
    monkeypatch.setattr(build, "_generated", later)
    assert main(["build", "--quiet", "--out", str(tmp_path / "site")]) == 1
    assert capsys.readouterr().err.strip() == "vendor: wrong hash"
    assert not (tmp_path / "site").exists()


@pytest.mark.criterion("S.38")
def test_a_library_with_another_hash_is_not_stored(tmp_path: Path) -> None:
    with pytest.raises(vendor.VendorError, match="expected SHA-256 581ed7d7"):
        vendor.store(tmp_path / "vendor", vendor.MERMAID, b"something else", b"licence")
    assert not (tmp_path / "vendor").exists()


@pytest.mark.criterion("S.38")
def test_the_library_of_the_site_is_the_named_one_with_its_licence(site_folder: Path) -> None:
    script = site_folder / "assets/vendor/mermaid.min.js"
    assert hashlib.sha256(script.read_bytes()).hexdigest() == vendor.MERMAID.sha256
    assert "MIT" in (ROOT / "overrides/assets/vendor/mermaid.LICENSE").read_text("utf-8")
    ignored = subprocess.run(
        ["git", "check-ignore", "-q", "overrides/assets/vendor/x"], cwd=ROOT, check=False
    )
    assert ignored.returncode == 0


def small_site(folder: Path, pages: dict[str, str], nav: list[str]) -> subprocess.CompletedProcess[str]:
    """Builds a few pages with the real configuration."""
    for path, text in pages.items():
        file = folder / "docs" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    config = {
        "INHERIT": str(ROOT / build.CONFIGS["en"]),
        "docs_dir": str(folder / "docs"),
        "site_dir": str(folder / "site"),
        "theme": {"custom_dir": str(ROOT / "overrides")},
        "nav": nav,
    }
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config), "utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(folder / "mkdocs.yml")]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=build.environment(folder / "site")
    )


GOOD = {
    "index.md": "# Home\n\n[there](other.md#place)\n\n[kickwheel_event_stream.EventStream][]\n",
    "other.md": (
        '# Other\n\n## Place {#place}\n\n```text\n--8<-- "includes/generated/trace-default.txt"\n```\n'
    ),
    "api.md": "# API\n\n::: kickwheel_event_stream\n",
}
NAV = ["index.md", "other.md", "api.md"]


@pytest.mark.criterion("S.37")
def test_a_small_site_without_faults_builds_without_a_warning(tmp_path: Path) -> None:
    done = small_site(tmp_path, GOOD, NAV)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stdout + done.stderr


@pytest.mark.criterion("S.37")
@pytest.mark.parametrize(
    ("page", "old", "new", "named"),
    [
        ("other.md", "trace-default.txt", "trace-missing.txt", "trace-missing.txt"),
        ("other.md", "trace-default.txt", "trace-default.txt:nowhere", "nowhere"),
        ("index.md", "#place", "#elsewhere", "elsewhere"),
        ("index.md", "other.md", "another.md", "another.md"),
        ("index.md", "EventStream][]", "EventStreams][]", "EventStreams"),
    ],
    ids=["missing snippet", "missing section", "wrong anchor", "missing page", "unknown API name"],
)
def test_a_broken_reference_turns_the_build_red(
    tmp_path: Path, page: str, old: str, new: str, named: str
) -> None:
    done = small_site(tmp_path, {**GOOD, page: GOOD[page].replace(old, new)}, NAV)
    assert done.returncode != 0
    assert named in done.stdout + done.stderr


@pytest.mark.criterion("S.37")
def test_a_page_outside_the_navigation_turns_the_build_red(tmp_path: Path) -> None:
    done = small_site(tmp_path, {**GOOD, "lonely.md": "# Lonely\n"}, NAV)
    assert done.returncode != 0
    assert "lonely.md" in done.stdout + done.stderr


@pytest.mark.criterion("S.47")
def test_building_twice_gives_the_same_bytes(site_folder: Path, tmp_path: Path) -> None:
    import os

    again = tmp_path / "again"
    build.build(Options(ROOT, again, draft=bool(os.environ.get("KICKWHEEL_SITE_DRAFT")), quiet=True))
    first, second = contents(site_folder), contents(again)
    assert sorted(first) == sorted(second)
    assert [path for path in first if first[path] != second[path]] == []


def contents(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


# --- the built files ----------------------------------------------------------------------------------------


def pages(folder: Path) -> dict[str, str]:
    """Every built page by its address below the English home page."""
    return {
        p.parent.relative_to(folder).as_posix().replace(".", "", 1)
        if p.parent == folder
        else _address(p, folder): (p.read_text("utf-8"))
        for p in sorted(folder.rglob("index.html"))
    }


def _address(file: Path, folder: Path) -> str:
    return file.parent.relative_to(folder).as_posix() + "/"


class Links(HTMLParser):
    """Every link, every resource and every anchor of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.anchors: set[str] = set()
        self.canonical = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") == "canonical":
            self.canonical = values["href"]
        elif tag == "link" and values.get("rel") not in {"prev", "next", "alternate"}:
            self.resources.append(values.get("href", ""))
        elif "src" in values:
            self.resources.append(values["src"])
        self.resources += [part.split()[0] for part in values.get("srcset", "").split(",") if part.strip()]


@pytest.mark.criterion("S.08", "S.41")
def test_every_link_inside_the_site_leads_to_a_page_and_an_anchor(site_folder: Path) -> None:
    parsed = {path: Links(text) for path, text in pages(site_folder).items()}
    faults: list[str] = []
    for path, page in parsed.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = _join(path, parts.path)
            if target not in parsed:
                faults.append(f"{path}: {link} leads to no page")
            elif parts.fragment and unquote(parts.fragment) not in parsed[target].anchors | {"__skip"}:
                faults.append(f"{path}: {link} leads to no anchor")
    assert faults == []


def _join(base: str, link: str) -> str:
    import posixpath

    if not link:
        return base
    joined = posixpath.normpath(posixpath.join(base or ".", link))
    return "" if joined == "." else joined + "/"


@pytest.mark.criterion("S.41")
def test_vietnamese_links_to_the_api_stay_inside_the_site(site_folder: Path) -> None:
    text = pages(site_folder)["vi/reference/"]
    links = Links(text).links
    assert "../../reference/kickwheel_protocol/" in links
    assert "../../reference/contract/05/" in links


@pytest.mark.criterion("S.41")
def test_no_built_file_names_the_site_s_own_host_but_sitemap_and_canonical_links(site_folder: Path) -> None:
    host = urlsplit(site_urls()["en"]).netloc
    found: list[str] = []
    for path, data in contents(site_folder).items():
        if path == "sitemap.xml" or "assets/" in path:
            continue
        text = re.sub(r'<link rel="canonical" href="[^"]*">', "", data.decode("utf-8", "replace"))
        if host in text:
            found.append(path)
    assert found == []


@pytest.mark.criterion("S.41")
def test_an_inventory_address_becomes_a_relative_link(tmp_path: Path) -> None:
    page = finish._Html(  # pyright: ignore[reportPrivateUsage] the unit under test
        tmp_path,
        tmp_path / "vi/guides/x/index.html",
        "vi",
        {"en": "https://h.example/a/", "vi": "https://h.example/a/vi/"},
    )
    text = '<link rel="canonical" href="https://h.example/a/vi/"><a class="x" href="https://h.example/a/reference/m/#m.N">N</a>'
    assert page.local_links(text) == text.replace(
        'href="https://h.example/a/reference', 'href="../../../reference'
    )


@pytest.mark.criterion("S.41")
def test_a_link_into_the_english_site_must_lead_somewhere(tmp_path: Path) -> None:
    page = finish._Html(tmp_path, tmp_path / "vi/index.html", "vi", site_urls())  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(finish.FinishError, match=r"en:reference/none\.md leads to no English page"):
        page.local_links('<a href="en:reference/none.md">x</a>')


@pytest.mark.criterion("S.42")
def test_the_sitemap_lists_every_page_in_both_languages(site_folder: Path) -> None:
    space = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9", "x": "http://www.w3.org/1999/xhtml"}
    tree = ElementTree.parse(site_folder / "sitemap.xml")
    urls = site_urls()
    listed: dict[str, dict[str, str]] = {}
    for node in tree.iterfind("s:url", space):
        links = {str(n.get("hreflang")): str(n.get("href")) for n in node.iterfind("x:link", space)}
        listed[str(node.findtext("s:loc", "", space))] = links
    for path in pages(site_folder):
        links = listed[urls["en"] + path]
        inner = path.removeprefix("vi/") if path.startswith("vi/") else path
        assert links["en"] == urls["en"] + inner
        assert ("vi" in links) is not is_english_only(inner.rstrip("/") + ".md")
    assert len(listed) == len(pages(site_folder))


@pytest.mark.criterion("S.42")
def test_language_canonical_address_and_description_of_every_page(site_folder: Path) -> None:
    for path, text in pages(site_folder).items():
        language = "vi" if path.startswith("vi/") else "en"
        assert f'<html lang="{language}"' in text
        assert re.search(r'<meta name="description" content="[^"]+">', text), path
        assert Links(text).canonical == site_urls()["en"] + path


@pytest.mark.criterion("S.46")
def test_no_built_file_refers_to_a_resource_on_another_host(site_folder: Path) -> None:
    found: list[str] = []
    for path, data in contents(site_folder).items():
        text = data.decode("utf-8", "replace")
        if path.endswith(".html"):
            found += [f"{path}: {r}" for r in Links(text).resources if re.match(r"(?:https?:)?//", r)]
        elif path.endswith(".css"):
            found += [
                f"{path}: {m}" for m in re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)\"']+", text)
            ]
        elif path.endswith(".js"):
            pattern = r"[\"'`](?:https?:)?//[^\"'`\s]+\.(?:m?js|css|woff2?)[\"'`]|importScripts\(\"https?:"
            found += [f"{path}: {m}" for m in re.findall(pattern, text)]
            found += [
                f"{path}: {m[0]}" for m in finish.FOREIGN_SCRIPT.finditer(text) if "vendor/" not in path
            ]
        elif path.endswith(".map"):
            found.append(path)
    assert found == []


@pytest.mark.criterion("S.39")
def test_the_drawing_library_is_asked_for_by_pages_with_a_diagram_only(site_folder: Path) -> None:
    for path, text in pages(site_folder).items():
        assert ('class="mermaid"' in text) == ("assets/vendor/mermaid.min.js" in text), path


@pytest.mark.criterion("S.40")
def test_the_vietnamese_index_holds_the_bare_words_and_the_english_one_does_not(site_folder: Path) -> None:
    def tags(file: str) -> str:
        data = cast("dict[str, list[dict[str, object]]]", json.loads((site_folder / file).read_text("utf-8")))
        return " ".join(" ".join(cast("list[str]", entry.get("tags", []))) for entry in data["docs"])

    assert {"hang", "doi"} <= set(tags("vi/search/search_index.json").split())
    assert tags("search/search_index.json").strip() == ""


@pytest.mark.criterion("S.34")
def test_a_stale_translation_carries_a_box(tmp_path: Path) -> None:
    page = finish._Html(tmp_path, tmp_path / "vi/quickstart/index.html", "vi", site_urls())  # pyright: ignore[reportPrivateUsage]
    assert "quickstart.md" in page.sources()
    text = page.stale_box('<article class="md-content__inner md-typeset"><h1>X</h1><p>y</p></article>')
    assert "<h1>X</h1><div" in text
    assert "Bản dịch có thể cũ" in text


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("index.html", "index.md"),
        ("course/index.html", "course/index.md"),
        ("course/05-provider-adapter/index.html", "course/05-provider-adapter.md"),
        ("changelog/index.html", "changelog.md"),
    ],
)
@pytest.mark.criterion("S.34")
def test_a_built_page_knows_its_source(tmp_path: Path, file: str, source: str) -> None:
    page = finish._Html(tmp_path, tmp_path / "vi" / file, "vi", site_urls())  # pyright: ignore[reportPrivateUsage]
    assert source in page.sources()


def test_a_step_error_names_the_page_builder_s_words(tmp_path: Path) -> None:
    with pytest.raises(StepError, match=r"^finishing: "):
        build._finish(Options(ROOT, tmp_path))  # pyright: ignore[reportPrivateUsage] the unit under test
