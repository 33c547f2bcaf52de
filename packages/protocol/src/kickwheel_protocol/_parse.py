"""Untrusted data in wire form to records: tables of what each record is read from, and the code that walks
them.

A reader takes any object and returns what it read or raises `Refusal`. A finished record is taken as it is;
everything else has to be an exact dict. No code of a foreign object runs: every test is by identity of the
type, and keys are seen to be exact strings before any of them is looked up.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeAlias, TypeVar, cast

from msgspec import Struct

from ._checks import DICT, LIST, MISSING, TUPLE, bool_fault, count_fault, id_fault, not_a, text_fault
from ._errors import Refusal
from ._events import AgentEvent, MessageAccepted, ModelChunkReceived, RunFinished, ToolFinished, ToolStarted
from ._json import JsonObject, read_object
from ._messages import (
    AssistantBlock,
    AssistantMessage,
    Message,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from ._model import ModelChunk, ModelRequest, ModelResponse, StopReason, TextDeltaChunk, ToolCallChunk, Usage
from ._runs import CancelledRun, CompletedRun, FailedRun, MaxStepsRun, RunError, RunResult

T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)
Reader: TypeAlias = Callable[[object], T]
Fields: TypeAlias = tuple[tuple[str, Reader[object]], ...]


class Shape(Struct, Generic[R_co], frozen=True):
    """How one record is read: its discriminant's value, and each field's wire key and reader in table
    order.
    """

    kind: Callable[..., R_co]
    tag: str
    fields: Fields


def parse_message(value: object) -> Message:
    """Read one message from its wire form (checkpoint 03).

    A finished message comes back as the same object. Extra keys are dropped. Raises `ProtocolError` whose
    path names the first fault in wire keys, `content[0].name` for instance, and no other exception whatever
    is given. O(size).
    """
    return _parse(read_message, value)


def parse_messages(value: object) -> tuple[Message, ...]:
    """Read a list or tuple of messages, records and wire data mixed at will (checkpoint 03).

    A tuple of finished messages comes back as the same object. Raises `ProtocolError`; its path starts with
    the index.
    """
    return _parse(read_messages, value)


def parse_request(value: object) -> ModelRequest:
    """Read a model request from its wire form (checkpoint 03). Raises `ProtocolError`."""
    return _parse(read_request, value)


def parse_chunk(value: object) -> ModelChunk:
    """Read a chunk from its wire form (checkpoint 03). Raises `ProtocolError`."""
    return _parse(read_chunk, value)


def parse_response(value: object) -> ModelResponse:
    """Read a response from its wire form (checkpoint 03). Raises `ProtocolError`.

    Whether its stop reason and ids agree with anything else is not looked at here: see checkpoints 04 and 05.
    """
    return _parse(read_response, value)


def parse_event(value: object) -> AgentEvent:
    """Read an agent event from its wire form (checkpoint 03). Raises `ProtocolError`."""
    return _parse(read_event, value)


def parse_run_result(value: object) -> RunResult:
    """Read a run result from its wire form (checkpoint 03). Raises `ProtocolError`."""
    return _parse(read_run_result, value)


def _parse(read: Reader[T], value: object) -> T:
    try:
        return read(value)
    except Refusal as refusal:
        error = refusal.to_error()
    try:
        raise error
    finally:
        del error  # which holds this frame: the refused value would wait for the garbage collector


# Readers of scalars.


def _scalar(fault: Callable[[object], str]) -> Reader[object]:
    def read(value: object) -> object:
        if reason := fault(value):
            raise Refusal(reason)
        return value

    return read


def _stop_reason(value: object) -> StopReason:
    if type(value) is not str:
        raise Refusal(not_a("a string", value))
    if value == "stop":
        return "stop"
    if value == "toolCall":
        return "toolCall"
    raise Refusal("must be stop or toolCall")


# Readers of records.


def wire_fields(value: object) -> dict[str, object]:
    """Return the fields of a wire object, whose keys are then known to be exact strings."""
    if type(value) is not DICT and type(value) is not JsonObject:
        raise Refusal(not_a("an object", value))
    for key in value:
        if type(key) is not str:
            raise Refusal(f"every key must be a string: {not_a('a string', key)}")
    return cast(dict[str, object], value)  # the loop has shown it


def _within(read: Reader[T], fields: dict[str, object], key: str) -> T:
    try:
        return read(fields.get(key, MISSING))
    except Refusal as refusal:
        raise refusal.passed(key) from None


def _record(kind: Callable[..., T], fields: Fields) -> Reader[T]:
    """Make the reader of a record without discriminant."""

    def read(value: object) -> T:
        if type(value) is kind:
            return cast(T, value)
        wire = wire_fields(value)
        return kind(*[_within(read_field, wire, key) for key, read_field in fields])

    return read


def _one_of(discriminant: str, *shapes: Shape[T]) -> Reader[T]:
    """Make the reader of a union: the discriminant tells which of the shapes the rest has to have."""
    by_tag = {shape.tag: shape for shape in shapes}
    wanted = " or ".join(by_tag)

    def read(value: object) -> T:
        # [solution 03.2]
        for shape in shapes:
            if type(value) is shape.kind:
                return cast(T, value)
        wire = wire_fields(value)
        tag = wire.get(discriminant, MISSING)
        if type(tag) is not str:
            raise Refusal(not_a("a string", tag), discriminant)
        if tag not in by_tag:
            raise Refusal(f"must be {wanted}", discriminant)
        shape = by_tag[tag]
        return shape.kind(*[_within(read_field, wire, key) for key, read_field in shape.fields])
        # [/solution]

    return read


def _items(read: Reader[T]) -> Reader[tuple[T, ...]]:
    """Make the reader of an array; a tuple of finished records comes back as it is."""

    def read_items(value: object) -> tuple[T, ...]:
        if type(value) is not LIST and type(value) is not TUPLE:
            raise Refusal(not_a("a list or tuple", value))
        items: list[T] = []
        same = type(value) is tuple
        for item in value:
            try:
                items.append(read(item))
            except Refusal as refusal:
                raise refusal.passed(len(items)) from None
            same = same and items[-1] is item
        return cast(tuple[T, ...], value) if same else tuple(items)

    return read_items


def _in_payload(key: str, read: Reader[T]) -> Reader[T]:
    """Make the reader of an event's payload: an object that holds one field."""

    def read_payload(value: object) -> T:
        return _within(read, wire_fields(value), key)

    return read_payload


