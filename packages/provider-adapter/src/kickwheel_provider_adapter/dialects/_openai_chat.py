"""`openai-chat`: Chat Completions, as OpenAI and a few dozen servers speak it (05D.70 to 05D.89)."""

from collections.abc import Mapping
from typing import ClassVar

from ._dialect import Dialect
from ._errors_in_band import is_object, told_error
from ._faults import BodyFault, invalid_event
from ._fields import first_choice, index_of, object_of, objects_of, text_of
from ._json import parse_json
from ._response import Call, Response
from ._text import is_word


class ChatCall(Call):
    """A call that also knows, without reading anything twice, whether its argument text is whole."""

    __slots__ = ("_depth", "_escape", "_scanned", "_string", "_verdict")

    def __init__(self, id: str | None, name: str | None) -> None:  # noqa: A002  # the field's word
        super().__init__(id, name)
        self._scanned = 0  # pieces looked at
        self._depth = 0
        self._string = False
        self._escape = False
        self._verdict: bool | None = None  # None: the text has changed since

    def changed(self) -> None:
        """The argument text was changed."""
        self._verdict = None

    def restart(self) -> None:
        """The argument text was replaced."""
        self._scanned = self._depth = 0
        self._string = self._escape = False
        self._verdict = None

    @property
    def whole(self) -> bool:
        """Whether the arguments so far are a complete JSON object."""
        if self.object is not None:
            return is_object(self.object)
        if self._verdict is None:
            self._verdict = self._balanced() and self._parses()
        return self._verdict

    def _balanced(self) -> bool:
        """Follow braces outside strings through the pieces that came since the last look."""
        pieces = self.pieces
        for piece in pieces[self._scanned :]:
            for character in piece:
                if self._escape:
                    self._escape = False
                elif character == "\\" and self._string:
                    self._escape = True
                elif character == '"':
                    self._string = not self._string
                elif not self._string:
                    if character == "{":
                        self._depth += 1
                    elif character == "}":
                        self._depth -= 1
        self._scanned = len(pieces)
        return self._depth == 0 and not self._string and bool(pieces)

    def _parses(self) -> bool:
        # Balanced text is nearly always whole, so this is reached about once a call.
        try:
            value, _ = parse_json("".join(self.pieces))
        except BodyFault:
            return False
        return is_object(value)


