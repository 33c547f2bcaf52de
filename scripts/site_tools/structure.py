"""Checks on the structure of pages: trees, navigation, checkpoint pages, guides, cited lines and paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from site_tools.build import CONFIGS, navigation
from site_tools.layout import CHECKPOINTS, LANGS, Fault, is_english_only
from site_tools.pages import SNIPPET, UNREADABLE
from site_tools.speclines import CITED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from site_tools.layout import Lang, Site
    from site_tools.pages import Page

SECTIONS: dict[Lang, tuple[tuple[str, str], ...]] = {
    "en": (
        ("outcome", "Outcome"),
        ("prerequisites", "Prerequisites"),
        ("mechanism", "Mechanism"),
        ("trace", "Trace or model"),
        ("build", "Build it"),
        ("test", "Run the focused test"),
        ("break", "Failure experiment"),
        ("criteria", "Acceptance criteria"),
        ("hints", "Hints and self-check"),
        ("pi-sdk", "Compare with the Pi SDK"),
        ("next", "Next checkpoint"),
    ),
    "vi": (
        ("outcome", "Kết quả"),
        ("prerequisites", "Điều kiện tiên quyết"),
        ("mechanism", "Cơ chế"),
        ("trace", "Dấu vết hoặc mô hình"),
        ("build", "Xây dựng"),
        ("test", "Chạy focused test"),
        ("break", "Thử nghiệm lỗi"),
        ("criteria", "Tiêu chí chấp nhận"),
        ("hints", "Gợi ý và tự kiểm tra"),
        ("pi-sdk", "So sánh với Pi SDK"),
        ("next", "Checkpoint tiếp theo"),
    ),
}
COURSE_KEYS = ("title", "description", "checkpoint", "minutes", "level", "concepts")
PATH = re.compile(r"`((?:packages|tests|fixtures|examples|docs|spec|benchmarks|scripts)/[\w./-]+)`")
PI_VERSION = "0.85.0"
SECTION_ORDER = ("index.md", "quickstart.md", "course/", "guides/", "reference/", "glossary.md", "changelog")


def trees(site: Site) -> list[Fault]:
    """S.06: both trees hold the same paths, but the English-only ones; every page of the map exists."""
    english = {path for path in site.paths("en") if not is_english_only(path)}
    vietnamese = set(site.paths("vi"))
    faults = [Fault("trees", f"docs/vi/{path}", 0, "is missing") for path in sorted(english - vietnamese)]
    faults += [Fault("trees", f"docs/en/{path}", 0, "is missing") for path in sorted(vietnamese - english)]
    expected = [site.course_page(number) for number in CHECKPOINTS]
    expected += ["index.md", "quickstart.md", "course/index.md", "guides/index.md", "reference/index.md"]
    faults += [
        Fault("trees", f"docs/en/{path}", 0, "is missing")
        for path in expected
        if path not in english | vietnamese
    ]
    return faults


def nav(site: Site) -> list[Fault]:
    """S.07: the navigation's order, and no page outside it."""
    faults: list[Fault] = []
    for lang in LANGS:
        listed = list(_flat(navigation(site.root / CONFIGS[lang])))
        for path in site.paths(lang):
            if path not in listed:
                faults.append(Fault("nav", CONFIGS[lang], 0, f"{path} is not in the navigation"))
        for path in listed:
            if not (site.docs(lang) / path).exists():
                faults.append(Fault("nav", CONFIGS[lang], 0, f"{path} does not exist"))
        ranks = [
            next((i for i, head in enumerate(SECTION_ORDER) if path.startswith(head)), -1) for path in listed
        ]
        course = [path for path in listed if path.startswith("course/")]
        if ranks != sorted(ranks) or -1 in ranks:
            faults.append(
                Fault("nav", CONFIGS[lang], 0, "sections are out of order: " + ", ".join(SECTION_ORDER))
            )
        if course != ["course/index.md", *(site.course_page(number) for number in CHECKPOINTS)]:
            faults.append(Fault("nav", CONFIGS[lang], 0, "the course is the map, then 00 to 07"))
    return faults


