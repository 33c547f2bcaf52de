"""Draws the transition table for the documentation: a Mermaid state diagram and a Markdown table.

Every label can be translated: `words` maps an English label to the one to show. State names and codes stay.
"""

from collections.abc import Callable, Mapping
from typing import Final

from ._table import STATES, TRANSITIONS, Abort, Cell, Go, Never, ParserState, RecordKind, Refuse

LABELS: Final = (
    *(kind.value for kind in RecordKind),
    "record",
    "chunk",
    "success",
    "abort reason",
    "before the start",
    "open, no call",
    "open, at least one call",
    "terminal stored",
)
"""Every label that a translation can replace."""

_DESCRIPTIONS: Final = {
    ParserState.BEFORE_START: "before the start",
    ParserState.OPEN: "open, no call",
    ParserState.OPEN_WITH_CALL: "open, at least one call",
    ParserState.TERMINAL_STORED: "terminal stored",
}


def render_markdown(words: Mapping[str, str] | None = None) -> str:
    """Render the table as Markdown, one row a kind of record, numbered like the contract."""
    show = _translator(words)
    head = ["#", show("record"), *(state.value for state in STATES)]
    rows = [head, ["---"] * len(head)]
    for number, (kind, row) in enumerate(TRANSITIONS.items(), start=1):
        rows.append([f"05.T{number}", show(kind.value), *(_cell_text(cell, show) for cell in row)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def render_mermaid(words: Mapping[str, str] | None = None) -> str:
    """Render the table as a Mermaid state diagram; all refusals of a state share one arrow that lists
    their codes.
    """
    show = _translator(words)
    lines = ["stateDiagram-v2"]
    lines += [f"    {state.value}: {state.value} · {show(text)}" for state, text in _DESCRIPTIONS.items()]
    lines.append(f"    [*] --> {STATES[0].value}")
    for column, state in enumerate(STATES):
        for kind, row in TRANSITIONS.items():
            cell = row[column]
            if isinstance(cell, Go):
                lines.append(f"    {state.value} --> {cell.state.value}: {show(kind.value)}")
        lines.append(f"    {state.value} --> failed: {_refusals(column)}")
    lines += [f"    {ParserState.CLOSED.value} --> [*]", "    failed --> [*]"]
    return "\n".join(lines) + "\n"


def _refusals(column: int) -> str:
    codes: dict[str, None] = {}
    for row in TRANSITIONS.values():
        cell = row[column]
        if isinstance(cell, Refuse):
            codes[_short(cell.code)] = None
    return "<br/>".join(codes)


def _cell_text(cell: Cell, show: Callable[[str], str]) -> str:
    match cell:
        case Go(state=ParserState.CLOSED):
            return show("success")
        case Go(state, chunk=True):
            return f"{state.value}, {show('chunk')}"
        case Go(state):
            return f"→ {state.value}"
        case Refuse(code):
            return _short(code)
        case Abort():
            return show("abort reason")
        case Never():
            return "–"


def _short(code: str) -> str:
    return code.removeprefix("PROVIDER_")


def _translator(words: Mapping[str, str] | None) -> Callable[[str], str]:
    known = words or {}
    return lambda label: known.get(label, label)
