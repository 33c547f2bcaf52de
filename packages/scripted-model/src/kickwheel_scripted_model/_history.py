"""What a model's calls came to, one line each."""

from collections.abc import Sequence
from typing import Final, Protocol

OPEN: Final = "open"
ABORTED: Final = "aborted"

LINES: Final = 20  # 04.B8: a screenful; a script of thousands must not drown the error
ID_LIMIT: Final = 80  # a longer request id is cut in a line, so that a line stays a line


class Entry(Protocol):
    """One call as the history knows it."""

    @property
    def number(self) -> int:
        """The call's number, from 1."""
        ...

    @property
    def request_id(self) -> str:
        """The id of the request it was made with."""
        ...

    @property
    def outcome(self) -> str:
        """The response id, a code, `aborted`, `error <class name>`, or `open`."""
        ...


def script_lines(entries: Sequence[Entry], failing: Entry | None) -> tuple[str, ...]:
    """Spell the last calls, preceded by the failing one if it is older."""
    shown = list(entries[-LINES:])
    if failing is not None and shown and failing.number < shown[0].number:
        shown.insert(0, failing)
    return tuple([f"{entry.number}. {entry.request_id[:ID_LIMIT]} -> {entry.outcome}" for entry in shown])
