"""The field kinds of the record table: id, text, count, bool, records. Slow halves of the inline checks.

Constructors run for every chunk of every stream, so each tests the usual good case in place and comes here only to
decide the unusual one. All tests are `type(x) is ...`: a subclass is refused and none of its code runs.
"""

from typing import Final, NoReturn

from ._errors import ProtocolError

MAX_COUNT: Final = 9_007_199_254_740_991  # 2**53 - 1: the largest integer every JSON reader keeps exactly
BYTE_ORDER_MARK: Final = "\ufeff"  # invisible like white space, though `str.strip` keeps it


def refuse(path: str, wanted: str, value: object) -> NoReturn:
    """Raise the error for a value of the wrong kind; only the name of its type is shown."""
    raise ProtocolError(path, f"expected {wanted}, not {type_name(value)}")


def type_name(value: object) -> str:
    """Name a value's type without running any code of it."""
    return type.__dict__["__name__"].__get__(type(value))[:100]


def has_surrogate(text: str) -> bool:
    """Tell whether a text holds a code point that UTF-8 cannot carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def check_id(value: object, path: str) -> None:
    """Refuse what is not an id: an exact string, not blank, without lone surrogates."""
    if type(value) is not str:
        refuse(path, "a string", value)
    fault = id_fault(value)
    if fault:
        raise ProtocolError(path, fault)


def id_fault(text: str) -> str:
    """Say what keeps a string from being an id; the empty string if nothing does."""
    if not text or text.isspace() or not text.replace(BYTE_ORDER_MARK, "").strip():
        return "must not be blank"
    if not text.isascii() and has_surrogate(text):
        return "must not contain lone surrogates"
    return ""


def check_text(value: object, path: str) -> None:
    """Refuse what is not an exact string."""
    if type(value) is not str:
        refuse(path, "a string", value)


def check_count(value: object, path: str) -> None:
    """Refuse what is not an exact integer from 0 to 2**53 - 1."""
    if type(value) is not int:
        refuse(path, "an integer", value)
    if not 0 <= value <= MAX_COUNT:
        raise ProtocolError(path, f"must be from 0 to {MAX_COUNT}")


def check_bool(value: object, path: str) -> None:
    """Refuse what is not an exact `bool`."""
    if type(value) is not bool:
        refuse(path, "true or false", value)
