"""The sans-IO state machine: transport records in, trusted chunks and one response out (checkpoint 05)."""

from collections.abc import Mapping
from typing import Final, NoReturn

from kickwheel_protocol import (
    AssistantBlock,
    AssistantMessage,
    ModelChunk,
    ModelResponse,
    StopReason,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
)

from ._errors import FixtureProviderError, FixtureProviderErrorCode
from ._inspect import as_object, is_blank, is_count, is_id, shown
from ._records import (
    Ended,
    Reading,
    Record,
    Started,
    Upstream,
    read_call,
    read_start,
    read_text,
    read_transport_error,
)
from ._table import Cell, Go, ParserState, RecordKind, Refuse, look_up

_STOP_REASONS: Final[Mapping[str, tuple[RecordKind, StopReason]]] = {
    "stop": (RecordKind.END_STOP, "stop"),
    "tool_call": (RecordKind.END_TOOL_CALL, "toolCall"),
}
"""The wire's words for the end, the row of each, and the protocol's word."""


class ResponseParser:
    """Turns the records of one response into chunks and, at the end, into the response (checkpoint 05).

    It reads nothing, waits for nothing and needs no event loop. `request_id` goes into every chunk and
    into the response; a value that is no string is a `TypeError`, a blank one or one with a lone surrogate
    a `ValueError`.

    After a failure the parser is finished: every later `feed` and `close` raises that same error object.
    """

    __slots__ = (
        "_blocks",
        "_call_ids",
        "_ended",
        "_failure",
        "_fed",
        "_request_id",
        "_response",
        "_response_id",
        "_state",
    )

    def __init__(self, request_id: str) -> None:
        self._request_id = checked_request_id(request_id)
        self._state = ParserState.BEFORE_START
        self._fed = 0
        self._response_id = ""
        self._blocks: list[AssistantBlock] = []
        self._call_ids: set[str] = set()
        self._ended: Ended | None = None
        self._response: ModelResponse | None = None
        self._failure: FixtureProviderError | None = None

    def feed(self, record: object) -> ModelChunk | None:
        """Take the next record, whatever it is.

        Returns the chunk that this record gives, or `None`, which means only that it gives none. Nothing
        of the record is kept by reference. Raises `FixtureProviderError` with the code of the transition
        table and `record_index` = the number of records fed before it; `RuntimeError` after a successful
        `close`.
        """
        self._refuse_if_over()
        reading = self._read(record)
        # [solution 05.1]
        cell = look_up(reading.kind, self._state)
        if not isinstance(cell, Go):
            self._fail(cell, reading)
        self._state = cell.state
        self._fed += 1
        return self._take(reading)
        # [/solution]

    def close(self) -> ModelResponse:
        """Say that the source has ended, and get the response.

        A second `close` returns the same object. Raises `FixtureProviderError` with
        `PROVIDER_MISSING_TERMINAL` and `record_index` = the number of records fed, when no `response_end`
        was among them.
        """
        if self._response is not None:
            return self._response
        self._refuse_if_over()
        # [solution 05.3]
        ended = self._ended
        cell = look_up(RecordKind.END_OF_SOURCE, self._state)
        if ended is None or not isinstance(cell, Go):
            self._fail(cell, Reading(RecordKind.END_OF_SOURCE, fault="the source ended without response_end"))
        message = AssistantMessage(f"message-{self._response_id}", tuple(self._blocks))
        self._response = ModelResponse(
            self._response_id, self._request_id, message, ended.stop_reason, ended.usage
        )
        self._state = cell.state
        return self._response
        # [/solution]

    def _read(self, record: object) -> Reading:
        """Find the record's row. Only its shape and the ids seen so far count here, never the state."""
        fields = as_object(record)
        if fields is None:
            return Reading(RecordKind.UNREADABLE, fault="not an object with string keys")
        kind = fields.get("type")
        if type(kind) is not str:
            return Reading(RecordKind.UNREADABLE, fault="type must be a string")
        match kind:
            case "text_delta":
                return read_text(fields)
            case "tool_call":
                return read_call(fields, self._call_ids)
            case "response_start":
                return read_start(fields)
            case "response_end":
                return self._read_end(fields)
            case "transport_error":
                return read_transport_error(fields)
            case _ if is_blank(kind):
                return Reading(RecordKind.UNREADABLE, fault="type must not be blank")
            case _:
                return Reading(RecordKind.UNKNOWN, fault=f"unknown type {shown(kind)}")

    def _read_end(self, record: Record) -> Reading:
        """Read a `response_end`: id shape, id match, stop reason, usage; the rest is the table's."""
        response_id = record.get("responseId")
        if not is_id(response_id):
            return Reading(RecordKind.END_BAD_ID, fault="responseId must be a string that is not blank")
        if response_id != self._response_id:
            return Reading(RecordKind.END_OTHER_ID, fault="responseId is not that of response_start")
        stop_reason = record.get("stopReason")
        if type(stop_reason) is not str or stop_reason not in _STOP_REASONS:
            return Reading(RecordKind.BAD_END, fault='stopReason must be "stop" or "tool_call"')
        usage = read_usage(record.get("usage"))
        if usage is None:
            return Reading(RecordKind.BAD_END, fault="usage must hold two counts, each under one spelling")
        kind, word = _STOP_REASONS[stop_reason]
        return Reading(kind, Ended(word, usage))

    def _take(self, reading: Reading) -> ModelChunk | None:
        """Keep what an accepted record holds."""
        value = reading.value
        if isinstance(value, TextBlock):
            self._blocks.append(value)
            return TextDeltaChunk(self._request_id, value.text)
        if isinstance(value, ToolCall):
            self._blocks.append(value)
            self._call_ids.add(value.id)
            return ToolCallChunk(self._request_id, value)
        if isinstance(value, Started):
            self._response_id = value.response_id
        elif isinstance(value, Ended):
            self._ended = value
        return None

    def _refuse_if_over(self) -> None:
        if self._failure is not None:
            # Without its old traceback: raised a thousand times, it must not grow a thousand times.
            raise self._failure.with_traceback(None)
        if self._response is not None:
            raise RuntimeError("the response is closed: a parser takes the records of one response")

    def _fail(self, cell: Cell, reading: Reading) -> NoReturn:
        """Make the failure that every later call repeats, and raise it."""
        index = self._fed
        if isinstance(reading.value, Upstream) and cell == Refuse("PROVIDER_TRANSPORT_ERROR"):
            upstream = reading.value
            self._failure = FixtureProviderError(
                "PROVIDER_TRANSPORT_ERROR", upstream.message, record_index=index, provider_code=upstream.code
            )
        else:
            code = cell.code if isinstance(cell, Refuse) else "PROVIDER_INVALID_EVENT"
            text = f"record {index} {self._why(code, reading)}"
            self._failure = FixtureProviderError(code, text, record_index=index)
        raise self._failure

    def _why(self, code: FixtureProviderErrorCode, reading: Reading) -> str:
        if code == "PROVIDER_INVALID_TERMINAL" and self._state is not ParserState.TERMINAL_STORED:
            return "is a response_end whose stopReason does not agree with the tool calls before it"
        return _WHY.get(code) or f"is refused: {reading.fault}"


