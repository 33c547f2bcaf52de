"""Server-sent events (05D.13 to 05D.20): lines into events, events into frames."""

from typing import Final

from ._faults import BodyFault
from ._frames import FrameSink, not_an_object, parse_frame, too_large
from ._json import parse_json

_DONE: Final = b"[DONE]"
_LF: Final = 10
_CR: Final = 13


class ServerSentEvents:
    """Reads lines that end at LF, CR or CRLF and nowhere else, whatever the reads."""

    __slots__ = (
        "_after_cr",
        "_data",
        "_data_size",
        "_limit",
        "_name",
        "_open",
        "_open_size",
        "_sink",
        "_stray",
        "_stray_size",
        "done",
        "stray",
    )

    def __init__(self, sink: FrameSink, limit: int) -> None:
        self._sink = sink
        self._limit = limit
        self._after_cr = False
        self._open: list[bytes] = []  # pieces of the line that has not ended yet
        self._open_size = 0
        self._name: bytes | None = None
        self._data: list[bytes] = []
        self._stray: list[bytes] = []
        self._data_size = 0  # bytes, one for the line feed after each line included
        self._stray_size = 0
        self.stray = False
        self.done = False

    def feed(self, data: bytes) -> None:
        """Take one read; frames go to the sink as their events end."""
        if self._after_cr and data[:1] == b"\n":
            data = data[1:]
        if not data or self.done:
            return
        last = data[-1]
        self._after_cr = last == _CR
        # For bytes, splitlines knows LF, CR and CRLF only; str.splitlines would cut at U+2028 and friends.
        lines = data.splitlines()
        rest = b"" if last in (_LF, _CR) else lines.pop()
        if lines and self._open_size:
            lines[0] = self._end_open_line(lines[0])
        limit = self._limit
        for line in lines:
            if len(line) > limit:
                raise too_large("A line", limit)
            if line[:5] == b"data:":  # nearly every line; the general rule is in _field
                self._take_data(line[6:] if line[5:6] == b" " else line[5:])
            elif line:
                self._field(line)
            else:
                self._end_event()
                if self.done:
                    return
        if rest:
            self._open.append(rest)
            self._open_size += len(rest)
            if self._open_size > limit:
                raise too_large("A line", limit)

    def close(self) -> bool:
        """End the body and the event in it; true when it was cut (05D.20)."""
        if self.done:
            return False
        line = self._end_open_line(b"")
        data_before, stray_before = len(self._data), len(self._stray)
        if line:
            self._field(line)
        in_data, in_stray = len(self._data) > data_before, len(self._stray) > stray_before
        framed = self._end_data(open_ended=in_data)
        if self.done:
            return False
        stray, self._stray = b"\n".join(self._stray), []
        stray_framed = self._dispatch_stray(stray)
        cut = framed is None or (stray[:1] == b"{" and not stray_framed)
        if line and line[:1] != b":":
            cut = cut or not ((in_data and framed) or (in_stray and stray_framed))
        return cut

    def _end_data(self, *, open_ended: bool) -> bool | None:
        """Send the waiting data on; true when it was a frame, `None` when it is cut.

        `open_ended` data may be the beginning of something longer, so it counts only when it is an object.
        """
        data, self._data = b"\n".join(self._data).strip(), []
        if data == _DONE:
            self.done = True
        if not data or self.done:
            return False
        try:
            value, surrogates = parse_json(data)
        except BodyFault:
            return None
        if type(value) is dict:
            self._send(value, surrogates)  # pyright: ignore[reportUnknownArgumentType]  # JSON keys are strings
            return True
        if open_ended:
            return None
        raise not_an_object()

    def _end_open_line(self, end: bytes) -> bytes:
        if not self._open:
            return end
        self._open.append(end)
        line = b"".join(self._open)
        self._open.clear()
        self._open_size = 0
        return line

    def _take_data(self, value: bytes) -> None:
        self._data_size += len(value) + 1
        if self._data_size > self._limit + 1:  # the first line has no line feed before it
            raise too_large("The data of an event", self._limit)
        self._data.append(value)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if not name:
            return  # a comment
        if name == b"data":
            self._take_data(value.removeprefix(b" "))
        elif name == b"event":
            self._name = value.removeprefix(b" ")
        elif name not in (b"id", b"retry"):
            self.stray = True
            self._stray_size += len(line) + 1
            if self._stray_size > self._limit + 1:
                raise too_large("A run of stray lines", self._limit)
            self._stray.append(line)

    def _end_event(self) -> None:
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            self._data.clear()
            self._data_size = 0
            if data[:1] != b"{":  # the usual case needs no look at white space
                data = data.strip()
                if data == _DONE:
                    self.done = True
                    return
            if data:
                self._send(*parse_frame(data))
        self._name = None
        if self._stray:
            stray = b"\n".join(self._stray)
            self._stray.clear()
            self._stray_size = 0
            self._dispatch_stray(stray)

    def _send(self, frame: dict[str, object], surrogates: bool) -> None:
        name, self._name = self._name, None
        self._sink(None if name is None else name.decode("utf-8", "replace"), frame, surrogates)

    def _dispatch_stray(self, text: bytes) -> bool:
        """Stray lines that are one JSON object are a frame without a name; true when they were."""
        if text.lstrip()[:1] != b"{":
            return False
        try:
            value, surrogates = parse_json(text)
        except BodyFault:
            return False
        if type(value) is not dict:
            return False
        self._sink(None, value, surrogates)  # pyright: ignore[reportUnknownArgumentType]  # JSON keys are strings
        return True
