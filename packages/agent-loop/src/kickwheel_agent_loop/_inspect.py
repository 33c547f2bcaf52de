"""Looking at foreign objects without running their code, and letting go of foreign awaitables quietly."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from types import CoroutineType, GeneratorType
from typing import Final, cast

_MRO: Final = cast("Callable[[type], tuple[type, ...]]", type.__dict__["__mro__"].__get__)
_NAMESPACE: Final = cast("Callable[[type], dict[str, object]]", type.__dict__["__dict__"].__get__)
_NAME: Final = cast("Callable[[type], str]", type.__dict__["__name__"].__get__)
_ITERABLE_COROUTINE: Final = 0x100  # the flag that `types.coroutine` sets on a generator's code
_BYTE_ORDER_MARK: Final = "\ufeff"  # invisible like white space, though `str.strip` keeps it


def class_chain(value: object) -> tuple[type, ...]:
    """List a value's classes, past any metaclass that would answer for them."""
    return _MRO(type(value))


def class_name(value: object) -> str:
    """Name a value's class, short enough for a message."""
    return _NAME(type(value))[:100]


def class_attribute(chain: tuple[type, ...], name: str) -> object:
    """Find what the classes define under a name, without binding it; `None` if nothing."""
    for kind in chain:
        namespace = _NAMESPACE(kind)
        if name in namespace:
            return namespace[name]
    return None


def is_blank(text: str) -> bool:
    """Tell whether a text has nothing to read in it (checkpoint 03 defines blank)."""
    return not text.replace(_BYTE_ORDER_MARK, "").strip()


def is_awaitable(value: object) -> bool:
    """Tell whether `await` would take a value: by its class alone, no property is read."""
    kind = type(value)
    if kind is CoroutineType:
        return True
    if kind is dict or kind is str or kind is list or kind is int or value is None:
        return False
    if kind is GeneratorType:
        generator = cast("GeneratorType[object, object, object]", value)
        return bool(generator.gi_code.co_flags & _ITERABLE_COROUTINE)
    return class_attribute(class_chain(value), "__await__") is not None


def as_future(value: object) -> "asyncio.Future[object] | None":
    """Return a value that is an asyncio future or task as such, else `None`."""
    return cast("asyncio.Future[object]", value) if issubclass(type(value), asyncio.Future) else None


def observe(future: "asyncio.Future[object]") -> None:
    """Take note of a future's failure, now or later, so that the loop does not report it."""
    if future.done():
        _retrieve(future)
    else:
        future.add_done_callback(_retrieve)


def let_go(value: object) -> None:
    """Let go of what may be an awaitable: a coroutine is closed, a future's failure observed."""
    if type(value) is CoroutineType:
        with suppress(Exception):  # one that was already running may object to being closed
            cast("CoroutineType[object, object, object]", value).close()
        return
    future = as_future(value)
    if future is not None:
        observe(future)


def call_off(value: object) -> None:
    """As `let_go`, but a future that has not ended is asked to stop first."""
    future = as_future(value)
    if future is not None:
        future.cancel()
    let_go(value)


def _retrieve(future: "asyncio.Future[object]") -> None:
    if not future.cancelled():
        future.exception()