def read_usage(value: object) -> Usage | None:
    """Read a `usage` object, or give `None` when it breaks a rule.

    Each of the two counts stands under exactly one spelling, camel or snake; both at once are refused even
    when they agree, because nobody could say which one the provider meant.
    """
    usage = as_object(value)
    if usage is None:
        return None
    # [solution 05.2]
    counts: list[int] = []
    for camel, snake in (("inputTokens", "input_tokens"), ("outputTokens", "output_tokens")):
        if camel in usage and snake in usage:
            return None
        count = usage[camel] if camel in usage else usage.get(snake)
        if not is_count(count):
            return None
        counts.append(count)
    return Usage(input_tokens=counts[0], output_tokens=counts[1])
    # [/solution]


def checked_request_id(value: object) -> str:
    """The value as a request id, or a `TypeError` or `ValueError` that says what is wrong with it."""
    if type(value) is not str:
        raise TypeError("the request id must be a string")
    if not is_id(value):
        raise ValueError("the request id must not be blank and must hold no lone surrogate")
    return value


_WHY: Final[Mapping[FixtureProviderErrorCode, str]] = {
    "PROVIDER_MISSING_START": "comes before response_start",
    "PROVIDER_DUPLICATE_START": "is a second response_start",
    "PROVIDER_DUPLICATE_TERMINAL": "is a second response_end",
    "PROVIDER_INVALID_TERMINAL": "comes after response_end",
    "PROVIDER_MISSING_TERMINAL": "is missing: the source ended without response_end",
}
