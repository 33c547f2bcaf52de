"""The records of one response: what every dialect has in common (05D.30 to 05D.57)."""

from typing import Final, TypeGuard

from kickwheel_protocol import ProtocolError, freeze_json

from ._errors_in_band import is_object
from ._faults import (
    INVALID_ARGUMENTS,
    INVALID_EVENT,
    REFUSAL,
    TOO_LARGE,
    BodyFault,
)
from ._json import parse_json
from ._stop_words import stop_class
from ._text import ends_high, has_surrogate, is_blank, is_word, mend_surrogates

MAX_CALLS: Final = 1024  # a response with more calls is a runaway server, not a plan
LARGEST_COUNT: Final = 2**53 - 1

_NO_ARGUMENTS: Final[object] = object()

Record = dict[str, object]
"""A plain transport record of schema version 1."""


class Call:
    """One tool call while it arrives: an id, a name, and argument text in pieces or a whole object."""

    __slots__ = ("bad", "given", "id", "name", "object", "pieces", "size")

    def __init__(self, id: str | None = None, name: str | None = None) -> None:  # noqa: A002  # the field's word
        self.id: str | None = id
        self.name: str | None = name
        self.pieces: list[str] = []
        self.size: int = 0
        self.object: object = None  # arguments that came as JSON, not as text; None: none did
        self.given: object = None  # arguments of its opening: count when nothing else comes
        self.bad: bool = False  # known to have no good arguments, such as the free text of a custom call

    @property
    def told(self) -> bool:
        """Whether anything at all is known of it; an entry with nothing is a placeholder (05D.56)."""
        return self.id is not None or self.name is not None or self.size > 0 or self.object is not None


