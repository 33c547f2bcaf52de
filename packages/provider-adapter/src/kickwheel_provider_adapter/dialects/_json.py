"""Strict JSON for bytes that nobody vouches for: one fast parser, and a careful second look when it refuses.

The fast parser is right whenever it accepts. It refuses four things that are JSON here: the escape of a lone
surrogate, a number that overflows a float, an integer of thousands of digits, deep nesting. The second look
tells these from real faults, and bad UTF-8 from bad JSON.
"""

import json
from typing import NoReturn

import msgspec

from ._faults import INVALID_JSON, INVALID_UTF8, BodyFault

_fast = msgspec.json.decode

# Longer integers cost quadratic time to read and lie far outside what any count, index or argument may be.
_LONGEST_INTEGER = 400
_HUGE: int = 10**_LONGEST_INTEGER


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) <= _LONGEST_INTEGER:
        return int(digits)
    return -_HUGE if digits.startswith("-") else _HUGE


_careful = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_integer)


def parse_json(data: bytes | str) -> tuple[object, bool]:
    """Parse one JSON text; says with it whether its strings may hold lone surrogates.

    Raises `BodyFault` with `invalid_utf8` or `invalid_json`.
    """
    try:
        return _fast(data), False
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return _second_look(data), True


def _second_look(data: bytes | str) -> object:
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BodyFault(INVALID_UTF8, f"The frame is not UTF-8 at byte {error.start}") from None
    try:
        return _careful.decode(text)
    except RecursionError:
        raise BodyFault(INVALID_JSON, "The frame is nested deeper than can be read") from None
    except json.JSONDecodeError as error:
        raise BodyFault(INVALID_JSON, f"The frame is not JSON at character {error.pos}") from None
    except ValueError as error:
        raise BodyFault(INVALID_JSON, f"The frame is not JSON: {error}") from None
