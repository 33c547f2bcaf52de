"""One build, one server, one browser for all tests of this folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from site_browser import ARGUMENTS, Visit, crawl, environment, require_chromium, serve, sitemap_paths
from site_tools import vendor
from site_tools.build import Options, build, site_urls
from site_tools.layout import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

DRAFT = "KICKWHEEL_SITE_DRAFT"
"""Set while pages are being written: builds with those that exist."""
BUILT = "KICKWHEEL_BUILT_SITE"
"""The folder of a site just built from these sources, as `.ci/run` has one: tests look at it, not at another."""


@pytest.fixture(scope="session")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished site, built once."""
    built = os.environ.get(BUILT)
    if built:
        assert (ROOT / built / "index.html").is_file(), f"{BUILT} names no built site: {built}"
        return ROOT / built
    out = tmp_path_factory.mktemp("site") / "site"
    build(Options(ROOT, out, draft=bool(os.environ.get(DRAFT)), quiet=True))
    return out


@pytest.fixture(scope="session")
def address(site_folder: Path) -> Iterator[str]:
    """Where the site is served, with a slash at the end."""
    with serve(site_folder) as url:
        yield url


@pytest.fixture(scope="module")
def browser(site_folder: Path) -> Iterator[Browser]:
    """An installed Chromium; never a downloaded one.

    One a module: while the synchronous driver is open, its loop counts as running in this thread, and no
    other test could start one. The site is built before for the same reason.
    """
    assert site_folder.is_dir()
    path = require_chromium(environment())
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def paths(site_folder: Path) -> list[str]:
    """Every page of the sitemap, relative to the English home page."""
    return sitemap_paths(site_folder, site_urls()["en"])


@pytest.fixture(scope="session")
def crawled() -> dict[str, Visit]:
    """What the one crawl of the session found."""
    return {}


@pytest.fixture(scope="module")
def visits(browser: Browser, address: str, paths: list[str], crawled: dict[str, Visit]) -> dict[str, Visit]:
    """Every page, loaded once."""
    if not crawled:
        crawled.update(crawl(browser, address, paths))
    return crawled


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe, fetched for the tests only."""
    vendor.vendor(ROOT, vendor.AXE)
    return (ROOT / vendor.AXE.folder / vendor.AXE.script).read_text("utf-8")
