"""Generated parts that come from course data: map, hints, mutants, failure experiment, criteria tables."""

from __future__ import annotations

import difflib
import re
import tomllib
from typing import TYPE_CHECKING, cast

from site_tools import collection
from site_tools.gen_text import glossed
from site_tools.layout import CHECKPOINTS, LANGS, PACKAGES
from site_tools.pages import Page

if TYPE_CHECKING:
    from pathlib import Path

    from site_tools.course import Checkpoint, Mutant
    from site_tools.layout import Lang, Site

COURSE = "packages/kickwheel/src/kickwheel/course/course.toml"

WORDS: dict[Lang, dict[str, str]] = {
    "en": {
        "map": "| checkpoint | you can … | min | level | package | focused test | after |",
        "total": "Together: {} minutes.",
        "task": "Task",
        "hint": "Task {}, hint {}",
        "all lines": "All lines, tasks and tests",
        "criteria": "| line | task | tests |",
        "answer": "Answer",
        "types": "The focused test stays green; the type checker turns red.",
        "red": "These turn red:",
        "in": "In `{}`:",
    },
    "vi": {
        "map": "| checkpoint | bạn làm được … | phút | cấp | gói | focused test | sau |",
        "total": "Tổng cộng: {} phút.",
        "task": "Task",
        "hint": "Task {}, gợi ý {}",
        "all lines": "Mọi dòng, task và test",
        "criteria": "| dòng | task | test |",
        "answer": "Trả lời",
        "types": "Focused test vẫn xanh; bộ kiểm tra type báo đỏ.",
        "red": "Những test này báo đỏ:",
        "in": "Trong `{}`:",
    },
}


def _outlines(site: Site) -> dict[str, dict[str, object]]:
    data = cast("dict[str, list[dict[str, object]]]", tomllib.loads((site.root / COURSE).read_text("utf-8")))
    return {str(entry["id"]): entry for entry in data["checkpoints"]}


def course_map(site: Site) -> dict[str, str]:
    """The course map's table, put between its marks in both pages."""
    out: dict[str, str] = {}
    outlines = _outlines(site)
    for lang in LANGS:
        words = WORDS[lang]
        rows = [words["map"], "| --- | --- | ---: | ---: | --- | --- | --- |"]
        total = 0
        for number, data in site.course.items():
            outline = outlines[number]
            title = cast("dict[str, str]", outline["title"])[lang]
            outcome = cast("dict[str, str]", outline["outcome"])[lang]
            after = ", ".join(cast("list[str]", outline["requires"])) or "—"
            link = f"[{number} {title}]({number}-{CHECKPOINTS[number]}.md)"
            rows.append(
                f"| {link} | {outcome} | {data.minutes} | {data.level} | `{data.package}` | "
                f"`{site.focused_test(number)}` | {after} |"
            )
            total += data.minutes
        body = "\n".join(rows) + "\n\n" + words["total"].format(total) + "\n"
        body = glossed(body, site.glossary.terms) if lang == "vi" else body
        path = f"docs/{lang}/course/index.md"
        out[path] = replace_region((site.root / path).read_text("utf-8"), "course-map", body)
    out["docs/vi/course/index.md"] = _kept_current(site, out)
    return out


def _kept_current(site: Site, made: dict[str, str]) -> str:
    """The Vietnamese map; when only the generated part of the English one changed, its digest moves along."""
    english, vietnamese = site.page("en", "course/index.md"), made["docs/vi/course/index.md"]
    if english is None or f"source_sha256: {english.digest}" not in vietnamese:
        return vietnamese
    now = Page.parse(made["docs/en/course/index.md"], english.file, "en").digest
    return vietnamese.replace(english.digest, now, 1)


def replace_region(text: str, name: str, body: str) -> str:
    """Puts generated text between the marks of a region of a hand-written page."""
    pattern = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- /generated -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"there is no region {name}")
    return pattern.sub(lambda match: f"{match[1]}\n{body}\n{match[2]}", text)


def includes(site: Site) -> dict[str, str]:
    """Hints, failure experiment, mutants of each checkpoint that has course data."""
    out: dict[str, str] = {}
    for number, data in site.course.items():
        for lang in LANGS:
            base = f"includes/generated/{number}"
            out[f"{base}-hints.{lang}.md"] = hints(data, lang)
            if data.mutants:
                out[f"{base}-break.{lang}.md"] = failure(site, number, data, data.mutants[0], lang)
                out[f"{base}-mutants.{lang}.md"] = "\n".join(
                    other(site, number, data, mutant, lang) for mutant in data.mutants[1:]
                )
    return out


