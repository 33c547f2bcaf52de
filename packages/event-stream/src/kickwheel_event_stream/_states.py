"""The states of a stream and of its iterator, as data.

`OPERATIONS` says what an operation does in each state of the stream, `HAPPENINGS` what becomes of an
iterator. The tests make every operation in every state and compare; the documentation draws its diagrams from
here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

STATES: Final = ("open", "finished", "failed")
ITERATOR_STATES: Final = ("idle", "reading", "closed")

_CLOSED_ERROR: Final = "StreamClosedError"
_BUSY_ERROR: Final = "StreamBusyError"


def _row(first: str, second: str | None = None, third: str | None = None) -> tuple[str, str, str]:
    """Make one row: an outcome for each of three states; a single one is that of all three."""
    return (first, first if second is None else second, first if third is None else third)


OPERATIONS: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        "push with room": _row("accepted", _CLOSED_ERROR, _CLOSED_ERROR),
        "push when full": _row("QueueFull", _CLOSED_ERROR, _CLOSED_ERROR),
        "send with room": _row("accepted", _CLOSED_ERROR, _CLOSED_ERROR),
        "send when full": _row("waits", _CLOSED_ERROR, _CLOSED_ERROR),
        "finish": _row("to finished", _CLOSED_ERROR, _CLOSED_ERROR),
        "fail": _row("to failed", _CLOSED_ERROR, _CLOSED_ERROR),
        "aiter, slot free": _row("iterator"),
        "aiter, slot taken": _row(_BUSY_ERROR),
        "read, event buffered": _row("oldest event"),
        "read, buffer empty": _row("waits", "end, iterator closed", "failure, iterator closed"),
        "iterator aclose": _row("reads end, slot free"),
        "await result": _row("waits", "result", "failure"),
        "stream aclose, no hook": _row("to failed", "stays finished", "stays failed"),
        "stream aclose, hook settles": _row(
            "hook, to finished", "hook, stays finished", "hook, stays failed"
        ),
    }
)
"""Operation to its outcome in each of `STATES`."""

HAPPENINGS: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        "event arrives": _row("buffered", "oldest read gets it", "buffered"),
        "finish, buffer empty": _row("closed, slot free", "reads end, closed, slot free", ""),
        "fail, buffer empty": _row("idle, failure owed", "reads raise, closed, slot free", ""),
        "finish, buffer not empty": _row("idle", "", ""),
        "fail, buffer not empty": _row("idle", "", ""),
        "reader cancelled": _row("", "one read fewer, no event lost", ""),
        "aclose": _row("closed, slot free", "reads end, closed, slot free", "nothing"),
        "read": _row("waits or is answered", "queued behind the others", "end"),
    }
)
"""Happening to its outcome for an iterator in each of `ITERATOR_STATES`; an empty text: it cannot happen."""

_ITERATOR_TARGETS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "closed": "closed",
        "reads end": "closed",
        "reads raise": "closed",
        "queued behind the others": "reading",
    }
)


def stream_diagram() -> tuple[str, ...]:
    """Draw the stream's states as lines of a mermaid state diagram."""
    arrows = ["[*] --> open"]
    for operation, outcomes in OPERATIONS.items():
        for state, outcome in zip(STATES, outcomes, strict=True):
            _before, found, target = outcome.partition("to ")
            if found:
                arrows.append(f"{state} --> {target}: {operation}")
    refused = [
        operation
        for operation, outcomes in OPERATIONS.items()
        if outcomes[1:] == (_CLOSED_ERROR, _CLOSED_ERROR) and "full" not in operation
    ]
    names = ", ".join(operation.removesuffix(" with room") for operation in refused)
    arrows += [f"{state} --> {state}: {names} raise {_CLOSED_ERROR}" for state in STATES[1:]]
    return ("stateDiagram-v2", *(f"    {arrow}" for arrow in arrows))


def iterator_diagram() -> tuple[str, ...]:
    """Draw the iterator's states as lines of a mermaid state diagram."""
    arrows = ["[*] --> idle: aiter(stream)"]
    for happening, outcomes in HAPPENINGS.items():
        for state, outcome in zip(ITERATOR_STATES, outcomes, strict=True):
            if state == "closed" or not outcome:
                continue
            target = _ITERATOR_TARGETS.get(outcome.partition(",")[0], state)
            arrows.append(f"{state} --> {target}: {happening}")
    arrows += [
        "idle --> reading: read, buffer empty",
        "reading --> idle: last read answered",
        "closed --> [*]",
    ]
    return ("stateDiagram-v2", *(f"    {arrow}" for arrow in arrows))
