"""What single pages promise: home, quickstart, course map, reference, glossary, tooltips."""

from __future__ import annotations

import importlib
import re
import tomllib
from html import unescape
from typing import TYPE_CHECKING, cast

import pytest
from site_tools.glossary import Glossary
from site_tools.layout import CHECKPOINTS, PACKAGES, ROOT, Site
from site_tools.speclines import read_spec

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

pytestmark = pytest.mark.slow
TRACE = (ROOT / "includes/generated/trace-default.txt").read_text("utf-8")
DOUBLES = ("vi/", "")


def article(folder: Path, path: str) -> str:
    text = (folder / path / "index.html").read_text("utf-8")
    return text.split('<article class="md-content__inner', 1)[1].split("</article>", 1)[0]


def bare(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", html))


@pytest.mark.criterion("S.01", "S.104")
@pytest.mark.parametrize("language", DOUBLES)
def test_home_begins_with_one_sentence_two_doors_the_install_line_and_a_real_trace(
    site_folder: Path, language: str
) -> None:
    top = article(site_folder, language).split("<h2", 1)[0]
    sentence = bare(re.findall(r"<p>(.*?)</p>", top, re.DOTALL)[0])
    assert sentence.startswith("kickwheel ")
    assert sentence.count(".") == 1
    doors = [top.index('href="course/"'), top.index('href="guides/"')]
    blocks = [
        bare(block).strip("\n") for block in re.findall(r"<code>(.*?)</code>", top[max(doors) :], re.DOTALL)
    ]
    assert doors == sorted(doors)
    assert blocks[:2] == ["pip install kickwheel", TRACE.strip("\n")]
    assert len(TRACE.strip().split("\n")) == 6


@pytest.mark.criterion("S.02")
@pytest.mark.parametrize("language", ["en", "vi"])
def test_the_quickstart_has_four_steps_and_one_complete_test_of_at_most_12_lines(language: str) -> None:
    page = Site().page("vi" if language == "vi" else "en", "quickstart.md")
    assert page is not None
    assert [h.anchor for h in page.headings if h.level == 2] == ["install", "trace", "test", "start"]
    fences = [(fence.language, "\n".join(fence.body)) for fence in page.fences]
    assert ("bash", "pip install kickwheel") in fences
    assert ("bash", "kickwheel trace") in fences
    assert ("python", '--8<-- "examples/quickstart_test.py"') in fences
    assert ("text", '--8<-- "includes/generated/trace-default.txt"') in fences
    commands = [row for kind, body in fences if kind == "bash" for row in body.split("\n")]
    assert commands.index("kickwheel start") < commands.index("kickwheel test 00")
    assert len((ROOT / "examples/quickstart_test.py").read_text("utf-8").splitlines()) <= 12


@pytest.mark.criterion("S.04")
def test_no_step_asks_for_a_key_an_account_or_another_download() -> None:
    forbidden = re.compile(
        r"\b(?:curl|wget|npm|docker|git clone|brew)\b|api[_ ]key\s*=|_API_KEY|https?://", re.IGNORECASE
    )
    found: list[str] = []
    for language in ("en", "vi"):
        for path, page in Site().pages(language):
            if path.startswith(("reference/contract/", "changelog/")):
                continue
            found += [
                f"{page.file}:{fence.line}: {row}"
                for fence in page.fences
                if fence.language in {"bash", "sh", "console"}
                for row in fence.body
                if forbidden.search(row)
                or (" install " in row and not re.match(r"\s*(?:pip|uv pip|uv) ", row))
            ]
    assert found == []


@pytest.mark.criterion("S.05")
@pytest.mark.parametrize("language", DOUBLES)
def test_the_course_map_equals_the_course_data(site_folder: Path, language: str) -> None:
    course = ROOT / "packages/kickwheel/src/kickwheel/course"
    outline = cast(
        "list[dict[str, object]]", tomllib.loads((course / "course.toml").read_text("utf-8"))["checkpoints"]
    )
    html = article(site_folder, f"{language}course/")
    rows = re.findall(r"<tr>\s*(<td>.*?)</tr>", html, re.DOTALL)
    assert len(rows) == len(CHECKPOINTS)
    total = 0
    for row, entry, (number, slug) in zip(rows, outline, CHECKPOINTS.items(), strict=True):
        data = tomllib.loads((course / f"checkpoints/{number}.toml").read_text("utf-8"))
        cells = [bare(cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]
        assert f'href="{number}-{slug}/"' in row
        test = f"tests/checkpoints/test_{number}_{slug.replace('-', '_')}.py"
        after = ", ".join(cast("list[str]", entry["requires"])) or "—"
        assert cells[2:] == [str(data["minutes"]), str(data["level"]), str(data["package"]), test, after]
        total += cast("int", data["minutes"])
    assert str(total) in bare(html.split("</table>", 1)[1].split("<h2", 1)[0])


@pytest.mark.criterion("S.11")
@pytest.mark.parametrize("name", PACKAGES)
def test_a_module_page_holds_every_public_name_and_no_private_one(site_folder: Path, name: str) -> None:
    module = name.replace("-", "_")
    package: ModuleType = importlib.import_module(module)
    html = article(site_folder, f"reference/{module}/")
    anchors = set(re.findall(r'<h\d id="([^"]+)"', html))
    public = cast("list[str]", package.__all__)
    assert {f"{module}.{public_name}" for public_name in public} <= anchors
    assert [a for a in anchors if re.search(r"\._[a-z]", a)] == []
    level_one = {a.removeprefix(f"{module}.") for a in anchors if a.count(".") == 1}
    assert level_one <= set(public)


@pytest.mark.criterion("S.12")
@pytest.mark.parametrize("language", ["en", "vi"])
def test_the_command_reference_holds_what_each_verb_s_help_prints(language: str) -> None:
    from kickwheel._help import overview_help, verb_help
    from kickwheel._messages import Messages
    from kickwheel._verb_table import VERBS

    text = (ROOT / f"docs/{language}/reference/cli.md").read_text("utf-8")
    english = Messages("en")
    assert f"```text\n{overview_help(english)}\n```" in text
    for verb in VERBS:
        assert f"## `kickwheel {verb.name}` {{#{verb.name.replace(' ', '-')}}}" in text
        assert f"```text\n{verb_help(verb, english)}\n```" in text


@pytest.mark.criterion("S.13")
@pytest.mark.parametrize("language", ["en", "vi"])
def test_the_changelog_names_each_distribution_with_its_version(language: str) -> None:
    text = (ROOT / f"docs/{language}/changelog.md").read_text("utf-8")
    for name, folder in PACKAGES.items():
        version = tomllib.loads((ROOT / "packages" / folder / "pyproject.toml").read_text("utf-8"))[
            "project"
        ]["version"]
        assert re.search(
            rf"\| `{name}` \| `{re.escape(version)}` \| \[[^]]+\]\((?:en:)?changelog/{name}\.md\)", text
        )


@pytest.mark.criterion("S.13")
@pytest.mark.parametrize("name", PACKAGES)
def test_each_distribution_s_changelog_is_rendered(site_folder: Path, name: str) -> None:
    source = (ROOT / "packages" / PACKAGES[name] / "CHANGELOG.md").read_text("utf-8")
    shown = bare(article(site_folder, f"changelog/{name}/"))
    for heading in re.findall(r"(?m)^#+ (.+?)\s*$", source):
        assert bare(re.sub(r"\[([^]]*)\](?:\([^)]*\))?|`", r"\1", heading)) in shown


@pytest.mark.criterion("S.14")
@pytest.mark.parametrize("number", CHECKPOINTS)
def test_the_contract_page_holds_each_line_under_its_number(site_folder: Path, number: str) -> None:
    html = article(site_folder, f"reference/contract/{number}/")
    anchors = re.findall(r'<strong id="([^"]+)">', html)
    lines = [line.number for line in read_spec(ROOT / "spec") if line.section == number]
    assert sorted(anchors) == sorted(lines)
    assert len(lines) > 20


@pytest.mark.criterion("S.15")
def test_each_term_has_one_heading_and_one_to_three_sentences_in_both_languages(site_folder: Path) -> None:
    glossary = Glossary.read(ROOT / "docs/glossary.toml")
    for language in DOUBLES:
        parts = re.split(r"<h2 ", article(site_folder, f"{language}glossary/"))[1:]
        found = {part.split('id="', 1)[1].split('"', 1)[0]: part for part in parts}
        assert list(found) == [entry.anchor for entry in glossary.entries()]
        for anchor, part in found.items():
            text = bare(part.split("</h2>", 1)[1])
            assert 1 <= len(re.findall(r"[.?!](?:\s|$)", text)) <= 3, anchor


@pytest.mark.criterion("S.30", "S.15")
@pytest.mark.parametrize("language", DOUBLES)
def test_a_tooltip_stands_at_the_first_use_in_each_section_and_nowhere_else(
    site_folder: Path, language: str
) -> None:
    glossary = Glossary.read(ROOT / "docs/glossary.toml")
    entries = glossary.keep if language else glossary.entries()
    known = {(entry.vi if language else entry.en).replace("`", "") for entry in entries}
    total = 0
    base = site_folder / "vi" if language else site_folder
    for file in sorted(base.rglob("index.html")):
        if not language and "vi" in file.relative_to(site_folder).parts:
            continue
        html = article(site_folder, file.parent.relative_to(site_folder).as_posix())
        quiet = re.findall(r"<(a|code|pre|h[1-6])\b[^>]*>(.*?)</\1>", html, re.DOTALL)
        assert [inner for _, inner in quiet if "<abbr" in inner] == []
        for section in re.split(r"<h2\b", html):
            tips = [unescape(tip) for tip in re.findall(r'<abbr title="([^"]*)"', section)]
            assert len(tips) == len(set(tips)), file
            assert set(tips) <= known
            total += len(tips)
            for word, tip in re.findall(r'<abbr title="([^"]*)">([^<]*)</abbr>', section):
                _assert_first(section, tip, word)
    assert total > 100


def _assert_first(section: str, word: str, tip: str) -> None:
    """No earlier use of the same word in running text of the section."""
    before = section.split(f'<abbr title="{tip}">{word}</abbr>', 1)[0]
    before = re.sub(r"<(a|code|pre|h[1-6]|abbr)\b[^>]*>.*?</\1>", " ", before, flags=re.DOTALL)
    before = before.split("</h2>", 1)[-1]
    text = unescape(re.sub(r"<[^>]+>", " ", before))
    assert not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text), (word, text[-200:])
