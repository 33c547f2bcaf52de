"""The workflows: pinned, without rights they do not need, and running what they say."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from gates import packages

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
IDS = [path.stem for path in FILES]
every_workflow = pytest.mark.parametrize("path", FILES, ids=IDS)


def load(path: Path) -> dict[Any, Any]:
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data  # pyright: ignore[reportUnknownVariableType]  # YAML has no types


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in load(path)["jobs"].values() for step in job["steps"]]


def test_there_is_a_workflow_for_each_purpose() -> None:
    assert IDS == ["benchmarks", "docs", "quality", "release", "tests", "wheels"]


@every_workflow
def test_actions_are_pinned_by_commit_with_their_version_beside_it(path: Path) -> None:
    uses = re.findall(r"uses: (\S+)(.*)", path.read_text(encoding="utf-8"))
    assert uses
    for action, rest in uses:
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest), action


@every_workflow
def test_no_right_is_given_at_the_top_and_every_job_is_bounded(path: Path) -> None:
    data = load(path)
    assert data["permissions"] == {}
    for name, job in data["jobs"].items():
        assert "permissions" in job, name
        assert job["timeout-minutes"] <= 60, name


@every_workflow
def test_checkouts_keep_no_credentials_and_scripts_get_input_by_environment_only(path: Path) -> None:
    for step in steps(path):
        if "checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False
        assert "${{ inputs" not in step.get("run", "")
        assert "${{ github.event" not in step.get("run", "")


def test_every_package_is_tested_alone_on_every_python() -> None:
    matrix = load(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["package"]["strategy"]["matrix"]
    names = {package.name for package in packages()}
    assert set(matrix["package"]) == names
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert {(row["package"], row["gate"], row["python"]) for row in matrix["include"]} == {
        (name, "lowest", "3.11") for name in names
    }


def test_the_publishing_job_only_downloads_what_was_built() -> None:
    jobs = load(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "id-token" not in jobs["build"]["permissions"]
    used = [step["uses"].partition("@")[0] for step in jobs["publish"]["steps"] if "uses" in step]
    assert used == ["actions/download-artifact"]
    assert "checkout" not in str(jobs["publish"])


def test_an_auditor_of_workflows_finds_nothing() -> None:
    auditor = Path(sys.executable).parent / "zizmor"
    if not auditor.exists():
        pytest.skip("zizmor is not in this environment")
    done = subprocess.run(
        [auditor, "--offline", "--no-progress", "--no-config", "--persona", "regular", ".github/workflows"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
