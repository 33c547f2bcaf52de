"""The phases of a run as data: the loop walks this table, and the diagram of the course page is drawn from
it.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final


class Phase(Enum):
    """Where a run is."""

    START = "start"
    MODEL = "model"
    TOOLS = "tools"
    DONE = "done"

    __hash__ = object.__hash__  # each member exists once, and the table is looked at in every step


class Outcome(Enum):
    """How a phase ended; with the phase it decides where the run goes next."""

    READY = "valid transcript, not aborted"
    CALLS = "toolCall"
    ANSWERED = "stop"
    BATCH_DONE = "all calls answered"
    BUDGET_USED = "last step used up"
    STOPPED = "failure or abort"

    __hash__ = object.__hash__


TRANSITIONS: Final[Mapping[tuple[Phase, Outcome], Phase]] = MappingProxyType(
    {
        (Phase.START, Outcome.READY): Phase.MODEL,
        (Phase.START, Outcome.STOPPED): Phase.DONE,
        (Phase.MODEL, Outcome.CALLS): Phase.TOOLS,
        (Phase.MODEL, Outcome.ANSWERED): Phase.DONE,
        (Phase.MODEL, Outcome.STOPPED): Phase.DONE,
        (Phase.TOOLS, Outcome.BATCH_DONE): Phase.MODEL,
        (Phase.TOOLS, Outcome.BUDGET_USED): Phase.DONE,
        (Phase.TOOLS, Outcome.STOPPED): Phase.DONE,
    }
)
"""Every step a run can take. What is not in the table cannot happen."""


def render_mermaid() -> str:
    """Draw the table as a Mermaid state diagram: one line a transition, in the table's order."""
    lines = ["stateDiagram-v2", f"    [*] --> {Phase.START.value}"]
    for (phase, outcome), target in TRANSITIONS.items():
        lines.append(f"    {phase.value} --> {target.value}: {outcome.value}")
    lines.append(f"    {Phase.DONE.value} --> [*]")
    return "\n".join(lines) + "\n"
