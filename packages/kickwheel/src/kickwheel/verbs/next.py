"""`kickwheel next`: the first checkpoint that is not green, and what to do in it."""

from kickwheel._context import Context, Outcome
from kickwheel._course import Checkpoint, load_course
from kickwheel._packages import installed
from kickwheel._parse import Options
from kickwheel._practice import Practice
from kickwheel._regions import regions

KEYS = ("checkpoint", "slug", "title", "task", "tasks", "minutes", "edit", "page", "test")


def run(context: Context, _options: Options) -> Outcome:
    """Say where to go on, or that the course is done."""
    practice = context.need_practice()
    checkpoint = practice.current()
    out, text = context.out, context.text
    if checkpoint is None:
        out.print(out.style(text("next.done", count=len(load_course().checkpoints)), "green"))
        return Outcome(0, {**dict.fromkeys(KEYS), "state": "done"})
    data = describe_next(practice, checkpoint, text.language)
    task = checkpoint.task(int(str(data["task"])))
    out.print(out.style(f"{checkpoint.id}  {checkpoint.title[text.language]}", "bold"))
    state = text(f"state.{data['state']}")
    out.print(text("next.where", task=task.number, tasks=len(checkpoint.tasks), state=state))
    out.print(text("next.task", title=task.title[text.language], minutes=task.minutes))
    out.print(text("next.edit", files=", ".join(edit_files(practice, checkpoint, task.number))))
    out.print(text("next.page", page=f"{checkpoint.page}#task-{task.number}"))
    out.print(text("next.command", command=data["test"]))
    return Outcome(0, data)


def describe_next(practice: Practice, checkpoint: Checkpoint, language: str) -> dict[str, object]:
    """The JSON object of `next`."""
    task = practice.current_task(checkpoint)
    return {
        "checkpoint": checkpoint.id,
        "slug": checkpoint.slug,
        "title": checkpoint.title[language],
        "task": task,
        "tasks": len(checkpoint.tasks),
        "minutes": checkpoint.minutes,
        "state": practice.state(checkpoint),
        "edit": edit_files(practice, checkpoint, task),
        "page": checkpoint.page,
        "test": f"kickwheel test {checkpoint.id}",
    }


def edit_files(practice: Practice, checkpoint: Checkpoint, task: int) -> list[str]:
    """The files that hold the bodies of a task, relative to the practice folder."""
    folder = installed(checkpoint.package)
    holding = [
        module
        for module in checkpoint.modules
        if any(region.task == task for region in regions((folder / module).read_text("utf-8"), module))
    ]
    return [practice.relative(practice.package(checkpoint) / name) for name in holding or checkpoint.modules]
