"""`scripts/site.py` as a command: exit codes, JSON, what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, cast

import pytest
from site_tools import checks, cli, progress
from site_tools.layout import ROOT, Fault, Site

if TYPE_CHECKING:
    from pathlib import Path

WRONG = Fault(
    "headings", "docs/en/course/05-provider-adapter.md", 7, "H2 number 3 must be: Mechanism {#mechanism}"
)


@pytest.fixture
def one_check(monkeypatch: pytest.MonkeyPatch) -> list[Fault]:
    """Only one check runs, and finds what the test puts into the list."""
    faults: list[Fault] = []

    def found(_site: Site) -> list[Fault]:
        return faults

    monkeypatch.setattr(checks, "CHECKS", {"headings": found})
    return faults


@pytest.mark.criterion("S.16")
def test_a_clean_check_ends_with_0_and_a_fault_with_1(
    one_check: list[Fault], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check"]) == 0
    one_check.append(WRONG)
    assert cli.main(["check"]) == 1
    assert str(WRONG) in capsys.readouterr().err


@pytest.mark.criterion("S.16", "S.97")
def test_json_is_one_object_with_every_check(
    one_check: list[Fault], capsys: pytest.CaptureFixture[str]
) -> None:
    one_check.append(WRONG)
    assert cli.main(["check", "--json", "--checkpoint", "05"]) == 1
    answer = cast("dict[str, object]", json.loads(capsys.readouterr().out))
    row = {"checkpoint": "05", "name": "headings", "status": "fail", "detail": [str(WRONG)]}
    assert answer == {"schema": 1, "checks": [row], "exit": 1}


@pytest.mark.criterion("S.97")
def test_a_checkpoint_s_check_leaves_other_checkpoints_out(
    one_check: list[Fault], capsys: pytest.CaptureFixture[str]
) -> None:
    one_check.append(WRONG)
    assert cli.main(["check", "--checkpoint", "04"]) == 0
    assert "H2" not in capsys.readouterr().err


@pytest.mark.criterion("S.43")
def test_a_check_that_cannot_be_made_is_red_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_site: Site) -> list[Fault]:
        raise OSError("no such file")

    def fine(_site: Site) -> list[Fault]:
        return []

    monkeypatch.setattr(checks, "CHECKS", {"one": broken, "two": fine})
    assert cli.main(["check"]) == 1
    said = capsys.readouterr().err
    assert "[one] could not be made: OSError: no such file" in said
    assert "2 checks, 1 red" in said


def test_serving_a_folder_without_a_site_names_the_line_that_builds_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["serve", "--out", str(tmp_path)]) == 1
    assert "scripts/site.py build" in capsys.readouterr().err


@pytest.mark.criterion("S.70")
def test_progress_is_one_line_a_unit_and_nothing_when_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (False, True):
        with progress.Progress("site build", 2, quiet=quiet) as bar:
            for unit in ("English", "Vietnamese"):
                bar.begin(unit)
                bar.done(unit)
    assert capsys.readouterr().err == "site build: English (1/2)\nsite build: Vietnamese (2/2)\n"


@pytest.mark.criterion("S.36")
def test_the_script_runs_from_anywhere_and_shadows_no_module_of_the_standard_library(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts/site.py"), "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    for verb in ("build", "check", "serve", "vendor", "generate"):
        assert verb in done.stdout
