"""Each check of the site turns red for the fault it is there for, and the site as it is has none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from site_copy import added, copy_sources, planted, without
from site_tools import checks, generate, parity, structure, vietnamese
from site_tools.checks import CHECKS
from site_tools.cli import stamp
from site_tools.layout import Site

if TYPE_CHECKING:
    from site_tools.layout import Fault

EN = "docs/en/course/06-tool-contract.md"
VI = "docs/vi/course/06-tool-contract.md"
GUIDE = "docs/en/guides/replay-a-recorded-stream.md"
TOML = "packages/kickwheel/src/kickwheel/course/checkpoints/06.toml"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_sources(tmp_path_factory.mktemp("sources") / "root")


def red(site: Site, check: str) -> list[str]:
    found: list[Fault] = CHECKS[check](site)
    return [str(fault) for fault in found]


LINES = {
    "trees": ("S.06",),
    "nav": ("S.07",),
    "front matter": ("S.17", "S.42"),
    "course map": ("S.05",),
    "guides": ("S.09",),
    "headings": ("S.16",),
    "paths": ("S.18",),
    "diagrams": ("S.19", "S.54"),
    "tasks": ("S.20",),
    "focused": ("S.21",),
    "experiment": ("S.22",),
    "cited": ("S.23",),
    "hints": ("S.24",),
    "pi-sdk": ("S.25",),
    "length": ("S.26",),
    "fences": ("S.27",),
    "examples": ("S.45",),
    "renderings": ("S.28",),
    "first use": ("S.29",),
    "spelling": ("S.32",),
    "thousands": ("S.31",),
    "parity": ("S.33", "S.31"),
    "figures": ("S.31",),
    "stale": ("S.34",),
    "error codes": ("S.10",),
}


@pytest.mark.parametrize(
    "check", [pytest.param(name, marks=pytest.mark.criterion(*lines)) for name, lines in LINES.items()]
)
def test_the_site_as_it_is_has_no_fault(root: Path, check: str) -> None:
    assert red(Site(root), check) == []


def test_every_check_has_a_line_of_the_spec() -> None:
    assert set(CHECKS) == {*LINES, "generated"}


FAULTS: list[tuple[str, str, str, str, str]] = [
    ("nav", "mkdocs.yml", "  - Glossary: glossary.md\n", "", "glossary.md is not in the navigation"),
    ("nav", "mkdocs.yml", "  - Quickstart: quickstart.md\n", "", "quickstart.md is not in the navigation"),
    ("nav", "mkdocs.vi.yml", "  - Thuật ngữ: glossary.md\n  - Thay", "  - Thay", "glossary.md is not"),
    ("nav", "mkdocs.yml", "      - course/02-event-stream.md\n", "", "the course is the map, then 00 to 07"),
    ("front matter", EN, "description:", "summary:", "missing ['description']"),
    ("front matter", EN, "\nlevel: 3", "\nlevel: 2", "level must be 3"),
    ("front matter", EN, "\nminutes: 45", "\nminutes: 44", "minutes must be 45"),
    ("front matter", EN, "\ntitle: ", "\nauthor: me\ntitle: ", "too much ['author']"),
    ("front matter", VI, "\nsource_sha256:", "\nsource:", "missing ['source_sha256']"),
    ("front matter", EN, "description: ", "description: " + "x" * 160, "1 to 160 characters"),
    (
        "course map",
        "docs/en/course/index.md",
        "| 45 | 3 | `kickwheel_p",
        "| 44 | 3 | `kickwheel_p",
        "do not add up",
    ),
    ("guides", "docs/en/guides/index.md", "(write-a-tool.md)", "(script-a-model.md)", "must link guides/"),
    ("guides", GUIDE, '--8<-- "examples/', '--8<-- "tests/', "includes no program from examples/"),
    ("headings", VI, "{#mechanism}", "", "H2 number 3 must be"),
    ("headings", EN, "## Mechanism {", "## Mechanics {", "H2 number 3 must be: Mechanism {#mechanism}"),
    ("headings", EN, "## Next checkpoint {#next}", "", "H2 number 11 must be"),
    ("paths", EN, "`tests/checkpoints/test_06", "`tests/checkpoints/test_66", "does not exist"),
    ("diagrams", EN, "06-diagram.en.md", "06-hints.en.md", "must include exactly one diagram"),
    ("tasks", EN, "{#task-2}", "{#task-9}", "H3 of the build section"),
    ("tasks", EN, "kickwheel test 06 --task 3", "kickwheel test 06 --task 4", "--task 3` is missing"),
    ("focused", EN, "\nkickwheel test 06\n", "\nkickwheel test 07\n", "fenced command lines"),
    ("experiment", EN, "06-break.en.md", "05-break.en.md", "06-break.en.md is not included"),
    ("cited", EN, "06.25", "06.925", "there is no line 06.925"),
    ("hints", EN, "06-hints.en.md", "05-hints.en.md", "06-hints.en.md is not included"),
    (
        "pi-sdk",
        EN,
        "## Mechanism {#mechanism}\n",
        "## Mechanism {#mechanism}\n\nSince 0.85.0.\n",
        "the shared box only",
    ),
    ("pi-sdk", "includes/pi-sdk.en.md", "0.85.0", "0.84.0", "must name 0.85.0"),
    (
        "pi-sdk",
        EN,
        "## Compare with the Pi SDK {",
        "## Compare with the Pi SDK 1.2.3 {",
        "no heading holds a version",
    ),
    ("length", EN, "{#mechanism}\n", "{#mechanism}\n\n" + "word " * 131 + "\n", "131 words in a paragraph"),
    (
        "fences",
        EN,
        "{#mechanism}\n",
        "{#mechanism}\n\n```python\na\nb\nc\nd\n```\n",
        "of more than three lines",
    ),
    (
        "fences",
        EN,
        "{#mechanism}\n",
        '{#mechanism}\n\n```json\n{\n"a":\n1\n}\n```\n',
        "included from fixtures/",
    ),
    ("renderings", VI, "{#mechanism}\n", "{#mechanism}\n\nMột stream mới.\n", '"stream" stays in English'),
    (
        "first use",
        VI,
        "{#outcome}\n",
        "{#outcome}\n\nMột tầng vận chuyển rất nhanh.\n",
        "tầng vận chuyển (transport)",
    ),
    ("spelling", VI, "{#mechanism}\n", "{#mechanism}\n\nMột câu\uff0c rồi thôi.\n", "full-width character"),
    ("spelling", VI, "{#mechanism}\n", "{#mechanism}\n\nMo\u0323t câu.\n", "not in NFC"),
    (
        "spelling",
        VI,
        "{#mechanism}\n",
        "{#mechanism}\n\n" + "mot cau " * 10 + "\n",
        "without a Vietnamese mark",
    ),
    ("spelling", VI, "{#mechanism}\n", "{#mechanism}\r\n", "lines end with LF"),
    (
        "thousands",
        EN,
        "{#mechanism}\n",
        "{#mechanism}\n\nAt most 65,536 of them.\n",
        "65,536 has a thousands separator",
    ),
    ("figures", EN, "{#mechanism}\n", "{#mechanism}\n\nAt most 65537 of them.\n", "65537"),
    ("parity", VI, "{#mechanism}", "", "headings differ"),
    ("parity", VI, "kickwheel test 06\n```", "kickwheel test 07\n```", "fences differ"),
    ("parity", EN, "!!! note", "!!! warning", "boxes differ"),
    ("parity", VI, "{#mechanism}\n", "{#mechanism}\n\n| a |\n| --- |\n| b |\n", "tables differ"),
    ("parity", EN, "](07-agent-loop.md", "](05-provider-adapter.md", "links differ"),
    ("parity", VI, "TOOL_ARGUMENTS_INVALID", "TOOL_NOT_FOUND", "codes differ"),
    ("parity", VI, "06.25", "06.26", "line numbers differ"),
    (
        "error codes",
        "docs/errors.toml",
        '"PROVIDER_EXHAUSTED"',
        '"PROVIDER_TIRED"',
        "PROVIDER_TIRED is not in the source",
    ),
    ("error codes", "docs/errors.toml", '    "NO_COLOR",\n', "", "NO_COLOR is in the source"),
]


@pytest.mark.parametrize(
    ("check", "file", "old", "new", "message"),
    [
        pytest.param(*row, marks=pytest.mark.criterion(*LINES[row[0]]), id=f"{n:02}-{row[0]}")
        for n, row in enumerate(FAULTS)
    ],
)
def test_a_planted_fault_is_named(
    root: Path, check: str, file: str, old: str, new: str, message: str
) -> None:
    with planted(root, file, old, new) as site:
        found = red(site, check)
    assert any(message in text for text in found), found


@pytest.mark.criterion("S.33")
def test_a_difference_between_languages_names_both_files_and_the_place(root: Path) -> None:
    with planted(root, VI, "{#mechanism}", "") as site:
        found = [str(fault) for fault in parity.parity(site)]
    assert re.fullmatch(
        rf"{VI}:\d+: \[parity\] headings differ: .*, but \(2, 'mechanism'\) in {EN}:\d+", found[0]
    )


@pytest.mark.criterion("S.06")
def test_a_page_missing_in_one_language_is_named(root: Path) -> None:
    with without(root, VI) as site:
        assert f"{VI}: [trees] is missing" in red(site, "trees")


@pytest.mark.criterion("S.10")
def test_a_code_that_is_new_in_the_source_is_named(root: Path) -> None:
    file = "packages/protocol/src/kickwheel_protocol/_new.py"
    with added(root, file, 'CODE = "BRAND_NEW_CODE"\n') as site:
        (found,) = red(site, "error codes")
    assert found.startswith(f"{file}:1: ")
    assert "BRAND_NEW_CODE is in the source of kickwheel-protocol" in found


@pytest.mark.criterion("S.45")
def test_a_program_that_no_page_shows_is_named(root: Path) -> None:
    with added(root, "examples/lonely.py", "print(1)\n") as site:
        assert red(site, "examples") == ["examples/lonely.py: [examples] is shown on no page"]


@pytest.mark.criterion("S.28")
def test_the_bracket_of_a_first_gloss_may_be_english_and_a_second_one_may_not(root: Path) -> None:
    text = "# Bắt đầu nhanh\n\n`stream` là tên. Một luồng (stream), rồi luồng (stream) nữa.\n"
    page = "docs/vi/quickstart.md"
    with planted(root, page, "# Bắt đầu nhanh\n", text) as site:
        found = [fault for fault in vietnamese.renderings(site) if fault.file == page]
    assert [fault.message for fault in found] == ['"stream" stays in English; write "luồng"']


@pytest.mark.criterion("S.34")
def test_one_changed_english_word_makes_exactly_one_page_stale(root: Path) -> None:
    with planted(root, EN, "{#mechanism}\n", "{#mechanism}\n\nOne more word.\n") as site:
        results = {result.name: result for result in _only(site, "stale")}
        released = {result.name: result for result in _only(site, "stale", release=True)}
    assert [fault.file for fault in results["stale"].faults] == [VI]
    assert results["stale"].status == "warn"
    assert released["stale"].status == "fail"


def _only(site: Site, name: str, *, release: bool = False) -> list[checks.Result]:
    before = dict(CHECKS)
    try:
        for other in before:
            if other != name:
                del CHECKS[other]
        return checks.run(site, release=release)
    finally:
        CHECKS.clear()
        CHECKS.update(before)


@pytest.mark.criterion("S.34")
def test_stamping_makes_a_translation_current_again(root: Path) -> None:
    before = (root / VI).read_bytes()
    with planted(root, EN, "{#mechanism}\n", "{#mechanism}\n\nOne more word.\n") as site:
        assert stamp(site, ["course/06-tool-contract.md"]) == ["course/06-tool-contract.md"]
        assert red(Site(root), "stale") == []
    (root / VI).write_bytes(before)


@pytest.mark.criterion("S.43")
@pytest.mark.parametrize(
    ("generator", "file"),
    [
        ("contract", "docs/en/reference/contract/05.md"),
        ("glossary", "docs/vi/glossary.md"),
        ("tooltips", "includes/glossary.vi.md"),
        ("error codes", "docs/en/reference/errors.md"),
        ("changelog", "docs/en/changelog.md"),
        ("command line", "docs/vi/reference/cli.md"),
        ("trace", "includes/generated/trace-default.txt"),
        ("diagrams", "includes/generated/06-diagram.vi.md"),
        ("course map", "docs/vi/course/index.md"),
        ("hints and mutants", "includes/generated/06-hints.en.md"),
    ],
)
def test_an_edited_generated_file_is_named_with_the_command_that_rewrites_it(
    root: Path, generator: str, file: str
) -> None:
    last = (root / file).read_text("utf-8").rstrip("\n").split("\n")[-1 if generator != "course map" else 0]
    anchor = "| [05 " if generator == "course map" else last
    with planted(root, file, anchor, f"X{anchor}") as site:
        found = [str(fault) for fault in generate.differences(site, generator)]
    assert len(found) == 1
    assert found[0].startswith(file)
    assert "scripts/site.py generate" in found[0]


@pytest.mark.criterion("S.44")
def test_changing_one_row_of_a_state_table_makes_the_check_fail(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kickwheel_agent_loop import _phases

    assert generate.differences(Site(root), "diagrams") == []
    rows = dict(_phases.TRANSITIONS)
    rows[_phases.Phase.TOOLS, _phases.Outcome.BUDGET_USED] = _phases.Phase.MODEL
    monkeypatch.setattr(_phases, "TRANSITIONS", rows)
    found = [fault.file for fault in generate.differences(Site(root), "diagrams")]
    assert found == ["includes/generated/07-diagram.en.md", "includes/generated/07-diagram.vi.md"]


@pytest.mark.criterion("S.43")
def test_a_source_that_cannot_be_read_is_a_fault_and_not_a_crash(root: Path) -> None:
    with planted(root, "docs/errors.toml", "[[codes]]", "[[codes"):
        (fault,) = generate.differences(Site(root), "error codes")
    assert "error codes cannot be made: TOMLDecodeError" in fault.message


@pytest.mark.criterion("S.20")
def test_the_page_s_tasks_are_those_of_the_course_data(root: Path) -> None:
    text = (root / TOML).read_text("utf-8")
    extra = text.split("[[tasks]]", 2)[1]
    with planted(root, TOML, "[[tasks]]", f"[[tasks]]{extra.replace('n = 1', 'n = 6')}[[tasks]]") as site:
        assert structure.tasks(site)
