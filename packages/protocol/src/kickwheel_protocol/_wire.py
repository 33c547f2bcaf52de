"""Records to their wire form."""

import msgspec

from ._events import MessageAccepted, ModelChunkReceived, RunFinished, ToolFinished, ToolStarted
from ._json import thaw_json
from ._record import Record
from ._tools import Invalid, ToolContext, Valid

_encode = msgspec.json.Encoder().encode


def _event(record):
    kind = type(record)
    if kind is MessageAccepted or kind is ToolFinished:
        return {"type": record.type, "sequence": record.sequence, "payload": {"message": record.message}}
    if kind is ModelChunkReceived:
        return {"type": record.type, "sequence": record.sequence, "payload": {"chunk": record.chunk}}
    if kind is ToolStarted:
        return {"type": record.type, "sequence": record.sequence, "payload": {"toolCall": record.tool_call}}
    if kind is RunFinished:
        return {"type": record.type, "sequence": record.sequence, "payload": {"result": record.result}}
    if kind.__base__ is not Record or kind is Valid or kind is Invalid or kind is ToolContext:
        raise TypeError(f"{kind.__name__} has no wire form")
    return record


def to_wire(record: object) -> dict[str, object]:
    """Wire form"""
    return thaw_json(msgspec.to_builtins(_event(record)))


def dump_json(record: object) -> str:
    """JSON text"""
    shaped = _event(record)
    try:
        return _encode(shaped).decode()
    except UnicodeEncodeError:
        import json, re

        text = json.dumps(to_wire(record), ensure_ascii=False, separators=(",", ":"))
        return re.sub("[\ud800-\udfff]", lambda m: f"\\u{ord(m[0]):04x}", text)
