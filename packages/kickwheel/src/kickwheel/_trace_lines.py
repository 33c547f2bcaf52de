"""One printed line an event. It holds no words of a language and asks for no width: the same everywhere."""

import json
from collections.abc import Mapping

from kickwheel._output import Output, one_line, shorten

_PAYLOAD_LIMIT = 100
_KIND_STYLES = {
    "message.accepted": "cyan",
    "model.chunk": "blue",
    "tool.started": "magenta",
    "tool.finished": "magenta",
    "run.finished": "green",
}

Wire = Mapping[str, object]


def event_line(event: Wire, out: Output) -> str:
    """Sequence, event, discriminant, ids, and the payload in short."""
    kind = str(event["type"])
    what, ids, payload = _describe(kind, _table(event, "payload"))
    style = "red" if kind == "run.finished" and what != "completed" else _KIND_STYLES[kind]
    return _line(event["sequence"], kind, what, ids, payload, style, out)


def prologue_line(event: Wire, out: Output) -> str:
    """An event of checkpoint 00: its own fields are the payload."""
    kind = str(event["type"])
    own = {key: value for key, value in event.items() if key not in ("type", "sequence")}
    return _line(event["sequence"], kind, "", "", _compact(own), "cyan", out, wide=22)


def _line(
    sequence: object, kind: str, what: str, ids: str, payload: str, style: str, out: Output, *, wide: int = 16
) -> str:
    cells = [f"{sequence!s:>3}", out.style(f"{kind:<{wide}}", style)]
    if what:
        cells.append(f"{one_line(what):<10}")
    if ids:
        cells.append(out.style(f"{shorten(one_line(ids), 60):<24}", "dim"))
    cells.append(shorten(one_line(payload), _PAYLOAD_LIMIT))
    return "  ".join(cells).rstrip()


def _describe(kind: str, payload: Wire) -> tuple[str, str, str]:
    if kind == "message.accepted":
        message = _table(payload, "message")
        return str(message["role"]), str(message["id"]), _compact(message["content"])
    if kind == "model.chunk":
        chunk = _table(payload, "chunk")
        if chunk["type"] == "toolCall":
            call = _table(chunk, "toolCall")
            return "toolCall", str(call["id"]), _call_text(call)
        return "textDelta", str(chunk["requestId"]), _compact(chunk["delta"])
    if kind == "tool.started":
        call = _table(payload, "toolCall")
        return "toolCall", str(call["id"]), _call_text(call)
    if kind == "tool.finished":
        message = _table(payload, "message")
        mark = "error " if message["isError"] is True else ""
        return "toolResult", str(message["id"]), f"{mark}{message['content']!s}"
    return _describe_result(_table(payload, "result"))


def _describe_result(result: Wire) -> tuple[str, str, str]:
    status = str(result["status"])
    if status == "completed":
        return status, "", _compact(result["finalText"])
    if status == "cancelled":
        return status, "", _compact(result["reason"])
    if status == "maxSteps":
        return status, "", str(result["maxSteps"])
    error = _table(result, "error")
    return status, "", f"{error['code']} {_compact(error['message'])}"


def _call_text(call: Wire) -> str:
    return f"{call['name']} {_compact(call['arguments'])}"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _table(value: Wire, key: str) -> Wire:
    inner = value[key]
    assert isinstance(inner, dict)
    return inner  # pyright: ignore[reportUnknownVariableType]
