"""Accessibility: axe on the kinds of pages, and what axe does not see."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import pytest
from site_browser import Visit, new_context

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DRAFT = "KICKWHEEL_SITE_DRAFT"
pytestmark = pytest.mark.slow

KINDS = ("", "quickstart/", "course/05-provider-adapter/", "guides/script-a-model/", "reference/errors/")
API = "reference/kickwheel_event_stream/"
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, Scheme] = ("light", "dark")
PLACES = [path for kind in KINDS for path in (kind, f"vi/{kind}")] + [API]


def opened(browser: Browser, url: str, scheme: Scheme = "light", **options: object) -> Page:
    page = new_context(
        browser, color_scheme=scheme, viewport={"width": 1280, "height": 900}, **options
    ).new_page()
    page.goto(url)
    return page


CONTRAST = """
(selector) => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
  const over = (a, b) => a.slice(0, 3).map((v, i) => v * a[3] + b[i] * (1 - a[3]));
  const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => { const f = c.map(v => linear(v / 255));
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const behind = e => { const layers = [];
    for (let n = e; n; n = n.parentElement) { const c = parse(getComputedStyle(n).backgroundColor);
      if (c[3] > 0) layers.push(c); if (c[3] === 1) break; }
    return layers.reverse().reduce((base, c) => over(c, base), [255, 255, 255]); };
  const found = [];
  for (const e of document.querySelectorAll(selector)) {
    if (!e.textContent.trim() || !e.getClientRects().length) continue;
    const back = behind(e), front = over(parse(getComputedStyle(e).color), back);
    let opacity = 1; for (let n = e; n; n = n.parentElement) opacity *= getComputedStyle(n).opacity;
    const seen = over([...front, opacity], back), a = light(seen), b = light(back);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${e.className} ${e.textContent.slice(0, 30)}`);
  }
  return [...new Set(found)];
}
"""


PLAIN_LINKS = """
() => [...document.querySelectorAll("article a[href]:not(.headerlink):not(.md-content__button)")]
  .filter(a => a.textContent.trim() && !getComputedStyle(a).textDecorationLine.includes("underline"))
  .map(a => a.outerHTML)
"""
READABLE = ".highlight span, code, .md-nav__link, .md-tabs__link, .md-footer__link, .md-copyright"


@dataclass
class Seen:
    """What one page looks like in one scheme."""

    scheme: str
    violations: list[str]
    low: list[str]
    plain_links: list[str]
    task_lists: int


@pytest.fixture(scope="module")
def seen(browser: Browser, address: str, axe: str, paths: list[str]) -> dict[tuple[str, Scheme], Seen]:
    """Each kind of page in both languages and both schemes, looked at once."""
    found: dict[tuple[str, Scheme], Seen] = {}
    assert os.environ.get(DRAFT) or set(PLACES) <= set(paths)
    for scheme in SCHEMES:
        context = new_context(
            browser, color_scheme=scheme, viewport={"width": 1280, "height": 900}, reduced_motion="reduce"
        )
        page = context.new_page()
        for path in (place for place in PLACES if place in paths):
            page.goto(address + path)
            found[path, scheme] = Seen(
                page.evaluate("document.body.getAttribute('data-md-color-scheme')"),
                _violations(page, axe),
                page.evaluate(CONTRAST, READABLE),
                page.evaluate(PLAIN_LINKS),
                page.locator("article input[type=checkbox]").count(),
            )
        context.close()
    return found


def _violations(page: Page, axe: str) -> list[str]:
    page.evaluate(axe)
    rows = cast("list[dict[str, object]]", page.evaluate("async () => (await axe.run()).violations"))
    found: list[str] = []
    for row in rows:
        if row["impact"] in {"serious", "critical"}:
            nodes = cast("list[dict[str, object]]", row["nodes"])
            found.append(f"{row['id']}: {[node['html'] for node in nodes][:3]}")
    return found


@pytest.mark.criterion("S.52")
def test_axe_finds_nothing_serious(seen: dict[tuple[str, Scheme], Seen]) -> None:
    assert {place: one.violations for place, one in seen.items() if one.violations} == {}
    assert all(
        one.scheme == ("slate" if scheme == "dark" else "default") for (_, scheme), one in seen.items()
    )


@pytest.mark.criterion("S.53")
def test_code_colours_and_inactive_entries_can_be_read(seen: dict[tuple[str, Scheme], Seen]) -> None:
    assert {place: one.low for place, one in seen.items() if one.low} == {}


@pytest.mark.criterion("S.53")
def test_links_in_text_are_underlined_and_there_are_no_task_lists(
    seen: dict[tuple[str, Scheme], Seen],
) -> None:
    assert {place: one.plain_links for place, one in seen.items() if one.plain_links} == {}
    assert sum(one.task_lists for one in seen.values()) == 0


@pytest.mark.criterion("S.53")
@pytest.mark.parametrize("path", ["", "vi/"])
def test_the_search_dialog_has_a_name_in_the_page_s_language(
    browser: Browser, address: str, path: str
) -> None:
    page = opened(browser, address + path)
    name = page.locator("[role=dialog].md-search").get_attribute("aria-label")
    assert name == ("Tìm kiếm" if path else "Search")
    page.context.close()


@pytest.mark.criterion("S.53")
def test_nothing_moves_for_readers_who_prefer_less_motion(browser: Browser, address: str) -> None:
    page = opened(browser, address + "course/05-provider-adapter/", reduced_motion="reduce")
    moving = page.evaluate(
        """[...document.querySelectorAll("*")].filter(e => [e, "::before", "::after"].some(p => {
            const s = p === e ? getComputedStyle(e) : getComputedStyle(e, p);
            const durations = s.transitionDuration.split(", ");
            return s.animationName !== "none" || durations.some(d => parseFloat(d) > 0);
        })).map(e => e.tagName + "." + e.className).slice(0, 5)"""
    )
    assert moving == []
    page.context.close()


@pytest.mark.criterion("S.55")
def test_every_folded_text_is_the_browser_s_own_and_can_take_the_focus(visits: dict[str, Visit]) -> None:
    folded = {path: visit for path, visit in visits.items() if visit.details}
    assert len([path for path in folded if "course/0" in path]) == (
        16 if not os.environ.get(DRAFT) else len(folded)
    )
    assert {path: visit.unreachable for path, visit in folded.items() if visit.unreachable} == {}


@pytest.mark.criterion("S.55")
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
@pytest.mark.parametrize("path", ["course/05-provider-adapter/", "vi/course/07-agent-loop/"])
def test_each_folded_text_opens_with_the_keyboard(
    browser: Browser, address: str, path: str, scripts: bool
) -> None:
    page = opened(browser, address + path, java_script_enabled=scripts)
    summaries = page.locator("article details > summary").all()
    assert len(summaries) > 15
    for summary in summaries:
        summary.focus()
        page.keyboard.press("Enter")
    assert page.locator("article details:not([open])").count() == 0
    page.context.close()
