"""Untrusted wire data to records."""

from collections.abc import Callable
from typing import NoReturn, TypeVar

from ._checks import id_fault, type_name
from ._errors import ProtocolError, Step, render_path
from ._events import AgentEvent, MessageAccepted, ModelChunkReceived, RunFinished, ToolFinished, ToolStarted
from ._json import JsonObject
from ._messages import AssistantMessage, Message, TextBlock, ToolCall, ToolResultMessage, UserMessage, is_message
from ._model import ModelChunk, ModelRequest, ModelResponse, TextDeltaChunk, ToolCallChunk, Usage
from ._runs import CancelledRun, CompletedRun, FailedRun, MaxStepsRun, RunError, RunResult


class missing:  # noqa: N801
    pass


MISSING = missing()


class Refusal(Exception):
    def __init__(self, reason, *steps):
        self.reason = reason
        self.steps = list(steps)
        self.tail = ""


def _fields(value):
    if type(value) is not dict and type(value) is not JsonObject:
        raise Refusal(f"expected an object, not {type_name(value)}")
    for key in value:
        if type(key) is not str:
            raise Refusal("every key must be a string")
    return value


def _nested(read, value, *steps):
    try:
        return read(value)
    except Refusal as r:
        r.steps.extend(steps)
        raise


def _build(cls, names, *values):
    try:
        return cls(*values)
    except ProtocolError as e:
        for attr, key in names:
            if e.path.startswith(attr):
                r = Refusal(str(e).split(": ", 1)[-1], key)
                r.tail = e.path[len(attr):]
                raise r from None
        raise


def _tag(fields, key):
    tag = fields.get(key, MISSING)
    if type(tag) is not str:
        raise Refusal(f"expected a string, not {type_name(tag)}", key)
    return tag


def _id(fields, key):
    v = fields.get(key, MISSING)
    if type(v) is not str:
        raise Refusal(f"expected a string, not {type_name(v)}", key)
    f = id_fault(v)
    if f:
        raise Refusal(f, key)
    return v


def _expect(fields, key, want):
    tag = _tag(fields, key)
    if tag != want:
        raise Refusal(f"must be {want}", key)


def _text_block(f):
    return _build(TextBlock, (("text", "text"),), f.get("text", MISSING))


def _tool_call_fields(f):
    return _build(ToolCall, (("id", "id"), ("name", "name"), ("arguments", "arguments")), f.get("id", MISSING), f.get("name", MISSING), f.get("arguments", MISSING))


def _tool_call(value):
    if type(value) is ToolCall:
        return value
    f = _fields(value)
    _expect(f, "type", "toolCall")
    return _tool_call_fields(f)


def _block(value):
    if type(value) is TextBlock or type(value) is ToolCall:
        return value
    f = _fields(value)
    tag = _tag(f, "type")
    if tag == "text":
        return _text_block(f)
    if tag == "toolCall":
        return _tool_call_fields(f)
    raise Refusal("must be text or toolCall", "type")


def _items(read, value):
    if type(value) is not list and type(value) is not tuple:
        raise Refusal(f"expected an array, not {type_name(value)}")
    out = []
    for i, x in enumerate(value):
        out.append(_nested(read, x, i))
    if type(value) is tuple and all(a is b for a, b in zip(out, value)):
        return value
    return tuple(out)


def _user(f):
    return _build(UserMessage, (("id", "id"), ("content", "content")), f.get("id", MISSING), f.get("content", MISSING))


def _assistant(f):
    i = _id(f, "id")
    return AssistantMessage(i, _nested(lambda v: _items(_block, v), f.get("content", MISSING), "content"))


_RESULT = (("id", "id"), ("tool_call_id", "toolCallId"), ("tool_name", "toolName"), ("content", "content"), ("is_error", "isError"))


def _result(f):
    return _build(ToolResultMessage, _RESULT, *(f.get(k, MISSING) for _, k in _RESULT))


_MESSAGES = {"user": _user, "assistant": _assistant, "toolResult": _result}


def _message(value):
    if is_message(value):
        return value
    f = _fields(value)
    read = _MESSAGES.get(_tag(f, "role"))
    if read is None:
        raise Refusal("must be user, assistant or toolResult", "role")
    return read(f)


def _only(cls, read, key, tag):
    def reader(value):
        if type(value) is cls:
            return value
        f = _fields(value)
        _expect(f, key, tag)
        return read(f)

    return reader


_assistant_message = _only(AssistantMessage, _assistant, "role", "assistant")
_tool_result = _only(ToolResultMessage, _result, "role", "toolResult")


def _messages(value):
    return _items(_message, value)


