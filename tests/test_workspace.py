"""The workspace as a whole: layout, licences, directions, sizes of modules, and what must not be in it."""

import re
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from gates import ALLOWED, Package, packages

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = packages()
IDS = [package.name for package in PACKAGES]


def tracked(*patterns: str) -> list[Path]:
    output = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if output.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in output.stdout.splitlines() if (ROOT / line).is_file()]


def test_the_root_lists_every_member() -> None:
    root = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = root["project"]["dependencies"]
    assert sorted(listed) == sorted(IDS) == sorted(ALLOWED)


@pytest.mark.parametrize("package", PACKAGES, ids=IDS)
def test_a_package_has_what_a_product_needs(package: Package) -> None:
    folder = package.folder
    module = package.module
    for name in (
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        f"src/{module}/py.typed",
        f"src/{module}/__init__.py",
        "tests",
    ):
        assert (folder / name).exists(), name
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("package", PACKAGES, ids=IDS)
def test_the_changelog_begins_with_the_version_of_the_package(package: Package) -> None:
    folder = package.folder
    version = str(
        tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    )
    titles = re.findall(r"^## (\S+)", (folder / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert titles[0] == version


@pytest.mark.parametrize("package", PACKAGES, ids=IDS)
def test_the_readme_of_a_package_has_the_same_parts(package: Package) -> None:
    folder = package.folder
    text = (folder / "README.md").read_text(encoding="utf-8")
    titles = [title.lower() for title in re.findall(r"^## (.+)$", text, re.M)]
    for part in ("install", "example", "contract", "errors", "links"):
        assert any(part in title for title in titles), f"no part on {part} in {titles}"


def test_layers_are_checked_by_a_tool_that_notices_a_wrong_import(tmp_path: Path) -> None:
    config = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'type = "layers"' in config
    assert 'type = "independence"' in config
    assert 'type = "forbidden"' in config
    for name in ("low", "high"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(
            "import high\n" if name == "low" else "", encoding="utf-8"
        )
    (tmp_path / "setup.cfg").write_text(
        "[importlinter]\nroot_packages =\n  low\n  high\n"
        "[importlinter:contract:1]\nname = layers\ntype = layers\nlayers =\n  high\n  low\n",
        encoding="utf-8",
    )
    linter = Path(sys.executable).parent / "lint-imports"
    if not linter.exists():
        pytest.skip("import-linter is not in this environment")
    planted = subprocess.run(
        [linter, "--config", "setup.cfg", "--no-cache"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert planted.returncode == 1, planted.stdout + planted.stderr


def test_modules_are_small() -> None:
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for package in PACKAGES
        for path in (package.folder / "src").rglob("*.py")
        if "course" not in path.parts
    }
    too_long = {str(path.relative_to(ROOT)): lines for path, lines in lengths.items() if lines > 600}
    assert not too_long
    assert statistics.median(lengths.values()) <= 200


def test_nothing_in_the_repository_names_a_registry_or_a_machine() -> None:
    hosts = re.compile(r"py" + r"pi\.org|pythonhos" + r"ted|registry\.np" + r"mjs|/(?:home|root|work)/[a-z]")
    found: list[str] = []
    for path in tracked():
        if (
            path.suffix in (".png", ".svg", ".sse", ".ndjson", ".tsv", ".ico", ".woff2")
            or "recordings" in path.parts
        ):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in hosts.finditer(text)]
    assert not found


def test_no_lock_file_is_tracked() -> None:
    assert not tracked("uv.lock", "**/uv.lock")


def readme_commands() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    fence = text.split("```sh\n", 1)[1].split("```", 1)[0]
    return fence.strip().splitlines()


def test_the_readme_has_exactly_two_set_up_commands() -> None:
    first, second = readme_commands()
    assert first.endswith("kickwheel trace")
    assert second.endswith("pytest")
    assert all(command.startswith("python3 -m pip install") for command in (first, second))
    assert "readme_command" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_picture_of_the_trace_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/picture.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
