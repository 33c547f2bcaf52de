"""`kickwheel list`: the eight checkpoints and their state."""

from kickwheel._context import Context, Outcome
from kickwheel._course import Checkpoint, load_course
from kickwheel._parse import Options

MARKS = {"open": ("·", "dim"), "red": ("✗", "red"), "green": ("✓", "green"), "stale": ("~", "yellow")}


def run(context: Context, _options: Options) -> Outcome:
    """Print one row a checkpoint."""
    rows = [_row(context, checkpoint) for checkpoint in load_course().checkpoints]
    out, text = context.out, context.text
    for row in rows:
        mark, style = MARKS[str(row["state"])]
        state = out.style(f"{mark} {text('state.' + str(row['state'])):<11}", style)
        done = f"{row['tasks_green']}/{row['tasks']}"
        minutes = text("list.minutes", minutes=row["minutes"])
        out.print(f"{row['id']}  {state}  {done:>4}  {minutes:>7}  {row['title']}")
    return Outcome(0, {"checkpoints": rows})


def _row(context: Context, checkpoint: Checkpoint) -> dict[str, object]:
    practice = context.practice
    state, green = "open", 0
    if practice is not None:
        state = practice.state(checkpoint)
        tasks = practice.progress.entry(checkpoint.id).tasks
        green = sum(tasks.get(str(task.number)) == "green" for task in checkpoint.tasks)
    return {
        "id": checkpoint.id,
        "slug": checkpoint.slug,
        "title": checkpoint.title[context.text.language],
        "minutes": checkpoint.minutes,
        "state": state,
        "tasks_green": green,
        "tasks": len(checkpoint.tasks),
        "test": checkpoint.test_file,
        "page": checkpoint.page,
    }
