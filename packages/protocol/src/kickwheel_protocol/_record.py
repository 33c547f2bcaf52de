"""The base of all records: frozen, slotted, without descendants."""

from typing import Generic

from msgspec import Struct


class Record(Struct, frozen=True, gc=False, rename="camel"):
    """Frozen values compared by their fields.

    msgspec gives construction, equality, hash and pickling in C. `gc=False` is safe because a record holds only
    finished values: nothing can be put into it later, so it is never part of a reference cycle. The two records
    that hold a caller's own object switch it on again.
    """

    def __init_subclass__(cls) -> None:
        """Refuse descendants: `type(x) is UserMessage` is the whole trust check everywhere."""
        for base in cls.__bases__:
            if base is not Record and base is not Generic:
                raise TypeError(f"{base.__name__} is final and cannot be subclassed")
        super().__init_subclass__()

    def __copy__(self):  # noqa: ANN204
        return self
