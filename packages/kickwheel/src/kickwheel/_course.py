"""The course data, checked as it loads: `course/course.toml` and `course/checkpoints/NN.toml`."""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kickwheel._errors import CourseDataError, RefusedError
from kickwheel._messages import LANGUAGES, Messages
from kickwheel._places import course_folder

HINT_LEVELS = 3
MAX_CHECKPOINT_MINUTES = 45
MAX_TASK_MINUTES = 10

Texts = Mapping[str, str]
"""One text in each language."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a checkpoint: at most ten minutes, three hints."""

    number: int
    minutes: int
    title: Texts
    hints: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One deliberate fault: an edit of one file, and the tests that notice it."""

    name: str
    file: str
    find: str
    replace: str
    criteria: tuple[str, ...]
    red: tuple[str, ...]
    check: str
    title: Texts
    question: Texts
    why: Texts


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One checkpoint: what it is about, and the tasks and mutants of its `NN.toml`."""

    id: str
    slug: str
    package: str
    modules: tuple[str, ...]
    minutes: int
    level: int
    fixtures: tuple[str, ...]
    title: Texts
    outcome: Texts
    requires: tuple[str, ...]
    tasks: tuple[Task, ...]
    mutants: tuple[Mutant, ...]

    @property
    def folder_name(self) -> str:
        """`05-provider-adapter`."""
        return f"{self.id}-{self.slug}"

    @property
    def test_file(self) -> str:
        """`tests/checkpoints/test_05_provider_adapter.py`."""
        return f"tests/checkpoints/test_{self.id}_{self.slug.replace('-', '_')}.py"

    @property
    def page(self) -> str:
        """The page on the site, relative to its root: `course/05-provider-adapter/`."""
        return f"course/{self.folder_name}/"

    def task(self, number: int) -> Task:
        """The task of that number."""
        return self.tasks[number - 1]


@dataclass(frozen=True, slots=True)
class Course:
    """The whole course; `version` is written into progress files."""

    version: str
    checkpoints: tuple[Checkpoint, ...]

    def find(self, word: str, text: Messages) -> Checkpoint:
        """A checkpoint by `5`, `05`, slug or folder name; `UNKNOWN_CHECKPOINT` names the nearest."""
        padded = word.zfill(2) if word.isascii() and word.isdigit() else word
        for checkpoint in self.checkpoints:
            if padded in (checkpoint.id, checkpoint.slug, checkpoint.folder_name):
                return checkpoint
        known = [f"{c.id} ({c.slug})" for c in self.checkpoints]
        slugs = {c.slug: f"{c.id} ({c.slug})" for c in self.checkpoints}
        near = [slugs[slug] for slug in difflib.get_close_matches(word, slugs, n=3, cutoff=0.4)] or known
        message = text("error.unknown_checkpoint", word=word, near=", ".join(near))
        raise RefusedError("UNKNOWN_CHECKPOINT", message)


def find_task(checkpoint: Checkpoint, number: int, text: Messages) -> Task:
    """A task by number, or `UNKNOWN_TASK`."""
    if not 1 <= number <= len(checkpoint.tasks):
        message = text("error.unknown_task", number=number, id=checkpoint.id, count=len(checkpoint.tasks))
        raise RefusedError("UNKNOWN_TASK", message)
    return checkpoint.task(number)


def find_mutant(checkpoint: Checkpoint, name: str | None, text: Messages) -> Mutant:
    """A mutant by name (the first one without a name), or `UNKNOWN_MUTANT` with the nearest."""
    if name is None:
        return checkpoint.mutants[0]
    for mutant in checkpoint.mutants:
        if mutant.name == name:
            return mutant
    names = [mutant.name for mutant in checkpoint.mutants]
    near = ", ".join(difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names)
    raise RefusedError("UNKNOWN_MUTANT", text("error.unknown_mutant", name=name, id=checkpoint.id, near=near))


def load_course() -> Course:
    """The course that ships; a fault in its data is a `CourseDataError` that names the file and the key."""
    return read_course(course_folder())


@cache
def read_course(folder: Path) -> Course:
    """Read and check the course data of a folder."""
    main = _Reader(folder / "course.toml", folder)
    entries = main.tables("checkpoints")
    return Course(main.text("version"), tuple(_load_checkpoint(folder, entry) for entry in entries))


def read_one(folder: Path, number: str) -> Checkpoint | None:
    """One checkpoint alone, whatever state the data of the others is in; `None` for an unknown number."""
    for entry in _Reader(folder / "course.toml", folder).tables("checkpoints"):
        if entry.text("id") == number:
            return _load_checkpoint(folder, entry)
    return None


