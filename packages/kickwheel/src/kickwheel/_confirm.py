"""One question before something is shown or changed; without a terminal it takes `--yes`."""

import sys

from kickwheel._context import Context
from kickwheel._errors import RefusedError
from kickwheel._parse import Options


def confirm(context: Context, options: Options, question: str) -> None:
    """Go on after a yes; otherwise `NEEDS_CONFIRMATION` and nothing has happened."""
    if options.flag("yes"):
        return
    if context.out.json_mode or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RefusedError("NEEDS_CONFIRMATION", context.text("error.needs_confirmation", question=question))
    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    answer = sys.stdin.readline().strip().lower()
    if answer not in ("y", "yes", "c", "co", "có"):
        raise RefusedError("NEEDS_CONFIRMATION", context.text("error.declined"))


def confirm_reference(context: Context, options: Options, checkpoint_id: str) -> None:
    """The one question before the reference is shown; none for a green checkpoint, and none twice."""
    practice = context.practice
    if practice is not None:
        entry = practice.progress.entry(checkpoint_id)
        if entry.state == "green" or entry.solution_seen:
            return
    confirm(context, options, context.text("solution.question", id=checkpoint_id))
    if practice is not None:
        practice.progress.entry(checkpoint_id).note_solution_seen()
        practice.progress.save()
