"""Reads what people give to `trace` and `convert`: fixture files and recorded provider bodies."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from kickwheel._errors import RefusedError
from kickwheel._messages import Messages
from kickwheel._parse import nearest
from kickwheel._places import course_folder
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError, dialects

DEFAULT_FIXTURE = "provider-tool-roundtrip.json"

Json = dict[str, object]


def default_fixture_path() -> Path:
    """The fixture that `trace` runs when none is named."""
    return course_folder() / "fixtures" / DEFAULT_FIXTURE


def open_fixture(path: Path, shown: str, text: Messages) -> FixtureProviderAdapter:
    """The adapter of a fixture file.

    Raises `RefusedError` (`FIXTURE_UNREADABLE`) for a file that is missing or not JSON; a document that is no
    fixture is the adapter's own `FixtureProviderError`.
    """
    try:
        return FixtureProviderAdapter.from_file(path)
    except OSError as error:
        raise _unreadable(shown, error.strerror or type(error).__name__, text) from error
    except FixtureProviderError as error:
        reason = _why_not_json(path)
        if reason is not None:
            raise _unreadable(shown, reason, text) from error
        raise
    except ValueError as error:  # a path that no file system takes
        raise _unreadable(shown, str(error), text) from error


def read_bodies(paths: Sequence[str], text: Messages) -> list[bytes]:
    """The bytes of recorded bodies, one file a response; an empty one is refused."""
    bodies: list[bytes] = []
    for path in paths:
        try:
            body = Path(path).read_bytes()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise _unreadable(path, reason or type(error).__name__, text) from error
        if not body.strip():
            raise _unreadable(path, text("error.empty_file"), text)
        bodies.append(body)
    return bodies


def convert_bodies(name: str, paths: Sequence[str], text: Messages) -> Json:
    """Recorded bodies as one version-1 fixture; a body of another dialect is refused by name."""
    names = dialects.names()
    if name not in names:
        raise RefusedError("USAGE", text("error.unknown_dialect", name=name, near=nearest(name, names)))
    fixture: Json = dict(dialects.to_fixture(name, read_bodies(paths, text)))
    for path, records in zip(paths, records_of(fixture), strict=True):
        if any(record.get("code") == "unknown_format" for record in records):
            raise _unreadable(path, text("error.wrong_dialect", name=name), text)
    return fixture


def records_of(fixture: Json) -> list[list[Json]]:
    """The records of each response of a fixture that `to_fixture` made."""
    responses = fixture["responses"]
    assert isinstance(responses, list)
    return [list(response["records"]) for response in responses]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _unreadable(path: str, reason: str, text: Messages) -> RefusedError:
    return RefusedError("FIXTURE_UNREADABLE", text("error.fixture_unreadable", path=path, reason=reason))


def _why_not_json(path: Path) -> str | None:
    """Why the file is not JSON at all, or `None` if it is (and the adapter refused what it says)."""
    try:
        json.loads(path.read_bytes().decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start}"
    except json.JSONDecodeError as error:
        return f"not JSON: line {error.lineno}, column {error.colno}"
    except _ConstantError as error:
        return f"not JSON: {error}"
    except (RecursionError, ValueError, OSError):
        return None
    return None


class _ConstantError(Exception):
    pass


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)
