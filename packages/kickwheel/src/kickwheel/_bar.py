"""Progress of work on several units: a bar on a terminal, else one line a finished unit, else nothing."""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from kickwheel._context import Context

Unit = TypeVar("Unit")


class Advance(Protocol):
    """Called with the name of a unit when it is finished, and whether it went well."""

    def __call__(self, name: str, *, good: bool) -> None:
        """Count one unit."""
        ...


@contextmanager
def progress(names: Sequence[str], context: Context) -> Generator[Advance]:
    """Show how far the work on `names` has come, on standard error."""
    if context.out.quiet or context.out.json_mode:
        yield _silent
    elif sys.stderr.isatty():
        yield from _bar(names, context)
    else:
        yield _line(len(names))


def _silent(name: str, *, good: bool) -> None:
    """Nothing is shown."""


def _line(total: int) -> Advance:
    count = 0

    def advance(name: str, *, good: bool) -> None:
        nonlocal count
        count += 1
        sys.stderr.write(f"[{count}/{total}] {name}: {'ok' if good else 'FAILED'}\n")

    return advance


def _bar(names: Sequence[str], context: Context) -> Generator[Advance]:
    # rich costs a tenth of a second to import: only a terminal that shows a bar pays for it.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(names[0] if names else "", total=len(names))
        rest = iter([*names[1:], ""])

        def advance(name: str, *, good: bool) -> None:
            bar.update(task, advance=1, description=next(rest, ""))

        yield advance
