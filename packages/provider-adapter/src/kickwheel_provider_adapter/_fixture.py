"""From an untrusted fixture to a queue of record sources, all or nothing."""

from collections.abc import AsyncIterable
from typing import Final, NoReturn, TypeAlias, TypeGuard

from ._errors import FixtureProviderError
from ._inspect import MISSING, as_array, as_object, declares, type_mro
from ._snapshot import UnsafeValueError, snapshot

SCHEMA_VERSION: Final = 1

RecordSource: TypeAlias = tuple[object, ...] | AsyncIterable[object]
"""The records of one response: copied ones, or a source that nobody has opened yet."""

_CONTAINERS: Final = (dict, list, tuple, set, frozenset, str, bytes, bytearray, memoryview, range)


def read_fixture(fixture: object) -> list[RecordSource]:
    """Check a fixture of schema version 1 and copy what its arrays hold.

    Async sources are taken as they are, neither opened nor advanced. Raises `FixtureProviderError` with
    `PROVIDER_INVALID_FIXTURE`; its text names the place.
    """
    fields = as_object(fixture)
    if fields is None:
        _refuse("fixture", "must be an object with string keys")
    version = fields.get("schemaVersion")
    if type(version) is not int or version != SCHEMA_VERSION:
        _refuse("schemaVersion", f"must be the integer {SCHEMA_VERSION}")
    responses = as_array(fields.get("responses"))
    if responses is None:
        _refuse("responses", "must be an array")
    return [_read_response(response, f"responses[{index}]") for index, response in enumerate(responses)]


def _read_response(response: object, path: str) -> RecordSource:
    fields = as_object(response)
    if fields is None:
        _refuse(path, "must be an object with string keys")
    records = fields.get("records", MISSING)
    if is_async_source(records):
        return records
    array = as_array(records)
    if array is None:
        _refuse(f"{path}.records", "must be an array or an async source")
    return tuple(_read_record(record, f"{path}.records[{index}]") for index, record in enumerate(array))


def _read_record(record: object, path: str) -> object:
    try:
        return snapshot(record)
    except UnsafeValueError as error:
        _refuse(f"{path}{error.path}", error.reason)


def is_async_source(value: object) -> TypeGuard[AsyncIterable[object]]:
    """Whether its type can be iterated asynchronously and is no built-in container in disguise."""
    return declares(value, "__aiter__") and not any(
        cls is container for cls in type_mro(value) for container in _CONTAINERS
    )


def _refuse(path: str, reason: str) -> NoReturn:
    raise FixtureProviderError("PROVIDER_INVALID_FIXTURE", f"Invalid fixture: {path}: {reason}")
