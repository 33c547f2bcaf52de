"""Process-wide ownership of async iterators: one physical iterator has one reader."""

import weakref
from collections.abc import Callable, Mapping
from types import AsyncGeneratorType
from typing import Final

# Not `kind.__mro__` and `vars`, which ask a metaclass of somebody else's making.
_bases_of: Final[Callable[[type], tuple[type, ...]]] = type.__dict__["__mro__"].__get__
_names_of: Final[Callable[[type], Mapping[str, object]]] = type.__dict__["__dict__"].__get__

_claimed: Final[dict[int, object]] = {}
"""Identity of each claimed iterator, to a weak reference of it, or to itself where it cannot be weakly
referenced."""

_generators: Final[set[weakref.ref[object]]] = set()
"""The usual case, an asynchronous generator: it is its own identity to a set, so all of this runs in C."""
_forget: Final = _generators.discard


def claim_iterator(iterator: object) -> bool:
    """Take ownership of an async iterator (checkpoint 02).

    `True` the first time for a physical iterator and `False` ever after, also once it is exhausted or closed:
    two readers of one iterator would each see half of it. Identity counts, so neither `__eq__` nor `__hash__`
    is called. An object whose type has no `__anext__` is `False`: there is nothing to own.

    The claim is forgotten when the iterator dies. One that cannot be weakly referenced is remembered for
    good.
    """
    kind = type(iterator)
    if kind is AsyncGeneratorType:
        size = len(_generators)
        _generators.add(weakref.ref(iterator, _forget))
        return len(_generators) != size
    if not any(_names_of(base).get("__anext__") for base in _bases_of(kind)):
        return False
    key = id(iterator)
    if key in _claimed:
        return False
    try:
        _claimed[key] = weakref.ref(iterator, lambda _dead: _claimed.pop(key, None))
    except TypeError:
        _claimed[key] = iterator
    return True
