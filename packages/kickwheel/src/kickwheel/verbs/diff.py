"""`kickwheel diff`: from the learner's files to the reference."""

from kickwheel._confirm import confirm_reference
from kickwheel._context import Context, Outcome
from kickwheel._course import load_course
from kickwheel._mutants import unified_diff
from kickwheel._output import one_line
from kickwheel._packages import derived_files
from kickwheel._parse import Options


def run(context: Context, options: Options) -> Outcome:
    """Print the unified difference of every module of the checkpoint."""
    practice = context.need_practice()
    checkpoint = load_course().find(options.text("id") or "", context.text)
    confirm_reference(context, options, checkpoint.id)
    reference = derived_files(checkpoint.package, None)
    files: list[dict[str, object]] = []
    for module in checkpoint.modules:
        place = practice.package(checkpoint) / module
        mine = place.read_bytes() if place.is_file() else b""
        path = practice.relative(place)
        diff = unified_diff(mine, reference[module], path)
        files.append({"path": path, "diff": diff})
        _print(context, diff)
    if not any(file["diff"] for file in files):
        context.out.print(context.text("diff.none"))
    return Outcome(0, {"checkpoint": checkpoint.id, "files": files})


def _print(context: Context, diff: str) -> None:
    for line in diff.splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        shown = one_line(line.replace("\t", "    "))
        context.out.print(context.out.style(shown, style) if style else shown)
