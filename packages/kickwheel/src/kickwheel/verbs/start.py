"""`kickwheel start`: make a practice folder, or add what is missing in one."""

from pathlib import Path

from kickwheel._context import Context, Outcome
from kickwheel._course import load_course
from kickwheel._errors import RefusedError, SurroundingsError
from kickwheel._layout import fill
from kickwheel._parse import Options
from kickwheel._practice import PROGRESS_FILE, STATE_FOLDER, Practice, find_folder, is_practice_folder
from kickwheel._progress import Progress

DEFAULT_FOLDER = "kickwheel-course"


def run(context: Context, options: Options) -> Outcome:
    """Create the folder or complete it; nothing that is there is overwritten."""
    folder = _choose(context, options)
    practice = _open(context, folder)
    if practice.has_pending_break():
        raise RefusedError("BREAK_PENDING", context.text("error.break_pending"))
    practice.progress.save()  # from here on it is a practice folder: an interrupted start can be repeated
    created, kept = fill(practice, load_course(), practice.language)
    practice.progress.save()
    out, text = context.out, context.text
    for name in created:
        out.chat(f"  + {name}")
    if kept:
        out.chat(text("start.kept", count=len(kept)))
    out.print(out.style(text("start.ready", folder=_shown(folder)), "green"))
    here = folder == Path.cwd()
    out.print(text("start.here") if here else text("start.then", folder=_shown(folder)))
    return Outcome(0, {"folder": folder.as_posix(), "created": created, "kept": kept})


def _choose(context: Context, options: Options) -> Path:
    """The folder of `DIR`; without it the practice folder around, else a new one of the default name."""
    given = options.text("dir")
    if given is not None:
        return (context.base / given).resolve()
    around = find_folder(context.base)
    if around is not None:
        return around
    if options.text("folder") is not None:
        return context.base.resolve()
    return (context.base / DEFAULT_FOLDER).resolve()


def _open(context: Context, folder: Path) -> Practice:
    if is_practice_folder(folder):
        return Practice(folder, _load(context, folder))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RefusedError("FOLDER_NOT_EMPTY", context.text("error.folder_not_empty", folder=_shown(folder)))
    try:
        (folder / STATE_FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = context.text("error.cannot_write", path=_shown(folder), reason=error.strerror or "?")
        raise RefusedError("USAGE", message) from error
    return Practice(folder, _fresh(context, folder))


def _load(context: Context, folder: Path) -> Progress:
    path = folder / STATE_FOLDER / PROGRESS_FILE
    if not path.exists():
        return _fresh(context, folder)
    try:
        return Progress.load(path)
    except SurroundingsError as fault:
        if fault.code != "STATE_UNREADABLE" or path.exists():
            raise
        context.out.warn(fault.message(context.text))
        return _fresh(context, folder)


def _fresh(context: Context, folder: Path) -> Progress:
    path = folder / STATE_FOLDER / PROGRESS_FILE
    return Progress.fresh(path, load_course().version, context.text.language)


def _shown(folder: Path) -> str:
    """The folder as one would type it from here."""
    try:
        return folder.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return folder.as_posix()
