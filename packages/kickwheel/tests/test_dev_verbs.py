"""`kickwheel dev check` and `dev sync`: the authors' verbs, on a small repository of its own."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kickwheel import _dev_check, _places, _type_check
from kickwheel._course import load_course
from kickwheel._errors import CourseDataError
from kickwheel._messages import Messages
from kickwheel._runner import Ended
from kickwheel._type_check import find_checker

pytestmark = pytest.mark.slow

SITE = """\
import json
print(json.dumps({"checks": [
    {"name": "trees", "status": "ok", "detail": []},
    {"name": "tasks", "status": "fail", "detail": ["docs/en/course/00-complete-agent-trace.md:3: no task"]},
    {"name": "tasks", "status": "fail", "detail": ["docs/en/course/01-protocol.md:3: no task"]},
]}))
"""


@pytest.fixture
def repository(own_lab: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository around the lab: the course folder lies where an editable installation has it."""
    root: Path = own_lab.root
    course = root / "packages/kickwheel/src/kickwheel/course"
    course.parent.mkdir(parents=True)
    own_lab.course.rename(course)
    monkeypatch.setattr(_places, "COURSE_FOLDER", course)
    (root / "spec").mkdir()
    (root / "spec/site.md").write_text("- S.60 — the starter is red\n- S.61 — tasks build\n- S.90 — types\n")
    shutil.copytree(course / "tests", root / "tests")
    shutil.copytree(course / "fixtures", root / "fixtures")
    for language in ("en", "vi"):
        pages = root / "docs" / language / "course"
        pages.mkdir(parents=True)
        (pages / "00-complete-agent-trace.md").write_text("# page\n")
        (pages / "02-event-stream.md").write_text("# page\n")
    (root / "scripts").mkdir()
    (root / "scripts/site.py").write_text(SITE)
    return root


def red_checks(answer: Any) -> dict[str, str]:
    checks = answer.json["checks"]
    assert answer.exit == (1 if any(check["status"] != "ok" for check in checks) else 0)
    return {check["name"]: check["detail"] for check in checks if check["status"] != "ok"}


@pytest.mark.criterion("S.97", "S.57", "S.58", "S.59", "S.60", "S.61", "S.62", "S.64", "S.65")
def test_a_sound_checkpoint_passes_every_check(repository: Path, kickwheel: Any) -> None:
    answer = kickwheel("dev", "check", "2", "--json")
    assert red_checks(answer) == {}
    assert [check["name"] for check in answer.json["checks"]] == [
        "data",
        "minutes",
        "regions",
        "derivation",
        "copies",
        "focused-file",
        "starter-types",
        "tasks",
        "mutants",
        "pages",
    ]
    assert {check["checkpoint"] for check in answer.json["checks"]} == {"02"}


@pytest.mark.criterion("S.97")
def test_the_sites_own_checks_are_part_of_it(repository: Path, kickwheel: Any, no_types: None) -> None:
    assert red_checks(kickwheel("dev", "check", "0", "--json")) == {
        "pages": "docs/en/course/00-complete-agent-trace.md:3: no task"
    }
    (repository / "scripts/site.py").write_text("raise SystemExit('broken')\n")
    assert "broken" in red_checks(kickwheel("dev", "check", "0", "--json"))["pages"]


@pytest.mark.criterion("S.97")
def test_without_the_repository_the_tool_is_missing(lab: Any, kickwheel: Any) -> None:
    for verb in ("check", "sync"):
        answer = kickwheel("dev", verb, "--json")
        assert (answer.exit, answer.json["error"]["code"]) == (3, "TOOL_MISSING")


