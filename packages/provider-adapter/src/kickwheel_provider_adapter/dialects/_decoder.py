"""One decoder for all dialects: framing below, a dialect above, and the verdict at the end (05D.39)."""

from collections.abc import Iterable
from typing import Final

from ._anthropic import Anthropic
from ._bedrock_converse import BedrockConverse
from ._dialect import Dialect
from ._errors_in_band import error_in, error_in_unknown
from ._faults import UNKNOWN_FORMAT, BodyFault
from ._framing import Framing
from ._gemini import Gemini
from ._ollama import Ollama
from ._openai_chat import OpenAIChat
from ._openai_responses import OpenAIResponses
from ._response import Record, Response
from ._text import has_surrogate, is_blank

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024  # a whole answer as one document fits; what is larger is no answer

_DIALECTS: Final[dict[str, type[Dialect]]] = {
    dialect.name: dialect
    for dialect in (OpenAIChat, OpenAIResponses, Anthropic, Gemini, Ollama, BedrockConverse)
}


class Decoder:
    """Turns the body of one response into transport records, in reads of any size.

    `feed` gives the records that are complete; the good terminal comes from `close` alone. A fault of the
    body becomes one `transport_error`, after which nothing more comes. Neither method raises for what is in
    the body.
    """

    __slots__ = ("_closed", "_dialect", "_framing", "_over", "_recognised", "_response", "_seen")

    def __init__(self, dialect: type[Dialect], fallback_id: str, max_frame_bytes: int) -> None:
        self._response = Response(fallback_id, max_frame_bytes)
        self._dialect = dialect(self._response)
        self._framing = Framing(self._frame, max_frame_bytes)
        self._closed: bool = False
        self._over: bool = False  # a fault or an error ended the body
        self._seen: bool = False
        self._recognised: bool = False

    def feed(self, data: bytes | bytearray | memoryview) -> list[Record]:
        """Take one read of any length; the records it completes.

        Raises `TypeError` for anything but bytes, `RuntimeError` after `close`.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without a checker
            raise TypeError(f"data must be bytes, bytearray or memoryview, not {type(data).__name__}")
        if self._closed:
            raise RuntimeError("The decoder is closed")
        if self._over or not data:
            return []
        try:
            self._framing.feed(bytes(data))
        except BodyFault as fault:
            self._fail(fault)
        return self._response.take()

    def close(self) -> list[Record]:
        """End the body; its last records, the terminal among them if it has one.

        Raises `RuntimeError` when called again.
        """
        if self._closed:
            raise RuntimeError("The decoder is closed")
        self._closed = True
        if not self._over:
            try:
                self._finish(cut=self._framing.close())
            except BodyFault as fault:
                self._fail(fault)
        return self._response.take()

    def _frame(self, name: str | None, frame: dict[str, object], surrogates: bool) -> None:
        self._seen = True
        error = error_in(name, frame)
        if error is not None:
            raise error
        self._response.surrogates = surrogates
        if self._dialect.recognises(name, frame):
            self._recognised = True
            self._dialect.read(name, frame)
        else:
            error = error_in_unknown(frame)
            if error is not None:
                raise error
            self._dialect.read_unknown(frame)

    def _finish(self, *, cut: bool) -> None:
        response = self._response
        response.flush()
        if (self._seen or self._framing.stray) and not self._recognised:
            raise BodyFault(UNKNOWN_FORMAT, f"No part of the body is {self._dialect.name}")
        if self._framing.done:
            self._dialect.body_said_done()
        if cut or response.stop_word is None:
            return  # no terminal: the parser says so
        fault = response.verdict()
        if fault is not None:
            raise fault
        self._dialect.finish()
        response.end()

    def _fail(self, fault: BodyFault) -> None:
        self._over = True
        self._response.fail(fault)


def names() -> tuple[str, ...]:
    """The dialects, in the order in which `detect` tries them."""
    return tuple(_DIALECTS)


def decoder(
    name: str, *, fallback_id: str = "response-001", max_frame_bytes: int = MAX_FRAME_BYTES
) -> Decoder:
    """A fresh decoder for the body of one response.

    `fallback_id` names the response when the body does not. `max_frame_bytes` bounds a line, an event's data,
    one JSON object, and the argument text of one call. Raises `ValueError` for an unknown name, and for
    options that no body could satisfy.
    """
    dialect = _DIALECTS.get(name)
    if dialect is None:
        raise ValueError(f"Unknown dialect {name!r}; known are {', '.join(_DIALECTS)}")
    if type(fallback_id) is not str or is_blank(fallback_id) or has_surrogate(fallback_id):
        raise ValueError("fallback_id must be a string that is not blank and holds no lone surrogate")
    if type(max_frame_bytes) is not int or max_frame_bytes < 1:
        raise ValueError("max_frame_bytes must be a positive integer")
    return Decoder(dialect, fallback_id, max_frame_bytes)


def decode(
    name: str,
    body: bytes | bytearray | memoryview,
    *,
    fallback_id: str = "response-001",
    max_frame_bytes: int = MAX_FRAME_BYTES,
) -> list[Record]:
    """All records of one body: one `feed` and one `close`."""
    one = decoder(name, fallback_id=fallback_id, max_frame_bytes=max_frame_bytes)
    return one.feed(body) + one.close()


def to_fixture(name: str, bodies: Iterable[bytes]) -> dict[str, object]:
    """A version-1 fixture with one response a body, in order; body n has fallback id `response-00n`.

    Raises `TypeError` for a bare `bytes`, which is one body and not several.
    """
    if isinstance(bodies, (bytes, bytearray, memoryview, str)):
        raise TypeError("bodies must be an iterable of bytes, one a response; put a single body into a list")
    responses: list[Record] = [
        {"records": decode(name, body, fallback_id=f"response-{number:03d}")}
        for number, body in enumerate(bodies, 1)
    ]
    if not responses:
        decoder(name)  # an unknown name is a fault also without bodies
    return {"schemaVersion": 1, "responses": responses}


class _Detected(Exception):  # noqa: N818  # a signal, not an error
    """Ends the search: a frame was recognised."""


def detect(first_bytes: bytes | bytearray | memoryview) -> str | None:
    """The first dialect, in `names()` order, that recognises the first recognisable complete frame.

    `None` when no frame is recognisable: error bodies belong to no dialect.
    """
    found: list[str] = []

    def look(name: str | None, frame: dict[str, object], _surrogates: bool) -> None:
        for dialect in _DIALECTS.values():
            if dialect.recognises(name, frame):
                found.append(dialect.name)
                raise _Detected

    framing = Framing(look, MAX_FRAME_BYTES)
    try:
        framing.feed(bytes(first_bytes))
        framing.close()
    except (_Detected, BodyFault):
        pass
    return found[0] if found else None
