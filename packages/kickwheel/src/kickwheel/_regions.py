"""Course regions in a package's source, and the texts derived from them: pure functions of the text.

A region opens with the comment `[solution 05.2]`, holds the reference text, and closes with `[/solution]`. A
comment `[starter]` inside it separates what the learner gets instead, written as comments.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kickwheel._errors import CourseDataError

_OPEN = re.compile(r"# \[solution (\d\d)\.(\d{1,2})\]")
_LIKE_MARKER = re.compile(r"#\s*\[\s*/?\s*(solution|starter)\b", re.IGNORECASE)
_SNIPPET = re.compile(r"(?:#|//|;)?\s*-+8<-+\s*\[(?:start|end)(?::[^\]]*)?\]")
_STARTER = "# [starter]"
_CLOSE = "# [/solution]"


@dataclass(frozen=True, slots=True)
class Region:
    """One region: which task it belongs to, its indentation, and its two texts as lines (with line ends)."""

    checkpoint: str
    task: int
    indent: str
    line: int
    reference: tuple[str, ...]
    starter: tuple[str, ...] | None

    def emptied(self) -> tuple[str, ...]:
        """What the learner gets: the starter part uncommented, or a line that raises."""
        if self.starter is None:
            text = f'raise NotImplementedError("checkpoint {self.checkpoint}, task {self.task}")'
            return (f"{self.indent}{text}\n",)
        return tuple(_uncomment(line) for line in self.starter)


def split(source: str, file: str) -> list[str | Region]:
    """The source as plain lines and regions; marker and snippet lines are gone.

    Raises `CourseDataError` with file and line for a nested, unbalanced or unknown region.
    """
    return list(_Splitter(source, file).parts())


def regions(source: str, file: str) -> list[Region]:
    """The regions of a source text, in order; regions of two checkpoints in one module are refused."""
    found = [part for part in split(source, file) if isinstance(part, Region)]
    for region in found:
        if region.checkpoint != found[0].checkpoint:
            reason = f"regions of checkpoints {found[0].checkpoint} and {region.checkpoint} in one module"
            raise CourseDataError(file, region.line, reason)
    return found


def derive(source: str, file: str, checkpoint: str | None, solved: Collection[int] = ()) -> str:
    """The source as a learner of `checkpoint` gets it, the tasks in `solved` already written.

    With `checkpoint` `None` every region keeps its reference text: the whole solution, without markers.
    """
    lines: list[str] = []
    for part in split(source, file):
        if isinstance(part, str):
            lines.append(part)
        elif part.checkpoint == checkpoint and part.task not in solved:
            lines.extend(part.emptied())
        else:
            lines.extend(part.reference)
    return "".join(lines)


class _Splitter:
    def __init__(self, source: str, file: str) -> None:
        self._lines = source.splitlines(keepends=True)
        self._file = file
        self._number = 0

    def parts(self) -> Iterator[str | Region]:
        while (line := self._next()) is not None:
            mark = line.strip()
            opened = _OPEN.fullmatch(mark)
            if opened is not None:
                yield self._region(line, opened)
            elif not self._is_snippet(mark):
                self._refuse_stray(mark)
                yield line

    def _region(self, line: str, opened: re.Match[str]) -> Region:
        start = self._number
        reference: list[str] = []
        starter: list[str] | None = None
        while (inner := self._next()) is not None:
            mark = inner.strip()
            if mark == _CLOSE:
                indent = line[: len(line) - len(line.lstrip())]
                return Region(opened[1], int(opened[2]), indent, start, tuple(reference), _frozen(starter))
            if mark == _STARTER and starter is None:
                starter = []
            elif self._is_snippet(mark):
                continue
            else:
                self._refuse_stray(mark, inside=True)
                if starter is None:
                    reference.append(inner)
                else:
                    starter.append(self._commented(inner, mark))
        raise self._fault(start, "region is never closed")

    def _next(self) -> str | None:
        if self._number == len(self._lines):
            return None
        self._number += 1
        return self._lines[self._number - 1]

    def _commented(self, line: str, mark: str) -> str:
        if mark and not mark.startswith("#"):
            raise self._fault(self._number, "a starter part holds comments only")
        return line

    def _refuse_stray(self, mark: str, *, inside: bool = False) -> None:
        if not _LIKE_MARKER.match(mark):
            return
        known = _OPEN.fullmatch(mark) or mark in (_STARTER, _CLOSE)
        if inside:
            raise self._fault(self._number, "region inside a region" if known else "unknown region mark")
        raise self._fault(self._number, "mark without an open region" if known else "unknown region mark")

    @staticmethod
    def _is_snippet(mark: str) -> bool:
        return _SNIPPET.fullmatch(mark) is not None

    def _fault(self, line: int, reason: str) -> CourseDataError:
        return CourseDataError(self._file, line, reason)


def _frozen(lines: list[str] | None) -> tuple[str, ...] | None:
    return None if lines is None else tuple(lines)


def _uncomment(line: str) -> str:
    """The line without its first comment mark; its indentation stays."""
    before, mark, after = line.partition("#")
    if not mark:
        return line
    text = after.removeprefix(" ")
    return before + text if text.strip() else text
