"""`gemini`: chunks and documents of generateContent (05D.120 to 05D.128)."""

from collections.abc import Mapping
from typing import ClassVar, Final

from ._dialect import Dialect
from ._errors_in_band import is_object
from ._faults import CONTENT_FILTER
from ._fields import first_choice, object_of, objects_of, text_of
from ._partial_args import PartialArguments
from ._response import Call, Response

_KEYS: Final = ("candidates", "promptFeedback", "usageMetadata")
_FINISH_REASONS: Final = {
    1: "STOP",
    2: "MAX_TOKENS",
    3: "SAFETY",
    4: "RECITATION",
    5: "OTHER",
    6: "BLOCKLIST",
    7: "PROHIBITED_CONTENT",
    8: "SPII",
    9: "MALFORMED_FUNCTION_CALL",
}
"""Finish reasons of servers that write enums as integers; 0 is the unspecified one and counts as absent."""


class Gemini(Dialect):
    """One chunk an event or array element, or one document: they have the same shape."""

    name: ClassVar[str] = "gemini"

    def __init__(self, response: Response) -> None:
        super().__init__(response)
        self._streamed: tuple[Call, PartialArguments] | None = None  # the call whose arguments are arriving
        self._output: list[object] = [0, 0]  # candidates and thoughts

    @staticmethod
    def recognises(name: str | None, frame: dict[str, object]) -> bool:
        """One of the three keys, at the top or inside an object `response`."""
        return _has_key(frame) or _inner(frame) is not None

    def read(self, name: str | None, frame: dict[str, object]) -> None:
        """One chunk."""
        chunk = frame if _has_key(frame) else _inner(frame) or frame
        self.response.see_id(chunk.get("responseId"))
        self._usage(object_of(chunk, "usageMetadata"))
        for candidate in first_choice(chunk, "candidates"):
            for part in objects_of(object_of(candidate, "content"), "parts"):
                self._part(part)
            self.response.stop(_word(candidate.get("finishReason")))
        blocked = _word(object_of(chunk, "promptFeedback").get("blockReason"))
        self.response.stop(blocked, force=CONTENT_FILTER)

    def _usage(self, usage: Mapping[str, object]) -> None:
        if not usage:
            return
        for index, key in enumerate(("candidatesTokenCount", "thoughtsTokenCount")):
            value = usage.get(key)
            if type(value) is int and value >= 0:
                self._output[index] = value
        candidates, thoughts = self._output
        total = candidates + thoughts if type(candidates) is int and type(thoughts) is int else None
        self.response.count(usage.get("promptTokenCount"), total)

    def _part(self, part: Mapping[str, object]) -> None:
        if part.get("text") is not None:
            text = text_of(part, "text")
            if part.get("thought") is not True:
                self.response.text(text)
        if part.get("functionCall") is not None:
            self._function_call(object_of(part, "functionCall"))

    def _function_call(self, function: Mapping[str, object]) -> None:
        going_on = function.get("willContinue") is True
        named = function.get("name") is not None
        if self._streamed is None or named:
            if self._streamed is not None:
                self._end_streamed(complete=False)
            call = self.response.open_call(function.get("id"), function.get("name"))
            if not going_on and function.get("partialArgs") is None:
                call.object = function.get("args")
                self.response.end_call(call)
                return
            self._streamed = call, PartialArguments(function.get("args"), self.response.limit)
        self._streamed[1].add(objects_of(function, "partialArgs"))
        if not going_on:
            self._end_streamed(complete=True)

    def _end_streamed(self, *, complete: bool) -> None:
        if self._streamed is not None:
            call, arguments = self._streamed
            self._streamed = None
            value = arguments.value()
            call.object = value
            call.bad = value is None or not complete
            self.response.end_call(call)

    def finish(self) -> None:
        """A call whose arguments never ended has bad arguments."""
        self._end_streamed(complete=False)


def _has_key(frame: Mapping[str, object]) -> bool:
    return any(frame.get(key) is not None for key in _KEYS)


def _inner(frame: Mapping[str, object]) -> Mapping[str, object] | None:
    inner = frame.get("response")
    return inner if is_object(inner) and _has_key(inner) else None


def _word(value: object) -> object:
    """An enum as its word; an integer without a known word in decimal, 0 as absent."""
    if type(value) is not int:
        return value
    return _FINISH_REASONS.get(value, str(value)) if value != 0 and abs(value) < 2**63 else None
