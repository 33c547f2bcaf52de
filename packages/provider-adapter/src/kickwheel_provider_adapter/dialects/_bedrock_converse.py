"""`bedrock-converse`: events and documents of the Converse API in JSON form (05D.140 to 05D.145)."""

from collections.abc import Mapping
from typing import ClassVar, Final

from ._dialect import Dialect
from ._errors_in_band import is_object
from ._faults import BodyFault
from ._fields import index_of, object_of, objects_of, text_of
from ._response import Call, Response
from ._text import MESSAGE_CHARACTERS, is_word, mend_surrogates

_EVENTS: Final = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop")
_EXCEPTION: Final = "Exception"
_INDEX: Final = "contentBlockIndex"


class BedrockConverse(Dialect):
    """One event an object, each under its own key; or one response document."""

    name: ClassVar[str] = "bedrock-converse"

    def __init__(self, response: Response) -> None:
        super().__init__(response)
        self._open: dict[int | None, Call] = {}
        self._overtaken: list[Call] = []  # open calls whose index was given to another block
        self._silent: set[int | None] = set()  # tool blocks that the provider runs itself

    @staticmethod
    def recognises(name: str | None, frame: dict[str, object]) -> bool:
        """An event under its key, usage or metrics in `metadata`, an exception, or a document."""
        if any(is_object(frame.get(key)) for key in _EVENTS):
            return True
        metadata = frame.get("metadata")
        if is_object(metadata) and (metadata.get("usage") is not None or metadata.get("metrics") is not None):
            return True
        if frame.get("output") is not None and frame.get("stopReason") is not None:
            return True
        return exception_key(frame) is not None

    def read(self, name: str | None, frame: dict[str, object]) -> None:
        """One event, or the one document."""
        key = exception_key(frame)
        if key is not None:
            raised = frame[key]
            message = raised.get("message") if is_object(raised) else None
            code = mend_surrogates(key)
            raise BodyFault(code, mend_surrogates(message)[:MESSAGE_CHARACTERS] if is_word(message) else code)
        if frame.get("output") is not None and frame.get("stopReason") is not None:
            self._document(frame)
            return
        self._block_start(frame)
        self._delta(frame)
        self._block_stop(frame)
        self.response.stop(object_of(frame, "messageStop").get("stopReason"))
        self._count(object_of(frame, "metadata"))

    def _block_start(self, frame: Mapping[str, object]) -> None:
        event = object_of(frame, "contentBlockStart")
        use = object_of(object_of(event, "start"), "toolUse")
        if not event:
            return
        index = index_of(event, _INDEX)
        self._silent.discard(index)
        if index in self._open:
            self._overtaken.append(self._open.pop(index))
        if use.get("type") == "server_tool_use":
            self._silent.add(index)
        elif use:
            self._open[index] = self.response.open_call(use.get("toolUseId"), use.get("name"))

    def _delta(self, frame: Mapping[str, object]) -> None:
        event = object_of(frame, "contentBlockDelta")
        delta = object_of(event, "delta")
        self.response.text(text_of(delta, "text"))
        index = index_of(event, _INDEX)
        if delta.get("toolUse") is None or index in self._silent:
            return
        given = object_of(delta, "toolUse").get("input")
        call = self._open.get(index)
        if call is None:
            call = self._open[index] = self.response.open_call()
        if type(given) is str:
            self.response.append_arguments(call, given)
        elif given is not None:
            self.response.replace_arguments(call, "")
            call.object = given

    def _block_stop(self, frame: Mapping[str, object]) -> None:
        if frame.get("contentBlockStop") is not None:
            call = self._open.pop(index_of(object_of(frame, "contentBlockStop"), _INDEX), None)
            if call is not None:
                self.response.end_call(call)

    def _count(self, holder: Mapping[str, object]) -> None:
        usage = object_of(holder, "usage")
        self.response.count(usage.get("inputTokens"), usage.get("outputTokens"))

    def finish(self) -> None:
        """Calls without a `contentBlockStop` end here."""
        for call in (*self._overtaken, *self._open.values()):
            self.response.end_call(call)
        self._overtaken.clear()
        self._open.clear()

    def _document(self, frame: Mapping[str, object]) -> None:
        message = object_of(object_of(frame, "output"), "message")
        for block in objects_of(message, "content"):
            self.response.text(text_of(block, "text"))
            use = object_of(block, "toolUse")
            if use and use.get("type") != "server_tool_use":
                call = self.response.open_call(use.get("toolUseId"), use.get("name"))
                call.object = use.get("input")
                self.response.end_call(call)
        self.response.stop(frame.get("stopReason"))
        self._count(frame)


def exception_key(frame: Mapping[str, object]) -> str | None:
    """The key of an exception event, such as `throttlingException`."""
    return next((key for key, value in frame.items() if key.endswith(_EXCEPTION) and value is not None), None)
