"""`kickwheel watch`: run the focused test again after each save."""

import sys
from pathlib import Path

from kickwheel._context import Context, Outcome
from kickwheel._course import Checkpoint
from kickwheel._focused import Focused, keep_score, run_checkpoint, show
from kickwheel._keys import raw_keys, read_key
from kickwheel._parse import Options
from kickwheel._practice import Practice, learner_files
from kickwheel.verbs import break_, hint, list, next  # noqa: A004 - the verbs are called that
from kickwheel.verbs.test import chosen_checkpoint, read_timeout

POLL_SECONDS = 0.3

Stamps = dict[Path, tuple[int, int]]


def run(context: Context, options: Options) -> Outcome:
    """Without a terminal it is one run; with one it stays until `q`."""
    practice = context.need_practice()
    timeout = read_timeout(context, options)
    checkpoint = chosen_checkpoint(context, options)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return Outcome(0 if _check(context, practice, checkpoint, timeout).green else 1)
    with raw_keys():
        return _Watch(context, practice, checkpoint, timeout).loop()


class _Watch:
    """The loop on a terminal; the current checkpoint changes only when the user asks for the next one."""

    def __init__(self, context: Context, practice: Practice, checkpoint: Checkpoint, timeout: float) -> None:
        self._context, self._practice, self._timeout = context, practice, timeout
        self._checkpoint = checkpoint
        self._green = False
        self._stamps: Stamps = {}

    def loop(self) -> Outcome:
        self._run()
        while True:
            key = read_key(POLL_SECONDS)
            if key == "q":
                return Outcome(0 if self._green else 1)
            if key is not None:
                self._press(key)
            elif self._stamps != _stamps(self._practice):
                self._run()

    def _run(self) -> None:
        self._stamps = _stamps(self._practice)
        self._green = _check(self._context, self._practice, self._checkpoint, self._timeout).green
        self._context.out.print(self._context.text("watch.keys"))
        self._context.out.flush()

    def _press(self, key: str) -> None:
        here = Options({"id": self._checkpoint.id, "yes": True, "timeout": float(self._timeout)})
        if key == "r":
            self._run()
        elif key == "h":
            hint.run(self._context, here)
        elif key == "l":
            list.run(self._context, here)
        elif key == "b":
            break_.run(self._context, here)
        elif key == "n":
            self._next()

    def _next(self) -> None:
        self._checkpoint = self._practice.current() or self._checkpoint
        next.run(self._context, Options({}))
        self._run()


def _check(context: Context, practice: Practice, checkpoint: Checkpoint, timeout: float) -> Focused:
    context.out.print(context.text("watch.checking", name=checkpoint.folder_name))
    context.out.flush()
    focused = run_checkpoint(checkpoint, practice, task=None, timeout=timeout)
    keep_score(practice, focused)
    show(focused, context)
    return focused


def _stamps(practice: Practice) -> Stamps:
    stamps: Stamps = {}
    for path in learner_files(practice.folder / "work"):
        try:
            status = path.stat()
        except OSError:  # deleted between listing and looking: an editor is saving
            continue
        stamps[path] = (status.st_mtime_ns, status.st_size)
    return stamps
