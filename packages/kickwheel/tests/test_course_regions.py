"""Course regions: what a starter is, and what is refused."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kickwheel import _regions
from kickwheel._errors import CourseDataError

SOURCE = '''\
"""A module."""


def feed(record: object) -> int | None:
    """Take one record."""
    # --8<-- [start:feed]
    # [solution 05.2]
    if record is None:
        return None
    return 1
    # [starter]
    # if record is None:
    #     return None
    #
    # return 0
    # [/solution]
    # --8<-- [end:feed]


def close() -> int:
    """Finish."""
    # [solution 05.3]
    return 2
    # [/solution]
'''


@pytest.mark.criterion("S.58")
def test_a_starter_part_loses_its_comment_marks_and_a_bare_region_raises() -> None:
    assert (
        _regions.derive(SOURCE, "m.py", "05")
        == '''\
"""A module."""


def feed(record: object) -> int | None:
    """Take one record."""
    if record is None:
        return None

    return 0


def close() -> int:
    """Finish."""
    raise NotImplementedError("checkpoint 05, task 3")
'''
    )


@pytest.mark.criterion("S.58")
def test_solved_tasks_and_other_checkpoints_keep_the_reference_text() -> None:
    reference = '''\
"""A module."""


def feed(record: object) -> int | None:
    """Take one record."""
    if record is None:
        return None
    return 1


def close() -> int:
    """Finish."""
    return 2
'''
    assert _regions.derive(SOURCE, "m.py", None) == reference
    assert _regions.derive(SOURCE, "m.py", "06") == reference
    assert _regions.derive(SOURCE, "m.py", "05", (2, 3)) == reference
    assert "return 1" in _regions.derive(SOURCE, "m.py", "05", (2,))
    assert 'NotImplementedError("checkpoint 05, task 3")' in _regions.derive(SOURCE, "m.py", "05", (2,))


@pytest.mark.criterion("S.57")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# [solution 05.1]\nx = 1\n", 1),
        ("x = 1\n# [/solution]\n", 2),
        ("x = 1\n# [starter]\n", 2),
        ("# [solution 05.1]\nx = 1\n# [solution 05.2]\n# [/solution]\n# [/solution]\n", 3),
        ("# [solution 05.1]\n# [starter]\n# [starter]\n# [/solution]\n", 3),
        ("# [solution 5.1]\nx = 1\n# [/solution]\n", 1),
        ("# [solution 05]\nx = 1\n# [/solution]\n", 1),
        ("# [Solution 05.1]\nx = 1\n# [/solution]\n", 1),
        ("# [solution 05.1] note\nx = 1\n# [/solution]\n", 1),
        ("#[/solution]\n", 1),
        ("# [solution 05.1]\nx = 1\n# [ /solution ]\n# [/solution]\n", 3),
        ("# [solution 05.1]\nx = 1\n# [starter]\ny = 1\n# [/solution]\n", 4),
    ],
)
def test_nested_unbalanced_and_unknown_regions_are_refused_with_file_and_line(text: str, line: int) -> None:
    with pytest.raises(CourseDataError) as caught:
        _regions.derive(text, "pkg/m.py", "05")
    assert (caught.value.file, caught.value.line) == ("pkg/m.py", line)


@pytest.mark.criterion("S.57")
def test_regions_of_two_checkpoints_in_one_module_are_refused() -> None:
    text = "# [solution 05.1]\nx = 1\n# [/solution]\n# [solution 06.1]\ny = 1\n# [/solution]\n"
    with pytest.raises(CourseDataError) as caught:
        _regions.regions(text, "m.py")
    assert caught.value.line == 4


@pytest.mark.criterion("S.58")
def test_the_regions_of_a_source_are_listed_in_order() -> None:
    found = _regions.regions(SOURCE, "m.py")
    assert [(region.checkpoint, region.task, region.line) for region in found] == [
        ("05", 2, 7),
        ("05", 3, 22),
    ]
    assert found[1].reference == ("    return 2\n",)


plain_lines = st.lists(
    st.sampled_from(["x = 1", "", "    y = 2  # note", "# just a comment", "s = '[solution]'"]), max_size=6
)


@pytest.mark.criterion("S.58")
@settings(derandomize=True, database=None, max_examples=60)
@given(before=plain_lines, inside=plain_lines, after=plain_lines)
def test_outside_regions_a_starter_is_the_source_without_marker_lines(
    before: list[str], inside: list[str], after: list[str]
) -> None:
    lines = [*before, "# [solution 02.1]", *inside, "# [/solution]", *after]
    source = "".join(f"{line}\n" for line in lines)
    wanted = [*before, 'raise NotImplementedError("checkpoint 02, task 1")', *after]
    starter = _regions.derive(source, "m.py", "02")
    assert starter == "".join(f"{line}\n" for line in wanted)
    assert starter == _regions.derive(source, "m.py", "02")
    assert _regions.derive(source, "m.py", None) == "".join(
        f"{line}\n" for line in [*before, *inside, *after]
    )


@pytest.mark.criterion("S.58")
def test_a_source_without_a_last_line_end_stays_as_it_is() -> None:
    assert _regions.derive("x = 1", "m.py", "02") == "x = 1"


@pytest.mark.criterion("S.57")
def test_every_module_of_this_package_has_sound_regions() -> None:
    folder = Path(_regions.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        if "course" not in path.relative_to(folder).parts:
            _regions.regions(path.read_text("utf-8"), path.name)
