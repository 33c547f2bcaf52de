"""How the full run is shared out: which runs are, and what stays together."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from parallel import BY_CASE, BY_FUNCTION, TOGETHER, processes, unit_of

ROOT = Path(__file__).resolve().parents[1]
INI = """
[pytest]
testpaths = tests
pythonpath = {support}
addopts = -p parallel
"""
TESTS = """
import os

import pytest


@pytest.mark.parametrize("value", range(3))
def test_where(value):
    with open(f"{__file__}.{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}", "a") as file:
        file.write("x")
"""


@pytest.mark.parametrize("place", [*BY_CASE, *BY_FUNCTION, *TOGETHER])
def test_every_place_that_is_treated_apart_exists(place: str) -> None:
    assert (ROOT / place).exists()


def test_a_file_is_a_unit_but_for_what_is_joined_or_divided() -> None:
    assert unit_of("packages/x/tests/test_x.py::TestX::test_y[1]") == "packages/x/tests/test_x.py"
    assert unit_of("tests/site/test_x.py::test_y") == unit_of("tests/site/test_z.py::test_y") == "tests/site"
    assert unit_of(f"{BY_FUNCTION[0]}::test_x[a]") == unit_of(f"{BY_FUNCTION[0]}::test_x[b]")
    assert unit_of(f"{BY_FUNCTION[0]}::test_x[a]") != unit_of(f"{BY_FUNCTION[0]}::test_y[a]")
    assert unit_of(f"{BY_CASE[0]}::test_x[a]") != unit_of(f"{BY_CASE[0]}::test_x[b]")


@pytest.mark.skipif(processes() == 1, reason="needs two cores")
@pytest.mark.parametrize(
    ("words", "shared"),
    [
        ((), True),
        (("--ignore", "tests/none"), True),
        (("-n", "0"), False),
        (("tests/test_a.py", "tests/test_b.py"), False),
        (("-k", "where"), False),
        (("--pdb",), False),
    ],
    ids=["nothing", "ignore", "one process", "two files", "words", "debugger"],
)
def test_a_full_run_has_several_processes_and_any_other_has_one(
    words: tuple[str, ...], shared: bool, tmp_path: Path
) -> None:
    (tmp_path / "pytest.ini").write_text(INI.format(support=ROOT / "tests" / "support"), "utf-8")
    (tmp_path / "tests").mkdir()
    for name in ("a", "b"):
        (tmp_path / "tests" / f"test_{name}.py").write_text(TESTS, "utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "6 passed" in done.stdout, done.stdout + done.stderr
    notes = {path.name: path.read_text() for path in (tmp_path / "tests").glob("*.py.*")}
    assert len(notes) == 2
    assert set(notes.values()) == {"xxx"}
    assert all(name.endswith(".alone") is not shared for name in notes)
