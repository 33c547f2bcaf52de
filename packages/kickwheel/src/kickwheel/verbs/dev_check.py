"""`kickwheel dev check`: the authors' check of one checkpoint, or of all."""

from dataclasses import asdict

from kickwheel._bar import progress
from kickwheel._context import Context, Outcome
from kickwheel._course import Checkpoint, load_course, read_one
from kickwheel._dev_check import CheckpointChecker, DevCheck, SiteCheck, StarterCheck
from kickwheel._errors import CourseDataError
from kickwheel._parse import Options
from kickwheel._places import course_folder
from kickwheel._repo import contract_lines, find_repository
from kickwheel._type_check import find_checker


def run(context: Context, options: Options) -> Outcome:
    """Exit 1 when a check fails; each fault names its file."""
    root = find_repository(context.text)
    try:
        chosen = _choose(context, options.text("id"))
    except CourseDataError as error:
        return _answer(context, [DevCheck("", "data", "fail", str(error))])
    contract = contract_lines(root / "spec")
    checks: list[DevCheck] = []
    site, starters = SiteCheck(root), StarterCheck(find_checker(context.text), chosen)
    with progress([c.folder_name for c in chosen], context) as advance:
        for checkpoint in chosen:
            done = _check(CheckpointChecker(site, checkpoint, starters, contract), checkpoint)
            checks += done
            advance(checkpoint.folder_name, good=all(check.status == "ok" for check in done))
    return _answer(context, checks)


def _choose(context: Context, word: str | None) -> tuple[Checkpoint, ...]:
    if word is not None and word.isascii() and word.isdigit():
        # While a course is being written, one checkpoint is checked before the next has any data.
        found = read_one(course_folder(), word.zfill(2))
        if found is not None:
            return (found,)
    course = load_course()
    return course.checkpoints if word is None else (course.find(word, context.text),)


def _check(checker: CheckpointChecker, checkpoint: Checkpoint) -> list[DevCheck]:
    return [DevCheck(checkpoint.id, "data", "ok", ""), *checker.run()]


def _answer(context: Context, checks: list[DevCheck]) -> Outcome:
    out = context.out
    for check in checks:
        mark, style = ("✓", "green") if check.status == "ok" else ("✗", "red")
        out.print(f"{out.style(mark, style)} {check.checkpoint} {check.name}")
        for fault in check.detail.splitlines():
            out.print(f"    {fault}")
    bad = any(check.status != "ok" for check in checks)
    return Outcome(1 if bad else 0, {"checks": [asdict(check) for check in checks]})
