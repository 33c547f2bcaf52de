"""JSON values that cannot change, and the one door through which outside data becomes such a value."""

from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast, final, overload

from ._checks import DICT, LIST, MAX_COUNT, MISSING, TUPLE, has_surrogate, not_a
from ._errors import Refusal

MAX_DEPTH: Final = 128  # containers, the outermost counted; Python's own recursion ends far deeper (03.107)
UNASKED: Final = 50_000  # containers frozen before anybody counts what shared parts add up to
MAX_VALUES: Final = 10_000_000  # what sharing may multiply values to; forty doublings make 2**40 (03.98)
TOO_DEEP: Final = f"more than {MAX_DEPTH} containers deep"

JsonPrimitive: TypeAlias = str | int | float | bool | None
"""A JSON scalar: exact types, finite floats, integers within ±(2**53 - 1), no lone surrogates."""
JsonArray: TypeAlias = tuple["JsonValue", ...]
"""A frozen JSON array."""

if TYPE_CHECKING:
    _Base = Mapping[str, "JsonValue"]
else:
    _Base = dict  # lookups, equality, iteration and every JSON encoder work on it in C


@final
class JsonObject(_Base):
    """A deeply immutable JSON object: equal to a `dict` with equal items, hashable (checkpoints 01, 03).

    Made by `freeze_json` and by `ToolCall`; `JsonObject({...})` does the same and raises `ProtocolError`
    for anything but an exact `dict` of JSON values. Every way of changing it raises `TypeError`; so does
    subclassing. Keys keep their order, which has no part in equality or hash. Arrays inside are tuples.
    Copies are the object itself.
    """

    __slots__ = ("_depth", "_hash")

    if TYPE_CHECKING:

        def __init__(self, value: Mapping[str, object] = ..., /) -> None: ...
        def __getitem__(self, key: str, /) -> "JsonValue": ...
        def __iter__(self) -> Iterator[str]: ...
        def __len__(self) -> int: ...
        def __eq__(self, other: object, /) -> bool: ...
        def __hash__(self) -> int: ...

    else:

        def __new__(cls, value=MISSING, /):
            return freeze_object({} if value is MISSING else value, "value")

        def __init__(self, value=MISSING, /):
            pass  # a `dict` would take items in here, and at any later time again

        def __init_subclass__(cls):
            raise TypeError("JsonObject is final and cannot be subclassed")

        def _refuse(self, *_args, **_kwargs):
            """Raise `TypeError`: nothing of it can change."""
            raise TypeError("a JsonObject cannot change; thaw_json makes a copy that can")

        __setitem__ = __delitem__ = __ior__ = _refuse
        update = setdefault = pop = popitem = clear = _refuse
        __setattr__ = __delattr__ = _refuse

        def __hash__(self):
            try:
                return self._hash
            except AttributeError:
                value = hash(frozenset(self.items()))
                _keep_hash(self, value)
                return value

        def __copy__(self):
            return self

        def __deepcopy__(self, memo, /):
            return self

        def __reduce__(self):
            return (JsonObject, (thaw_json(self),))


JsonValue: TypeAlias = JsonPrimitive | JsonArray | JsonObject
"""Any frozen JSON value; a walk over it ends in `assert_never` (checkpoint 01)."""

if TYPE_CHECKING:

    def _type(value: object, /) -> type[object]: ...
    def _new(kind: type[JsonObject], /) -> JsonObject: ...
    def _fill(target: JsonObject, items: dict[str, JsonValue], /) -> None: ...
    def _kept_depth(target: JsonObject, /) -> int: ...
    def _keep_depth(target: JsonObject, depth: int, /) -> None: ...

else:
    _type = type  # under a name of its own, as a checker finds no type for `type(value)` of an `Any`
    _new = dict.__new__
    _fill = dict.update
    _kept_depth = JsonObject._depth.__get__
    _keep_depth = JsonObject._depth.__set__
    _keep_hash = JsonObject._hash.__set__


def freeze_json(value: object, *, path: str = "value") -> JsonValue:
    """Copy untrusted data into a deeply immutable JSON value, or refuse it whole (checkpoint 03).

    Exact dicts become `JsonObject`s, exact lists and tuples become tuples, scalars stay as they are. What
    is frozen already, a tuple of frozen parts included, comes back as the same object. Cost: O(size), and
    O(1) for a `JsonObject`.

    Raises `ProtocolError`, whose path starts with `path` and leads to the first value that is not JSON:
    another type (a subclass included), NaN, an infinity, an integer beyond ±(2**53 - 1), a lone surrogate,
    a cycle, a container more than 128 deep, or parts shared so often that they stand for millions of values.
    """
    if type(value) is JsonObject:
        return value
    try:
        if type(value) is DICT:
            return read_object(value)
        if type(value) is LIST or type(value) is TUPLE:
            return _read_array(value)
        return _check_scalar(value)
    except Refusal as refusal:
        error = refusal.to_error(path)
    try:
        raise error
    finally:
        del error  # which holds this frame: the refused value would wait for the garbage collector


def freeze_object(value: object, path: str) -> JsonObject:
    """Freeze what has to be an object; raise `ProtocolError` otherwise."""
    try:
        return read_object(value)
    except Refusal as refusal:
        error = refusal.to_error(path)
    try:
        raise error
    finally:
        del error  # which holds this frame: the refused value would wait for the garbage collector


def read_object(value: object) -> JsonObject:
    """Freeze what has to be an object; raise `Refusal` otherwise."""
    if type(value) is JsonObject:
        return value
    if type(value) is not DICT:
        raise Refusal(not_a("an object", value))
    try:
        return _freeze_object(value, 1, repeat(None, UNASKED))
    except StopIteration:
        _check_sharing(value)
    return _freeze_object(value, 1, repeat(None))


