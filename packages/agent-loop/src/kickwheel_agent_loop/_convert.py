"""Outputs of known classes become plain data; anything else is refused by its class's name (checkpoint 06).

Only the classes named here may run code of their own. A class is known by its place in the class chain,
which no metaclass, property or hook can forge, so all tests are by identity.
"""

import datetime
import decimal
import enum
import sys
import uuid
from collections.abc import Callable
from typing import Final, NoReturn, Protocol, cast

import msgspec

from kickwheel_agent_loop._inspect import class_attribute, class_chain, class_name, is_awaitable, let_go
from kickwheel_protocol import JsonObject

_PLAIN_BASES: Final = frozenset(map(id, (dict, list, tuple, str, int, float)))
"""Identities of the plain classes. A subclass of one may mean anything by what it holds."""
_CONVERSIONS: Final = 8  # an enum member may stand for another one; a longer chain goes nowhere


class UnserializableOutputError(Exception):
    """An output holds something that has no JSON form."""


class _Model(Protocol):
    def model_dump(self, *, mode: str) -> object: ...


def converted(value: object) -> object:
    """Make plain data of a value of a known class; what it holds is looked at in its turn.

    Raises `UnserializableOutputError` for any other class; errors of the value's own code come out as they
    are.
    """
    plain = value
    for _ in range(_CONVERSIONS):
        plain = _converted_once(plain)
        if _is_plain(plain):
            return plain
    return refuse_value(value)


def refuse_value(value: object) -> NoReturn:
    """Raise the error for a value without a JSON form; an awaitable among them is let go of quietly."""
    if is_awaitable(value):
        let_go(value)
        raise UnserializableOutputError(
            f"a {class_name(value)} was left in the output: nothing awaits it there"
        )
    raise UnserializableOutputError(f"a value of type {class_name(value)} has no JSON form")


def refuse_key(key: object) -> NoReturn:
    """Raise the error for a key that is not exactly a string."""
    raise UnserializableOutputError(f"a key must be a string, not of type {class_name(key)}")


def _converted_once(value: object) -> object:
    chain = class_chain(value)
    identities = frozenset(map(id, chain))  # a class may have a hash of its own making, its identity has not
    if id(enum.Enum) not in identities:
        if not _PLAIN_BASES.isdisjoint(identities):
            refuse_value(value)
        if id(decimal.Decimal) in identities:
            return _decimal(cast("decimal.Decimal", value))
        if not _EXACT.keys().isdisjoint(identities):
            value = _exact(chain, value)
        elif id(msgspec.Struct) not in identities and class_attribute(chain, "__dataclass_fields__") is None:
            return _dump_model(identities, value)
    # Decimals stay, because a NaN among them would pass as text; sets are sorted, whatever the hash seed.
    return msgspec.to_builtins(
        value, builtin_types=(decimal.Decimal,), order="deterministic", enc_hook=_converted_once
    )


def _is_plain(value: object) -> bool:
    kind = type(value)
    return value is None or kind is bool or kind is JsonObject or id(kind) in _PLAIN_BASES


def _decimal(value: decimal.Decimal) -> str:
    if not decimal.Decimal.is_finite(value):
        raise UnserializableOutputError(f"{decimal.Decimal.__str__(value)} has no JSON form")
    return decimal.Decimal.__str__(value)


def _exact_datetime(value: datetime.datetime) -> datetime.datetime:
    return datetime.datetime.combine(_exact_date(value), datetime.datetime.timetz(value))


def _exact_date(value: datetime.date) -> datetime.date:
    return datetime.date.fromordinal(datetime.date.toordinal(value))


def _exact_time(value: datetime.time) -> datetime.time:
    return datetime.datetime.combine(datetime.date.min, value).timetz()


def _exact_timedelta(value: datetime.timedelta) -> datetime.timedelta:
    return datetime.timedelta(value.days, value.seconds, value.microseconds)


def _exact_uuid(value: uuid.UUID) -> uuid.UUID:
    return uuid.UUID(int=value.int)


_EXACT: Final[dict[int, Callable[..., object]]] = {
    id(datetime.datetime): _exact_datetime,  # before `date`, of which it is a subclass
    id(datetime.date): _exact_date,
    id(datetime.time): _exact_time,
    id(datetime.timedelta): _exact_timedelta,
    id(uuid.UUID): _exact_uuid,
}
"""Subclasses carry the same data, as the dates of a test clock do; only the exact class is converted."""


def _exact(chain: tuple[type, ...], value: object) -> object:
    if id(chain[0]) in _EXACT:
        return value
    return next(_EXACT[id(kind)](value) for kind in chain if id(kind) in _EXACT)


def _dump_model(identities: frozenset[int], value: object) -> object:
    """Dump a pydantic model. Its package is loaded if there is one: it is never imported from here."""
    module = sys.modules.get("pydantic.main")
    base = None if module is None else vars(module).get("BaseModel")
    if base is None or id(base) not in identities:
        refuse_value(value)
    return cast("_Model", value).model_dump(mode="json")
