"""What one transport record is: its kind, what it holds, and what is wrong with it.

Wire words (`response_start`, `tool_call`, `responseId`, …) stop here and in `_parser.py`: what leaves is a
`Reading` made of the protocol's own records. Nothing here knows the order of records.
"""

from collections.abc import Container, Mapping
from typing import NamedTuple, TypeAlias

from kickwheel_protocol import JsonObject, ProtocolError, StopReason, TextBlock, ToolCall, Usage, freeze_json

from ._inspect import is_filled, is_id
from ._table import RecordKind

Record: TypeAlias = Mapping[str, object]
"""A record whose keys are safe to look up."""


class Started(NamedTuple):
    """A good `response_start`."""

    response_id: str


class Ended(NamedTuple):
    """A good `response_end`."""

    stop_reason: StopReason
    usage: Usage


class Upstream(NamedTuple):
    """A good `transport_error`: the provider's own words."""

    code: str
    message: str


class Reading(NamedTuple):
    """One record, read: its row in the table, and then what it holds or what is wrong with it."""

    kind: RecordKind
    value: Started | TextBlock | ToolCall | Ended | Upstream | None = None
    fault: str = ""


def read_start(record: Record) -> Reading:
    """Read a `response_start`."""
    response_id, role = record.get("responseId"), record.get("role")
    if not is_id(response_id):
        return Reading(RecordKind.BAD_START, fault="responseId must be a string that is not blank")
    if type(role) is not str or role != "assistant":
        return Reading(RecordKind.BAD_START, fault='role must be "assistant"')
    return Reading(RecordKind.START, Started(response_id))


def read_text(record: Record) -> Reading:
    """Read a `text_delta`; the text may be empty."""
    text = record.get("text")
    if type(text) is not str:
        return Reading(RecordKind.BAD_TEXT, fault="text must be a string")
    return Reading(RecordKind.TEXT, TextBlock(text))


def read_call(record: Record, seen: Container[str]) -> Reading:
    """Read a `tool_call`; `seen` are the call ids of this response so far.

    `freeze_json` makes the one deep copy and proves that the arguments are JSON; nothing is believed
    before it.
    """
    call_id, name = record.get("id"), record.get("name")
    if not is_id(call_id):
        return Reading(RecordKind.BAD_CALL, fault="id must be a string that is not blank")
    if not is_id(name):
        return Reading(RecordKind.BAD_CALL, fault="name must be a string that is not blank")
    try:
        arguments = freeze_json(record.get("arguments"), path="arguments")
    except ProtocolError as error:
        return Reading(RecordKind.BAD_CALL, fault=str(error))
    except RecursionError:  # a caller that has used up the stack itself: still an error of ours
        return Reading(RecordKind.BAD_CALL, fault="arguments are nested deeper than the stack that is left")
    if not isinstance(arguments, JsonObject):
        return Reading(RecordKind.BAD_CALL, fault="arguments must be an object")
    if call_id in seen:
        return Reading(RecordKind.CALL_ID_SEEN, fault="id was used by an earlier tool_call of this response")
    return Reading(RecordKind.CALL, ToolCall(call_id, name, arguments))


def read_transport_error(record: Record) -> Reading:
    """Read a `transport_error`."""
    code, message = record.get("code"), record.get("message")
    if not is_filled(code):
        return Reading(RecordKind.BAD_TRANSPORT_ERROR, fault="code must be a string that is not blank")
    if not is_filled(message):
        return Reading(RecordKind.BAD_TRANSPORT_ERROR, fault="message must be a string that is not blank")
    return Reading(RecordKind.TRANSPORT_ERROR, Upstream(code, message))
