"""Ownership of an iterator: by identity, for the life of the iterator."""

import gc
import weakref
from collections.abc import AsyncIterator
from typing import NoReturn

import pytest

from kickwheel_event_stream import EventStream, claim_iterator


async def numbers() -> AsyncIterator[int]:
    yield 1


class Equal:
    """Iterators that would all be equal, if anybody asked."""

    def __aiter__(self) -> "Equal":
        return self

    async def __anext__(self) -> int:
        raise StopAsyncIteration

    def __eq__(self, other: object) -> NoReturn:
        raise AssertionError("compared")

    def __hash__(self) -> NoReturn:
        raise AssertionError("hashed")


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    async def __anext__(self) -> int:
        raise StopAsyncIteration


class Unreferable:
    __slots__ = ()

    async def __anext__(self) -> int:
        raise StopAsyncIteration


class Wrapper:
    """An iterable that hands out one iterator again and again."""

    def __init__(self, iterator: AsyncIterator[int]) -> None:
        self.iterator = iterator

    def __aiter__(self) -> AsyncIterator[int]:
        return self.iterator


class Fresh:
    def __aiter__(self) -> AsyncIterator[int]:
        return numbers()


@pytest.mark.criterion("02.A50")
async def test_an_iterator_is_claimed_once() -> None:
    iterator = numbers()
    assert [claim_iterator(iterator), claim_iterator(iterator)] == [True, False]
    assert [number async for number in iterator] == [1]
    assert not claim_iterator(iterator)


@pytest.mark.criterion("02.A50")
async def test_a_closed_iterator_stays_claimed() -> None:
    iterator = aiter(EventStream[int, int]())
    assert claim_iterator(iterator)
    await iterator.aclose()
    assert not claim_iterator(iterator)


@pytest.mark.criterion("02.A51")
def test_identity_counts_and_not_equality() -> None:
    one, other = Equal(), Equal()
    assert [claim_iterator(one), claim_iterator(other)] == [True, True]
    assert [claim_iterator(one), claim_iterator(other)] == [False, False]


@pytest.mark.criterion("02.A52")
@pytest.mark.parametrize("kind", [Unhashable, Unreferable])
def test_what_can_be_neither_hashed_nor_referenced_is_claimed_once(kind: type[object]) -> None:
    iterator = kind()
    assert [claim_iterator(iterator), claim_iterator(iterator)] == [True, False]


@pytest.mark.criterion("02.A53")
def test_a_claimed_iterator_dies_with_its_owner_and_its_id_is_free() -> None:
    iterator = Equal()
    assert claim_iterator(iterator)
    reference = weakref.ref(iterator)
    del iterator
    gc.collect()
    assert reference() is None
    for _ in range(100):  # each takes the memory, and so the id, of the one before
        assert claim_iterator(Equal())


@pytest.mark.criterion("02.A54")
def test_fresh_iterators_are_claimed_each_and_a_shared_one_once() -> None:
    fresh = Fresh()
    iterators = [aiter(fresh), aiter(fresh)]
    assert [claim_iterator(iterator) for iterator in iterators] == [True, True]
    shared = numbers()
    assert [claim_iterator(aiter(Wrapper(shared))) for _ in range(2)] == [True, False]


class NotReally:
    __anext__ = None


class InstanceOnly:
    def __init__(self) -> None:
        self.__anext__ = numbers().__anext__


class Guarded(type):
    """A metaclass that lets nobody ask."""

    def __getattribute__(cls, name: str) -> NoReturn:
        raise AssertionError(f"asked for {name}")


class Untouchable(metaclass=Guarded):
    """Has no `__anext__`, and its type must not be asked the ordinary way."""


@pytest.mark.criterion("02.A55")
def test_a_type_is_not_asked_through_its_metaclass() -> None:
    value = object.__new__(Untouchable)
    assert claim_iterator(value) is False


@pytest.mark.criterion("02.A55")
@pytest.mark.parametrize(
    "value",
    [None, 5, "text", [1], iter([1]), Fresh(), NotReally(), InstanceOnly(), Equal],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_anext_cannot_be_claimed(value: object) -> None:
    assert [claim_iterator(value), claim_iterator(value)] == [False, False]
