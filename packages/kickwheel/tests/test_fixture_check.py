"""Checking fixture files: one outcome a file, with the code and the place of every fault."""

import json
from pathlib import Path
from typing import Any

import pytest

from kickwheel._fixture_check import FixtureCheck, FixtureFault, check_fixture, check_fixtures

SHIPPED = Path(__file__).parents[3] / "fixtures" / "provider-tool-roundtrip.json"
TEXT = SHIPPED.read_text(encoding="utf-8")
EMPTY = '{"schemaVersion": 1, "responses": []}'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "fixture.json"


def fault_of(path: Path, content: str | bytes) -> FixtureFault:
    """Write the file, check it, and give its one fault."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    check = check_fixture(path)
    assert not check.ok
    (fault,) = check.faults
    return fault


def place_of(fault: FixtureFault) -> tuple[str, str, int | None, int | None]:
    return fault.code, fault.place, fault.line, fault.column


def test_the_shipped_fixture_is_fine() -> None:
    assert check_fixture(SHIPPED) == FixtureCheck(str(SHIPPED), 2, ())
    assert check_fixture(str(SHIPPED)).ok


def test_files_are_checked_one_by_one_as_they_are_asked_for(tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    checks = check_fixtures([SHIPPED, missing, str(SHIPPED)])
    assert next(checks).ok
    assert [(check.path, check.ok) for check in checks] == [(str(missing), False), (str(SHIPPED), True)]


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path, Path("nul\0byte")):
        (fault,) = check_fixture(path).faults
        assert place_of(fault) == ("FIXTURE_UNREADABLE", "", None, None)
        assert fault.message


def test_a_text_that_is_no_json_is_placed_by_line_and_column(file: Path) -> None:
    assert place_of(fault_of(file, "")) == ("PROVIDER_INVALID_FIXTURE", "", 1, 1)
    assert place_of(fault_of(file, '{\n  "a": }')) == ("PROVIDER_INVALID_FIXTURE", "", 2, 8)
    assert place_of(fault_of(file, '{"a": 1,\n "a": 2}')) == ("PROVIDER_INVALID_FIXTURE", "", 2, 2)
    assert place_of(fault_of(file, '{"a": [NaN]}')) == ("PROVIDER_INVALID_FIXTURE", "", 1, 8)
    assert place_of(fault_of(file, b"\xff")) == ("PROVIDER_INVALID_FIXTURE", "", None, None)


STRUCTURES: list[tuple[str, str, int, int]] = [
    ("[]", "", 1, 1),
    ("\n  null", "", 2, 3),
    ('{"responses": []}', "schemaVersion", 1, 1),
    ('{"schemaVersion": 2, "responses": []}', "schemaVersion", 1, 19),
    ('{"schemaVersion": true, "responses": []}', "schemaVersion", 1, 19),
    ('{"schemaVersion": 1,\n "responses": {}}', "responses", 2, 15),
    ('{"schemaVersion": 1,\n "responses": [{"records": []},\n  5]}', "responses[1]", 3, 3),
    (
        '{"schemaVersion": 1,\n "responses": [{"x": [{}, "]"], "records" : null}]}',
        "responses[0].records",
        2,
        45,
    ),
    ('{"schemaVersion": 1, "responses": [{ }]}', "responses[0].records", 1, 36),
]


@pytest.mark.parametrize(("content", "place", "line", "column"), STRUCTURES)
def test_json_that_is_no_fixture_is_placed_at_the_wrong_part(
    file: Path, content: str, place: str, line: int, column: int
) -> None:
    assert place_of(fault_of(file, content)) == ("PROVIDER_INVALID_FIXTURE", place, line, column)


def test_a_record_out_of_order_is_placed_at_that_record(file: Path) -> None:
    lines = TEXT.splitlines()
    call = next(number for number, line in enumerate(lines) if '"tool_call", "id"' in line)
    lines.insert(call, lines[call])
    fault = fault_of(file, "\n".join(lines))
    column = len(lines[call]) - len(lines[call].lstrip()) + 1
    assert place_of(fault) == ("PROVIDER_INVALID_EVENT", "responses[0].records[2]", call + 2, column)
    assert "record 2" in fault.message


def test_a_missing_terminal_is_placed_at_the_records(file: Path) -> None:
    data: dict[str, Any] = json.loads(TEXT)
    del data["responses"][1]["records"][2]
    fault = fault_of(file, json.dumps(data))
    assert (fault.code, fault.place) == ("PROVIDER_MISSING_TERMINAL", "responses[1].records")
    assert fault.line == 1


def test_every_response_is_judged_on_its_own(file: Path) -> None:
    data: dict[str, Any] = json.loads(TEXT)
    data["responses"][0]["records"][2]["stopReason"] = "stop"
    data["responses"][1]["records"][1] = {"type": "surprise"}
    data["responses"].append({"records": [{"type": "transport_error", "code": "X", "message": "y"}]})
    file.write_text(json.dumps(data, indent=1))
    check = check_fixture(file)
    assert check.responses == 3
    assert [(fault.code, fault.place) for fault in check.faults] == [
        ("PROVIDER_INVALID_TERMINAL", "responses[0].records[2]"),
        ("PROVIDER_UNKNOWN_EVENT", "responses[1].records[1]"),
    ]
    for fault in check.faults:
        assert file.read_text().splitlines()[(fault.line or 0) - 1].strip() == "{"


def test_a_byte_order_mark_moves_no_column(file: Path) -> None:
    fault = fault_of(file, b"\xef\xbb\xbf" + b'{"schemaVersion": 2, "responses": []}')
    assert (fault.line, fault.column) == (1, 19)
    file.write_bytes(b"\xef\xbb\xbf" + EMPTY.encode())
    assert check_fixture(file) == FixtureCheck(str(file), 0, ())
