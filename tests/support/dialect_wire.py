"""Helpers of the dialect tests: bodies as they stand on the wire, and what the parser makes of them."""

import json
from collections.abc import Iterable
from typing import cast

from kickwheel_protocol import ModelChunk, ModelResponse, TextDeltaChunk, ToolCallChunk, thaw_json
from kickwheel_provider_adapter import FixtureProviderError, ResponseParser, dialects

Frame = dict[str, object]


def dump(frame: object) -> bytes:
    """Compact JSON with raw non-ASCII characters, as most servers write it."""
    return json.dumps(frame, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def sse(*frames: object, done: bool = False) -> bytes:
    """Server-sent events, one a frame; a frame given as `(name, frame)` has an event name."""
    body = b""
    for given in frames:
        frame = given
        if isinstance(given, tuple):
            name, frame = cast("tuple[str, object]", given)
            body += f"event: {name}\n".encode()
        body += b"data: " + dump(frame) + b"\n\n"
    return body + (b"data: [DONE]\n\n" if done else b"")


def ndjson(*frames: object) -> bytes:
    """One JSON object a line."""
    return b"".join(dump(frame) + b"\n" for frame in frames)


def chat(delta: Frame | None = None, finish: object = None, **more: object) -> Frame:
    """One chunk of Chat Completions."""
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def piece(**fields: object) -> Frame:
    """One entry of `tool_calls`: `name` and `arguments` go into `function`, the rest stands beside it."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return chat({"tool_calls": [{**fields, "function": function}]})


class Outcome:
    """What the parser makes of records: chunks, then a response or an error."""

    def __init__(self, records: Iterable[Frame], request_id: str = "request-001") -> None:
        parser = ResponseParser(request_id)
        self.chunks: list[ModelChunk] = []
        self.response: ModelResponse | None = None
        self.error: FixtureProviderError | None = None
        try:
            for record in records:
                chunk = parser.feed(record)
                if chunk is not None:
                    self.chunks.append(chunk)
            self.response = parser.close()
        except FixtureProviderError as error:
            self.error = error

    @property
    def text(self) -> str:
        """The joined text deltas."""
        return "".join(chunk.delta for chunk in self.chunks if isinstance(chunk, TextDeltaChunk))

    @property
    def calls(self) -> list[tuple[str, str, object]]:
        """Id, name and plain arguments of the calls that were passed on."""
        calls = [chunk.tool_call for chunk in self.chunks if isinstance(chunk, ToolCallChunk)]
        return [(call.id, call.name, thaw_json(call.arguments)) for call in calls]

    @property
    def verdict(self) -> tuple[object, ...]:
        """Everything that can be observed, in comparable form."""
        error = self.error
        told = None if error is None else (error.code, error.provider_code, error.record_index, str(error))
        return (self.chunks, self.response, told)

    @property
    def ending(self) -> str:
        """`stop`, `toolCall`, `MT`, `TE <provider code>`, or another error code without its prefix."""
        if self.response is not None:
            return self.response.stop_reason
        if self.error is None:
            raise AssertionError("neither a response nor an error")
        if self.error.code == "PROVIDER_TRANSPORT_ERROR":
            return f"TE {self.error.provider_code}"
        return "MT" if self.error.code == "PROVIDER_MISSING_TERMINAL" else self.error.code


def outcome(name: str, body: bytes) -> Outcome:
    """Decode a body, in one read and in single bytes, and parse it."""
    records = dialects.decode(name, body)
    decoder = dialects.decoder(name)
    single = [record for byte in body for record in decoder.feed(bytes([byte]))] + decoder.close()
    assert single == records, "the records depend on the reads"
    json.dumps(records, allow_nan=False).encode()
    return Outcome(records)