def hints(data: Checkpoint, lang: Lang) -> str:
    """Three folded hints a task."""
    parts: list[str] = []
    for task in data.tasks:
        parts.append(f"**{WORDS[lang]['task']} {task.n}. {task.title.get(lang)}**\n")
        for level, text in enumerate(task.hints(lang), 1):
            title = WORDS[lang]["hint"].format(task.n, level)
            parts.append(f'??? tip "{title}"\n' + _indent(text.strip()) + "\n")
    return "\n".join(parts)


def failure(site: Site, number: str, data: Checkpoint, mutant: Mutant, lang: Lang) -> str:
    """The first mutant: its edit as a diff, and the command."""
    return f"```diff\n{diff(site, data, mutant)}```\n\n```bash\nkickwheel break {number} {mutant.name}\n```\n"


def other(site: Site, number: str, data: Checkpoint, mutant: Mutant, lang: Lang) -> str:
    """A further mutant: name, question, folded diff, red tests and reason."""
    words = WORDS[lang]
    red = (
        words["types"]
        if mutant.check == "types"
        else f"{words['red']} " + ", ".join(f"`{t}`" for t in mutant.red)
    )
    lines = ", ".join(mutant.criteria)
    answer = f"```diff\n{diff(site, data, mutant)}```\n\n{red} ({lines})\n\n{mutant.why.get(lang).strip()}"
    return (
        f"**`kickwheel break {number} {mutant.name}`** {mutant.question.get(lang).strip()}\n\n"
        f'??? question "{words["answer"]}"\n{_indent(answer)}\n'
    )


def diff(site: Site, data: Checkpoint, mutant: Mutant) -> str:
    """The mutant's edit as a unified difference with three lines around it; course marks left out."""
    path = source_file(site, data, mutant)
    text = path.read_text("utf-8")
    if text.count(mutant.find) != 1:
        raise ValueError(
            f"{data.id} {mutant.name}: its text occurs {text.count(mutant.find)} times in {mutant.file}"
        )
    name = path.relative_to(site.root).as_posix()
    old, new = _unmarked(text), _unmarked(text.replace(mutant.find, mutant.replace))
    rows = difflib.unified_diff(old, new, name, name, n=2, lineterm="")
    return "".join(f"{row}\n" for row in rows if not row.startswith("@@"))


def _unmarked(text: str) -> list[str]:
    """Source lines without the marks of course regions, without their starters, without snippet marks."""
    rows: list[str] = []
    starter = False
    for row in text.split("\n"):
        mark = row.strip()
        if mark == "# [starter]":
            starter = True
        elif mark == "# [/solution]":
            starter = False
        elif not starter and not re.match(r"# (?:\[solution \d\d\.\d+\]|--8<-- \[)", mark):
            rows.append(row)
    return rows


def source_file(site: Site, data: Checkpoint, mutant: Mutant) -> Path:
    """The file a mutant edits; `file` names it inside the checkpoint's package."""
    folder = PACKAGES[data.package.replace("_", "-")]
    return site.root / "packages" / folder / "src" / data.package / mutant.file


def criteria(site: Site) -> dict[str, str]:
    """The folded table line / task / tests of each checkpoint, from the collected tests."""
    out: dict[str, str] = {}
    tests = collection.collect(site.root)
    for number in CHECKPOINTS:
        for lang in LANGS:
            out[f"includes/generated/{number}-criteria.{lang}.md"] = _criteria_table(
                site, number, tests, lang
            )
    return out


def _criteria_table(site: Site, number: str, tests: list[collection.Case], lang: Lang) -> str:
    words = WORDS[lang]
    rows = [words["criteria"], "| --- | --- | --- |"]
    focused = site.focused_test(number)
    for line in site.spec:
        if line.section != number:
            continue
        citing = [test for test in tests if line.number in test.lines]
        tasks = sorted({test.task for test in citing if test.file == focused and test.task is not None})
        names = sorted({(test.file != focused, test.function) for test in citing})
        if not names:
            continue
        shown = ", ".join(f"`{name}`" for _, name in names[:3]) + (
            f" +{len(names) - 3}" if len(names) > 3 else ""
        )
        rows.append(f"| {line.number} | {', '.join(map(str, tasks)) or '—'} | {shown} |")
    return f'??? note "{words["all lines"]}"\n' + _indent("\n".join(rows)) + "\n"


def _indent(text: str) -> str:
    return "\n".join(f"    {row}" if row else "" for row in text.split("\n"))
