"""`kickwheel dev sync`: refresh the copies of tests, fixtures and contract lines inside the package."""

from kickwheel._context import Context, Outcome
from kickwheel._parse import Options
from kickwheel._repo import find_repository, sync


def run(context: Context, options: Options) -> Outcome:
    """Write the copies, or with `--check` only say which differ."""
    only_check = options.flag("check")
    changed = sync(find_repository(context.text), only_check=only_check)
    for name in changed:
        context.out.print(f"course/{name}")
    key = "sync.equal" if not changed else "sync.differ" if only_check else "sync.done"
    context.out.print(context.text(key, count=len(changed)))
    return Outcome(1 if changed and only_check else 0, {"changed": changed})
