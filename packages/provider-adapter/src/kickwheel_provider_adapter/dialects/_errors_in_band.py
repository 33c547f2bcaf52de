"""Errors that providers put inside a body (05D.45 to 05D.49)."""

from collections.abc import Mapping
from typing import Final, TypeGuard

from ._faults import BodyFault
from ._text import MESSAGE_CHARACTERS, is_blank, is_word, mend_surrogates

_LARGEST_CODE: Final = 2**63  # an integer beyond this is no code anybody sent on purpose
NO_CODE: Final = "error"


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """An exact JSON object."""
    return type(value) is dict


def error_in(name: str | None, frame: dict[str, object]) -> BodyFault | None:
    """The error that a frame of any dialect carries, if it carries one."""
    error = frame.get("error")
    if error is not None:
        told = told_error(error)
        if told is not None:
            return told
    if name == "error" or frame.get("type") == "error":
        return _from_object(frame)
    return None


def told_error(error: object) -> BodyFault | None:
    """An `error` field's error: a non-empty object or a non-blank string; anything else is none."""
    if is_object(error) and error:
        return _from_object(error)
    if is_word(error):
        return BodyFault(NO_CODE, _message(error, NO_CODE))
    return None


def error_in_unknown(frame: dict[str, object]) -> BodyFault | None:
    """The error of a frame that the dialect does not recognise, when it says something to people."""
    if is_word(frame.get("message")) or is_word(frame.get("detail")):
        return _from_object(frame)
    return None


def _from_object(error: Mapping[str, object]) -> BodyFault:
    code = mend_surrogates(_code(error))
    message = next((text for key in ("message", "detail") if is_word(text := error.get(key))), code)
    return BodyFault(code, _message(message, code))


def _message(text: str, code: str) -> str:
    cut = mend_surrogates(text)[:MESSAGE_CHARACTERS]
    return code if is_blank(cut) else cut


def _code(error: Mapping[str, object]) -> str:
    code = error.get("code")
    kind = error.get("type")
    status = error.get("status")
    if is_word(code):
        return code
    if is_word(kind) and kind != "error":
        return kind
    if is_word(status):
        return status
    if type(code) is int and -_LARGEST_CODE < code < _LARGEST_CODE:
        return str(code)
    return NO_CODE
