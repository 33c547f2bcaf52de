"""Checks fixture files: readable, JSON, a fixture, and every response in order to its end."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, cast

from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError, ResponseParser

UNREADABLE: Final = "FIXTURE_UNREADABLE"

Steps: TypeAlias = tuple[str | int, ...]
Json: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class FixtureFault:
    """One fault of a file. `place` is a path such as `responses[0].records[2]`, empty for the whole file.

    `code` is one of the adapter's codes, or `FIXTURE_UNREADABLE` when the operating system gave no
    content. `line` and `column` count from 1, as editors do; both are `None` where no place in the text is
    to blame.
    """

    code: str
    message: str
    place: str = ""
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class FixtureCheck:
    """What came of one file: its path as given, how many responses it holds, and all its faults."""

    path: str
    responses: int
    faults: tuple[FixtureFault, ...]

    @property
    def ok(self) -> bool:
        """Whether every response of the file can be played."""
        return not self.faults


def check_fixtures(paths: Iterable[str | os.PathLike[str]]) -> Iterator[FixtureCheck]:
    """Check each file when it is asked for, so that the caller can show progress.

    A response that ends in a well-formed `transport_error` is no fault: recording a provider's failure is
    what that record is for.
    """
    for path in paths:
        yield check_fixture(path)


def check_fixture(path: str | os.PathLike[str]) -> FixtureCheck:
    """Check one file. A response is judged on its own: a fault in one does not hide those of the next."""
    name = os.fspath(path)
    try:
        FixtureProviderAdapter.from_file(path)
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        return FixtureCheck(name, 0, (FixtureFault(UNREADABLE, error.strerror or type(error).__name__),))
    except ValueError as error:  # a path that no operating system takes
        return FixtureCheck(name, 0, (FixtureFault(UNREADABLE, str(error)),))
    except FixtureProviderError as error:
        return FixtureCheck(name, 0, (_file_fault(path, error),))
    responses = cast("list[Json]", json.loads(text)["responses"])
    faults = (_response_fault(text, index, response) for index, response in enumerate(responses))
    return FixtureCheck(name, len(responses), tuple(fault for fault in faults if fault is not None))


def _response_fault(text: str, index: int, response: Json) -> FixtureFault | None:
    records = cast("list[object]", response["records"])
    try:
        parser = ResponseParser("request-001")
        for record in records:
            parser.feed(record)
        parser.close()
    except FixtureProviderError as error:
        if error.code == "PROVIDER_TRANSPORT_ERROR":
            return None
        steps: Steps = ("responses", index, "records")
        if error.record_index is not None and error.record_index < len(records):
            steps = (*steps, error.record_index)
        return _fault_at(text, steps, error.code, str(error))
    return None


def _file_fault(path: str | os.PathLike[str], error: FixtureProviderError) -> FixtureFault:
    """Say where in the file the adapter's refusal belongs."""
    cause = error.__cause__
    if isinstance(cause, json.JSONDecodeError):
        return FixtureFault(error.code, cause.msg, "", cause.lineno, cause.colno)
    if not isinstance(cause, FixtureProviderError):
        return FixtureFault(error.code, str(error))
    text = Path(path).read_bytes().decode("utf-8-sig")
    return _fault_at(text, _wrong_part(json.loads(text)), error.code, str(cause))


def _wrong_part(data: object) -> Steps:
    """Find the part that makes a JSON document no fixture, in the order in which the adapter looks."""
    if not isinstance(data, dict):
        return ()
    fixture = cast("Json", data)
    version = fixture.get("schemaVersion")
    if type(version) is not int or version != 1:
        return ("schemaVersion",)
    responses = fixture.get("responses")
    if not isinstance(responses, list):
        return ("responses",)
    for index, response in enumerate(cast("list[object]", responses)):
        if not isinstance(response, dict):
            return ("responses", index)
        if not isinstance(cast("Json", response).get("records"), list):
            return ("responses", index, "records")
    return ()


def _fault_at(text: str, steps: Steps, code: str, message: str) -> FixtureFault:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    position = _locate(text, steps)
    line = text.count("\n", 0, position) + 1
    return FixtureFault(
        code, message, place.removeprefix("."), line, position - text.rfind("\n", 0, position)
    )


_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r\n]*")


def _locate(text: str, steps: Steps) -> int:
    """Find where the value at the end of the steps begins; of a missing one, where its parent begins."""
    position = _skip_space(text, 0)
    for step in steps:
        found = _find_key(text, position, step) if isinstance(step, str) else _find_item(text, position, step)
        if found is None:
            break
        position = found
    return position


def _find_key(text: str, position: int, wanted: str) -> int | None:
    for start, key in _children(text, position):
        if key == wanted:
            return start
    return None


def _find_item(text: str, position: int, wanted: int) -> int | None:
    for index, (start, _) in enumerate(_children(text, position)):
        if index == wanted:
            return start
    return None


def _children(text: str, position: int) -> Iterator[tuple[int, object]]:
    """Give the start of each child of the object or array at a position, and its key in an object."""
    is_object = text[position] == "{"
    position = _skip_space(text, position + 1)
    while text[position] not in "}]":
        key: object = None
        if is_object:
            key, position = _DECODER.raw_decode(text, position)
            position = _skip_space(text, _skip_space(text, position) + 1)
        yield position, key
        _, position = _DECODER.raw_decode(text, position)
        position = _skip_space(text, position)
        if text[position] == ",":
            position = _skip_space(text, position + 1)


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return position if match is None else match.end()
