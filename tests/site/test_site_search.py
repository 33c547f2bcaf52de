"""The search, used as a reader does: by typing into the box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from site_browser import new_context
from site_tools.finish import fold

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


def search(browser: Browser, address: str, words: str) -> tuple[list[str], str]:
    """Addresses of the results in order, relative to the page's language, and the text that is visible."""
    context = new_context(browser, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(address)
    box = page.locator("input.md-search__input")
    box.click()
    box.press_sequentially(words, delay=5)
    results = page.locator(".md-search-result__item")
    results.first.wait_for(timeout=20_000)
    page.wait_for_function(
        "document.querySelector('.md-search-result__meta').textContent.match(/[0-9]/)", timeout=20_000
    )
    links = results.locator("a.md-search-result__link:not([tabindex='-1'] *)").evaluate_all(
        "a => a.map(x => x.href)"
    )
    visible = page.locator(".md-search-result__list").inner_text()
    context.close()
    return [link.split("?", 1)[0].split("#", 1)[0] for link in links], visible


@pytest.mark.criterion("S.50")
def test_english_finds_the_guide_on_cancelling(browser: Browser, address: str) -> None:
    links, _ = search(browser, address, "abort signal")
    assert f"{address}guides/cancel-a-run/" in links
    assert not [link for link in links if link.startswith(f"{address}vi/")]


@pytest.mark.criterion("S.40", "S.50")
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("hàng đợi", "course/04-scripted-model/"),
        ("hang doi", "course/04-scripted-model/"),
        ("vong lap", "course/07-agent-loop/"),
    ],
)
def test_vietnamese_is_found_with_and_without_its_marks(
    browser: Browser, address: str, words: str, page: str
) -> None:
    links, visible = search(browser, f"{address}vi/", words)
    assert f"{address}vi/{page}" in links
    assert not [link for link in links if not link.startswith(f"{address}vi/")]
    assert "hang doi" not in visible
    assert "vong lap" not in visible


@pytest.mark.criterion("S.40")
@pytest.mark.parametrize(
    ("word", "bare"),
    [("hàng", "hang"), ("đợi", "doi"), ("Đường", "Duong"), ("vòng lặp", "vong lap"), ("plain", "plain")],
)
def test_folding_removes_every_vietnamese_mark(word: str, bare: str) -> None:
    assert fold(word) == bare
