"""`kickwheel doctor`: are the surroundings as they should be?"""

import re
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from kickwheel._context import Context, Outcome
from kickwheel._course import load_course
from kickwheel._errors import KickwheelError
from kickwheel._messages import Messages
from kickwheel._parse import Options
from kickwheel._places import course_folder
from kickwheel._practice import Practice, find_practice
from kickwheel._runner import find_tool
from kickwheel._type_check import CHECKER, INSTALL_LINE

MINIMUM_PYTHON = (3, 11)
_BOUND = re.compile(r"(>=|<=|==|<|>)\s*([\d.]+)")
_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@dataclass(frozen=True, slots=True)
class Check:
    """One look at the surroundings: `status` is `ok`, `warn` or `fail`; `fix` may be empty."""

    name: str
    status: str
    detail: str
    fix: str = ""


def run(context: Context, _options: Options) -> Outcome:
    """Exit 3 if any check fails."""
    text = context.text
    checks = [_python(text), *_packages(text), _pytest(text), _checker(text), *_folder(context)]
    for check in checks:
        mark, style = _MARKS[check.status]
        context.out.print(f"{context.out.style(mark, style)} {check.name:<28} {check.detail}")
        if check.fix:
            context.out.print(f"  → {check.fix}")
    failed = any(check.status == "fail" for check in checks)
    return Outcome(3 if failed else 0, {"checks": [asdict(check) for check in checks]})


def _python(text: Messages) -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] >= MINIMUM_PYTHON:
        return Check("python", "ok", version)
    return Check("python", "fail", version, text("doctor.old_python"))


def _packages(text: Messages) -> list[Check]:
    own = _version("kickwheel")
    checks = [Check("kickwheel", "ok", own) if own else _absent("kickwheel", text)]
    for name, bounds in sorted(_requirements().items()):
        if name.startswith("kickwheel-"):
            checks.append(_bounded(name, bounds, text))
    return checks


def _pytest(text: Messages) -> Check:
    return _bounded("pytest", _requirements().get("pytest", ""), text)


def _requirements() -> dict[str, str]:
    """The requirements of the command: distribution to bounds."""
    found: dict[str, str] = {}
    for line in metadata.requires("kickwheel") or ():
        name = re.match(r"[A-Za-z0-9._-]+", line)
        if name is not None:
            found[name.group().lower()] = line[name.end() :].partition(";")[0].strip()
    return found


def _bounded(name: str, bounds: str, text: Messages) -> Check:
    version = _version(name)
    if version is None:
        return _absent(name, text)
    if all(_holds(version, operator, bound) for operator, bound in _BOUND.findall(bounds)):
        return Check(name, "ok", f"{version} ({bounds})")
    return Check(
        name,
        "fail",
        text("doctor.needed", version=version, bounds=bounds),
        f"pip install --upgrade '{name}{bounds}'",
    )


def _holds(version: str, operator: str, bound: str) -> bool:
    have, want = _numbers(version), _numbers(bound)
    length = max(len(have), len(want))
    have, want = (tuple(part + (0,) * (length - len(part))) for part in (have, want))
    outcomes = {
        ">=": have >= want,
        "<=": have <= want,
        "==": have == want,
        "<": have < want,
        ">": have > want,
    }
    return outcomes[operator]


def _numbers(version: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for part in version.split("."):
        digits = re.match(r"\d+", part)
        if digits is None:
            break
        numbers.append(int(digits.group()))
        if digits.group() != part:
            break
    return tuple(numbers)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _absent(name: str, text: Messages) -> Check:
    return Check(name, "fail", text("doctor.absent"), f"pip install {name}")


def _checker(text: Messages) -> Check:
    tool = find_tool(CHECKER)
    if tool is None:
        return Check(CHECKER, "warn", text("doctor.no_checker"), INSTALL_LINE)
    return Check(CHECKER, "ok", _version(CHECKER) or Path(tool).as_posix())


def _folder(context: Context) -> list[Check]:
    try:
        practice = find_practice(context.base)
    except KickwheelError as error:
        return [Check("folder", "fail", error.message(context.text), "kickwheel start")]
    if practice is None:
        return [Check("folder", "warn", context.text("doctor.no_folder"), "kickwheel start")]
    text = context.text
    return [_layout(practice, text), _fixtures(practice, text), _pending(practice, text)]


def _layout(practice: Practice, text: Messages) -> Check:
    needed: list[Path] = []
    for checkpoint in load_course().checkpoints:
        needed += [practice.folder / checkpoint.test_file, *practice.modules(checkpoint)]
    missing = [practice.relative(path) for path in needed if not path.is_file()]
    if missing:
        return Check("folder", "fail", text("doctor.missing", files=", ".join(missing)), "kickwheel start")
    return Check("folder", "ok", practice.folder.as_posix())


def _fixtures(practice: Practice, text: Messages) -> Check:
    changed: list[str] = []
    for checkpoint in load_course().checkpoints:
        names = [f"fixtures/{name}" for name in checkpoint.fixtures]
        for name in [checkpoint.test_file, *names]:
            mine, ours = practice.folder / name, course_folder() / name
            if mine.is_file() and mine.read_bytes() != ours.read_bytes() and name not in changed:
                changed.append(name)
    if changed:
        files = ", ".join(changed)
        detail, fix = (text(f"doctor.{key}", files=files) for key in ("changed", "mend"))
        return Check("fixtures", "fail", detail, fix)
    return Check("fixtures", "ok", text("doctor.unchanged"))


def _pending(practice: Practice, text: Messages) -> Check:
    if practice.has_pending_break():
        return Check("pending-break", "warn", text("doctor.pending"), "kickwheel break --undo")
    return Check("pending-break", "ok", text("doctor.none"))
