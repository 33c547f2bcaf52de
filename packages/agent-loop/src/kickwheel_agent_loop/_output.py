"""What a tool returned becomes the content of its result: text as it is, all else as JSON (checkpoint 06).

The budgets bound the work, not only the text: whatever a tool returns, no more of it is looked at than can
be written.
"""

import re
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Final, cast

from kickwheel_agent_loop._convert import UnserializableOutputError, converted, refuse_key
from kickwheel_protocol import JsonObject

TOOL_OUTPUT_CAP_CHARACTERS: Final = 4096
"""Code points of the final content, marker included: about a thousand tokens, no flood in a prompt."""
TOOL_TRUNCATION_MARKER: Final = "\n[Tool output truncated]"
"""Ends a content that was cut; 24 code points, so 4072 stay for the payload."""
TOOL_SERIALIZATION_MAX_DEPTH: Final = 32
"""Container depth, the root being 0; a container at depth 33 truncates. A recursive walk this deep is safe.
"""
TOOL_SERIALIZATION_MAX_NODES: Final = 128
"""Values visited, root and scalars included."""
TOOL_SERIALIZATION_MAX_COLLECTION_ENTRIES: Final = 256
"""Array slots visited plus object keys, in the whole output: the most keys that are ever sorted."""
TOOL_SERIALIZATION_MAX_STRING_CHARACTERS: Final = 4096
"""Code points of keys plus string values: a bound on work. Each is also written, so the cap shows first."""
TOOL_SERIALIZATION_MAX_INTEGER_BITS: Final = 4096
"""The magnitude of an integer must be below 2**4096: 1234 digits."""

_KEPT: Final = TOOL_OUTPUT_CAP_CHARACTERS - len(TOOL_TRUNCATION_MARKER)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CIRCULAR: Final = '"[Circular]"'
_QUICK_CHARACTERS: Final = 512  # of one string: eight of them, escaped in full, still fit the cap
_QUICK_ENTRIES: Final = 6
_SAFE_BITS: Final = 1024  # fits any limit that an interpreter may set on the digits of an integer
_PIECE_DIGITS: Final = 300
_PIECE: Final = 10**_PIECE_DIGITS
_CONSTANTS: Final[dict[bool | None, str]] = {None: "null", True: "true", False: "false"}


class _FullError(Exception):
    """A budget is used up: the walk stops where it is."""


def render(output: object) -> str:
    """Write an output as content: at most 4096 code points, with one marker at the end if it was cut.

    Raises `UnserializableOutputError` for what has no JSON form, and whatever the conversion of a known
    class raises.
    """
    if type(output) is str:
        return _bounded_text(output)
    quick = _quick(output)
    return quick if quick is not None else _walk(output)


def _bounded_text(text: str) -> str:
    """Keep a text as it is, up to the cap."""
    # [solution 06.5]
    if len(text) <= TOOL_OUTPUT_CAP_CHARACTERS:
        return text
    return text[:_KEPT] + TOOL_TRUNCATION_MARKER
    # [starter]
    # return text
    # [/solution]


def render_error(code: str, message: str) -> str:
    """Write the content of an error result: the walk over `{"error": {"code": ..., "message": ...}}`."""
    if len(message) <= _QUICK_CHARACTERS:
        return f'{{"error":{{"code":"{code}","message":{quote(message)}}}}}'
    return _walk({"error": {"code": code, "message": message}})


def quote(text: str) -> str:
    """Write a string as JSON: non-ASCII stays raw, except lone surrogates, which no encoding could carry."""
    quoted = encode_basestring(text)
    if text.isascii():
        return quoted
    return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)


def _quick(output: object) -> str | None:
    """Write a small flat value without the walk, or `None`.

    At most seven values at depth 0 or 1 and six keys: of all budgets only the cap could come into play, and
    that is looked at. So the text is the one that the walk would have written.
    """
    if type(output) is not dict and type(output) is not JsonObject:
        return _quick_scalar(output)
    items = cast("dict[object, object]", output)
    if len(items) > _QUICK_ENTRIES:
        return None
    texts: dict[str, str] = {}
    for key, value in items.items():
        if type(key) is not str or len(key) > _QUICK_CHARACTERS:
            return None
        text = _quick_scalar(value)
        if text is None:
            return None
        texts[key] = text
    content = "{" + ",".join([f"{quote(key)}:{texts[key]}" for key in sorted(texts)]) + "}"
    return content if len(content) <= TOOL_OUTPUT_CAP_CHARACTERS else None


def _quick_scalar(value: object) -> str | None:
    """Write a short scalar, or `None` for everything that needs a budget, a conversion or a refusal."""
    kind = type(value)
    if kind is str:
        text = cast("str", value)
        return quote(text) if len(text) <= _QUICK_CHARACTERS else None
    if value is None or kind is bool:
        return _CONSTANTS[cast("bool | None", value)]
    if kind is int:
        number = cast("int", value)
        return repr(number) if number.bit_length() <= _SAFE_BITS else None
    return None


