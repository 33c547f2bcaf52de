"""Every fence of every README: Python runs under Sybil and prints what its comment says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from site_tools.layout import PACKAGES, ROOT
from site_tools.pages import Page
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

if TYPE_CHECKING:
    from sybil.document import Document


WHOLE = ".."
"""The README of the project itself, as seen from the folder of packages."""


def parsed(name: str) -> Document:
    folder = (ROOT / "packages" / name).resolve()
    return Sybil(parsers=[PythonCodeBlockParser()], pattern="README.md", path=str(folder)).parse(
        folder / "README.md"
    )


@pytest.mark.criterion("S.45")
@pytest.mark.parametrize("name", [WHOLE, *PACKAGES.values()])
def test_every_python_fence_of_a_readme_runs_and_prints_what_it_says(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = parsed(name)
    for example in document.examples():
        example.evaluate()
        said = re.findall(r"(?m)^.*\)  # (.+)$", str(example.parsed))
        assert capsys.readouterr().out.splitlines() == said


@pytest.mark.criterion("S.45")
@pytest.mark.parametrize("name", PACKAGES.values())
def test_a_readme_has_no_other_fence_than_python_its_output_and_commands(name: str) -> None:
    file = ROOT / "packages" / name / "README.md"
    page = Page.read(file, f"packages/{name}/README.md", "en")
    kinds = [fence.language for fence in page.fences]
    assert set(kinds) <= {"python", "console", "bash", "text", "json"}, kinds
    assert len(list(parsed(name).examples())) == kinds.count("python")
