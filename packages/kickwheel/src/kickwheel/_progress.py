"""The progress file of a practice folder: whole or not at all, sorted keys, no times, no absolute paths."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from kickwheel._atomic import write_atomically
from kickwheel._errors import SurroundingsError

SCHEMA = 1
STATES = ("open", "red", "green")
"""The states that are stored; `stale` is worked out when a green checkpoint's files have changed."""

Json = dict[str, object]


class Progress:
    """The parsed progress file; keys it does not know survive every change."""

    def __init__(self, path: Path, data: Json) -> None:
        """Wrap parsed data; `save` writes it back."""
        self.path = path
        self.data = data

    @classmethod
    def fresh(cls, path: Path, course: str, language: str) -> "Progress":
        """An empty progress, not yet written."""
        return cls(path, {"schema": SCHEMA, "course": course, "lang": language, "checkpoints": {}})

    @classmethod
    def load(cls, path: Path) -> "Progress":
        """Read the file.

        Raises `STATE_TOO_NEW` (nothing is written) for a newer schema. An unreadable file is kept as
        `progress.json.bad-N` and reported as `STATE_UNREADABLE`; the next `start` writes a fresh file.
        """
        try:
            data = _check(json.loads(path.read_bytes().decode()))
        except (ValueError, RecursionError) as error:
            kept = _set_aside(path)
            values = {"path": path.name, "reason": error, "kept": kept.name}
            raise SurroundingsError("STATE_UNREADABLE", "error.state_set_aside", **values) from error
        except OSError as error:
            where = {"path": path.name, "reason": error.strerror}
            raise SurroundingsError("STATE_UNREADABLE", "error.state_unreadable", **where) from error
        schema = cast("int", data["schema"])
        if schema > SCHEMA:
            known: Json = {"path": path.name, "schema": schema, "known": SCHEMA}
            raise SurroundingsError("STATE_TOO_NEW", "error.state_too_new", **known)
        return cls(path, data)

    def save(self) -> None:
        """Write the file in one step."""
        text = json.dumps(self.data, ensure_ascii=False, indent=1, sort_keys=True)
        write_atomically(self.path, (text + "\n").encode())

    @property
    def language(self) -> str:
        """The language the folder was started in."""
        return str(self.data.get("lang", "en"))

    def entry(self, checkpoint: str) -> "Entry":
        """The entry of a checkpoint, made if it is not there yet."""
        checkpoints = cast("Json", self.data["checkpoints"])
        return Entry(cast("Json", checkpoints.setdefault(checkpoint, {"state": "open"})))

    def knows(self, checkpoint: str) -> bool:
        """Whether the checkpoint has an entry."""
        return checkpoint in cast("Json", self.data["checkpoints"])


class Entry:
    """One checkpoint's part of the progress."""

    def __init__(self, data: Json) -> None:
        """Wrap the entry's own table; changes go straight into the progress."""
        self.data = data

    @property
    def state(self) -> str:
        """`open`, `red` or `green`, as stored."""
        return str(self.data.get("state", "open"))

    @state.setter
    def state(self, value: str) -> None:
        self.data["state"] = value

    @property
    def files(self) -> str | None:
        """The fingerprint of the learner's files at the last run."""
        value = self.data.get("files")
        return value if isinstance(value, str) else None

    @files.setter
    def files(self, value: str) -> None:
        self.data["files"] = value

    @property
    def tasks(self) -> Mapping[str, object]:
        """Task number (as text) to `green` or `red`."""
        return self._table("tasks")

    @property
    def solution_seen(self) -> bool:
        """Whether the reference has been shown."""
        return self.data.get("solution_seen") is True

    def note_solution_seen(self) -> None:
        """Remember that the reference has been shown."""
        self.data["solution_seen"] = True

    def set_task(self, number: int, state: str) -> None:
        """Remember how a task ended."""
        self._own_table("tasks")[str(number)] = state

    def clear_tasks(self) -> None:
        """Forget how the tasks ended."""
        self.data["tasks"] = {}

    def hint_level(self, task: int) -> int:
        """How many hint levels of a task have been shown."""
        value = self._table("hints").get(str(task), 0)
        return value if isinstance(value, int) else 0

    def set_hint_level(self, task: int, level: int) -> None:
        """Remember how many hint levels of a task have been shown."""
        self._own_table("hints")[str(task)] = level

    def note_break(self, mutant: str) -> None:
        """Remember that a mutant was tried and behaved as declared."""
        done = self.data.get("breaks")
        names = {str(name) for name in cast("list[object]", done)} if isinstance(done, list) else set[str]()
        self.data["breaks"] = sorted(names | {mutant})

    def _table(self, key: str) -> Json:
        value = self.data.get(key)
        return cast("Json", value) if isinstance(value, dict) else {}

    def _own_table(self, key: str) -> Json:
        if not isinstance(self.data.get(key), dict):
            self.data[key] = {}
        return cast("Json", self.data[key])


def _check(data: object) -> Json:
    if not isinstance(data, dict):
        raise ValueError("it holds no object")
    table = cast("Json", data)
    schema = table.get("schema")
    if type(schema) is not int or schema < 1:
        raise ValueError("it has no schema number")
    if schema > SCHEMA:
        return table
    checkpoints = table.setdefault("checkpoints", {})
    if not isinstance(checkpoints, dict):
        raise ValueError("checkpoints is no object")
    for key, entry in cast("Json", checkpoints).items():
        if not isinstance(entry, dict) or cast("Json", entry).get("state", "open") not in STATES:
            raise ValueError(f"the entry of checkpoint {key} has no known state")
    return table


def _set_aside(path: Path) -> Path:
    number = 1
    while (kept := path.with_name(f"{path.name}.bad-{number}")).exists():
        number += 1
    return path.replace(kept)
