"""`kickwheel hint`: one more of three hints for a task."""

from kickwheel._context import Context, Outcome
from kickwheel._course import HINT_LEVELS, find_task, load_course
from kickwheel._parse import Options


def run(context: Context, options: Options) -> Outcome:
    """Show the next level, keep it, and after the third name the solution."""
    practice = context.need_practice()
    word = options.text("id")
    course = load_course()
    current = practice.current() or course.checkpoints[-1]
    checkpoint = current if word is None else course.find(word, context.text)
    number = options.number("task")
    task = find_task(
        checkpoint, practice.current_task(checkpoint) if number is None else number, context.text
    )
    entry = practice.progress.entry(checkpoint.id)
    shown = entry.hint_level(task.number)
    level = min(shown + 1, HINT_LEVELS)
    if level != shown:
        entry.set_hint_level(task.number, level)
        practice.progress.save()
    out, text = context.out, context.text
    hint = task.hints[text.language][level - 1]
    out.print(out.style(text("hint.head", id=checkpoint.id, task=task.number, level=level), "bold"))
    out.print(hint)
    if shown >= HINT_LEVELS:
        out.print(text("hint.last", command=f"kickwheel solution {checkpoint.id} --task {task.number}"))
    return Outcome(
        0,
        {
            "checkpoint": checkpoint.id,
            "task": task.number,
            "level": level,
            "levels": HINT_LEVELS,
            "text": hint,
        },
    )