# The tables: one row a record, fields in the order in which faults are looked for.

_ID: Final = _scalar(id_fault)
_TEXT: Final = _scalar(text_fault)
_COUNT: Final = _scalar(count_fault)
_BOOL: Final = _scalar(bool_fault)

_TEXT_BLOCK: Final = Shape(TextBlock, "text", (("text", _TEXT),))
_TOOL_CALL: Final = Shape(ToolCall, "toolCall", (("id", _ID), ("name", _ID), ("arguments", read_object)))
read_tool_call: Final = _one_of("type", _TOOL_CALL)
read_block: Final[Reader[AssistantBlock]] = _one_of("type", _TEXT_BLOCK, _TOOL_CALL)

_USER: Final = Shape(UserMessage, "user", (("id", _ID), ("content", _TEXT)))
_ASSISTANT: Final = Shape(AssistantMessage, "assistant", (("id", _ID), ("content", _items(read_block))))
_TOOL_RESULT: Final = Shape(
    ToolResultMessage,
    "toolResult",
    (("id", _ID), ("toolCallId", _ID), ("toolName", _ID), ("content", _TEXT), ("isError", _BOOL)),
)
read_message: Final[Reader[Message]] = _one_of("role", _USER, _ASSISTANT, _TOOL_RESULT)
read_messages: Final = _items(read_message)

read_request: Final = _record(ModelRequest, (("id", _ID), ("messages", read_messages)))
read_chunk: Final[Reader[ModelChunk]] = _one_of(
    "type",
    Shape(TextDeltaChunk, "textDelta", (("requestId", _ID), ("delta", _TEXT))),
    Shape(ToolCallChunk, "toolCall", (("requestId", _ID), ("toolCall", read_tool_call))),
)
_USAGE: Final = _record(Usage, (("inputTokens", _COUNT), ("outputTokens", _COUNT)))
read_response: Final = _record(
    ModelResponse,
    (
        ("id", _ID),
        ("requestId", _ID),
        ("message", _one_of("role", _ASSISTANT)),
        ("stopReason", _stop_reason),
        ("usage", _USAGE),
    ),
)

_ERROR: Final = _record(RunError, (("code", _ID), ("message", _TEXT)))
read_run_result: Final[Reader[RunResult]] = _one_of(
    "status",
    Shape(CompletedRun, "completed", (("messages", read_messages), ("finalText", _TEXT))),
    Shape(CancelledRun, "cancelled", (("messages", read_messages), ("reason", _TEXT))),
    Shape(MaxStepsRun, "maxSteps", (("messages", read_messages), ("maxSteps", _COUNT))),
    Shape(FailedRun, "failed", (("messages", read_messages), ("error", _ERROR))),
)


def _event(kind: Callable[..., T], tag: str, key: str, read: Reader[object]) -> Shape[T]:
    return Shape(kind, tag, (("sequence", _COUNT), ("payload", _in_payload(key, read))))


read_event: Final[Reader[AgentEvent]] = _one_of(
    "type",
    _event(MessageAccepted, "message.accepted", "message", read_message),
    _event(ModelChunkReceived, "model.chunk", "chunk", read_chunk),
    _event(ToolStarted, "tool.started", "toolCall", read_tool_call),
    _event(ToolFinished, "tool.finished", "message", _one_of("role", _TOOL_RESULT)),
    _event(RunFinished, "run.finished", "result", read_run_result),
)
