"""The kinds of fields: id, text, count, bool. Each `..._fault` says what is wrong, or nothing.

Every test is `type(x) is ...`, by identity: a subclass is refused and no code of it ever runs. Constructors
test the usual good case in place, since one runs for every chunk of every stream, and come here to decide
the rest.
"""

from typing import Final, NoReturn

from ._errors import ProtocolError

MAX_COUNT: Final = (
    9_007_199_254_740_991  # 2**53 - 1: the largest integer that every JSON reader keeps exactly
)
BYTE_ORDER_MARK: Final = "\ufeff"  # as invisible as white space, though `str.strip` keeps it

# The three containers as constants, so that `type(x) is DICT` narrows to items of type `object` in a type
# checker.
DICT: Final[type[dict[object, object]]] = dict
LIST: Final[type[list[object]]] = list
TUPLE: Final[type[tuple[object, ...]]] = tuple

_type_name = type.__dict__["__name__"]  # read past any metaclass that has its own idea of a name


class Missing:
    """The type of `MISSING`, which stands for a wire field that is not there."""


MISSING: Final = Missing()


def not_a(wanted: str, value: object) -> str:
    """Say what was expected and what came; only the name of the type is shown, and no code of it runs."""
    if value is MISSING:
        return f"expected {wanted}, but it is missing"
    name: str = _type_name.__get__(type(value))
    return f"expected {wanted}, not {name[:100]}"


def refuse(path: str, wanted: str, value: object) -> NoReturn:
    """Raise the error for a value of the wrong kind."""
    raise ProtocolError(path, not_a(wanted, value))


def has_surrogate(text: str) -> bool:
    """Tell whether a text holds a code point that UTF-8 cannot carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def is_blank(text: str) -> bool:
    """Tell whether nothing of a text can be seen."""
    return not text.strip() or not text.replace(BYTE_ORDER_MARK, "").strip()


def id_fault(value: object) -> str:
    """Say why a value is no id: an exact string, not blank, without lone surrogates."""
    if type(value) is not str:
        return not_a("a string", value)
    if is_blank(value):
        return "must not be blank"
    if not value.isascii() and has_surrogate(value):
        return "must not contain lone surrogates"
    return ""


def text_fault(value: object) -> str:
    """Say why a value is no text: an exact string."""
    return "" if type(value) is str else not_a("a string", value)


def count_fault(value: object) -> str:
    """Say why a value is no count: an exact integer from 0 to 2**53 - 1."""
    if type(value) is not int:
        return not_a("an integer", value)
    return "" if 0 <= value <= MAX_COUNT else f"must be from 0 to {MAX_COUNT}"


def bool_fault(value: object) -> str:
    """Say why a value is no exact `bool`."""
    return "" if type(value) is bool else not_a("true or false", value)


def check_id(value: object, path: str) -> None:
    """Raise `ProtocolError` unless the value is an id."""
    if fault := id_fault(value):
        raise ProtocolError(path, fault)


def refuse_count(path: str, value: object) -> NoReturn:
    """Raise the error for a value that is no count."""
    raise ProtocolError(path, count_fault(value))
