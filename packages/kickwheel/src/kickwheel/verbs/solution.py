"""`kickwheel solution`: the reference of a checkpoint, shown or put in place."""

import shutil

from kickwheel._atomic import write_atomically
from kickwheel._confirm import confirm, confirm_reference
from kickwheel._context import Context, Outcome
from kickwheel._course import Checkpoint, find_task, load_course
from kickwheel._errors import RefusedError
from kickwheel._packages import derived_files, installed
from kickwheel._parse import Options
from kickwheel._practice import Practice
from kickwheel._regions import regions


def run(context: Context, options: Options) -> Outcome:
    """Print the reference, or write it over the learner's files after a backup."""
    checkpoint = load_course().find(options.text("id") or "", context.text)
    number = options.number("task")
    if number is not None:
        find_task(checkpoint, number, context.text)
    if options.flag("apply"):
        if number is not None:
            raise RefusedError("USAGE", context.text("error.apply_whole"))
        return _apply(context, options, checkpoint)
    confirm_reference(context, options, checkpoint.id)
    files = _reference(checkpoint) if number is None else _reference_of_task(checkpoint, number)
    for file in files:
        context.out.print(context.out.style(f"# {file['path']}", "bold"))
        context.out.print(str(file["text"]).rstrip("\n") + "\n")
    return Outcome(0, {"checkpoint": checkpoint.id, "task": number, "files": files})


def _reference(checkpoint: Checkpoint) -> list[dict[str, object]]:
    reference = derived_files(checkpoint.package, None)
    return [
        {"path": f"{checkpoint.package}/{module}", "text": reference[module].decode()}
        for module in checkpoint.modules
    ]


def _reference_of_task(checkpoint: Checkpoint, task: int) -> list[dict[str, object]]:
    files: list[dict[str, object]] = []
    for module in checkpoint.modules:
        source = (installed(checkpoint.package) / module).read_text("utf-8")
        bodies = ["".join(region.reference) for region in regions(source, module) if region.task == task]
        if bodies:
            files.append({"path": f"{checkpoint.package}/{module}", "text": "\n".join(bodies)})
    return files


def _apply(context: Context, options: Options, checkpoint: Checkpoint) -> Outcome:
    practice = context.need_practice()
    confirm(context, options, context.text("solution.apply_question", id=checkpoint.id))
    backup = _back_up(practice, checkpoint)
    files: list[dict[str, object]] = []
    for name, content in derived_files(checkpoint.package, None).items():
        place = practice.package(checkpoint) / name
        if not place.is_file() or place.read_bytes() != content:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(place, content)
            files.append({"path": practice.relative(place), "text": content.decode()})
    entry = practice.progress.entry(checkpoint.id)
    entry.note_solution_seen()
    if files and entry.state == "open":
        entry.state = "red"
    practice.progress.save()
    text = context.text
    for file in files:
        context.out.chat(f"  ~ {file['path']}")
    context.out.print(text("solution.applied", backup=backup, command=f"kickwheel test {checkpoint.id}"))
    return Outcome(0, {"checkpoint": checkpoint.id, "files": files, "backup": backup})


def _back_up(practice: Practice, checkpoint: Checkpoint) -> str:
    place = practice.back_up(checkpoint)
    package = practice.package(checkpoint)
    if package.is_dir():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, place / checkpoint.package, ignore=ignored)
    return practice.relative(place)
