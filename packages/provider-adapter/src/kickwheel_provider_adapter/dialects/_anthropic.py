"""`anthropic`: events and documents of the Messages API (05D.110 to 05D.116)."""

from collections.abc import Mapping
from typing import ClassVar, Final

from ._dialect import Dialect, kind_of
from ._faults import INVALID_EVENT, BodyFault
from ._fields import index_of, object_of, objects_of, text_of
from ._response import Call, Response
from ._text import is_word

_KINDS: Final = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "message",
    }
)


class Anthropic(Dialect):
    """Server-sent events of a streamed message, or one message document."""

    name: ClassVar[str] = "anthropic"

    def __init__(self, response: Response) -> None:
        super().__init__(response)
        self._message_id: str | None = None
        self._open: dict[int | None, Call] = {}
        self._overtaken: list[Call] = []  # open calls whose index was given to another block
        self._silent: set[int | None] = set()  # blocks that are neither text nor a call

    @staticmethod
    def recognises(name: str | None, frame: dict[str, object]) -> bool:
        """`type` (else the event name) is one of the eight."""
        return kind_of(name, frame) in _KINDS

    def read(self, name: str | None, frame: dict[str, object]) -> None:
        """One event, or the one document."""
        kind = kind_of(name, frame)
        if kind == "content_block_delta":
            self._delta(frame)
        elif kind == "content_block_start":
            self._block_start(frame)
        elif kind == "content_block_stop":
            call = self._open.pop(index_of(frame), None)
            if call is not None:
                self.response.end_call(call)
        elif kind == "message_start":
            self._message_start(object_of(frame, "message"))
        elif kind == "message_delta":
            self._count(frame)
            self.response.stop(object_of(frame, "delta").get("stop_reason"))
        elif kind == "message":
            self._document(frame)

    def _message_start(self, message: Mapping[str, object]) -> None:
        message_id = message.get("id")
        if is_word(message_id):
            if self._message_id is not None and message_id != self._message_id:
                raise BodyFault(INVALID_EVENT, "A second message starts in one response")
            self._message_id = message_id
            self.response.see_id(message_id)
        self._count(message)

    def _count(self, holder: Mapping[str, object]) -> None:
        """Usage figures are running totals: the last one counts."""
        usage = object_of(holder, "usage")
        self.response.count(usage.get("input_tokens"), usage.get("output_tokens"))

    def _block_start(self, event: Mapping[str, object]) -> None:
        index = index_of(event)
        block = object_of(event, "content_block")
        kind = block.get("type")
        self._silent.discard(index)
        if index in self._open:
            self._overtaken.append(self._open.pop(index))
        if kind == "text":
            self.response.text(text_of(block, "text"))
        elif kind == "tool_use":
            call = self._open[index] = self.response.open_call(block.get("id"), block.get("name"))
            call.given = block.get("input")
        else:
            self._silent.add(index)

    def _delta(self, event: Mapping[str, object]) -> None:
        index = index_of(event)
        if index in self._silent:
            return
        delta = object_of(event, "delta")
        kind = delta.get("type")
        if kind == "text_delta":
            self.response.text(text_of(delta, "text"))
        elif kind == "input_json_delta":
            call = self._open.get(index)
            if call is None:
                call = self._open[index] = self.response.open_call()
            self.response.append_arguments(call, text_of(delta, "partial_json"))

    def finish(self) -> None:
        """Calls without a `content_block_stop` end here."""
        for call in (*self._overtaken, *self._open.values()):
            self.response.end_call(call)
        self._overtaken.clear()
        self._open.clear()

    def _document(self, message: Mapping[str, object]) -> None:
        self.response.see_id(message.get("id"))
        for block in objects_of(message, "content"):
            if block.get("type") == "text":
                self.response.text(text_of(block, "text"))
            elif block.get("type") == "tool_use":
                call = self.response.open_call(block.get("id"), block.get("name"))
                call.object = block.get("input")
                self.response.end_call(call)
        self._count(message)
        self.response.stop(message.get("stop_reason"))
