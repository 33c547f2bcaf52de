"""Every page in an installed browser: nothing foreign, nothing broken, diagrams drawn, narrow screens."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

import pytest
from site_browser import Visit, find_chromium, labels, new_context, require_chromium
from site_tools.layout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


@pytest.mark.criterion("S.48")
def test_no_page_asks_another_host_for_anything(visits: dict[str, Visit]) -> None:
    assert {path: visit.foreign for path, visit in visits.items() if visit.foreign} == {}
    assert len(visits) > 40


@pytest.mark.criterion("S.48", "S.08")
def test_every_page_loads_without_a_failed_response_or_an_error(visits: dict[str, Visit]) -> None:
    assert {
        path: visit.bad + visit.errors for path, visit in visits.items() if visit.bad + visit.errors
    } == {}


@pytest.mark.criterion("S.42")
def test_every_page_names_its_language_and_has_a_description(visits: dict[str, Visit]) -> None:
    wrong = {
        path: visit.language
        for path, visit in visits.items()
        if visit.language != ("vi" if path.startswith("vi/") else "en") or not visit.description
    }
    assert wrong == {}


@pytest.mark.criterion("S.49", "S.54")
def test_every_diagram_is_drawn_with_the_words_of_its_source_and_a_name(visits: dict[str, Visit]) -> None:
    faults: list[str] = []
    for path, visit in visits.items():
        parts = path.removeprefix("vi/").split("/")
        if parts[0] != "course" or not parts[1][:2].isdigit():
            assert visit.diagrams == [], path
            continue
        language = "vi" if path.startswith("vi/") else "en"
        source = (ROOT / f"includes/generated/{parts[1][:2]}-diagram.{language}.md").read_text("utf-8")
        if len(visit.diagrams) != 1:
            faults.append(f"{path}: {len(visit.diagrams)} diagrams")
            continue
        (diagram,) = visit.diagrams
        shown = "".join(diagram.text.split())
        missing = [label for label in labels(source) if "".join(label.split()) not in shown]
        name = source.split("accTitle: ", 1)[1].split("\n", 1)[0]
        if (
            diagram.error
            or diagram.height <= 20
            or missing
            or diagram.name != name
            or not diagram.followed_by
        ):
            faults.append(f"{path}: {diagram} lacks {missing}")
    assert faults == []


@pytest.mark.criterion("S.39")
def test_only_a_page_with_a_diagram_loads_the_drawing_library(visits: dict[str, Visit]) -> None:
    for path, visit in visits.items():
        loaded = [source for source in visit.scripts if source.endswith("assets/vendor/mermaid.min.js")]
        assert len(loaded) == bool(visit.diagrams), path


@pytest.mark.criterion("S.56")
def test_no_page_scrolls_sideways_at_360_pixels(visits: dict[str, Visit]) -> None:
    assert {path: visit.wide for path, visit in visits.items() if visit.wide} == {}


@pytest.mark.criterion("S.08")
def test_the_language_switch_leads_to_the_same_page_and_from_an_english_only_page_to_its_section(
    site_folder: Path, paths: list[str]
) -> None:
    for path in paths:
        text = (site_folder / path / "index.html").read_text("utf-8")
        (link,) = re.findall(r'<a class="[^"]*kw-switch[^"]*" href="([^"]+)"', text)
        target = posixpath.normpath(posixpath.join(path or ".", link)).removeprefix(".")
        target = f"{target}/" if target else ""
        if path.startswith("vi/"):
            assert target == path.removeprefix("vi/")
        elif path.startswith(("reference/kickwheel", "reference/contract/")):
            assert target == "vi/reference/"
        elif path.startswith("changelog/") and path != "changelog/":
            assert target == "vi/changelog/"
        else:
            assert target == f"vi/{path}"
        assert target in paths, path


@pytest.mark.criterion("S.08")
def test_the_language_switch_can_be_followed_there_and_back(browser: Browser, address: str) -> None:
    page = new_context(browser).new_page()
    page.goto(f"{address}course/05-provider-adapter/")
    for target in ("vi/course/05-provider-adapter/", "course/05-provider-adapter/"):
        page.locator("a.kw-switch").click()
        page.wait_for_url(address + target)
    page.context.close()


@pytest.mark.criterion("S.51")
def test_the_browser_is_the_one_named_or_the_first_on_the_path(tmp_path: Path) -> None:
    assert find_chromium({"KICKWHEEL_CHROMIUM": "/opt/browser", "PATH": ""}) == "/opt/browser"
    for name in ("google-chrome", "chromium-browser"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\n", "utf-8")
        program.chmod(0o755)
    assert find_chromium({"PATH": str(tmp_path)}) == str(tmp_path / "chromium-browser")
    assert find_chromium({"PATH": str(tmp_path / "nothing")}) is None


@pytest.mark.criterion("S.51")
def test_without_a_browser_the_tests_are_skipped_but_fail_where_ci_is_set(tmp_path: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="no Chromium"):
        require_chromium({"PATH": str(tmp_path)})
    with pytest.raises(pytest.fail.Exception, match="no Chromium"):
        require_chromium({"PATH": str(tmp_path), "CI": "true"})
