"""The release script, up to where it would build: versions, tags, changelogs."""

from pathlib import Path

import pytest
import release
from gates import Package, packages


def by_name(name: str) -> Package:
    return next(package for package in packages() if package.name == name)


def test_a_tag_is_the_distribution_and_its_version() -> None:
    package = by_name("kickwheel-protocol")
    assert release.check_tag(package, "9.9.9", "kickwheel-protocol-v9.9.9") == "kickwheel-protocol-v9.9.9"
    with pytest.raises(release.ReleaseError, match="does not fit"):
        release.check_tag(package, "9.9.9", "kickwheel-v9.9.9")


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [("x-v0.1.0", "x-v0.1.1", "patch"), ("x-v0.1.9", "x-v0.2.0", "minor"), ("x-v0.9.0", "x-v1.0.0", "major")],
)
def test_which_part_of_a_version_changed(before: str, after: str, part: str) -> None:
    assert release.bump(before, after) == part


def test_a_version_without_an_entry_or_a_fragment_is_not_released(tmp_path: Path) -> None:
    (tmp_path / "changes").mkdir()
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 — 2026-01-01\n", encoding="utf-8")
    package = Package(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "kickwheel-x"\n', encoding="utf-8")
    assert release.check_changelog(package, "0.1.0") == "the changelog has it"
    with pytest.raises(release.ReleaseError, match="no changelog entry"):
        release.check_changelog(package, "0.2.0")
    (tmp_path / "changes" / "left.fixed.md").write_text("Left over.\n", encoding="utf-8")
    with pytest.raises(release.ReleaseError, match="fragments are left"):
        release.check_changelog(package, "0.1.0")


@pytest.mark.parametrize("arguments", [["kickwheel-nothing", "--dry-run"], ["kickwheel-protocol"]])
def test_wrong_usage_ends_in_one_line_and_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main(arguments) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
