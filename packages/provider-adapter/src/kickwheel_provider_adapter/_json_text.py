"""Reading a fixture file as JSON: strict where the standard reader is lenient, and with positions."""

import json
import math
import re
from collections.abc import Iterator
from typing import Final, NoReturn

from ._inspect import shown

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_MAX_DIGITS: Final = 4_300  # Python's own limit for converting integers, which takes quadratic time


def parse_json(data: bytes) -> object:
    """Parse one JSON document in UTF-8 to fresh plain data.

    One leading byte-order mark is dropped. Raises `UnicodeDecodeError`, or `json.JSONDecodeError` with the
    line and column of the fault: no JSON, something after the document, one key twice in an object, `NaN`,
    an infinity, a number that no float can hold, an integer of more than 4300 digits, or nesting that the
    reader cannot follow.
    """
    text = data.removeprefix(_BYTE_ORDER_MARK).decode("utf-8")
    try:
        return _READER.decode(text)
    except RecursionError:
        fault, position = "nested too deeply", _deepest(text)
    except _RefusedError:
        fault, position = next(_faults(text), ("a value that JSON cannot hold", 0))
    raise json.JSONDecodeError(fault, text, position)


class _RefusedError(Exception):
    """A hook of the reader has refused a value; where it stands is looked for afterwards."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _RefusedError
    return fields


def _finite(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise _RefusedError
    return number


def _integer(literal: str) -> int:
    if len(literal) > _MAX_DIGITS:
        raise _RefusedError
    return int(literal)


def _no_constant(_word: str) -> NoReturn:
    raise _RefusedError


_READER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_int=_integer, parse_constant=_no_constant
)

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:]|[-+.\w]+')


def _faults(text: str) -> Iterator[tuple[str, int]]:
    """Find what the hooks refuse, in the order of the text, with the position of each."""
    keys: list[set[str]] = []
    waiting: re.Match[str] | None = None  # a string that is a key if a colon follows
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word == "{" or word == "[":
            keys.append(set())
        elif word == "}" or word == "]":
            keys.pop()
        elif word == ":" and waiting is not None:
            key = str(json.loads(waiting[0]))
            if key in keys[-1]:
                yield f"the key {shown(key)} stands twice in one object", waiting.start()
            keys[-1].add(key)
        elif word[0] != '"' and (fault := _bad_number(word)):
            yield fault, token.start()
        waiting = token if word[0] == '"' else None


def _bad_number(word: str) -> str:
    """Say what is wrong with a number or a word, or give the empty string."""
    if word in ("NaN", "Infinity", "-Infinity"):
        return f"{word} is not JSON"
    if word in ("true", "false", "null"):
        return ""
    if word.lstrip("-").isdecimal():
        return f"an integer of more than {_MAX_DIGITS} digits" if len(word) > _MAX_DIGITS else ""
    return f"{shown(word)} is too large for a float" if math.isinf(float(word)) else ""


def _deepest(text: str) -> int:
    """Find where the nesting is deepest."""
    depth = most = position = 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("{", "["):
            depth += 1
            if depth > most:
                most, position = depth, token.start()
        elif token[0] in ("}", "]"):
            depth -= 1
    return position
