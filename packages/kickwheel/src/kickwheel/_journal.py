"""The record of an edit in the learner's own file: written before the edit, gone after the way back."""

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from kickwheel._atomic import write_atomically
from kickwheel._course import load_course
from kickwheel._errors import SurroundingsError
from kickwheel._practice import HELD_FILE, Practice


@dataclass(frozen=True, slots=True)
class Held:
    """One recorded edit: which file, what it held before, and what the edit made of it."""

    checkpoint: str
    mutant: str
    path: str
    original: bytes
    edited_hash: str


def edit_with_record(practice: Practice, held: Held, edited: bytes) -> None:
    """Record first, then edit: a process that is killed in between has lost nothing."""
    record = {
        "schema": 1,
        "checkpoint": held.checkpoint,
        "mutant": held.mutant,
        "path": held.path,
        "edited": held.edited_hash,
        "original": base64.b64encode(held.original).decode(),
    }
    write_atomically(practice.state_folder / HELD_FILE, json.dumps(record, indent=1).encode())
    write_atomically(practice.folder / held.path, edited)


def read_held(practice: Practice) -> Held | None:
    """The recorded edit, if there is one."""
    path = practice.state_folder / HELD_FILE
    try:
        record = cast("dict[str, str]", json.loads(path.read_bytes()))
        original = base64.b64decode(record["original"], validate=True)
        return Held(record["checkpoint"], record["mutant"], record["path"], original, record["edited"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        values = {"path": HELD_FILE, "reason": error}
        raise SurroundingsError("STATE_UNREADABLE", "error.state_unreadable", **values) from error


def undo(practice: Practice, held: Held) -> str | None:
    """Put the original bytes back, then drop the record.

    When the file was changed further since the edit, that version is backed up first; its path comes back.
    """
    place = practice.folder / held.path
    backup = None
    current = place.read_bytes() if place.is_file() else None
    if current is not None and current != held.original and fingerprint(current) != held.edited_hash:
        checkpoint = next(c for c in load_course().checkpoints if c.id == held.checkpoint)
        kept = practice.back_up(checkpoint) / Path(held.path).name
        kept.write_bytes(current)
        backup = practice.relative(kept)
    if current != held.original:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, held.original)
    (practice.state_folder / HELD_FILE).unlink()
    return backup


def fingerprint(content: bytes) -> str:
    """The hash by which an edited file is recognised."""
    return hashlib.sha256(content).hexdigest()
