"""Reading a fixture file: bounded, strict, and with the place of a fault in the error."""

import json
import os
from typing import Final

from ._errors import FixtureProviderError
from ._json_text import parse_json

DEFAULT_MAX_BYTES: Final = 67_108_864  # 64 MiB: far beyond hand-made fixtures, small enough to hold in memory


def read_file(path: str | os.PathLike[str], max_bytes: int) -> object:
    """Read and parse one fixture file to plain data.

    `OSError` comes out as it is: the fixture was never seen. Everything that is wrong with the content is a
    `FixtureProviderError` with `PROVIDER_INVALID_FIXTURE`, which names the path and keeps the cause.
    """
    if type(max_bytes) is not int:
        raise TypeError("max_bytes must be an int")
    if max_bytes < 1:
        raise ValueError("max_bytes must be at least 1")
    name = os.fsdecode(path)
    data = _read_bytes(path, max_bytes + 1)
    if len(data) > max_bytes:
        raise invalid_file(name, f"the file is larger than {max_bytes} bytes")
    try:
        return parse_json(data)
    except UnicodeDecodeError as error:
        raise invalid_file(name, f"not UTF-8: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise invalid_file(name, f"{where}: {error.msg}") from error


def invalid_file(name: str, reason: str) -> FixtureProviderError:
    """Make the error for a file that holds no fixture."""
    return FixtureProviderError("PROVIDER_INVALID_FIXTURE", f"Invalid fixture file {name}: {reason}")


def _read_bytes(path: str | os.PathLike[str], limit: int) -> bytes:
    """Read at most `limit` bytes; unbuffered, because a buffer would read ahead of the limit."""
    parts: list[bytes] = []
    with open(path, "rb", buffering=0) as file:
        while limit > 0 and (part := file.read(limit)):
            parts.append(part)
            limit -= len(part)
    return b"".join(parts)