def _request(value):
    if type(value) is ModelRequest:
        return value
    f = _fields(value)
    i = _id(f, "id")
    return ModelRequest(i, _nested(_messages, f.get("messages", MISSING), "messages"))


def _chunk(value):
    if type(value) is TextDeltaChunk or type(value) is ToolCallChunk:
        return value
    f = _fields(value)
    tag = _tag(f, "type")
    if tag == "textDelta":
        return _build(TextDeltaChunk, (("request_id", "requestId"), ("delta", "delta")), f.get("requestId", MISSING), f.get("delta", MISSING))
    if tag == "toolCall":
        i = _id(f, "requestId")
        return ToolCallChunk(i, _nested(_tool_call, f.get("toolCall", MISSING), "toolCall"))
    raise Refusal("must be textDelta or toolCall", "type")


def _usage(value):
    if type(value) is Usage:
        return value
    f = _fields(value)
    return _build(Usage, (("input_tokens", "inputTokens"), ("output_tokens", "outputTokens")), f.get("inputTokens", MISSING), f.get("outputTokens", MISSING))


def _response(value):
    if type(value) is ModelResponse:
        return value
    f = _fields(value)
    i = _id(f, "id")
    r = _id(f, "requestId")
    m = _nested(_assistant_message, f.get("message", MISSING), "message")
    s = _tag(f, "stopReason")
    if s != "stop" and s != "toolCall":
        raise Refusal("must be stop or toolCall", "stopReason")
    return ModelResponse(i, r, m, s, _nested(_usage, f.get("usage", MISSING), "usage"))


def _error(value):
    if type(value) is RunError:
        return value
    f = _fields(value)
    return _build(RunError, (("code", "code"), ("message", "message")), f.get("code", MISSING), f.get("message", MISSING))


def _run(value):
    t = type(value)
    if t is CompletedRun or t is CancelledRun or t is MaxStepsRun or t is FailedRun:
        return value
    f = _fields(value)
    tag = _tag(f, "status")
    if tag not in ("completed", "cancelled", "maxSteps", "failed"):
        raise Refusal("unknown", "status")
    m = _nested(_messages, f.get("messages", MISSING), "messages")
    if tag == "completed":
        return _build(CompletedRun, (("final_text", "finalText"),), m, f.get("finalText", MISSING))
    if tag == "cancelled":
        return _build(CancelledRun, (("reason", "reason"),), m, f.get("reason", MISSING))
    if tag == "maxSteps":
        return _build(MaxStepsRun, (("max_steps", "maxSteps"),), m, f.get("maxSteps", MISSING))
    return FailedRun(m, _nested(_error, f.get("error", MISSING), "error"))


_EVENTS = {
    "message.accepted": (MessageAccepted, "message", _message),
    "model.chunk": (ModelChunkReceived, "chunk", _chunk),
    "tool.started": (ToolStarted, "toolCall", _tool_call),
    "tool.finished": (ToolFinished, "message", _tool_result),
    "run.finished": (RunFinished, "result", _run),
}


def _event(value):
    t = type(value)
    if t is MessageAccepted or t is ModelChunkReceived or t is ToolStarted or t is ToolFinished or t is RunFinished:
        return value
    f = _fields(value)
    found = _EVENTS.get(_tag(f, "type"))
    if found is None:
        raise Refusal("unknown", "type")
    cls, key, read = found
    s = f.get("sequence", MISSING)
    if type(s) is not int or not 0 <= s < 2**53:
        raise Refusal("expected a count", "sequence")
    p = _nested(_fields, f.get("payload", MISSING), "payload")
    return cls(s, _nested(read, p.get(key, MISSING), key, "payload"))


T = TypeVar("T")


def _parse(read, value):
    try:
        return read(value)
    except Refusal as r:
        path = render_path(r.steps[::-1]) + r.tail
        reason = r.reason
    raise ProtocolError(path, reason)


def parse_message(value: object) -> Message:
    """Parse."""
    return _parse(_message, value)


def parse_messages(value: object) -> tuple[Message, ...]:
    """Parse."""
    return _parse(_messages, value)


def parse_request(value: object) -> ModelRequest:
    """Parse."""
    return _parse(_request, value)


def parse_chunk(value: object) -> ModelChunk:
    """Parse."""
    return _parse(_chunk, value)


def parse_response(value: object) -> ModelResponse:
    """Parse."""
    return _parse(_response, value)


def parse_event(value: object) -> AgentEvent:
    """Parse."""
    return _parse(_event, value)


def parse_run_result(value: object) -> RunResult:
    """Parse."""
    return _parse(_run, value)
