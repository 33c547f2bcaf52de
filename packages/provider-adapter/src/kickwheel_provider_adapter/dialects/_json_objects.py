"""JSON objects one after another, or in one array (05D.21, 05D.22), found while they arrive.

An object ends where its braces balance; strings are skipped whole. The scan looks at each byte once, whatever
the reads, and the parser then has the last word about what lies between the braces.
"""

import re
from typing import Final

from ._faults import INVALID_JSON, BodyFault
from ._frames import FrameSink, parse_fast, parse_frame, too_large

# Possessive, so that nothing is remembered for going back: memory stays flat on any input.
_TO_BRACE: Final = re.compile(rb'(?:[^"{}]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_TO_QUOTE: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_BETWEEN: Final = re.compile(rb"[ \t\r\n]*+")
_BETWEEN_ELEMENTS: Final = re.compile(rb"[ \t\r\n,]*+")


_QUOTE: Final = 0x22
_BACKSLASH: Final = 0x5C
_ARRAY_END: Final = 0x5D
_OPEN: Final = 0x7B


class JsonObjects:
    """Reads a row of objects, or the inside of an array; `stray` stays false, for every byte must belong."""

    __slots__ = (
        "_between",
        "_depth",
        "_escape",
        "_limit",
        "_pieces",
        "_sink",
        "_size",
        "_string",
        "done",
        "stray",
    )

    def __init__(self, sink: FrameSink, limit: int, *, array: bool) -> None:
        self._sink = sink
        self._limit = limit
        self._between: re.Pattern[bytes] | None = _BETWEEN_ELEMENTS if array else _BETWEEN
        self._depth = 0
        self._string = False
        self._escape = False  # the read ended on a backslash inside a string
        self._pieces: list[bytes] = []  # of the object that is still open
        self._size = 0
        self.stray = False
        self.done = False

    def feed(self, data: bytes) -> None:
        """Take one read; each object goes to the sink as it closes."""
        position, end = 0, len(data)
        while position < end:
            if self._depth:
                position = self._scan(data, position)
                continue
            position = _skip(self._between or _BETWEEN, data, position)
            if position == end:
                return
            byte = data[position]
            if byte == _OPEN and self._between is not None:
                position = self._whole_line(data, position) or self._scan(data, position)
            elif byte == _ARRAY_END and self._between is _BETWEEN_ELEMENTS:
                self._between = None  # nothing but white space may follow the array
                position += 1
            else:
                raise BodyFault(INVALID_JSON, "Something that is no object stands where an object should")

    def close(self) -> bool:
        """End the body; true when an object or the array is still open."""
        return self._depth > 0 or self._between is _BETWEEN_ELEMENTS

    def _whole_line(self, data: bytes, start: int) -> int:
        """Where a line that is one object ends, having sent it on; 0 when it has to be scanned.

        Servers write one object a line, and the parser tells faster than the scan whether a line is whole.
        """
        end_of_line = data.find(b"\n", start)
        end = len(data) if end_of_line < 0 else end_of_line
        line = data[start:end].rstrip(b" \t\r," if self._between is _BETWEEN_ELEMENTS else b" \t\r")
        if line[-1:] != b"}" or len(line) > self._limit:
            return 0
        frame = parse_fast(line)
        if frame is None:
            return 0
        self._sink(None, frame, False)
        return start + len(line)

    def _scan(self, data: bytes, start: int) -> int:
        """Follow the open object to its end, or to the end of the read; where to go on."""
        position, end = start, len(data)
        if self._escape:
            self._escape = False
            position += 1
        while position < end:
            if self._string:
                position = _skip(_TO_QUOTE, data, position)
                if position == end:
                    break
                if data[position] == _BACKSLASH:  # the last byte: what it escapes comes with the next read
                    self._escape = True
                    break
                self._string = False
                position += 1
                continue
            position = _skip(_TO_BRACE, data, position)
            if position == end:
                break
            byte = data[position]
            position += 1
            if byte == _QUOTE:  # a string that does not end in this read
                self._string = True
            elif byte == _OPEN:
                self._depth += 1
            else:
                self._depth -= 1
                if not self._depth:
                    self._complete(data[start:position])
                    return position
        self._keep(data[start:])
        return end

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._limit:
            raise too_large("A JSON object", self._limit)

    def _complete(self, piece: bytes) -> None:
        self._keep(piece)
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._sink(None, *parse_frame(data))


def _skip(pattern: re.Pattern[bytes], data: bytes, position: int) -> int:
    """Where a match of a pattern that also matches nothing ends."""
    match = pattern.match(data, position)
    return position if match is None else match.end()
