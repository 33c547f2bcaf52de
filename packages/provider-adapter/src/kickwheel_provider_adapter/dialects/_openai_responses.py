"""`openai-responses`: events and documents of the Responses API (05D.100 to 05D.109)."""

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from ._dialect import Dialect, kind_of
from ._errors_in_band import told_error
from ._fields import index_of, object_of, objects_of, text_of
from ._response import Call, Response
from ._text import is_word

_PREFIX: Final = "response."
_ENDS: Final = ("completed", "incomplete", "failed")

ItemKey = int | str | None
"""How an item is told apart: by output index, else by item id."""


class OpenAIResponses(Dialect):
    """Server-sent events of a streamed response, or one response document."""

    name: ClassVar[str] = "openai-responses"

    def __init__(self, response: Response) -> None:
        super().__init__(response)
        self._by_item: dict[str, ItemKey] = {}
        self._told_parts: set[tuple[ItemKey, int]] = set()  # content parts whose text has come
        self._open: dict[ItemKey, Call] = {}
        self._added: dict[
            int, str
        ] = {}  # argument text of `added` by identity of the call, if nothing better comes
        self._ended: dict[ItemKey, str | None] = {}
        self._middle = False  # text, refusal or a function call came before the end
        self._readers: dict[str, Callable[[Mapping[str, object]], None]] = {
            "output_text.delta": self._text_delta,
            "output_text.done": self._text_done,
            "refusal.delta": self._refusal_delta,
            "output_item.added": self._item_added,
            "output_item.done": self._item_done,
            "function_call_arguments.delta": self._arguments_delta,
            "function_call_arguments.done": self._arguments_done,
        }

    @staticmethod
    def recognises(name: str | None, frame: dict[str, object]) -> bool:
        """`type` (else the event name) beginning `response.`, or `object` `response`."""
        return kind_of(name, frame).startswith(_PREFIX) or frame.get("object") == "response"

    def read(self, name: str | None, frame: dict[str, object]) -> None:
        """One event, or the one document."""
        kind = kind_of(name, frame)
        if not kind.startswith(_PREFIX):
            self.response.see_id(frame.get("id"))
            self._output(frame)
            self._end(frame, None)
            return
        event = kind[len(_PREFIX) :]
        reader = self._readers.get(event)
        if reader is not None:
            reader(frame)
        elif frame.get("response") is not None or event in _ENDS:
            response = object_of(frame, "response")
            self.response.see_id(response.get("id"))
            if event in _ENDS:
                if not self._middle:
                    self._output(response)
                self._end(response, event)

    def _key(self, event: Mapping[str, object], item: Mapping[str, object] | None = None) -> ItemKey:
        """Output index, else what stood at the same item id before: ids may change, indices be left out."""
        item_id = event.get("item_id") if item is None else item.get("id")
        index = index_of(event, "output_index")
        if not is_word(item_id):
            return index
        if index is None or self._by_item.get(item_id) == item_id:
            return self._by_item.setdefault(item_id, item_id)
        self._by_item[item_id] = index
        return index

    # Text

    def _text_delta(self, event: Mapping[str, object]) -> None:
        text = text_of(event, "delta")
        if text:
            self._told_parts.add((self._key(event), index_of(event, "content_index") or 0))
            self._say(text)

    def _text_done(self, event: Mapping[str, object]) -> None:
        self._say_part((self._key(event), index_of(event, "content_index") or 0), text_of(event, "text"))

    def _say_part(self, part: tuple[ItemKey, int], text: str) -> None:
        """The whole text of a part, unless deltas told it already."""
        if text and part not in self._told_parts:
            self._told_parts.add(part)
            self._say(text)

    def _say(self, text: str) -> None:
        self._middle = True
        self.response.text(text)

    def _refusal_delta(self, event: Mapping[str, object]) -> None:
        self._middle = True
        self.response.refuse(text_of(event, "delta"))

    # Items

    def _item_added(self, event: Mapping[str, object]) -> None:
        item = object_of(event, "item")
        if item.get("type") in ("function_call", "custom_tool_call"):
            key = self._key(event, item)
            call = self._open[key] = self._open_call(item)
            self._ended.pop(key, None)
            call.given = item.get("arguments")

    def _item_done(self, event: Mapping[str, object]) -> None:
        item = object_of(event, "item")
        kind = item.get("type")
        key = self._key(event, item)
        if kind == "message":
            for index, part in enumerate(objects_of(item, "content")):
                if part.get("type") == "output_text":
                    self._say_part((key, index), text_of(part, "text"))
        elif kind in ("function_call", "custom_tool_call"):
            call = self._open.pop(key, None)
            call_id = item.get("call_id")
            if call is None:
                if key is not None and key in self._ended and self._ended[key] == call_id:
                    return  # told twice
                call = self._open_call(item)
            self._ended[key] = call_id if type(call_id) is str else None
            self._complete(call, item)
            self.response.end_call(call)

    def _open_call(self, item: Mapping[str, object]) -> Call:
        self._middle = True
        call = self.response.open_call(item.get("call_id"), item.get("name"))
        call.bad = item.get("type") == "custom_tool_call"
        return call

    def _complete(self, call: Call, item: Mapping[str, object]) -> None:
        """What a finished item says in full replaces what was known."""
        call_id, name = item.get("call_id"), item.get("name")
        call.id = call_id if is_word(call_id) else call.id
        call.name = name if is_word(name) else call.name
        call.bad = call.bad or item.get("type") == "custom_tool_call"
        arguments = item.get("arguments")
        if type(arguments) is str:
            if arguments:
                self.response.replace_arguments(call, arguments)
        elif arguments is not None:
            self.response.replace_arguments(call, "")
            call.object = arguments

    def _arguments_delta(self, event: Mapping[str, object]) -> None:
        self.response.append_arguments(self._call_of(event), text_of(event, "delta"))

    def _arguments_done(self, event: Mapping[str, object]) -> None:
        text = text_of(event, "arguments")
        if text:
            key = self._key(event)
            if key in self._open or key not in self._ended:
                self.response.replace_arguments(self._call_of(event), text)

    def _call_of(self, event: Mapping[str, object]) -> Call:
        key = self._key(event)
        call = self._open.get(key)
        if call is None:
            call = self._open[key] = self._open_call({})
        return call

    def finish(self) -> None:
        """Calls that were never `done` end here, in the order in which they were opened."""
        for call in self._open.values():
            self.response.end_call(call)
        self._open.clear()

    # The end, and the one document

    def _end(self, response: Mapping[str, object], event: str | None) -> None:
        told = told_error(response.get("error"))
        if told is not None:
            raise told
        usage = object_of(response, "usage")
        self.response.count(usage.get("input_tokens"), usage.get("output_tokens"))
        reason = object_of(response, "incomplete_details").get("reason")
        status = response.get("status")
        word = reason if is_word(reason) else status if is_word(status) else event
        self.response.stop(word)

    def _output(self, response: Mapping[str, object]) -> None:
        for item in objects_of(response, "output"):
            kind = item.get("type")
            if kind == "message":
                for part in objects_of(item, "content"):
                    if part.get("type") == "output_text":
                        self.response.text(text_of(part, "text"))
                    elif part.get("type") == "refusal":
                        self.response.refuse(text_of(part, "refusal"))
            elif kind in ("function_call", "custom_tool_call"):
                call = self._open_call(item)
                self._complete(call, item)
                self.response.end_call(call)