def _flat(entries: list[object]) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            for value in cast("dict[str, object]", entry).values():
                yield from _flat(cast("list[object]", value) if isinstance(value, list) else [str(value)])


def front_matter(site: Site) -> list[Fault]:
    """S.17, S.42: titles, descriptions; a checkpoint page's values equal the course data."""
    faults: list[Fault] = []
    for lang in LANGS:
        for path, page in site.pages(lang):
            if UNREADABLE in page.meta:
                faults.append(Fault("front matter", page.file, 1, f"is no YAML: {page.meta[UNREADABLE]}"))
                continue
            number = checkpoint_of(path)
            wanted = [*COURSE_KEYS] if number else ["title", "description"]
            wanted += ["source_sha256"] if lang == "vi" else []
            found = list(page.meta)
            missing = [key for key in wanted if key not in found]
            extra = [key for key in found if key not in wanted and (number or key not in {"hide", "search"})]
            if missing or extra:
                faults.append(Fault("front matter", page.file, 1, f"missing {missing}, too much {extra}"))
            if not 0 < len(str(page.meta.get("description", ""))) <= 160:
                faults.append(Fault("front matter", page.file, 1, "description: 1 to 160 characters"))
            if number and not missing:
                faults += _values(site, page, number)
    return faults


def _values(site: Site, page: Page, number: str) -> list[Fault]:
    data = site.course.get(number)
    if data is None:
        return [Fault("front matter", page.file, 1, f"there is no course data for {number}")]
    faults: list[Fault] = []
    if str(page.meta["checkpoint"]) != number:
        faults.append(Fault("front matter", page.file, 1, f'checkpoint must be "{number}", in quotes'))
    for key, value in (("minutes", data.minutes), ("level", data.level)):
        if page.meta[key] != value:
            faults.append(
                Fault("front matter", page.file, 1, f"{key} must be {value}, as in the course data")
            )
    if not (isinstance(page.meta["concepts"], list) and page.meta["concepts"]):
        faults.append(Fault("front matter", page.file, 1, "concepts must be a list that is not empty"))
    return faults


def checkpoint_of(path: str) -> str | None:
    match = re.match(r"course/(\d\d)-", path)
    return match[1] if match else None


def course_pages(site: Site) -> Iterator[tuple[str, Page]]:
    for lang in LANGS:
        for path, page in site.pages(lang):
            number = checkpoint_of(path)
            if number:
                yield number, page


def headings(site: Site) -> list[Fault]:
    """S.16: the eleven H2, in order, with their anchors."""
    faults: list[Fault] = []
    for _, page in course_pages(site):
        found = [(h.anchor, h.text) for h in page.headings if h.level == 2]
        wanted = list(SECTIONS[page.lang])
        if found != wanted:
            place = next(
                (i for i, (a, b) in enumerate(zip(found, wanted, strict=False)) if a != b),
                min(len(found), 11),
            )
            lines = [h.line for h in page.headings if h.level == 2]
            line = lines[place] if place < len(lines) else 0
            want = (
                f"{wanted[place][1]} {{#{wanted[place][0]}}}" if place < len(wanted) else "no more headings"
            )
            faults.append(Fault("headings", page.file, line, f"H2 number {place + 1} must be: {want}"))
    return faults


def paths(site: Site) -> list[Fault]:
    """S.18: every path named in outcome, prerequisites and test section exists; every snippet does."""
    faults: list[Fault] = []
    for _, page in course_pages(site):
        for anchor in ("outcome", "prerequisites", "test"):
            for match in PATH.finditer(page.section(anchor)):
                if not (site.root / match[1]).exists():
                    faults.append(
                        Fault("paths", page.file, _line(page, match[0]), f"{match[1]} does not exist")
                    )
    for lang in LANGS:
        for _, page in site.pages(lang):
            for target, line in page.snippets:
                file = target.split(":", 1)[0].lstrip(";")
                if not target.startswith(";") and not (site.root / file).exists():
                    faults.append(Fault("paths", page.file, line, f"the snippet {file} does not exist"))
    return faults


