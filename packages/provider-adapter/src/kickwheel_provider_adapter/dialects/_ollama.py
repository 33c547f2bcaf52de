"""`ollama`: lines and documents of the native chat and generate routes (05D.130 to 05D.133)."""

from collections.abc import Mapping
from typing import ClassVar

from ._dialect import Dialect
from ._errors_in_band import is_object
from ._fields import object_of, objects_of, text_of
from ._response import Response
from ._text import is_word


class Ollama(Dialect):
    """One JSON object a line; the last one has `done: true`."""

    name: ClassVar[str] = "ollama"

    def __init__(self, response: Response) -> None:
        super().__init__(response)

    @staticmethod
    def recognises(name: str | None, frame: dict[str, object]) -> bool:
        """A boolean `done` with an object `message` or a string `response`."""
        return type(frame.get("done")) is bool and (
            is_object(frame.get("message")) or type(frame.get("response")) is str
        )

    def read(self, name: str | None, frame: dict[str, object]) -> None:
        """One line; calls count in the last line too."""
        message = object_of(frame, "message")
        if message.get("content") is not None:
            self.response.text(text_of(message, "content"))
        else:
            self.response.text(text_of(frame, "response"))
        for entry in objects_of(message, "tool_calls"):
            self._call(entry)
        if frame["done"] is True:
            reason = frame.get("done_reason")
            self.response.stop(reason if is_word(reason) else "stop")
        self.response.count(frame.get("prompt_eval_count"), frame.get("eval_count"))

    def _call(self, entry: Mapping[str, object]) -> None:
        function = object_of(entry, "function")
        call = self.response.open_call(entry.get("id"), function.get("name"))
        arguments = function.get("arguments")
        if type(arguments) is str:
            self.response.append_arguments(call, arguments)
        else:
            call.object = arguments
        self.response.end_call(call)