def _walk(output: object) -> str:
    """Write any output within the budgets; where one is used up, cut what was written and mark it."""
    writer = _Writer()
    try:
        writer.visit(output, 0)
    except _FullError:
        return writer.text()[:_KEPT] + TOOL_TRUNCATION_MARKER
    return writer.text()


class _Writer:
    """One walk: the pieces written so far, and what is left of each budget."""

    __slots__ = ("_entries", "_nodes", "_path", "_pieces", "_room")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._room = TOOL_OUTPUT_CAP_CHARACTERS
        self._nodes = TOOL_SERIALIZATION_MAX_NODES
        self._entries = TOOL_SERIALIZATION_MAX_COLLECTION_ENTRIES
        self._path: list[object] = []

    def text(self) -> str:
        """Join what was written."""
        return "".join(self._pieces)

    def write(self, piece: str) -> None:
        """Append a piece; beyond the cap the walk ends."""
        self._pieces.append(piece)
        self._room -= len(piece)
        if self._room < 0:
            raise _FullError

    def visit(self, value: object, depth: int) -> None:
        """Count a value and write it."""
        if self._nodes == 0:
            raise _FullError
        self._nodes -= 1
        if not self.write_plain(value, depth):
            self.write_plain(converted(value), depth)

    def write_plain(self, value: object, depth: int) -> bool:
        """Write what is JSON as it stands; tell if it is not."""
        kind = type(value)
        if kind is str:
            self.write(_bounded_quote(cast("str", value)))
        elif value is None or kind is bool:
            self.write(_CONSTANTS[cast("bool | None", value)])
        elif kind is int:
            self.write(_integer(cast("int", value)))
        elif kind is float:
            self.write(_float(cast("float", value)))
        elif kind is dict or kind is JsonObject:
            self.write_container(value, depth, "{", "}")
        elif kind is list or kind is tuple:
            self.write_container(value, depth, "[", "]")
        else:
            return False
        return True

    def write_container(self, container: object, depth: int, opening: str, closing: str) -> None:
        """Write an array or an object, unless it stands inside itself or too deep."""
        # [solution 06.5]
        for outer in self._path:
            if outer is container:
                self.write(_CIRCULAR)
                return
        if depth > TOOL_SERIALIZATION_MAX_DEPTH:
            raise _FullError
        self.write(opening)
        self._path.append(container)
        if opening == "[":
            self.write_slots(cast("list[object]", container), depth + 1)
        else:
            self.write_fields(cast("dict[object, object]", container), depth + 1)
        self._path.pop()
        self.write(closing)
        # [/solution]

    def write_slots(self, array: "list[object] | tuple[object, ...]", depth: int) -> None:
        """Write the slots of an array; each costs an entry when its turn comes."""
        # [solution 06.5]
        first = True
        for value in array:
            if self._entries == 0:
                raise _FullError
            self._entries -= 1
            if not first:
                self.write(",")
            first = False
            self.visit(value, depth)
        # [/solution]

    def write_fields(self, fields: Mapping[object, object], depth: int) -> None:
        """Write the fields of an object, sorted by key; all cost their entry before one is sorted."""
        # [solution 06.5]
        if len(fields) > self._entries:
            raise _FullError
        self._entries -= len(fields)
        separator = ""
        for key in _sorted_keys(fields):
            self.write(f"{separator}{_bounded_quote(key)}:")
            separator = ","
            self.visit(fields[key], depth)
        # [/solution]


def _bounded_quote(text: str) -> str:
    """Write a string as JSON. Of a long one only the part that could be written is looked at."""
    if len(text) > TOOL_SERIALIZATION_MAX_STRING_CHARACTERS:
        text = text[:TOOL_SERIALIZATION_MAX_STRING_CHARACTERS]
    return quote(text)


def _sorted_keys(fields: Mapping[object, object]) -> list[str]:
    """Sort the keys, each by no more than can be written of it: behind that the text is cut anyway."""
    keys: list[str] = []
    for key in fields:
        if type(key) is not str:
            refuse_key(key)
        keys.append(key)
    keys.sort(key=_written_part)
    return keys


def _written_part(key: str) -> str:
    return key[:TOOL_SERIALIZATION_MAX_STRING_CHARACTERS]


def _integer(value: int) -> str:
    """Write an integer in decimal, without depending on the interpreter's own limit of digits."""
    bits = value.bit_length()
    if bits > TOOL_SERIALIZATION_MAX_INTEGER_BITS:
        raise _FullError
    if bits <= _SAFE_BITS:
        return repr(value)
    high, low = divmod(abs(value), _PIECE)
    return f"{'-' if value < 0 else ''}{_integer(high)}{low:0{_PIECE_DIGITS}d}"


def _float(value: float) -> str:
    if value - value != 0.0:
        raise UnserializableOutputError(f"{value!r} has no JSON form")
    return repr(value)
