"""Progress on standard error: a bar on a terminal, one line a finished unit elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class Progress:
    """Counts units of one job: name, n of m, elapsed time."""

    def __init__(self, job: str, total: int, *, quiet: bool = False) -> None:
        self.job, self.total, self.quiet, self.count = job, total, quiet, 0
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task(self.job, total=self.total)
            self._bar.start()
        return self

    def begin(self, unit: str) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=f"{self.job}: {unit}")

    def done(self, unit: str) -> None:
        self.count += 1
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task)
        elif not self.quiet:
            print(f"{self.job}: {unit} ({self.count}/{self.total})", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
