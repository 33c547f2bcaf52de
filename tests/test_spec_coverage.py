"""The meta-test: every numbered line of spec/ has a test or an excuse, and the rules of both hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from site_tools import collection, coverage
from site_tools.collection import Case
from site_tools.coverage import Excused
from site_tools.layout import ROOT
from site_tools.speclines import parse, read_spec

if TYPE_CHECKING:
    from site_tools.layout import Fault

SPEC = """# A file

| line | rule |
| --- | --- |
| 05.01 | a table row |
| *no* | not a line |

- 05.02 — a list item that
  goes on
- 05.A1 — another
- not 05.03 — this is no line

```text
- 05.09 — inside a fence
```
"""


def a_test(*lines: str, skipped: bool = False, name: str = "test_it") -> Case:
    return Case("tests/test_x.py", name, lines, None, skipped)


def judge(tests: list[Case], excused: list[Excused], *, spec: str = SPEC, root: Path = ROOT) -> list[str]:
    found: list[Fault] = coverage.faults(root, parse(spec, "spec/05-x.md"), tests, excused)
    return [fault.message for fault in found]


@pytest.mark.criterion("S.106", "S.107", "S.108")
@pytest.mark.slow
def test_every_line_of_the_spec_has_a_test_or_an_excuse() -> None:
    spec = read_spec(ROOT / "spec")
    excused = coverage.read_excused(ROOT / "spec" / "excused.toml")
    faults = coverage.faults(ROOT, spec, collection.collect(ROOT), excused)
    assert not faults, "\n" + "\n".join(map(str, faults))


@pytest.mark.criterion("S.106")
def test_a_line_is_a_list_item_or_a_table_row_that_begins_with_its_number() -> None:
    lines = parse(SPEC, "spec/05-x.md")
    assert [(line.number, line.sentence) for line in lines] == [
        ("05.01", "a table row"),
        ("05.02", "a list item that goes on"),
        ("05.A1", "another"),
    ]


@pytest.mark.criterion("S.106")
def test_a_complete_set_of_tests_has_no_fault() -> None:
    assert judge([a_test("05.01", "05.02"), a_test("05.A1")], []) == []


@pytest.mark.criterion("S.106")
def test_a_line_without_a_test_is_named() -> None:
    assert judge([a_test("05.01", "05.02")], []) == ["05.A1 has no test: another"]


@pytest.mark.criterion("S.106")
def test_a_cited_number_that_does_not_exist_is_named() -> None:
    found = judge([a_test("05.01", "05.02", "05.A1", "05.77")], [])
    assert found == ["test_it cites 05.77, which is no line of spec/"]


@pytest.mark.criterion("S.106")
def test_a_number_defined_twice_is_named() -> None:
    found = judge([a_test("05.01", "05.02", "05.A1")], [], spec=SPEC + "- 05.02 — again\n")
    assert found == ["05.02 is already defined in spec/05-x.md:8"]


@pytest.mark.criterion("S.106")
def test_a_line_whose_only_tests_are_always_skipped_is_named() -> None:
    tests = [a_test("05.01", "05.02"), a_test("05.A1", skipped=True), a_test("05.01", skipped=True)]
    assert judge(tests, []) == ["05.A1: all its tests are always skipped"]


@pytest.mark.criterion("S.107")
@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (Excused("05.77", "human", "no reader", None), "05.77 is no line of spec/"),
        (Excused("05.A1", "human", " ", None), "05.A1 does not say why"),
        (Excused("05.A1", "tired", "late", None), "known: benchmark, human, platform, later"),
        (Excused("05.A1", "benchmark", "measured", None), "05.A1 does not say where it is shown"),
        (Excused("05.A1", "benchmark", "measured", "benchmarks/none.py"), "which does not exist"),
        (Excused("05.A1", "platform", "elsewhere", "bench.py"), "which does not cite it"),
        (Excused("05.02", "human", "no reader", None), "05.02 is excused and has a test"),
    ],
)
def test_a_wrong_excuse_is_named(tmp_path: Path, entry: Excused, message: str) -> None:
    (tmp_path / "bench.py").write_text("# measures 05.A12 and x05.A1\n", "utf-8")
    tests = [a_test("05.01", "05.02"), a_test("05.A1") if entry.id != "05.A1" else a_test()]
    found = judge(tests, [entry], root=tmp_path)
    assert any(message in text for text in found), found


@pytest.mark.criterion("S.107")
@pytest.mark.parametrize("reason", ["human", "later"])
def test_a_reader_s_judgement_and_a_later_line_need_no_place(reason: str) -> None:
    assert judge([a_test("05.01", "05.02")], [Excused("05.A1", reason, "because", None)]) == []


@pytest.mark.criterion("S.107")
def test_an_excuse_whose_place_cites_the_number_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text("# measures 05.A1, and prints it\n", "utf-8")
    excused = [Excused("05.A1", "benchmark", "measured", "bench.py")]
    assert judge([a_test("05.01", "05.02")], excused, root=tmp_path) == []


@pytest.mark.criterion("S.107")
def test_a_line_excused_twice_is_named() -> None:
    excused = [Excused("05.A1", "human", "because", None), Excused("05.A1", "later", "because", None)]
    assert judge([a_test("05.01", "05.02")], excused) == ["05.A1 is listed 2 times"]


@pytest.mark.criterion("S.108")
def test_only_optional_lines_of_the_site_are_left_for_later() -> None:
    excused = coverage.read_excused(ROOT / "spec" / "excused.toml")
    later = [entry.id for entry in excused if entry.reason == "later"]
    assert all(name.startswith("S.") for name in later), later


@pytest.mark.criterion("S.109")
def test_the_closing_line_counts_lines_tests_and_excuses_by_reason() -> None:
    spec = parse(SPEC, "spec/05-x.md")
    excused = [Excused("05.A1", "later", "not yet", None)]
    line = coverage.summary(spec, ["05.01", "05.02", "05.99"], excused)
    assert line == "spec: 3 lines, 2 tested, 1 excused (later 1)"


@pytest.mark.criterion("S.105", "S.109")
def test_pytest_refuses_an_unknown_mark_and_reports_what_each_test_cites(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "support").mkdir()
    for name in ("spec_lines.py", "loop_guard.py", "parallel.py"):
        (tmp_path / "tests" / "support" / name).write_text(
            (ROOT / "tests/support" / name).read_text("utf-8"), "utf-8"
        )
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text("utf-8"), "utf-8")
    (tmp_path / "packages").mkdir()
    file = tmp_path / "tests" / "test_marks.py"
    file.write_text(MARKED, "utf-8")
    found = {test.name: (test.lines, test.task, test.skipped) for test in collection.collect(tmp_path)}
    assert found == {
        "TestClass::test_method": (("05.02", "05.01"), None, False),
        "test_values[1]": (("05.A1",), 2, False),
        "test_values[2]": ((), 2, False),
        "test_never": (("05.04",), None, True),
    }
    file.write_text("import pytest\n@pytest.mark.criterium('05.01')\ndef test_x() -> None: ...\n", "utf-8")
    collection.forget(tmp_path)
    with pytest.raises(collection.CollectionError, match="criterium"):
        collection.collect(tmp_path)


MARKED = """
import pytest


@pytest.mark.criterion("05.01")
class TestClass:
    @pytest.mark.criterion("05.02")
    def test_method(self) -> None: ...


@pytest.mark.task(2)
@pytest.mark.parametrize("value", [pytest.param(1, marks=pytest.mark.criterion("05.A1")), 2])
def test_values(value: int) -> None: ...


@pytest.mark.skip(reason="never")
@pytest.mark.criterion("05.04")
def test_never() -> None: ...
"""
