"""Records to their wire form: plain built-ins, or compact JSON text."""

from typing import Final, TypeAlias, cast

import msgspec

from ._checks import not_a
from ._events import MessageAccepted, ModelChunkReceived, RunFinished, ToolFinished, ToolStarted
from ._json import thaw_json
from ._linkage import TranscriptIssue
from ._messages import AssistantMessage, TextBlock, ToolCall, ToolResultMessage, UserMessage
from ._model import ModelRequest, ModelResponse, TextDeltaChunk, ToolCallChunk, Usage
from ._record import Record
from ._runs import CancelledRun, CompletedRun, FailedRun, MaxStepsRun, RunError
from ._tools import Invalid, ToolContext, Valid

WireRecord: TypeAlias = (
    TextBlock
    | ToolCall
    | UserMessage
    | AssistantMessage
    | ToolResultMessage
    | ModelRequest
    | TextDeltaChunk
    | ToolCallChunk
    | Usage
    | ModelResponse
    | MessageAccepted
    | ModelChunkReceived
    | ToolStarted
    | ToolFinished
    | RunFinished
    | CompletedRun
    | CancelledRun
    | MaxStepsRun
    | FailedRun
    | RunError
    | TranscriptIssue
)
"""The records that have a wire form: all but `Valid`, `Invalid` and `ToolContext`, which never leave a
process.
"""

PAYLOADS: Final = (
    (MessageAccepted, "message", "message"),
    (ModelChunkReceived, "chunk", "chunk"),
    (ToolStarted, "tool_call", "toolCall"),
    (ToolFinished, "message", "message"),
    (RunFinished, "result", "result"),
)
"""Events are flat as records and nested on the wire: the class, its field, and that field's key in
`payload`.
"""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, object]).decode


def to_wire(record: WireRecord) -> dict[str, object]:
    """Return a record's wire form: plain dicts, lists and scalars, fresh at each call (checkpoint 03).
    O(size).

    Discriminant first, then the fields in the order of the record, under camelCase keys; an event's own
    field sits in `payload`. Raises `TypeError` for anything without a wire form.
    """
    shape = _wire_shape(record)
    try:
        return _decode(_encode(shape))  # two passes in C are faster than one in Python
    except UnicodeEncodeError:  # a text may hold what UTF-8 cannot
        plain: object = msgspec.to_builtins(shape)
        return cast(dict[str, object], thaw_json(plain))


def dump_json(record: WireRecord) -> str:
    r"""Return the compact JSON text of a record's wire form: no spaces, keys in wire order (checkpoint 03).
    O(size).

    Non-ASCII characters stand as they are, except that a lone surrogate is written as `\ud83d`, so that the
    text can always be encoded. Raises `TypeError` for anything without a wire form.
    """
    try:
        return _encode(_wire_shape(record)).decode()
    except UnicodeEncodeError:
        return _dump_escaped(to_wire(record))


def _dump_escaped(plain: dict[str, object]) -> str:
    from json import dumps  # here, and `re` too, since hardly any text holds a lone surrogate
    from re import sub

    text = dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _wire_shape(record: object) -> object:
    """Return what msgspec writes for a record: the record itself, whose class names its tag and keys, or a
    dict.
    """
    kind = type(record)
    if not issubclass(kind, Record) or kind is Valid or kind is Invalid or kind is ToolContext:
        raise TypeError(f"no wire form: {not_a('a record that has one', record)}")
    for event, field, key in PAYLOADS:
        if type(record) is event:
            return {
                "type": record.type,
                "sequence": record.sequence,
                "payload": {key: getattr(record, field)},
            }
    return record
