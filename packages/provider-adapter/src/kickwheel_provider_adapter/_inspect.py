"""Looking at untrusted values without running any of their code.

Everything here goes by `type(x) is …`: a subclass could answer with code of its own, an exact built-in
cannot. Keys are seen to be exact strings before the first lookup, because a lookup may call a stranger's
`__eq__`.
"""

from collections.abc import Mapping
from typing import Final, TypeGuard

from kickwheel_protocol import JsonObject

MISSING: Final = object()
"""What a lookup gives for an absent key; `None` is a value."""

MAX_COUNT: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly."""

_SHOWN_CHARACTERS: Final = 60  # enough to recognise a word, too little to flood a report


def as_object(value: object) -> Mapping[str, object] | None:
    """The value as a JSON object whose keys are safe to look up, or `None` when it is none."""
    if type(value) is dict:
        for key in value:  # pyright: ignore[reportUnknownVariableType] - seen here for the first time
            if type(key) is not str:  # pyright: ignore[reportUnknownArgumentType]
                return None
        return value  # pyright: ignore[reportUnknownVariableType]
    return value if type(value) is JsonObject else None


def as_array(value: object) -> list[object] | tuple[object, ...] | None:
    """The value as a JSON array, or `None` when it is none."""
    if type(value) is list or type(value) is tuple:
        return value  # pyright: ignore[reportUnknownVariableType]
    return None


def is_blank(text: str) -> bool:
    """Whether nothing but white space and byte-order marks is in it."""
    return not text or not text.replace("\ufeff", "").strip()


def is_filled(value: object) -> TypeGuard[str]:
    """Whether it is an exact string that is not blank."""
    return type(value) is str and not is_blank(value)


def is_id(value: object) -> TypeGuard[str]:
    """Whether it can be an id or a name: an exact string, not blank, that encodes to UTF-8."""
    return is_filled(value) and not has_surrogate(value)


def is_count(value: object) -> TypeGuard[int]:
    """Whether it is an exact integer from 0 to 2**53 - 1; `True` is none."""
    return type(value) is int and 0 <= value <= MAX_COUNT


def has_surrogate(text: str) -> bool:
    """Whether a lone surrogate is in it, so that it cannot be written to a file or a wire."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def shown(text: str) -> str:
    """A string from outside as it may stand in an error text: quoted, in ASCII, short."""
    return ascii(text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…")


def type_mro(value: object) -> tuple[type, ...]:
    """The classes of a value, read past any metaclass of theirs."""
    mro: tuple[type, ...] = _MRO.__get__(type(value))
    return mro


def declares(value: object, name: str) -> bool:
    """Whether a class of the value defines this attribute; the attribute itself is not read."""
    for cls in type_mro(value):
        names: Mapping[str, object] = _NAMES.__get__(cls)
        if name in names:
            return True
    return False


_MRO: Final = type.__dict__["__mro__"]
_NAMES: Final = type.__dict__["__dict__"]