@pytest.fixture
def no_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the type checker out where types are not the point."""

    def no_fault(_checker: str, trees: dict[str, Path]) -> dict[str, list[object]]:
        return {name: [] for name in trees}

    monkeypatch.setattr(_dev_check, "check_trees", no_fault)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


DATA = "packages/kickwheel/src/kickwheel/course/checkpoints/02.toml"
MODULE = "src/lab_gamma/_sums_02.py"
TEST = "tests/checkpoints/test_02_event_stream.py"


@pytest.mark.criterion("S.99")
@pytest.mark.parametrize(
    ("file", "old", "new", "check"),
    [
        pytest.param(DATA, '"triple two", ', '"", ', "data", id="an empty hint"),
        pytest.param(DATA, 'return double(x) + x"\n', 'nothing"\n', "mutants", id="a find that is gone"),
        pytest.param(DATA, 'times[2]"]', 'times[3]"]', "mutants", id="other red tests"),
        pytest.param(
            DATA, 'criteria = ["S.61"]', 'criteria = ["S.60"]', "mutants", id="no red test cites it"
        ),
        pytest.param(MODULE, "# return 0", "# return double(x) + x", "tasks", id="a starter that passes"),
        pytest.param(MODULE, "    return x * 2", "    return x * 3", "focused-file", id="a wrong solution"),
        pytest.param(DATA, "minutes = 4", "minutes = 5", "minutes", id="minutes that do not add up"),
        pytest.param(DATA, "minutes = 6", "minutes = 16", "minutes", id="a long task"),
        pytest.param(DATA, "minutes = 10", "minutes = 50", "minutes", id="a long checkpoint"),
        pytest.param(MODULE, "solution 02.2", "solution 02.3", "regions", id="an unknown task"),
        pytest.param(MODULE, "solution 02.2", "solution 03.2", "regions", id="two checkpoints in a module"),
        pytest.param(MODULE, "# return 0", "# return 0 +", "derivation", id="a starter that is no Python"),
        pytest.param(DATA, '["_sums_02.py"]', '["_sums_02.py", "_no.py"]', "regions", id="no such module"),
        pytest.param(DATA, '["_sums_02.py"]', '["__init__.py"]', "regions", id="a module that is not named"),
        pytest.param(
            TEST, "import pytest\n", "import pytest\nimport rich\n", "focused-file", id="foreign import"
        ),
        pytest.param(TEST, "@pytest.mark.task(1)\n", "", "focused-file", id="no task mark"),
        pytest.param(TEST, "task(1)", "task(7)", "focused-file", id="an unknown task mark"),
        pytest.param(TEST, '@pytest.mark.criterion("S.60")\n', "", "focused-file", id="no criterion"),
        pytest.param(TEST, '"S.60"', '"S.6000"', "focused-file", id="an unknown line"),
        pytest.param(TEST, "import pytest\n", "import pytest\n\n", "copies", id="a copy that differs"),
        pytest.param(MODULE, "return x * 2", "return double(x)", "tasks", id="a solution that fails"),
    ],
)
def test_each_fault_turns_its_check_red(
    file: str, old: str, new: str, check: str, repository: Path, kickwheel: Any, no_types: None
) -> None:
    edit(repository / file, old, new)
    if file == TEST and check != "copies":
        assert kickwheel("dev", "sync").exit == 0
    found = red_checks(kickwheel("dev", "check", "02", "--json"))
    assert check in found
    assert Path(file).name in found[check] or "02.toml" in found[check] or "test_02" in found[check]


@pytest.mark.criterion("S.99")
def test_a_page_missing_in_one_language_is_red(repository: Path, kickwheel: Any, no_types: None) -> None:
    (repository / "docs/vi/course/02-event-stream.md").unlink()
    assert red_checks(kickwheel("dev", "check", "02", "--json")) == {
        "pages": "docs/vi/course/02-event-stream.md does not exist"
    }


@pytest.mark.criterion("S.61")
def test_tasks_that_do_not_build_on_one_another_are_red(
    repository: Path, kickwheel: Any, no_types: None
) -> None:
    path = repository / MODULE
    text = path.read_text()
    swapped = text.replace("02.1]", "02.X]").replace("02.2]", "02.1]").replace("02.X]", "02.2]")
    path.write_text(swapped)
    assert "tasks" in red_checks(kickwheel("dev", "check", "02", "--json"))


@pytest.mark.criterion("S.60")
def test_a_body_outside_its_region_is_red(repository: Path, kickwheel: Any, no_types: None) -> None:
    path = repository / MODULE
    edit(path, "    # [solution 02.1]\n    return x * 2\n", "    return x * 2\n    # [solution 02.1]\n")
    assert "tasks" in red_checks(kickwheel("dev", "check", "02", "--json"))


@pytest.mark.criterion("S.59")
def test_a_starter_with_a_type_error_is_red(repository: Path, kickwheel: Any) -> None:
    edit(repository / MODULE, "# return 0", '# return "0"')
    found = red_checks(kickwheel("dev", "check", "02", "--json"))
    assert "_sums_02.py" in found["starter-types"]


@pytest.mark.criterion("S.59")
def test_one_run_of_the_type_checker_keeps_packages_of_the_same_name_apart(tmp_path: Path) -> None:
    values = {"right": "1", "wrong": '"1"', "other": "None"}
    for name, value in values.items():
        (tmp_path / name / "same").mkdir(parents=True)
        (tmp_path / name / "same/__init__.py").write_text(f"VALUE = {value}\n")
        (tmp_path / name / "same/use.py").write_text("from same import VALUE\n\nsum_ = VALUE + 1\n")
    checker = find_checker(Messages("en"))
    found = _type_check.check_trees(checker, {name: tmp_path / name for name in values})
    assert {name: [fault.place() for fault in faults] for name, faults in found.items()} == {
        "right": [],
        "wrong": ["same/use.py:3"],
        "other": ["same/use.py:3"],
    }
    assert found["wrong"] != found["other"]
    assert _type_check.check_trees(checker, {}) == {}


@pytest.mark.criterion("S.59")
def test_an_error_outside_all_starters_counts_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"file": "/elsewhere.py", "severity": "error", "message": "broken"}

    def run(*_: object) -> Ended:
        return Ended(1, json.dumps({"generalDiagnostics": [entry]}), "")

    monkeypatch.setattr(_type_check, "run_bounded", run)
    found = _type_check.check_trees("checker", {"a": tmp_path / "a", "b": tmp_path / "b"})
    assert {name: [fault.message for fault in faults] for name, faults in found.items()} == {
        "a": ["broken"],
        "b": ["broken"],
    }


@pytest.mark.criterion("S.99")
def test_a_starter_that_cannot_be_made_is_a_fault_of_its_own_checkpoint(
    lab: Any, monkeypatch: pytest.MonkeyPatch, no_types: None
) -> None:
    def broken(package: str, target: Path, checkpoint: str) -> None:
        if checkpoint == "02":
            raise CourseDataError("a file", 1, "a broken marker")

    monkeypatch.setattr(_dev_check, "write_derived", broken)
    starters = _dev_check.StarterCheck("checker", load_course().checkpoints)
    assert starters.faults("01") == []
    with pytest.raises(CourseDataError, match="a broken marker"):
        starters.faults("02")
    assert starters.faults("03") == []


@pytest.mark.criterion("S.99")
def test_a_checkpoint_needs_two_mutants(repository: Path, kickwheel: Any, no_types: None) -> None:
    path = repository / DATA
    path.write_text(path.read_text("utf-8").rpartition("[[mutants]]")[0], "utf-8")
    assert "mutants" in red_checks(kickwheel("dev", "check", "02", "--json"))


@pytest.mark.criterion("S.63")
def test_sync_makes_the_copies_equal_and_check_only_looks(repository: Path, kickwheel: Any) -> None:
    course = _places.COURSE_FOLDER
    kickwheel("dev", "sync")
    (repository / "fixtures/new.json").write_text("{}")
    (course / "fixtures/old.json").write_text("{}")
    edit(repository / TEST, "import pytest\n", "import pytest\n\n")
    wanted = sorted([TEST, "fixtures/new.json", "fixtures/old.json"])
    assert kickwheel("dev", "sync", "--check", "--json").json["changed"] == wanted
    answer = kickwheel("dev", "sync", "--json")
    assert (answer.exit, answer.json["changed"]) == (0, wanted)
    assert (course / TEST).read_bytes() == (repository / TEST).read_bytes()
    assert not (course / "fixtures/old.json").exists()
    assert json.loads((course / "criteria.json").read_text())["S.60"] == "the starter is red"
    assert kickwheel("dev", "sync", "--check").exit == 0
