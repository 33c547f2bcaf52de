"""A small course of its own for these tests: eight checkpoints on three tiny packages."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent, indent
from typing import NamedTuple

import pytest

from kickwheel import _places
from kickwheel._cli import main

SLUGS = (
    ("00", "complete-agent-trace", "lab_alpha"),
    ("01", "protocol", "lab_beta"),
    ("02", "event-stream", "lab_gamma"),
    ("03", "message-ir", "lab_beta"),
    ("04", "scripted-model", "lab_gamma"),
    ("05", "provider-adapter", "lab_gamma"),
    ("06", "tool-contract", "lab_alpha"),
    ("07", "agent-loop", "lab_alpha"),
)
"""Number, slug and package of the checkpoints; as in the real course, packages are shared."""

MODULE = '''\
"""Sums of checkpoint {id}."""


def double(x: int) -> int:
    """Twice x."""
    # [solution {id}.1]
    return x * 2
    # [/solution]


def triple(x: int) -> int:
    """Three times x."""
    # --8<-- [start:triple]
    # [solution {id}.2]
    return double(x) + x
    # [starter]
    # return 0
    # [/solution]
    # --8<-- [end:triple]
'''

FOCUSED = '''\
"""Focused test of checkpoint {id}."""

import pytest

from {package}._sums_{id} import double, triple


@pytest.mark.task(1)
@pytest.mark.criterion("S.60")
def test_double_is_twice() -> None:
    assert double(2) == 4


@pytest.mark.task(2)
@pytest.mark.criterion("S.61")
@pytest.mark.parametrize("x", [1, 2])
def test_triple_is_three_times(x: int) -> None:
    assert triple(x) == 3 * x
'''

CHECKPOINT = """\
id = "{id}"
slug = "{slug}"
package = "{package}"
modules = ["_sums_{id}.py"]
minutes = 10
level = 1
fixtures = ["provider-tool-roundtrip.json"]

[[tasks]]
n = 1
minutes = 4
title.en = "Double a number"
title.vi = "Nhân đôi một số"
hints.en = ["double one", "double two", "double three"]
hints.vi = ["đôi một", "đôi hai", "đôi ba"]

[[tasks]]
n = 2
minutes = 6
title.en = "Triple a number"
title.vi = "Nhân ba một số"
hints.en = ["triple one", "triple two", "triple three"]
hints.vi = ["ba một", "ba hai", "ba ba"]

[[mutants]]
name = "adds-too-much"
file = "_sums_{id}.py"
find = "return double(x) + x"
replace = "return double(x) + x + 1"
criteria = ["S.61"]
red = ["test_triple_is_three_times[1]", "test_triple_is_three_times[2]"]
check = "tests"
question.en = "Which tests notice?"
question.vi = "Test nào phát hiện?"
why.en = "The sum is one too high."
why.vi = "Tổng thừa một đơn vị."

[[mutants]]
name = "ill-typed"
file = "_sums_{id}.py"
find = "return x * 2"
replace = "return float(x * 2)"
criteria = ["S.90"]
check = "types"
question.en = "Who notices?"
question.vi = "Ai phát hiện?"
why.en = "A float equals an int, but it is none."
why.vi = "Một float bằng một int, nhưng không phải int."
"""


class Lab(NamedTuple):
    """The course of the tests: its course folder, the folder of its packages, and what holds both."""

    root: Path
    course: Path
    packages: Path


class Answer(NamedTuple):
    """What one call of the command gave."""

    exit: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        """The one JSON object on standard output."""
        value: dict[str, object] = json.loads(self.out)
        return value


Command = Callable[..., Answer]


@pytest.fixture(scope="session")
def lab_source(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The files of the lab, built once; tests that change them use `fresh_lab`."""
    return build_lab(tmp_path_factory.mktemp("lab"))


def build_lab(root: Path) -> Lab:
    """Write a course and its packages."""
    course, packages = root / "course", root / "src"
    for folder in ("checkpoints", "tests/checkpoints", "fixtures"):
        (course / folder).mkdir(parents=True)
    ours = _places.COURSE_FOLDER
    shutil.copytree(ours / "practice", course / "practice")
    shutil.copy(ours / "course.toml", course)
    shutil.copy(ours / "fixtures" / "provider-tool-roundtrip.json", course / "fixtures")
    lines = {"S.60": "the starter is red", "S.61": "tasks build on one another"}
    (course / "criteria.json").write_text(json.dumps(lines))
    for number, slug, package in SLUGS:
        values = {"id": number, "slug": slug, "package": package}
        (packages / package).mkdir(parents=True, exist_ok=True)
        (packages / package / "__init__.py").write_text('"""A package of the lab."""\n')
        (packages / package / "py.typed").touch()
        (packages / package / f"_sums_{number}.py").write_text(MODULE.format(**values))
        name = f"test_{number}_{slug.replace('-', '_')}.py"
        (course / "tests" / "checkpoints" / name).write_text(FOCUSED.format(**values))
        (course / "checkpoints" / f"{number}.toml").write_text(CHECKPOINT.format(**values))
    return Lab(root, course, packages)


def enter_lab(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process, and every child it starts, use the lab."""
    monkeypatch.setattr(_places, "COURSE_FOLDER", lab.course)
    monkeypatch.setattr(sys, "path", [str(lab.packages), *sys.path])
    monkeypatch.setenv("PYTHONPATH", str(lab.packages))
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "KICKWHEEL_LANG", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def lab(lab_source: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """The lab, entered, with an empty working folder."""
    from kickwheel import _packages

    enter_lab(lab_source, monkeypatch)
    _packages.installed.cache_clear()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    yield lab_source
    _packages.installed.cache_clear()


@pytest.fixture
def own_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """A lab that a test may change."""
    from kickwheel import _packages

    made = build_lab(tmp_path / "own")
    enter_lab(made, monkeypatch)
    _packages.installed.cache_clear()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    yield made
    _packages.installed.cache_clear()


@pytest.fixture
def kickwheel(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command in this process."""

    def call(*words: str) -> Answer:
        capsys.readouterr()
        code = main(list(words))
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call


@pytest.fixture
def practice(lab: Lab, kickwheel: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh practice folder of the lab, and the working folder inside it."""
    assert kickwheel("start", "course").exit == 0
    folder = Path("course").resolve()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def solve() -> Callable[[Path, str, tuple[int, ...]], None]:
    """Write the given tasks of a checkpoint into a practice folder, as a learner would."""

    def write(folder: Path, number: str, tasks: tuple[int, ...] = (1, 2)) -> None:
        package, slug = next((package, slug) for n, slug, package in SLUGS if n == number)
        file = folder / "work" / f"{number}-{slug}" / package / f"_sums_{number}.py"
        text = file.read_text()
        if 1 in tasks:
            text = text.replace(f'raise NotImplementedError("checkpoint {number}, task 1")', "return 2 * x")
        if 2 in tasks:
            text = text.replace("return 0", "return double(x) + x")
        file.write_text(text)

    return write


def block(text: str, spaces: int = 0) -> str:
    """A dedented, then indented block of source."""
    return indent(dedent(text), " " * spaces)