def _line(page: Page, text: str) -> int:
    return next((n for n, row in enumerate(page.body.split("\n"), page.first_line) if text in row), 0)


def diagrams(site: Site) -> list[Fault]:
    """S.19: the trace section includes one generated diagram, followed by a table or a list."""
    faults: list[Fault] = []
    for number, page in course_pages(site):
        text = page.section("trace")
        mark = f'--8<-- "includes/generated/{number}-diagram.{page.lang}.md"'
        line = next((h.line for h in page.headings if h.anchor == "trace"), 0)
        if text.count(mark) != 1 or "```mermaid" in text:
            faults.append(Fault("diagrams", page.file, line, f"must include exactly one diagram: {mark}"))
        elif not re.search(r"(?m)^\s*(?:\||[-*] |\d+\. )", text.split(mark, 1)[1]):
            faults.append(Fault("diagrams", page.file, line, "a table or a list must follow the diagram"))
    return faults


def tasks(site: Site) -> list[Fault]:
    """S.20: one H3 a task, each with its command."""
    faults: list[Fault] = []
    for number, page in course_pages(site):
        data = site.course.get(number)
        if data is None:
            continue
        text = page.section("build")
        start = next((h.line for h in page.headings if h.anchor == "build"), 0)
        anchors = [m[1] for m in re.finditer(r"(?m)^### .*\{#(task-\d+)\}\s*$", text)]
        wanted = [f"task-{task.n}" for task in data.tasks]
        if anchors != wanted:
            faults.append(
                Fault("tasks", page.file, start, f"H3 of the build section: {anchors}, wanted {wanted}")
            )
        faults += [
            Fault("tasks", page.file, start, f"`kickwheel test {number} --task {task.n}` is missing")
            for task in data.tasks
            if f"kickwheel test {number} --task {task.n}" not in text
        ]
    return faults


def focused(site: Site) -> list[Fault]:
    """S.21: the test section's command line, and the plain form."""
    faults: list[Fault] = []
    for number, page in course_pages(site):
        text = page.section("test")
        start = next((h.line for h in page.headings if h.anchor == "test"), 0)
        fences = re.findall(r"(?ms)^\s*```[^\n]*\n(.*?)^\s*```", text)
        lines = [row.strip() for fence in fences for row in fence.strip().split("\n") if row.strip()]
        wanted = [[f"kickwheel test {number}"]]
        wanted += [[f"kickwheel test {number}", f"kickwheel test {number} --types"]] if number == "01" else []
        if lines not in wanted:
            faults.append(
                Fault("focused", page.file, start, f"fenced command lines: {lines}, wanted {wanted[-1]}")
            )
        if f"pytest {site.focused_test(number)}" not in text:
            faults.append(
                Fault("focused", page.file, start, f"the plain form pytest {site.focused_test(number)}")
            )
    return faults


def experiment(site: Site) -> list[Fault]:
    """S.22: the failure experiment is generated, its question open, its answer folded."""
    faults: list[Fault] = []
    for number, page in course_pages(site):
        data = site.course.get(number)
        text = page.section("break")
        start = next((h.line for h in page.headings if h.anchor == "break"), 0)
        for part in ("break", "mutants"):
            if f'--8<-- "includes/generated/{number}-{part}.{page.lang}.md"' not in text:
                faults.append(
                    Fault("experiment", page.file, start, f"{number}-{part}.{page.lang}.md is not included")
                )
        if not re.search(r"(?m)^\s*\?\?\? ", text):
            faults.append(Fault("experiment", page.file, start, "the answer must be folded"))
        if "?" not in text.split("???", 1)[0]:
            faults.append(
                Fault("experiment", page.file, start, "a question must stand open before the answer")
            )
        if data is not None and not data.mutants:
            faults.append(Fault("experiment", page.file, start, "the course data has no mutant"))
    return faults


