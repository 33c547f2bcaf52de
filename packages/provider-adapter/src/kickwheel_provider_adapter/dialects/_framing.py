"""From received bytes to frames: server-sent events, JSON objects in a row, or one JSON array.

The first significant byte decides which (05D.12). Every reader takes reads of any size and gives the same
frames for any cutting; it keeps one unfinished frame and nothing of what went before.
"""

from typing import Final, Protocol

from ._frames import FrameSink
from ._json_objects import JsonObjects
from ._sse import ServerSentEvents

_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = b" \t\r\n"
_SPACE_KEPT: Final = 65_536  # white space is shortened now and then, not at every read


class Reader(Protocol):
    """One framing; `stray` and `done` are facts about the body so far."""

    stray: bool
    """Lines were seen that belong to no event."""
    done: bool
    """The body said itself that it is over; everything later is ignored."""

    def feed(self, data: bytes, /) -> None:
        """Take one read; frames go to the sink. Raises `BodyFault`."""
        ...

    def close(self) -> bool:
        """End the body; true when it was cut inside a frame. Raises `BodyFault`."""
        ...


class Framing:
    """Chooses the reader by the first significant byte and hands everything to it."""

    __slots__ = ("_limit", "_mark", "_reader", "_sink", "_space")

    def __init__(self, sink: FrameSink, limit: int) -> None:
        self._sink = sink
        self._limit = limit
        self._mark: bytes | None = b""  # what came of a byte-order mark; None once that is settled
        self._space = bytearray()  # white space before the first significant byte
        self._reader: Reader | None = None

    @property
    def done(self) -> bool:
        """Whether the body said itself that it is over."""
        return self._reader is not None and self._reader.done

    @property
    def stray(self) -> bool:
        """Whether lines were seen that belong to no event."""
        return self._reader is not None and self._reader.stray

    def feed(self, data: bytes) -> None:
        """Take one read of any size."""
        if self._reader is not None:
            self._reader.feed(data)
            return
        if self._mark is not None:
            data = self._mark + data
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._mark = data
                return
            self._mark = None
            data = data.removeprefix(_BOM)
        significant = data.lstrip(_SPACE)
        if significant:
            self._choose(data, significant)
        else:
            self._space += data
            if len(self._space) > _SPACE_KEPT:
                self._space = bytearray(_shorten(bytes(self._space), self._limit))

    def _choose(self, data: bytes, significant: bytes) -> None:
        first = significant[:1]
        if first == b"{":
            self._reader = JsonObjects(self._sink, self._limit, array=False)
            self._reader.feed(significant)
        elif first == b"[":
            self._reader = JsonObjects(self._sink, self._limit, array=True)
            self._reader.feed(significant[1:])
        else:
            self._reader = ServerSentEvents(self._sink, self._limit)
            self._reader.feed(bytes(self._space) + data)
        self._space.clear()

    def close(self) -> bool:
        """End the body; true when it was cut inside a frame."""
        if self._reader is None and self._mark:
            self._reader = ServerSentEvents(
                self._sink, self._limit
            )  # a torn byte-order mark is a line like any other
            self._reader.feed(self._mark)
        return self._reader is not None and self._reader.close()


def _shorten(space: bytes, limit: int) -> bytes:
    """Leading white space without what cannot matter any more.

    A line of spaces is stray, wherever it stands, so one of them speaks for all; the last line is still open
    and may be too long.
    """
    lines = space.splitlines(keepends=True)
    stray = b" \n\n" if any(line.strip(b"\r\n") for line in lines[:-1]) else b"\n"
    return stray + lines[-1][-limit - 2 :]
