"""Typed, deeply frozen records, wire form and transcript checks for agent runtimes.

Every record validates and freezes what it is given, so an instance that exists can be trusted: passing it
on needs no copy, and a snapshot of it is the same object. Outside data comes in through `freeze_json` and
the parsers, goes out through `to_wire` and `dump_json`, and `validate_transcript` says what is wrong with
it without ever raising.
"""

from ._errors import ProtocolError
from ._events import (
    AgentEvent,
    MessageAccepted,
    ModelChunkReceived,
    RunFinished,
    ToolFinished,
    ToolStarted,
)
from ._json import JsonArray, JsonObject, JsonPrimitive, JsonValue, freeze_json, thaw_json
from ._linkage import TranscriptIssue, TranscriptIssueCode
from ._messages import (
    AssistantBlock,
    AssistantMessage,
    Message,
    MessageId,
    TextBlock,
    ToolCall,
    ToolCallId,
    ToolResultMessage,
    UserMessage,
)
from ._model import (
    ModelChunk,
    ModelRequest,
    ModelRequestId,
    ModelResponse,
    ModelResponseId,
    StopReason,
    TextDeltaChunk,
    ToolCallChunk,
    Usage,
)
from ._parse import (
    parse_chunk,
    parse_event,
    parse_message,
    parse_messages,
    parse_request,
    parse_response,
    parse_run_result,
)
from ._ports import Model, ModelStream, Signal
from ._runs import CancelledRun, CompletedRun, FailedRun, MaxStepsRun, RunError, RunResult
from ._tools import Invalid, Tool, ToolContext, ToolValidation, Valid
from ._transcript import validate_transcript
from ._wire import WireRecord, dump_json, to_wire

__all__ = [
    "AgentEvent",
    "AssistantBlock",
    "AssistantMessage",
    "CancelledRun",
    "CompletedRun",
    "FailedRun",
    "Invalid",
    "JsonArray",
    "JsonObject",
    "JsonPrimitive",
    "JsonValue",
    "MaxStepsRun",
    "Message",
    "MessageAccepted",
    "MessageId",
    "Model",
    "ModelChunk",
    "ModelChunkReceived",
    "ModelRequest",
    "ModelRequestId",
    "ModelResponse",
    "ModelResponseId",
    "ModelStream",
    "ProtocolError",
    "RunError",
    "RunFinished",
    "RunResult",
    "Signal",
    "StopReason",
    "TextBlock",
    "TextDeltaChunk",
    "Tool",
    "ToolCall",
    "ToolCallChunk",
    "ToolCallId",
    "ToolContext",
    "ToolFinished",
    "ToolResultMessage",
    "ToolStarted",
    "ToolValidation",
    "TranscriptIssue",
    "TranscriptIssueCode",
    "Usage",
    "UserMessage",
    "Valid",
    "WireRecord",
    "dump_json",
    "freeze_json",
    "parse_chunk",
    "parse_event",
    "parse_message",
    "parse_messages",
    "parse_request",
    "parse_response",
    "parse_run_result",
    "thaw_json",
    "to_wire",
    "validate_transcript",
]

for _value in [globals()[_name] for _name in __all__]:
    if getattr(_value, "__module__", "").startswith(f"{__name__}._") and isinstance(_value, type):
        _value.__module__ = __name__  # the short path, in tracebacks and pickles
