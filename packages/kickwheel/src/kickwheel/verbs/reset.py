"""`kickwheel reset`: a checkpoint's files go into a backup, and its starter is laid out anew."""

import shutil

from kickwheel._confirm import confirm
from kickwheel._context import Context, Outcome
from kickwheel._course import load_course
from kickwheel._parse import Options


def run(context: Context, options: Options) -> Outcome:
    """Move, write, set `open`."""
    practice = context.need_practice()
    checkpoint = load_course().find(options.text("id") or "", context.text)
    confirm(context, options, context.text("reset.question", id=checkpoint.id))
    place = practice.back_up(checkpoint)
    work = practice.work(checkpoint)
    if work.exists():
        for path in sorted(work.iterdir()):
            path.replace(place / path.name)
        shutil.rmtree(work)
    practice.write_starter(checkpoint)
    entry = practice.progress.entry(checkpoint.id)
    entry.state = "open"
    entry.clear_tasks()
    entry.files = practice.fingerprint(checkpoint)
    practice.progress.save()
    backup = practice.relative(place)
    context.out.print(context.text("reset.done", id=checkpoint.id, backup=backup))
    return Outcome(0, {"checkpoint": checkpoint.id, "backup": backup})
