"""JSON values that cannot change, and the one door through which outside data becomes such a value."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias, final

from ._checks import MAX_COUNT, has_surrogate, type_name
from ._errors import ProtocolError, Step, render_path

MAX_DEPTH: Final = 128

JsonPrimitive: TypeAlias = str | int | float | bool | None
JsonArray: TypeAlias = "tuple[JsonValue, ...]"
JsonValue: TypeAlias = "JsonPrimitive | JsonArray | JsonObject"

if TYPE_CHECKING:
    _Base = Mapping[str, JsonValue]
else:
    _Base = dict


@final
class JsonObject(_Base):
    """placeholder"""

    __slots__ = ("_depth", "_hash")
    if TYPE_CHECKING:
        def __init__(self, value: object = ..., /) -> None: ...
        def __getitem__(self, key: str, /) -> JsonValue: ...
        def __iter__(self): ...
        def __len__(self) -> int: ...
    else:
        def __new__(cls, value={}, /):
            return freeze_json(value)
        def __init__(self, value=None, /):
            pass
        def _refuse(self, *args, **kwargs):
            raise TypeError("a JsonObject cannot change")
        __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = __ior__ = _refuse
        __setattr__ = __delattr__ = _refuse
        def __hash__(self): return hash(frozenset(self.items()))
        def __reduce__(self): return (freeze_json, (thaw_json(self),))
        def __copy__(self): return self
        def __deepcopy__(self, memo): return self
        def __init_subclass__(cls): raise TypeError("JsonObject is final and cannot be subclassed")


_new = dict.__new__
_fill = dict.update


class _Refused(Exception):
    def __init__(self, reason, *steps):
        self.reason = reason
        self.steps = list(steps)


def freeze_json(value: object, *, path: str = "value") -> JsonValue:
    """Copy"""
    if type(value) is JsonObject:
        return value
    try:
        return _freeze(value, 1)
    except _Refused as fault:
        where = render_path(fault.steps[::-1], path)
        reason = fault.reason
    raise ProtocolError(where, reason)


def _freeze(v, level):
    t = type(v)
    if t is str:
        if not v.isascii() and has_surrogate(v):
            raise _Refused("must not contain lone surrogates")
        return v
    if t is int:
        if not -MAX_COUNT <= v <= MAX_COUNT:
            raise _Refused("integer")
        return v
    if t is bool or v is None:
        return v
    if t is float:
        if v - v != 0.0:
            raise _Refused("nan")
        return v
    if t is JsonObject:
        if level + json_depth(v) - 1 > MAX_DEPTH:
            raise _Refused("deep")
        return v
    if t is not dict and t is not list and t is not tuple:
        raise _Refused(f"not JSON: {type_name(v)}")
    if level > MAX_DEPTH:
        raise _Refused("deep")
    if t is dict:
        out = {}
        for k, x in v.items():
            if type(k) is not str or (not k.isascii() and has_surrogate(k)):
                raise _Refused("bad key")
            try:
                out[k] = _freeze(x, level + 1)
            except _Refused as f:
                f.steps.append(k)
                raise
        o = _new(JsonObject)
        _fill(o, out)
        return o
    out = []
    for i, x in enumerate(v):
        try:
            out.append(_freeze(x, level + 1))
        except _Refused as f:
            f.steps.append(i)
            raise
    if t is tuple and all(a is b for a, b in zip(out, v)):
        return v
    return tuple(out)


def json_depth(v) -> int:
    t = type(v)
    if t is JsonObject:
        return 1 + max((json_depth(x) for x in v.values()), default=0)
    if t is tuple:
        return 1 + max((json_depth(x) for x in v), default=0)
    return 0


def thaw_json(value: object):
    t = type(value)
    if t is JsonObject or t is dict:
        return {k: thaw_json(x) for k, x in value.items()}
    if t is tuple or t is list:
        return [thaw_json(x) for x in value]
    return value
