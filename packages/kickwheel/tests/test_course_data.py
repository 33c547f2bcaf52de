"""Course data: what is read, and that each fault is named with its file."""

import re
from pathlib import Path
from typing import Any

import pytest

from kickwheel import _course, _repo
from kickwheel._errors import CourseDataError, RefusedError
from kickwheel._messages import Messages


def spoil(lab: Any, name: str, pattern: str, replacement: str) -> None:
    path: Path = lab.course / name
    text, count = re.subn(pattern, replacement, path.read_text("utf-8"), count=1, flags=re.DOTALL)
    assert count == 1
    path.write_text(text, "utf-8")


@pytest.mark.criterion("S.57")
def test_a_checkpoint_is_read_whole(lab: Any) -> None:
    checkpoint = _course.read_course(lab.course).checkpoints[5]
    assert (checkpoint.id, checkpoint.slug, checkpoint.package) == ("05", "provider-adapter", "lab_gamma")
    assert checkpoint.modules == ("_sums_05.py",)
    assert checkpoint.title == {"en": "The provider adapter", "vi": "Adapter cho provider"}
    assert checkpoint.test_file == "tests/checkpoints/test_05_provider_adapter.py"
    assert checkpoint.page == "course/05-provider-adapter/"
    assert checkpoint.requires == ("04",)
    assert [task.minutes for task in checkpoint.tasks] == [4, 6]
    assert checkpoint.tasks[1].hints["vi"] == ("ba một", "ba hai", "ba ba")
    assert [mutant.check for mutant in checkpoint.mutants] == ["tests", "types"]


@pytest.mark.criterion("S.99")
@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r'id = "00"', 'id = "01"'),
        (r'slug = "[^"]*"', 'slug = "other"'),
        (r'package = "[^"]*"', "package = 3"),
        (r"modules = \[[^\]]*\]", "modules = []"),
        (r"modules = \[[^\]]*\]", 'modules = [""]'),
        (r"minutes = 10", 'minutes = "10"'),
        (r"minutes = 10", "minutes = 0"),
        (r"minutes = 10", "minutes = true"),
        (r"level = 1\n", ""),
        (r"n = 2", "n = 3"),
        (r'title.vi = "Nhân đôi một số"\n', ""),
        (r'title.en = "Double a number"\ntitle.vi = "Nhân đôi một số"', 'title = "Double"'),
        (r'hints.en = \["double one", ', 'hints.en = ["", '),
        (r'hints.en = \["double one", ', "hints.en = ["),
        (r'hints.vi = \["đôi một", "đôi hai", "đôi ba"\]', 'hints.vi = "đôi"'),
        (r'check = "tests"', 'check = "eyes"'),
        (r'question.en = "Which tests notice\?"', 'question.en = " "'),
        (r'red = \["test_triple[^\n]*', "red = []"),
        (r'criteria = \["S.61"\]', "criteria = []"),
        (r"\[\[tasks\]\].*?\[\[mutants\]\]", "[[mutants]]"),
        (r"\[\[mutants\]\].*", ""),
        (r"\[\[mutants\]\].*", "mutants = 3"),
        (r"\[\[mutants\]\].*", "mutants = [3]"),
        (r"^", "= broken"),
    ],
)
def test_a_fault_in_the_data_names_its_file(pattern: str, replacement: str, own_lab: Any) -> None:
    spoil(own_lab, "checkpoints/00.toml", pattern, replacement)
    with pytest.raises(CourseDataError) as caught:
        _course.read_course(own_lab.course)
    assert caught.value.file == "course/checkpoints/00.toml"


@pytest.mark.criterion("S.99")
def test_missing_data_names_its_file(own_lab: Any, kickwheel: Any) -> None:
    (own_lab.course / "checkpoints/03.toml").unlink()
    answer = kickwheel("list")
    assert answer.exit == 1
    assert "course/checkpoints/03.toml" in answer.err
    assert _course.read_one(own_lab.course, "02") is not None
    assert _course.read_one(own_lab.course, "09") is None


@pytest.mark.criterion("S.67")
def test_nothing_near_names_all(lab: Any) -> None:
    with pytest.raises(RefusedError) as caught:
        _course.load_course().find("zzz", Messages("en"))
    assert caught.value.code == "UNKNOWN_CHECKPOINT"
    assert caught.value.message(Messages("vi")).count("(") == 8


@pytest.mark.criterion("S.57")
def test_contract_lines_are_list_items_and_table_rows(tmp_path: Path) -> None:
    (tmp_path / "05-x.md").write_text(
        "text 05.99\n- 05.01 — one thing\n  - 05D.2 two\n| # | a | b |\n| --- | --- | --- |\n"
        "| 05.T1 | left \\| side | right |\n| 05.40 and more | x |\n- S.C1 — cost\n"
    )
    assert _repo.contract_lines(tmp_path) == {
        "05.01": "one thing",
        "05D.2": "two",
        "05.T1": "left | side · right",
        "S.C1": "cost",
    }