def _load_checkpoint(folder: Path, entry: "_Reader") -> Checkpoint:
    number = entry.text("id")
    own = _Reader(folder / "checkpoints" / f"{number}.toml", folder)
    for key in ("id", "slug"):
        if own.text(key) != entry.text(key):
            raise own.fault(f"{key} is not that of course.toml ({entry.text(key)})")
    tasks = tuple(_load_task(reader, index) for index, reader in enumerate(own.tables("tasks"), start=1))
    mutants = tuple(_load_mutant(reader) for reader in own.tables("mutants"))
    if not tasks or not mutants:
        raise own.fault("a checkpoint needs at least one task and one mutant")
    return Checkpoint(
        id=number,
        slug=own.text("slug"),
        package=own.text("package"),
        modules=own.texts("modules"),
        minutes=own.number("minutes"),
        level=own.number("level"),
        fixtures=own.texts("fixtures", optional=True),
        title=entry.translated("title"),
        outcome=entry.translated("outcome"),
        requires=entry.texts("requires", optional=True),
        tasks=tasks,
        mutants=mutants,
    )


def _load_task(reader: "_Reader", index: int) -> Task:
    if reader.number("n") != index:
        raise reader.fault(f"n must be {index}: tasks are numbered in order")
    return Task(index, reader.number("minutes"), reader.translated("title"), reader.hints())


def _load_mutant(reader: "_Reader") -> Mutant:
    check = reader.text("check", default="tests")
    if check not in ("tests", "types"):
        raise reader.fault("check is 'tests' or 'types'")
    name = reader.text("name")
    title: Texts = {language: name.replace("-", " ") for language in LANGUAGES}
    return Mutant(
        name=name,
        file=reader.text("file"),
        find=reader.text("find"),
        replace=reader.text("replace", empty=True),
        criteria=reader.texts("criteria"),
        red=reader.texts("red", optional=check == "types"),
        check=check,
        title=reader.translated("title", default=title),
        question=reader.translated("question"),
        why=reader.translated("why"),
    )


class _Reader:
    """Reads one TOML table key by key; what is missing or of the wrong kind is named with its file."""

    def __init__(
        self, path: Path, folder: Path, table: Mapping[str, object] | None = None, at: str = ""
    ) -> None:
        self._path, self._folder, self._at = path, folder, at
        self._table = self._read(path) if table is None else table

    def _read(self, path: Path) -> Mapping[str, object]:
        try:
            return tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise self.fault(error.strerror or type(error).__name__) from error
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise self.fault(str(error)) from error

    def fault(self, reason: str) -> CourseDataError:
        place = self._path.relative_to(self._folder.parent).as_posix()
        return CourseDataError(place, None, f"{self._at}{reason}")

    def tables(self, key: str) -> list["_Reader"]:
        value = self._table.get(key, [])
        if not isinstance(value, list):
            raise self.fault(f"{key} must be an array of tables")
        entries: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return [
            _Reader(self._path, self._folder, self._as_table(entry, key), f"{key}[{index}]: ")
            for index, entry in enumerate(entries)
        ]

    def _as_table(self, value: object, key: str) -> Mapping[str, object]:
        if not isinstance(value, dict):
            raise self.fault(f"{key} must be a table")
        return {str(name): item for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    def text(self, key: str, *, default: str | None = None, empty: bool = False) -> str:
        value = self._table.get(key, default)
        if not isinstance(value, str) or not (empty or value.strip()):
            raise self.fault(f"{key} must be a text that is not empty")
        return value

    def number(self, key: str) -> int:
        value = self._table.get(key)
        if type(value) is not int or value < 1:
            raise self.fault(f"{key} must be a whole number from 1")
        return value

    def texts(self, key: str, *, optional: bool = False) -> tuple[str, ...]:
        value = self._table.get(key, [] if optional else None)
        items: list[object] = list(value) if isinstance(value, list) else [None]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if not all(isinstance(item, str) and item.strip() for item in items) or not (items or optional):
            raise self.fault(f"{key} must be an array of texts that are not empty")
        return tuple(str(item) for item in items)

    def translated(self, key: str, *, default: Texts | None = None) -> Texts:
        if default is not None and key not in self._table:
            return default
        table = _Reader(
            self._path, self._folder, self._as_table(self._table.get(key), key), f"{self._at}{key}."
        )
        return {language: table.text(language) for language in LANGUAGES}

    def hints(self) -> Mapping[str, tuple[str, ...]]:
        table = _Reader(
            self._path, self._folder, self._as_table(self._table.get("hints"), "hints"), f"{self._at}hints."
        )
        hints = {language: table.texts(language) for language in LANGUAGES}
        for language, levels in hints.items():
            if len(levels) != HINT_LEVELS:
                raise self.fault(f"hints.{language} needs {HINT_LEVELS} levels")
        return hints