class Response:
    """Collects what the frames of one response say and turns it into records."""

    __slots__ = (
        "_bad_arguments",
        "_calls",
        "_fallback_id",
        "_forced_class",
        "_held",
        "_ids",
        "_opened",
        "_records",
        "_refusal",
        "_usage",
        "id",
        "limit",
        "stop_word",
        "surrogates",
        "texts",
    )

    def __init__(self, fallback_id: str, limit: int) -> None:
        self._fallback_id = fallback_id
        self.limit: int = limit
        self._records: list[Record] = []
        self.id: str | None = None
        self.texts: int = 0  # text records so far
        self.surrogates: bool = False  # the strings of the frame at hand may hold lone surrogates
        self._held = ""  # a high surrogate that waits for the next piece
        self._refusal: list[str] = []
        self._ids: set[str] = set()
        self._calls = 0  # calls that ended, the bad ones included: the position of the last
        self._opened = 0
        self._bad_arguments: str | None = None
        self._usage: list[int] = [0, 0]
        self.stop_word: str | None = None
        self._forced_class: str | None = None

    # What the frames say

    def see_id(self, value: object) -> None:
        """The first non-blank string id starts the response; every later one is ignored."""
        if self.id is None and is_word(value):
            if has_surrogate(value):
                raise BodyFault(INVALID_EVENT, "The response's id holds a lone surrogate")
            self._start(value)

    def text(self, piece: str) -> None:
        """One piece of visible text."""
        if not piece:
            return
        if self.id is None:
            self._start(self._fallback_id)
        if self._held or self.surrogates:
            piece = self._held + piece
            self._held = piece[-1] if ends_high(piece) else ""
            piece = mend_surrogates(piece[:-1] if self._held else piece)
            if not piece:
                return
        self.texts += 1
        self._records.append({"type": "text_delta", "text": piece})

    def refuse(self, piece: str) -> None:
        """One piece of refusal text: never visible text, and an error at the end."""
        if piece:
            self._refusal.append(piece)

    def stop(self, word: object, force: str | None = None) -> None:
        """A finish reason; the last one sent counts. `force` gives it a class whatever the word."""
        if is_word(word):
            self.stop_word = word
            if force is not None:
                self._forced_class = force

    def count(self, input_tokens: object, output_tokens: object) -> None:
        """Token counts; what is no safe count is as if not sent."""
        for index, value in enumerate((input_tokens, output_tokens)):
            if is_safe_count(value):
                self._usage[index] = value

    # Calls

    def open_call(self, id: object = None, name: object = None) -> Call:  # noqa: A002  # the field's word
        """A new call; refuses the one that is too many."""
        self._opened += 1
        if self._opened > MAX_CALLS:
            raise BodyFault(TOO_LARGE, f"The response has more than {MAX_CALLS} tool calls")
        return Call(id if is_word(id) else None, name if is_word(name) else None)

    def drop_call(self) -> None:
        """The call opened last turned out to be a placeholder."""
        self._opened -= 1

    def append_arguments(self, call: Call, piece: str) -> None:
        """More argument text; it is joined once, when the call ends."""
        if piece:
            call.size += len(piece)
            if call.size > self.limit:
                raise BodyFault(TOO_LARGE, f"The arguments of a call are longer than {self.limit} characters")
            call.pieces.append(piece)

    def replace_arguments(self, call: Call, text: str) -> None:
        """The whole argument text, in place of what came in pieces."""
        call.pieces.clear()
        call.size = 0
        self.append_arguments(call, text)

    def end_call(self, call: Call) -> None:
        """A call is complete: one record, or a note that its arguments are bad."""
        if not call.told:
            self.drop_call()
            return
        if call.name is None:
            raise BodyFault(INVALID_EVENT, "A tool call has no name")
        if has_surrogate(call.name) or (call.id is not None and has_surrogate(call.id)):
            raise BodyFault(INVALID_EVENT, "The id or name of a tool call holds a lone surrogate")
        self._calls += 1
        position = self._calls
        arguments = None if call.bad else self._arguments(call)
        if arguments is None:
            self._bad_arguments = (
                self._bad_arguments or f"The arguments of call {position} are no JSON object"
            )
            return
        self.flush()
        if self.id is None:
            self._start(self._fallback_id)
        call_id = self._unique_id(call.id, position)
        self._ids.add(call_id)
        self._records.append({"type": "tool_call", "id": call_id, "name": call.name, "arguments": arguments})

    def _unique_id(self, sent: str | None, position: int) -> str:
        if sent is not None and sent not in self._ids:
            return sent
        made = f"{self.id}-call-{position:03d}"
        candidate, n = made, 1
        while candidate in self._ids:
            n += 1
            candidate = f"{made}-{n}"
        return candidate

    def _arguments(self, call: Call) -> Record | None:
        """The arguments as an object, `None` when they are bad; never repaired, never `{}` in their place."""
        value: object = call.object
        if value is None:
            text = "".join(call.pieces)
            value = (call.given or _NO_ARGUMENTS) if is_blank(text) else text
            if value is _NO_ARGUMENTS:
                return {}
        elif call.pieces:
            return None  # an object and text: two answers to one question
        if type(value) is str:
            try:
                value, _ = parse_json(value)
            except BodyFault:
                return None
            if value is None:
                return {}
        if not is_object(value):
            return None
        try:
            freeze_json(value)
        except ProtocolError:
            return None
        return value

    # The end

    def take(self) -> list[Record]:
        """The records made since the last call."""
        records, self._records = self._records, []
        return records

    def flush(self) -> None:
        """A held half of a pair that cannot be completed any more becomes U+FFFD."""
        if self._held:
            self._held = ""
            self.texts += 1
            self._records.append({"type": "text_delta", "text": "\ufffd"})

    def fail(self, fault: BodyFault) -> None:
        """The body's one `transport_error`."""
        self.flush()
        self._records.append(
            {"type": "transport_error", "code": fault.code, "message": mend_surrogates(fault.message)}
        )

    def verdict(self) -> BodyFault | None:
        """Why the response must not end well although the body is complete, refusal included."""
        word = self.stop_word
        if word is None:
            raise AssertionError("a body without a stop word has no verdict")
        kind = self._forced_class or stop_class(word)
        if kind not in ("stop", "tool_call"):
            return BodyFault(kind, word)
        refusal = "".join(self._refusal)
        if refusal:
            return BodyFault(REFUSAL, REFUSAL if is_blank(refusal) else refusal)
        return None

    def end(self) -> None:
        """The good end, unless a call had bad arguments."""
        if self._bad_arguments is not None:
            raise BodyFault(INVALID_ARGUMENTS, self._bad_arguments)
        if self.id is None:
            self._start(self._fallback_id)
        tool_call = bool(self._ids) or stop_class(self.stop_word or "") == "tool_call"
        self._records.append(
            {
                "type": "response_end",
                "responseId": self.id,
                "stopReason": "tool_call" if tool_call else "stop",
                "usage": {"inputTokens": self._usage[0], "outputTokens": self._usage[1]},
            }
        )

    def _start(self, response_id: str) -> None:
        self.id = response_id
        self._records.append({"type": "response_start", "responseId": response_id, "role": "assistant"})


def is_safe_count(value: object) -> TypeGuard[int]:
    """An exact integer from 0 to 2**53 - 1; a `bool` is none."""
    return type(value) is int and 0 <= value <= LARGEST_COUNT
