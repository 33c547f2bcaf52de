"""Reading fields of a frame: null means absent, another JSON type is a fault (05D.67)."""

from collections.abc import Iterator, Mapping
from typing import cast

from ._errors_in_band import is_object
from ._faults import invalid_event

_EMPTY: Mapping[str, object] = {}


def text_of(parent: Mapping[str, object], key: str) -> str:
    """A string field; absent is the empty string."""
    value = parent.get(key)
    if value is None:
        return ""
    if type(value) is not str:
        raise invalid_event(key, "a string")
    return value


def object_of(parent: Mapping[str, object], key: str) -> Mapping[str, object]:
    """An object field; absent is an empty object."""
    value = parent.get(key)
    if value is None:
        return _EMPTY
    if not is_object(value):
        raise invalid_event(key, "an object")
    return value


def objects_of(parent: Mapping[str, object], key: str) -> Iterator[Mapping[str, object]]:
    """The objects of an array field; absent is an empty array, null elements are absent."""
    value = parent.get(key)
    if value is None:
        return
    if type(value) is not list:
        raise invalid_event(key, "an array")
    for element in cast("list[object]", value):
        if element is None:
            continue
        if not is_object(element):
            raise invalid_event(f"an element of {key}", "an object")
        yield element


def index_of(parent: Mapping[str, object], key: str = "index") -> int | None:
    """An index field; what is no exact integer is absent."""
    value = parent.get(key)
    return value if type(value) is int else None


def first_choice(parent: Mapping[str, object], key: str) -> Iterator[Mapping[str, object]]:
    """Choice or candidate 0 of an array; a missing index is 0, the others give nothing (05D.34)."""
    for choice in objects_of(parent, key):
        if not index_of(choice):
            yield choice