class OpenAIChat(Dialect):
    """Chunks and whole documents of Chat Completions."""

    name: ClassVar[str] = "openai-chat"

    def __init__(self, response: Response) -> None:
        super().__init__(response)
        self._calls: list[ChatCall] = []
        self._at_index: dict[int, ChatCall] = {}

    @staticmethod
    def recognises(name: str | None, frame: dict[str, object]) -> bool:
        """An array `choices`."""
        return type(frame.get("choices")) is list

    def read(self, name: str | None, frame: dict[str, object]) -> None:
        """One chunk, or the one document."""
        response = self.response
        if response.id is None:
            response.see_id(frame.get("id"))
        if frame.get("usage") is not None or frame.get("x_groq") is not None:
            self._usage(frame)
        for choice in first_choice(frame, "choices"):
            self._choice(choice)

    def read_unknown(self, frame: dict[str, object]) -> None:
        """Usage counts in any frame, also in one without `choices` (05D.70)."""
        if is_object(frame.get("usage")):
            self._usage(frame)

    def _usage(self, frame: Mapping[str, object]) -> None:
        usage = object_of(frame, "usage") or object_of(object_of(frame, "x_groq"), "usage")
        self.response.count(usage.get("prompt_tokens"), usage.get("completion_tokens"))

    def _choice(self, choice: Mapping[str, object]) -> None:
        error = choice.get("error")
        if error is not None:
            told = told_error(error)
            if told is not None:
                raise told
        content = choice.get("delta")
        if not is_object(content):
            content = object_of(choice, "message")
            if (
                not content
                and choice.get("delta") is None
                and choice.get("message") is None
                and is_text(choice)
            ):
                raise invalid_event("choices[0]", "a chat completion: it has the `text` of an old completion")
        if content:
            self._content(content)
        word = choice.get("finish_reason")
        if word is not None:
            self.response.stop(word)

    def _content(self, content: Mapping[str, object]) -> None:
        text = content.get("content")
        if type(text) is str:
            self.response.text(text)
        elif text is not None:
            self._parts(content)
        if content.get("refusal") is not None:
            self.response.refuse(text_of(content, "refusal"))
        opened: ChatCall | None = None
        if content.get("tool_calls") is not None:
            for entry in objects_of(content, "tool_calls"):
                opened = self._entry(entry, opened) or opened
        if content.get("function_call") is not None:
            self._entry({"function": object_of(content, "function_call")}, opened)

    def _parts(self, content: Mapping[str, object]) -> None:
        if type(content.get("content")) is not list:
            raise invalid_event("content", "a string or an array")
        for part in objects_of(content, "content"):
            if part.get("type") == "text":
                self.response.text(text_of(part, "text"))

    def body_said_done(self) -> None:
        """`[DONE]` after text or a call stands in for a stop word that never came (05D.77)."""
        response = self.response
        if response.stop_word is None and (response.texts or self._calls):
            response.stop("stop")

    def finish(self) -> None:
        """All calls come here, in order of first appearance."""
        for call in self._calls:
            self.response.end_call(call)

    # Which call an entry belongs to (05D.80 to 05D.89)

    def _entry(self, entry: Mapping[str, object], opened_before: ChatCall | None) -> ChatCall | None:
        """Take one piece of a call; the call, when the piece opened it."""
        custom = entry.get("custom")
        is_custom = is_object(custom) and entry.get("function") is None
        function = custom if is_object(custom) and is_custom else object_of(entry, "function")
        call_id, name = entry.get("id"), function.get("name")
        call_id = call_id if is_word(call_id) else None
        name = name if is_word(name) else None
        arguments = text_of(function, "input") if is_custom else function.get("arguments")
        if call_id is None and name is None and (arguments is None or arguments == ""):
            return None  # a placeholder
        index = index_of(entry)
        call = self._belongs_to(index, call_id, name, opened_before)
        if call is None:
            call = opened = self._open(index, call_id, name)
        else:
            opened = None
            call.id = call.id or call_id
            if name is not None and name != call.name:
                call.name = (call.name or "") + name
        call.bad = call.bad or is_custom
        self._take_arguments(call, arguments)
        return opened

    def _belongs_to(
        self, index: int | None, call_id: str | None, name: str | None, opened_before: ChatCall | None
    ) -> ChatCall | None:
        """The call that an entry continues; `None` when it opens one."""
        if index is not None:
            call = self._at_index.get(index)
            if call is None:
                return None  # 05D.80
            if name is None:
                return call
            if call_id is not None and call.id is not None and call_id != call.id:
                return None  # 05D.81
            repeats = call_id is not None and call_id == call.id
            return None if not repeats and call.whole else call  # 05D.82
        if not self._calls:
            return None  # 05D.83
        last = self._calls[-1]
        if call_id is not None and last.id != call_id:
            return None  # 05D.83
        if name is not None and (opened_before is last or last.name not in (None, name) or last.whole):
            return None  # 05D.84
        return last

    def _open(self, index: int | None, call_id: str | None, name: str | None) -> ChatCall:
        self.response.open_call()
        call = ChatCall(call_id, name)
        place = len(self._calls) if index is None else index
        self._calls.append(call)
        if index is not None:
            self._at_index[index] = call
        else:
            self._at_index.setdefault(place, call)  # 05D.86
        return call

    def _take_arguments(self, call: ChatCall, arguments: object) -> None:
        if arguments is None:
            return
        if type(arguments) is str:
            if arguments:
                self.response.append_arguments(call, arguments)
                call.changed()
        else:
            call.pieces.clear()
            call.size = 0
            call.restart()
            call.object = arguments


def is_text(choice: Mapping[str, object]) -> bool:
    """Whether a choice has the string `text` of the old completions API."""
    return type(choice.get("text")) is str
