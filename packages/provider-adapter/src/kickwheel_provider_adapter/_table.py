"""The parser's transitions as data: one row a kind of record, one cell a state.

Rules of this file: it decides nothing and inspects nothing. `_records.py` says which kind a record is,
this table says what that kind means in a state, and `_parser.py` does it. The documentation's diagram and
table are rendered from here, and a test walks every cell.
"""

from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from ._errors import FixtureProviderErrorCode


class _Named(Enum):
    """An enumeration that is looked up for every record of every stream."""

    __hash__ = (
        object.__hash__
    )  # a member is one object for ever; the inherited hash is computed from its name


class ParserState(_Named):
    """Where one response stands. The value is the name that the documentation uses."""

    BEFORE_START = "S0"
    OPEN = "S1"
    OPEN_WITH_CALL = "S1c"
    TERMINAL_STORED = "S2"
    CLOSED = "closed"


STATES: Final = (
    ParserState.BEFORE_START,
    ParserState.OPEN,
    ParserState.OPEN_WITH_CALL,
    ParserState.TERMINAL_STORED,
)
"""The columns of the table, in order. `CLOSED` takes no more records and has no column."""


class RecordKind(_Named):
    """What a record is, or what happens in place of one. The value is the row's label."""

    UNREADABLE = "not an object, uninspectable, bad type"
    START = "start, good"
    BAD_START = "start, bad"
    TEXT = "text, good"
    BAD_TEXT = "text, bad"
    CALL = "tool call, good, new id"
    CALL_ID_SEEN = "tool call, id seen"
    BAD_CALL = "tool call, bad"
    END_STOP = "end, good, stop"
    END_TOOL_CALL = "end, good, tool_call"
    END_BAD_ID = "end, id not a non-blank string"
    END_OTHER_ID = "end, other id"
    BAD_END = "end, bad stop reason or usage"
    TRANSPORT_ERROR = "transport error, good"
    BAD_TRANSPORT_ERROR = "transport error, bad"
    UNKNOWN = "unknown type"
    END_OF_SOURCE = "end of source"
    SOURCE_FAILS = "source step fails (adapter only)"
    ABORTED = "signal aborted (adapter only)"


class Go(NamedTuple):
    """The record is taken: the state it leads to, and whether a chunk comes out of it."""

    state: ParserState
    chunk: bool = False


class Refuse(NamedTuple):
    """The response fails with this code."""

    code: FixtureProviderErrorCode


class Abort(NamedTuple):
    """The response fails with the signal's reason, which has no code of ours."""


class Never(NamedTuple):
    """Cannot happen: no call id has been seen in this state."""


Cell: TypeAlias = Go | Refuse | Abort | Never

_UNREADABLE = Refuse("PROVIDER_INVALID_EVENT")
_BAD = Refuse("PROVIDER_INVALID_EVENT")
_NO_START = Refuse("PROVIDER_MISSING_START")
_TWICE = Refuse("PROVIDER_DUPLICATE_START")
_ENDED_TWICE = Refuse("PROVIDER_DUPLICATE_TERMINAL")
_AFTER_END = Refuse("PROVIDER_INVALID_TERMINAL")
_DISAGREES = Refuse("PROVIDER_INVALID_TERMINAL")
_MISMATCH = Refuse("PROVIDER_RESPONSE_MISMATCH")
_UNKNOWN = Refuse("PROVIDER_UNKNOWN_EVENT")
_TRANSPORT = Refuse("PROVIDER_TRANSPORT_ERROR")
_NO_END = Refuse("PROVIDER_MISSING_TERMINAL")
_SOURCE = Refuse("PROVIDER_INVALID_FIXTURE")
_STARTED = Go(ParserState.OPEN)
_TEXT = Go(ParserState.OPEN, chunk=True)
_TEXT_LATER = Go(ParserState.OPEN_WITH_CALL, chunk=True)
_CALL = Go(ParserState.OPEN_WITH_CALL, chunk=True)
_ENDED = Go(ParserState.TERMINAL_STORED)
_CLOSED = Go(ParserState.CLOSED)
_ABORT = Abort()
_NEVER = Never()

Row: TypeAlias = tuple[Cell, Cell, Cell, Cell]

# fmt: off
TRANSITIONS: Final[dict[RecordKind, Row]] = {
    #                                S0            S1           S1c          S2
    RecordKind.UNREADABLE:          (_UNREADABLE, _UNREADABLE, _UNREADABLE, _UNREADABLE),
    RecordKind.START:               (_STARTED,    _TWICE,      _TWICE,      _AFTER_END),
    RecordKind.BAD_START:           (_BAD,        _TWICE,      _TWICE,      _AFTER_END),
    RecordKind.TEXT:                (_NO_START,   _TEXT,       _TEXT_LATER, _AFTER_END),
    RecordKind.BAD_TEXT:            (_NO_START,   _BAD,        _BAD,        _AFTER_END),
    RecordKind.CALL:                (_NO_START,   _CALL,       _CALL,       _AFTER_END),
    RecordKind.CALL_ID_SEEN:        (_NEVER,      _NEVER,      _BAD,        _AFTER_END),
    RecordKind.BAD_CALL:            (_NO_START,   _BAD,        _BAD,        _AFTER_END),
    RecordKind.END_STOP:            (_NO_START,   _ENDED,      _DISAGREES,  _ENDED_TWICE),
    RecordKind.END_TOOL_CALL:       (_NO_START,   _DISAGREES,  _ENDED,      _ENDED_TWICE),
    RecordKind.END_BAD_ID:          (_NO_START,   _BAD,        _BAD,        _ENDED_TWICE),
    RecordKind.END_OTHER_ID:        (_NO_START,   _MISMATCH,   _MISMATCH,   _ENDED_TWICE),
    RecordKind.BAD_END:             (_NO_START,   _BAD,        _BAD,        _ENDED_TWICE),
    RecordKind.TRANSPORT_ERROR:     (_TRANSPORT,  _TRANSPORT,  _TRANSPORT,  _AFTER_END),
    RecordKind.BAD_TRANSPORT_ERROR: (_BAD,        _BAD,        _BAD,        _AFTER_END),
    RecordKind.UNKNOWN:             (_UNKNOWN,    _UNKNOWN,    _UNKNOWN,    _AFTER_END),
    RecordKind.END_OF_SOURCE:       (_NO_END,     _NO_END,     _NO_END,     _CLOSED),
    RecordKind.SOURCE_FAILS:        (_SOURCE,     _SOURCE,     _SOURCE,     _SOURCE),
    RecordKind.ABORTED:             (_ABORT,      _ABORT,      _ABORT,      _ABORT),
}
# fmt: on
"""What each kind means in each of `STATES`. Row n is line 05.Tn of the contract."""

_COLUMN: Final = {state: column for column, state in enumerate(STATES)}


def look_up(kind: RecordKind, state: ParserState) -> Cell:
    """The cell for this kind in this state, which is one of `STATES`."""
    return TRANSITIONS[kind][_COLUMN[state]]
