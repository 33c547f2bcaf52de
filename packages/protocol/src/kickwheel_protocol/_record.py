"""The base of all records: frozen, slotted, compared by fields, without descendants."""

from typing import Generic, Self

from msgspec import Struct


class Record(Struct, frozen=True, gc=False, rename="camel"):
    """A frozen value whose `__post_init__` has checked its fields: an instance that exists can be trusted.

    msgspec gives construction, equality, hash and pickling in C. `gc=False` is sound because a record holds
    finished values only; nothing can be put into it later, so it is never part of a reference cycle. The
    two records that hold an object of the caller's own switch it on again.
    """

    def __init_subclass__(cls) -> None:
        """Refuse descendants: the whole trust check everywhere is `type(x) is UserMessage`."""
        for base in cls.__bases__:
            if base is not Record and base is not Generic:
                raise TypeError(f"{base.__name__} is final and cannot be subclassed")
        super().__init_subclass__()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object], /) -> Self:
        return self