def cited(site: Site) -> list[Fault]:
    """S.23: every line number on any page exists; the first criterion is the focused command."""
    faults: list[Fault] = []
    for lang in LANGS:
        for path, page in site.pages(lang):
            if path.startswith(("reference/contract/", "changelog/")):
                continue
            for number, row in enumerate(page.body.split("\n"), page.first_line):
                if SNIPPET.match(row):
                    continue
                for match in CITED.finditer(row):
                    if match[0] not in site.spec_numbers:
                        faults.append(Fault("cited", page.file, number, f"there is no line {match[0]}"))
    for number, page in course_pages(site):
        bullets = re.findall(r"(?ms)^[-*] (.*?)(?=^[-*] |\Z|^\s*$)", page.section("criteria"))
        start = next((h.line for h in page.headings if h.anchor == "criteria"), 0)
        if not 6 <= len(bullets) <= 11:
            faults.append(Fault("criteria", page.file, start, f"{len(bullets)} bullets; 6 to 11 are wanted"))
        if bullets and f"kickwheel test {number}" not in bullets[0]:
            faults.append(
                Fault("criteria", page.file, start, "the first bullet is about the focused command")
            )
        faults += [
            Fault(
                "criteria", page.file, start, f"a bullet does not end in line numbers: {bullet.strip()[:60]}"
            )
            for bullet in bullets
            if not re.search(rf"{CITED.pattern}[).\s]*$", bullet.strip())
        ]
    return faults


def hints(site: Site) -> list[Fault]:
    """S.24: hints come from the course data; three to five questions with folded answers."""
    faults: list[Fault] = []
    for number, page in course_pages(site):
        text = page.section("hints")
        start = next((h.line for h in page.headings if h.anchor == "hints"), 0)
        if f'--8<-- "includes/generated/{number}-hints.{page.lang}.md"' not in text:
            faults.append(Fault("hints", page.file, start, f"{number}-hints.{page.lang}.md is not included"))
        questions = len(re.findall(r"(?m)^\?\?\?\+? question", text))
        if not 3 <= questions <= 5:
            faults.append(Fault("hints", page.file, start, f"{questions} questions; 3 to 5 are wanted"))
    return faults


def pi_sdk(site: Site) -> list[Fault]:
    """S.25: the version of the Pi SDK stands in one shared box, and no heading holds a version."""
    faults: list[Fault] = []
    for lang in LANGS:
        box = site.root / f"includes/pi-sdk.{lang}.md"
        if not box.exists() or PI_VERSION not in box.read_text("utf-8"):
            faults.append(Fault("pi-sdk", f"includes/pi-sdk.{lang}.md", 0, f"must name {PI_VERSION}"))
        for path, page in site.pages(lang):
            if path.startswith("changelog/"):
                continue
            for number, row in enumerate(page.body.split("\n"), page.first_line):
                if re.search(r"0\.85(?:\.\d+)?", row) and not path.startswith("reference/contract"):
                    faults.append(
                        Fault("pi-sdk", page.file, number, "the version belongs into the shared box only")
                    )
            for heading in page.headings:
                if re.search(r"\d+\.\d+\.\d+", heading.text):
                    faults.append(Fault("pi-sdk", page.file, heading.line, "no heading holds a version"))
    for _, page in course_pages(site):
        text = page.section("pi-sdk")
        start = next((h.line for h in page.headings if h.anchor == "pi-sdk"), 0)
        if not text.lstrip().startswith(f'--8<-- "includes/pi-sdk.{page.lang}.md"'):
            faults.append(Fault("pi-sdk", page.file, start, "the section begins with the shared box"))
        words = len(re.sub(r"--8<--.*", "", text).split())
        if words > (200 if page.lang == "en" else 320):
            faults.append(Fault("pi-sdk", page.file, start, f"{words} words; at most 200"))
    return faults


def length(site: Site) -> list[Fault]:
    """S.26: prose under 2500 words in English, no paragraph over 130."""
    faults: list[Fault] = []
    for _, page in course_pages(site):
        if page.lang != "en":
            continue
        total = 0
        for part in page.prose:
            words = len(part.text.split())
            total += words
            if part.kind in {"paragraph", "item"} and words > 130:
                faults.append(
                    Fault("length", page.file, part.line, f"{words} words in a paragraph; at most 130")
                )
        if total >= 2500:
            faults.append(Fault("length", page.file, 0, f"{total} words; fewer than 2500"))
    return faults


