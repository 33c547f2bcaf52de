"""A practice folder: the learner's copies of the packages, the progress, the backups."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from kickwheel._course import Checkpoint, load_course
from kickwheel._errors import SurroundingsError
from kickwheel._packages import derived_files
from kickwheel._progress import Progress

STATE_FOLDER = ".kickwheel"
PROGRESS_FILE = "progress.json"
HELD_FILE = "held.json"


class Practice:
    """One practice folder, found and readable."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        """Wrap the folder and its parsed progress."""
        self.folder = folder
        self.progress = progress

    @property
    def language(self) -> str:
        """The language of the folder."""
        return self.progress.language

    @property
    def state_folder(self) -> Path:
        """The folder `.kickwheel`."""
        return self.folder / STATE_FOLDER

    def has_pending_break(self) -> bool:
        """Whether an edit of `break --mine` is recorded and not yet undone."""
        return (self.state_folder / HELD_FILE).exists()

    def work(self, checkpoint: Checkpoint) -> Path:
        """The folder that holds the learner's package: `work/05-provider-adapter`."""
        return self.folder / "work" / checkpoint.folder_name

    def package(self, checkpoint: Checkpoint) -> Path:
        """The learner's copy of the checkpoint's package."""
        return self.work(checkpoint) / checkpoint.package

    def modules(self, checkpoint: Checkpoint) -> list[Path]:
        """The files that the learner edits."""
        return [self.package(checkpoint) / name for name in checkpoint.modules]

    def relative(self, path: Path) -> str:
        """A path inside the folder, relative to it, with `/`."""
        return path.relative_to(self.folder).as_posix()

    def fingerprint(self, checkpoint: Checkpoint) -> str:
        """A hash over the names and bytes of the learner's files."""
        digest = hashlib.sha256()
        for path in learner_files(self.work(checkpoint)):
            content = path.read_bytes()
            name = path.relative_to(self.work(checkpoint)).as_posix()
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        return f"sha256:{digest.hexdigest()}"

    def state(self, checkpoint: Checkpoint) -> str:
        """`open`, `red`, `green`, or `stale` when a green one's files have changed since."""
        entry = self.progress.entry(checkpoint.id)
        if entry.state == "green" and entry.files != self.fingerprint(checkpoint):
            return "stale"
        return entry.state

    def current(self) -> Checkpoint | None:
        """The first checkpoint that is not green, or `None` when all are."""
        for checkpoint in load_course().checkpoints:
            if self.state(checkpoint) != "green":
                return checkpoint
        return None

    def current_task(self, checkpoint: Checkpoint) -> int:
        """The first task that is not green; the last one when all are."""
        tasks = self.progress.entry(checkpoint.id).tasks
        for task in checkpoint.tasks:
            if tasks.get(str(task.number)) != "green":
                return task.number
        return checkpoint.tasks[-1].number

    def back_up(self, checkpoint: Checkpoint) -> Path:
        """A new, empty backup folder `.kickwheel/backups/NN-K`; K counts up."""
        backups = self.state_folder / "backups"
        backups.mkdir(parents=True, exist_ok=True)
        number = 1 + max((_backup_number(path, checkpoint.id) for path in backups.iterdir()), default=0)
        place = backups / f"{checkpoint.id}-{number}"
        place.mkdir()
        return place

    def write_starter(self, checkpoint: Checkpoint) -> None:
        """Lay out the starter of a checkpoint; the folder appears whole or not at all."""
        self._lay_out(checkpoint, checkpoint.id)

    def _lay_out(self, checkpoint: Checkpoint, derive_for: str | None) -> None:
        target = self.work(checkpoint)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.tmp")
        shutil.rmtree(draft, ignore_errors=True)
        try:
            for name, content in derived_files(checkpoint.package, derive_for).items():
                place = draft / checkpoint.package / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            draft.replace(target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def learner_files(folder: Path) -> Iterator[Path]:
    """The files under a `work/` folder that count, sorted: everything but what Python and tools compile."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if path.is_file() and not hidden and path.suffix != ".pyc":
            yield path


def find_practice(base: Path) -> Practice | None:
    """The practice folder at `base` or the nearest parent, or `None`.

    A folder whose unreadable progress was set aside is `STATE_UNREADABLE` until `start` has repaired it.
    """
    folder = find_folder(base)
    if folder is None:
        return None
    path = folder / STATE_FOLDER / PROGRESS_FILE
    if not path.exists():
        raise SurroundingsError("STATE_UNREADABLE", "error.state_missing", path=PROGRESS_FILE)
    return Practice(folder, Progress.load(path))


def find_folder(base: Path) -> Path | None:
    """The nearest folder, from `base` upwards, that is or was a practice folder."""
    try:
        start = base.resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    return next((folder for folder in (start, *start.parents) if is_practice_folder(folder)), None)


def is_practice_folder(folder: Path) -> bool:
    """Whether the folder holds a progress file, or one that was set aside."""
    state = folder / STATE_FOLDER
    return (state / PROGRESS_FILE).is_file() or any(state.glob(f"{PROGRESS_FILE}.bad-*"))


def _backup_number(path: Path, checkpoint: str) -> int:
    start, _, number = path.name.partition("-")
    return int(number) if start == checkpoint and number.isdigit() else 0
