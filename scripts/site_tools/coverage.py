"""From line to test (S.105 to S.109): which lines have a test or an excuse, and what is wrong with it."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from site_tools.layout import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from site_tools.collection import Case
    from site_tools.speclines import SpecLine

REASONS = ("benchmark", "human", "platform", "later")
PLACELESS = frozenset({"human", "later"})
FILE = "spec/excused.toml"
CHECK = "spec coverage"


@dataclass(frozen=True, slots=True)
class Excused:
    """One line without a test: why, and which file shows that it holds."""

    id: str
    reason: str
    why: str
    where: str | None


def read_excused(path: Path) -> list[Excused]:
    """The entries of `spec/excused.toml`, as written; `faults` judges them."""
    if not path.exists():
        return []
    data = cast("dict[str, list[dict[str, str]]]", tomllib.loads(path.read_text("utf-8")))
    return [
        Excused(row.get("id", ""), row.get("reason", ""), row.get("why", ""), row.get("where"))
        for row in data.get("line", [])
    ]


def faults(
    root: Path, spec: Sequence[SpecLine], tests: Iterable[Case], excused: Sequence[Excused]
) -> list[Fault]:
    """Everything that S.106 and S.107 forbid."""
    tests = list(tests)
    found = _doubles(spec) + _unknown(spec, tests) + _untested(spec, tests, excused)
    return (
        found + [fault for entry in excused for fault in _judge(root, entry, spec, tests)] + _twice(excused)
    )


def _doubles(spec: Sequence[SpecLine]) -> list[Fault]:
    first: dict[str, SpecLine] = {}
    found: list[Fault] = []
    for line in spec:
        if line.number in first:
            other = first[line.number]
            message = f"{line.number} is already defined in {other.file}:{other.line}"
            found.append(Fault(CHECK, line.file, line.line, message))
        first.setdefault(line.number, line)
    return found


def _unknown(spec: Sequence[SpecLine], tests: Sequence[Case]) -> list[Fault]:
    known = {line.number for line in spec}
    return [
        Fault(CHECK, test.file, 0, f"{test.name} cites {number}, which is no line of spec/")
        for test in tests
        for number in test.lines
        if number not in known
    ]


def _untested(spec: Sequence[SpecLine], tests: Sequence[Case], excused: Sequence[Excused]) -> list[Fault]:
    running = {number for test in tests if not test.skipped for number in test.lines}
    skipped = {number for test in tests if test.skipped for number in test.lines} - running
    allowed = {entry.id for entry in excused}
    found: list[Fault] = []
    for line in spec:
        if line.number in skipped:
            found.append(
                Fault(CHECK, line.file, line.line, f"{line.number}: all its tests are always skipped")
            )
        elif line.number not in running and line.number not in allowed:
            found.append(
                Fault(CHECK, line.file, line.line, f"{line.number} has no test: {line.sentence[:80]}")
            )
    return found


def _judge(root: Path, entry: Excused, spec: Sequence[SpecLine], tests: Sequence[Case]) -> list[Fault]:
    messages: list[str] = []
    if all(line.number != entry.id for line in spec):
        messages.append("is no line of spec/")
    if entry.reason not in REASONS:
        messages.append(f"has the reason {entry.reason!r}; known: {', '.join(REASONS)}")
    if not entry.why.strip():
        messages.append("does not say why")
    if any(entry.id in test.lines for test in tests):
        messages.append("is excused and has a test")
    messages += _place(root, entry)
    return [Fault(CHECK, FILE, 0, f"{entry.id} {message}") for message in messages]


def _place(root: Path, entry: Excused) -> list[str]:
    if entry.where is None:
        return [] if entry.reason in PLACELESS else ["does not say where it is shown"]
    file = root / entry.where
    if not file.is_file():
        return [f"names {entry.where}, which does not exist"]
    if not re.search(rf"(?<![\w.]){re.escape(entry.id)}(?!\w)", file.read_text("utf-8")):
        return [f"names {entry.where}, which does not cite it"]
    return []


def _twice(excused: Sequence[Excused]) -> list[Fault]:
    counts = Counter(entry.id for entry in excused)
    return [Fault(CHECK, FILE, 0, f"{name} is listed {n} times") for name, n in counts.items() if n > 1]


def summary(spec: Sequence[SpecLine], cited: Iterable[str], excused: Sequence[Excused]) -> str:
    """The closing line of a full test run."""
    numbers = {line.number for line in spec}
    tested = numbers.intersection(cited)
    reasons = Counter(entry.reason for entry in excused)
    parts = ", ".join(f"{reason} {reasons[reason]}" for reason in REASONS if reasons[reason])
    return f"spec: {len(numbers)} lines, {len(tested)} tested, {len(excused)} excused ({parts or 'none'})"