def fences(site: Site) -> list[Fault]:
    """S.27: long Python is included; JSON excerpts come from fixtures."""
    faults: list[Fault] = []
    for lang in LANGS:
        for path, page in site.pages(lang):
            if path.startswith(("reference/contract/", "changelog/", "reference/kickwheel")):
                continue
            for fence in page.fences:
                faults += _fence(page, fence.language, fence.body, fence.line)
    return faults


def _fence(page: Page, language: str, body: tuple[str, ...], line: int) -> list[Fault]:
    rows = [row for row in body if row.strip()]
    targets = [match["target"] for row in rows if (match := SNIPPET.match(row))]
    included = len(targets) == len(rows) and bool(rows)
    if language in {"python", "py"} and len(rows) > 3:
        return (
            []
            if included
            else [Fault("fences", page.file, line, "Python of more than three lines is included")]
        )
    if language in {"python", "py"} and targets:
        roots = ("packages/", "tests/", "examples/", "includes/generated/")
        return [
            Fault("fences", page.file, line, f"{t} is not from the tested source")
            for t in targets
            if not t.startswith(roots)
        ]
    if language == "json" and targets:
        good = re.compile(r"^(?:fixtures|packages/.*/fixtures)/[\w./-]+(?::\d+:\d+)?$|^includes/generated/")
        return [
            Fault("fences", page.file, line, f"{t} is not a line range of a fixture")
            for t in targets
            if not good.match(t)
        ]
    if language == "json" and len(rows) > 3:
        return [Fault("fences", page.file, line, "JSON of more than three lines is included from fixtures/")]
    return []


def guides(site: Site) -> list[Fault]:
    """S.09: the index names every guide once; each guide has its program from examples/ and its table."""
    faults: list[Fault] = []
    for lang in LANGS:
        index = site.page(lang, "guides/index.md")
        listed = [target for target, _ in index.links()] if index else []
        for path, page in site.pages(lang):
            if not path.startswith("guides/") or path == "guides/index.md":
                continue
            if listed.count(path.removeprefix("guides/")) != 1:
                faults.append(
                    Fault("guides", f"docs/{lang}/guides/index.md", 0, f"must link {path} exactly once")
                )
            if not any(target.startswith("examples/") for target, _ in page.snippets):
                faults.append(Fault("guides", page.file, 0, "includes no program from examples/"))
            if not any(table.shape[1] == 3 for table in page.tables):
                faults.append(Fault("guides", page.file, 0, "has no table symptom / cause / check"))
    return faults


def course_map(site: Site) -> list[Fault]:
    """S.05: one row a checkpoint; the minutes add up."""
    faults: list[Fault] = []
    for lang in LANGS:
        page = site.page(lang, "course/index.md")
        rows = page.tables[0].cells[1:] if page and page.tables else ()
        if len(rows) != len(CHECKPOINTS):
            faults.append(
                Fault("course map", f"docs/{lang}/course/index.md", 0, f"{len(rows)} rows; 8 are wanted")
            )
        elif (
            page
            and str(sum(int(row[2]) for row in rows))
            not in page.body.split("<!-- /generated -->")[0].split("|")[-1]
        ):
            faults.append(Fault("course map", page.file, 0, "the minutes do not add up to the stated total"))
    return faults


def examples(site: Site) -> list[Fault]:
    """S.45: every file of examples/ is shown on a page."""
    shown = {
        target.split(":", 1)[0]
        for lang in LANGS
        for _, page in site.pages(lang)
        for target, _ in page.snippets
    }
    files = sorted((site.root / "examples").rglob("*.py"))
    return [
        Fault("examples", name, 0, "is shown on no page")
        for file in files
        if (name := file.relative_to(site.root).as_posix()) not in shown
        and not file.name.startswith(("_", "conftest"))
    ]
