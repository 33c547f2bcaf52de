"""What the browser tests share: the installed browser, one crawl of the built site, labels of a diagram."""

from __future__ import annotations

import os
import re
import shutil
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page, Response, Route

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
)
OPEN_SHADOWS = """
const closed = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (options) { return closed.call(this, {...options, mode: "open"}); };
"""


def find_chromium(environment: Mapping[str, str]) -> str | None:
    """The browser to drive: the variable, else the first of three names on the path."""
    named = environment.get("KICKWHEEL_CHROMIUM")
    if named:
        return named
    found = (shutil.which(name, path=environment.get("PATH", "")) for name in NAMES)
    return next((path for path in found if path), None)


def require_chromium(environment: Mapping[str, str]) -> str:
    """The browser; without one the test is skipped, or fails where CI is set."""
    path = find_chromium(environment)
    if path is None:
        reason = "no Chromium: set KICKWHEEL_CHROMIUM or install chromium"
        if environment.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name is that of the base class
        """Nothing: the tests look at what arrives in the browser."""


@contextmanager
def serve(folder: Path) -> Generator[str]:
    """Serves a folder on 127.0.0.1 on a free port; gives its address with a slash."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join(10)


def sitemap_paths(folder: Path, root: str) -> list[str]:
    """Every address of the sitemap, relative to the English home page."""
    tree = ElementTree.parse(folder / "sitemap.xml")
    found = [str(node.text) for node in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert all(address.startswith(root) for address in found)
    return [address.removeprefix(root) for address in found]


@dataclass
class Diagram:
    """One drawn diagram: its height, words, accessible name, whether it is an error drawing."""

    height: float
    text: str
    name: str
    error: bool
    followed_by: str


@dataclass
class Visit:
    """What one page did when it was loaded."""

    path: str
    foreign: list[str] = field(default_factory=list[str])
    bad: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    language: str = ""
    description: str = ""
    diagrams: list[Diagram] = field(default_factory=list[Diagram])
    wide: list[str] = field(default_factory=list[str])
    scripts: list[str] = field(default_factory=list[str])
    details: int = 0
    unreachable: list[str] = field(default_factory=list[str])


DIAGRAMS = """
() => [...document.querySelectorAll("div.mermaid")].map(host => {
  const svg = host.shadowRoot && host.shadowRoot.querySelector("svg");
  if (!svg) return {height: 0, text: "", name: "", error: true, followed_by: ""};
  const label = svg.getAttribute("aria-labelledby");
  const title = label && svg.querySelector("#" + CSS.escape(label));
  let next = host.nextElementSibling;
  while (next && !["TABLE", "UL", "OL"].includes(next.tagName) && !next.querySelector("table, ul, ol"))
    next = next.nextElementSibling;
  return {
    height: svg.getBoundingClientRect().height,
    text: [...svg.querySelectorAll("text, foreignObject")].map(n => n.textContent).join(" "),
    name: title ? title.textContent : "",
    error: svg.getAttribute("aria-roledescription") === "error" || !!svg.querySelector(".error-icon"),
    followed_by: next ? next.tagName : "",
  };
})
"""
DRAWN = """
() => !document.querySelector("pre.mermaid")
  && [...document.querySelectorAll("div.mermaid")].every(h => h.shadowRoot?.querySelector("svg"))
"""
UNREACHABLE = """
() => [...document.querySelectorAll("article details")]
  .filter(d => d.firstElementChild?.tagName !== "SUMMARY" || d.firstElementChild.tabIndex !== 0)
  .map(d => d.outerHTML.slice(0, 80))
"""
WIDE = """
() => {
  const wide = document.scrollingElement.scrollWidth;
  if (wide <= window.innerWidth) return [];
  const boxes = "pre, .md-typeset__scrollwrap, .mermaid, .md-search, [data-md-component=sidebar]";
  const inside = e => e.closest(boxes);
  const names = [...document.querySelectorAll("main *")]
    .filter(e => e.getBoundingClientRect().right > window.innerWidth + 1 && !inside(e))
    .map(e => e.tagName + "." + e.className);
  return [`${wide} pixels`, ...names.slice(0, 5)];
}
"""


def new_context(browser: Browser, **options: object) -> BrowserContext:
    """A context that keeps every shadow root open and starts no service worker."""
    context = browser.new_context(service_workers="block", **options)  # pyright: ignore[reportArgumentType] options of the caller
    context.add_init_script(OPEN_SHADOWS)
    return context


def crawl(browser: Browser, address: str, paths: list[str]) -> dict[str, Visit]:
    """Loads every page once and notes what happened; nothing leaves this machine."""
    context = new_context(browser, viewport={"width": 1280, "height": 900})
    host = urlsplit(address).netloc
    visits: dict[str, Visit] = {}
    page = context.new_page()
    current = Visit("")

    def gate(route: Route) -> None:
        parts = urlsplit(route.request.url)
        if parts.netloc == host or parts.scheme in {"data", "blob"}:
            route.continue_()
        else:
            current.foreign.append(route.request.url)
            route.abort()

    def answered(response: Response) -> None:
        if response.status >= 400:
            current.bad.append(f"{response.status} {response.url}")

    context.route("**/*", gate)
    page.on("response", answered)
    page.on(
        "console", lambda message: current.errors.append(message.text) if message.type == "error" else None
    )
    page.on("pageerror", lambda error: current.errors.append(str(error)))
    for path in paths:
        current = Visit(path)
        _look(page, address + path, current)
        visits[path] = current
    context.close()
    return visits


def _look(page: Page, url: str, visit: Visit) -> None:
    page.goto(url, wait_until="load")
    if page.locator("div.mermaid, pre.mermaid").count():
        page.wait_for_function(DRAWN, timeout=20_000)
    visit.language = page.evaluate("document.documentElement.lang")
    visit.description = page.evaluate("document.querySelector('meta[name=description]')?.content ?? ''")
    visit.scripts = page.evaluate("[...document.scripts].map(s => s.src)")
    visit.details = page.locator("article details").count()
    visit.unreachable = page.evaluate(UNREACHABLE)
    visit.diagrams = [Diagram(**row) for row in page.evaluate(DIAGRAMS)]
    page.set_viewport_size({"width": 360, "height": 740})
    visit.wide = page.evaluate(WIDE)
    page.set_viewport_size({"width": 1280, "height": 900})


def labels(source: str) -> list[str]:
    """The words that a diagram's source wants to show, without its grammar."""
    found: list[str] = []
    for row in source.split("\n"):
        row = row.strip()
        if row.startswith(("accTitle", "accDescr", "```", "flowchart", "stateDiagram", "sequenceDiagram")):
            continue
        if match := re.match(r"participant \w+ as (.+)", row):
            found.append(match[1])
            continue
        found += re.findall(r'"([^"]+)"', row)
        if '"' not in row and ": " in row:
            found.append(row.split(": ", 1)[1])
    return [part.strip() for label in found for part in re.split(r"<br\s*/?>", label) if part.strip()]


def environment() -> dict[str, str]:
    return dict(os.environ)