def _read_array(value: list[object] | tuple[object, ...]) -> JsonArray:
    try:
        return _freeze_array(value, 1, repeat(None, UNASKED))
    except StopIteration:
        _check_sharing(value)
    return _freeze_array(value, 1, repeat(None))


# The two walks. Each value is tested where it stands and most tests are one comparison by identity; a
# container costs one tick, so that a value whose parts are shared over and over is noticed before its walk
# takes years. The walks keep no path: a refusal picks it up on its way out.


def _freeze_object(items: dict[Any, Any], level: int, ticks: Iterator[None]) -> JsonObject:
    next(ticks)
    if level > MAX_DEPTH:
        raise Refusal(TOO_DEEP)
    parts: dict[str, JsonValue] = {}
    key: Any = None
    try:
        for key, value in items.items():
            if type(key) is not str or not key.isascii():
                _check_key(key)
            # [solution 03.1]
            kind = _type(value)
            if kind is str:
                if not value.isascii():
                    _check_scalar(value)
            elif kind is int:
                if not -MAX_COUNT <= value <= MAX_COUNT:
                    _check_scalar(value)
            elif kind is dict:
                value = _freeze_object(value, level + 1, ticks)
            elif kind is list or kind is tuple:
                value = _freeze_array(value, level + 1, ticks)
            elif kind is float:
                if value - value:  # NaN and both infinities, and nothing else
                    _check_scalar(value)
            elif kind is JsonObject:
                _check_depth(value, level + 1)
            elif kind is not bool and value is not None:
                _check_scalar(value)
            # [/solution]
            parts[key] = value
    except Refusal as refusal:
        raise refusal.passed(key) from None
    frozen = _new(JsonObject)
    _fill(frozen, parts)
    return frozen


def _freeze_array(items: list[Any] | tuple[Any, ...], level: int, ticks: Iterator[None]) -> JsonArray:
    next(ticks)
    if level > MAX_DEPTH:
        raise Refusal(TOO_DEEP)
    parts: list[JsonValue] = []
    same = type(items) is tuple
    try:
        for value in items:
            kind = _type(value)
            if kind is str:
                if not value.isascii():
                    _check_scalar(value)
            elif kind is int:
                if not -MAX_COUNT <= value <= MAX_COUNT:
                    _check_scalar(value)
            elif kind is dict:
                value = _freeze_object(value, level + 1, ticks)
                same = False
            elif kind is list or kind is tuple:
                part = _freeze_array(value, level + 1, ticks)
                same = same and part is value
                value = part
            elif kind is float:
                if value - value:  # NaN and both infinities, and nothing else
                    _check_scalar(value)
            elif kind is JsonObject:
                _check_depth(value, level + 1)
            elif kind is not bool and value is not None:
                _check_scalar(value)
            parts.append(value)
    except Refusal as refusal:
        raise refusal.passed(len(parts)) from None
    return cast(JsonArray, items) if same else tuple(parts)


def _check_key(key: object) -> None:
    if type(key) is not str:
        raise Refusal.of_key(f"every key must be a string: {not_a('a string', key)}")
    if has_surrogate(key):
        raise Refusal.of_key("no key may contain lone surrogates")


def _check_scalar(value: object) -> JsonPrimitive:
    if type(value) is int:
        if not -MAX_COUNT <= value <= MAX_COUNT:
            raise Refusal(f"must be from -{MAX_COUNT} to {MAX_COUNT}")
    elif type(value) is float:
        if value - value:
            raise Refusal("must be a finite number")
    elif type(value) is str:
        if has_surrogate(value):
            raise Refusal("must not contain lone surrogates")
    elif value is not None and type(value) is not bool:
        raise Refusal(not_a("a JSON value", value))
    return value


def _check_depth(part: JsonObject, level: int) -> None:
    """Refuse an object that was frozen before and reaches too deep from this level."""
    if level + _depth(part) - 1 > MAX_DEPTH:
        raise Refusal(TOO_DEEP)


def _depth(part: JsonArray | JsonObject) -> int:
    """Count the containers on the longest way down; an object remembers it, so that to ask again costs
    nothing.
    """
    if type(part) is JsonObject:
        try:
            return _kept_depth(part)
        except AttributeError:
            pass
    depth = 0
    for value in part.values() if type(part) is JsonObject else part:
        if type(value) is JsonObject or type(value) is tuple:
            depth = max(depth, _depth(value))
    depth += 1
    if type(part) is JsonObject:
        _keep_depth(part, depth)
    return depth


def _check_sharing(value: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> None:
    if _count_values(value, 1, {}) > MAX_VALUES:
        raise Refusal(f"its shared parts stand for more than {MAX_VALUES} values")


def _count_values(value: Any, level: int, known: dict[int, int]) -> int:
    """Count the values that a walk would meet, looking into each container once."""
    kind = _type(value)
    if (kind is not dict and kind is not list and kind is not tuple) or level > MAX_DEPTH:
        return 1
    if (count := known.get(id(value))) is None:
        count = 1
        for part in value.values() if kind is dict else value:
            count += _count_values(part, level + 1, known)
        known[id(value)] = count
    return count


@overload
def thaw_json(value: JsonObject) -> dict[str, object]: ...
@overload
def thaw_json(value: JsonArray) -> list[object]: ...
@overload
def thaw_json(value: object) -> object: ...
def thaw_json(value: object) -> object:
    """Return a fresh plain copy of a frozen value: dicts and lists that can be changed (checkpoint 03).
    O(size).
    """
    if type(value) is JsonObject or type(value) is DICT:
        return {key: thaw_json(part) for key, part in value.items()}
    if type(value) is TUPLE or type(value) is LIST:
        return [thaw_json(part) for part in value]
    return value
