"""Course data: `packages/kickwheel/src/kickwheel/course/checkpoints/NN.toml`, read into plain records."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pathlib import Path

Table = dict[str, object]


@dataclass(frozen=True, slots=True)
class Text:
    """One text in both languages."""

    en: str
    vi: str

    def get(self, lang: str) -> str:
        return self.vi if lang == "vi" else self.en


@dataclass(frozen=True, slots=True)
class CourseTask:
    """One task: number, minutes, title, three hints a language."""

    n: int
    minutes: int
    title: Text
    hints_en: tuple[str, ...]
    hints_vi: tuple[str, ...]

    def hints(self, lang: str) -> tuple[str, ...]:
        return self.hints_vi if lang == "vi" else self.hints_en


@dataclass(frozen=True, slots=True)
class Mutant:
    """One deliberate fault: the edit, the tests it turns red, the question and the answer."""

    name: str
    file: str
    find: str
    replace: str
    criteria: tuple[str, ...]
    red: tuple[str, ...]
    check: str
    title: Text
    question: Text
    why: Text


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One checkpoint's data."""

    id: str
    slug: str
    package: str
    modules: tuple[str, ...]
    minutes: int
    level: int
    fixtures: tuple[str, ...]
    concepts: tuple[str, ...]
    title: Text
    tasks: tuple[CourseTask, ...]
    mutants: tuple[Mutant, ...]


class CourseDataError(ValueError):
    """Course data that cannot be read; names the file and the key."""


def read_course(folder: Path) -> dict[str, Checkpoint]:
    """Course data by number; only the files that exist."""
    return {path.stem: _checkpoint(path) for path in sorted(folder.glob("[0-9][0-9].toml"))}


def _checkpoint(path: Path) -> Checkpoint:
    try:
        data: Table = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CourseDataError(f"{path.name}: {error}") from error
    try:
        return Checkpoint(
            id=str(data["id"]),
            slug=str(data["slug"]),
            package=str(data["package"]),
            modules=_strings(data.get("modules")),
            minutes=_integer(data["minutes"]),
            level=_integer(data["level"]),
            fixtures=_strings(data.get("fixtures")),
            concepts=_strings(data.get("concepts")),
            title=_text(data.get("title")),
            tasks=tuple(_task(entry) for entry in _tables(data.get("tasks"))),
            mutants=tuple(_mutant(entry) for entry in _tables(data.get("mutants"))),
        )
    except (KeyError, TypeError) as error:
        raise CourseDataError(f"{path.name}: missing or wrong {error}") from error


def _task(data: Table) -> CourseTask:
    hints = cast("Table", data.get("hints") or {})
    return CourseTask(
        n=_integer(data["n"]),
        minutes=_integer(data["minutes"]),
        title=_text(data.get("title")),
        hints_en=_strings(hints.get("en")),
        hints_vi=_strings(hints.get("vi")),
    )


def _mutant(data: Table) -> Mutant:
    return Mutant(
        name=str(data["name"]),
        file=str(data["file"]),
        find=str(data["find"]),
        replace=str(data["replace"]),
        criteria=_strings(data.get("criteria")),
        red=_strings(data.get("red")),
        check=str(data.get("check", "tests")),
        title=_text(data.get("title")),
        question=_text(data.get("question")),
        why=_text(data.get("why")),
    )


def _text(value: object) -> Text:
    if not isinstance(value, dict):
        return Text("", "")
    table = cast("Table", value)
    return Text(str(table.get("en", "")), str(table.get("vi", "")))


def _strings(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise TypeError(f"list of strings: {value!r}")
    return tuple(str(item) for item in cast("list[object]", value))


def _tables(value: object) -> list[Table]:
    return cast("list[Table]", value) if isinstance(value, list) else []


def _integer(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"integer: {value!r}")
    return value
