"""A practice folder from `start` to green: verbs, progress file, backups."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kickwheel import _practice, _progress
from kickwheel._errors import SurroundingsError

Solve = Callable[..., None]
HERE_00 = Path("work/00-complete-agent-trace/lab_alpha/_sums_00.py")


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def progress_of(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / ".kickwheel/progress.json").read_text())
    return value


@pytest.mark.criterion("S.76")
def test_start_makes_the_folder_and_says_what_it_wrote(lab: Any, kickwheel: Any, monkeypatch: Any) -> None:
    answer = kickwheel("start", "--json")
    folder = Path("kickwheel-course").resolve()
    assert (answer.exit, answer.json["folder"]) == (0, folder.as_posix())
    assert answer.json["kept"] == []
    assert len(answer.json["created"]) == 3 + 8 + 1 + 8
    assert all((folder / name).exists() for name in answer.json["created"])
    monkeypatch.chdir(folder)
    rows = kickwheel("list", "--json").json["checkpoints"]
    assert [(row["id"], row["state"]) for row in rows] == [(f"0{n}", "open") for n in range(8)]
    assert kickwheel("test", "00").exit == 1


@pytest.mark.criterion("S.76")
def test_start_again_adds_what_is_missing_and_overwrites_nothing(practice: Path, kickwheel: Any) -> None:
    HERE_00.write_text("mine = 1\n")
    Path("README.md").write_text("mine")
    Path("fixtures/provider-tool-roundtrip.json").unlink()
    shutil.rmtree("work/05-provider-adapter")
    Path("work/06-tool-contract/lab_alpha/__init__.py").unlink()
    before = files_of(practice)
    answer = kickwheel("start", "--json")
    assert answer.exit == 0
    assert answer.json["folder"] == practice.as_posix()
    assert set(answer.json["created"]) == {
        "fixtures/provider-tool-roundtrip.json",
        "work/05-provider-adapter",
        "work/06-tool-contract/lab_alpha/__init__.py",
    }
    after = files_of(practice)
    assert {name: after[name] for name in before if name != ".kickwheel/progress.json"} == {
        name: content for name, content in before.items() if name != ".kickwheel/progress.json"
    }
    assert kickwheel("start", "--json").json["created"] == []


@pytest.mark.criterion("S.76")
def test_a_folder_with_other_content_is_refused(lab: Any, kickwheel: Any) -> None:
    Path("full").mkdir()
    Path("full/thesis.txt").write_text("mine")
    Path("file").write_text("mine")
    for name in ("full", "file"):
        answer = kickwheel("start", name, "--json")
        assert (answer.exit, answer.json["error"]["code"]) == (2, "FOLDER_NOT_EMPTY")
    assert files_of(Path("full")) == {"thesis.txt": b"mine"}
    Path("empty").mkdir()
    assert kickwheel("start", "empty").exit == 0


@pytest.mark.criterion("S.72")
def test_nothing_is_written_outside_the_folder(
    practice: Path, kickwheel: Any, lab: Any, solve: Solve
) -> None:
    before = files_of(lab.root)
    outside = {p.name for p in practice.parent.iterdir()}
    solve(practice, "00")
    for words in (["test", "00"], ["break", "00"], ["hint"], ["verify"], ["doctor"], ["trace", "--mine"]):
        kickwheel(*words)
    assert files_of(lab.root) == before
    assert {p.name for p in practice.parent.iterdir()} == outside


@pytest.mark.criterion("S.77")
def test_next_names_the_first_checkpoint_that_is_not_green(
    practice: Path, kickwheel: Any, solve: Solve
) -> None:
    assert kickwheel("next", "--json").json == {
        "schema": 1,
        "command": "next",
        "exit": 0,
        "checkpoint": "00",
        "slug": "complete-agent-trace",
        "title": "One complete agent trace",
        "task": 1,
        "tasks": 2,
        "minutes": 10,
        "state": "open",
        "edit": [HERE_00.as_posix()],
        "page": "course/00-complete-agent-trace/",
        "test": "kickwheel test 00",
    }
    solve(practice, "00", (1,))
    kickwheel("test")
    assert kickwheel("next", "--json").json["task"] == 2
    solve(practice, "00", (2,))
    kickwheel("test")
    assert kickwheel("--json").json["checkpoint"] == "01"
    assert kickwheel().out == kickwheel("next").out


@pytest.mark.criterion("S.77", "S.94")
def test_the_whole_course_ends_in_done_and_verify(practice: Path, kickwheel: Any, solve: Solve) -> None:
    for number in range(8):
        solve(practice, f"0{number}")
    assert kickwheel("test", "--all", "--quiet").exit == 0
    done = kickwheel("next", "--json").json
    assert done.pop("state") == "done"
    assert {key: value for key, value in done.items() if value is not None} == {
        "schema": 1,
        "command": "next",
        "exit": 0,
    }
    answer = kickwheel("verify", "--json")
    assert answer.exit == 0
    assert answer.json["yours"] == [f"0{n}" for n in range(8)]
    assert answer.json["trace_equal"] is True
    assert [(r["checkpoint"], r["target"], r["failed"]) for r in answer.json["results"]] == [
        (f"0{n}", "work", 0) for n in range(8)
    ]


@pytest.mark.criterion("S.77")
@pytest.mark.parametrize(
    "words", [["next"], ["hint"], ["diff", "00"], ["reset", "00"], ["verify"], ["watch"], ["trace", "--mine"]]
)
def test_a_verb_that_needs_a_folder_says_so(words: list[str], kickwheel: Any, lab: Any) -> None:
    answer = kickwheel(*words)
    assert answer.exit == 2
    assert "NOT_A_PRACTICE_FOLDER" in answer.err


@pytest.mark.criterion("S.78")
def test_list_works_outside_a_folder(kickwheel: Any, lab: Any) -> None:
    rows = kickwheel("list", "--json").json["checkpoints"]
    assert [row["id"] for row in rows] == [f"0{n}" for n in range(8)]
    assert rows[5] == {
        "id": "05",
        "slug": "provider-adapter",
        "title": "The provider adapter",
        "minutes": 10,
        "state": "open",
        "tasks_green": 0,
        "tasks": 2,
        "test": "tests/checkpoints/test_05_provider_adapter.py",
        "page": "course/05-provider-adapter/",
    }
    assert len(kickwheel("list").out.splitlines()) == 8


@pytest.mark.criterion("S.79")
def test_a_run_updates_the_progress_and_touches_nothing_else(
    practice: Path, kickwheel: Any, solve: Solve
) -> None:
    solve(practice, "00", (1,))
    before = files_of(practice)
    answer = kickwheel("test", "00", "--json")
    assert answer.exit == 1
    assert answer.json["checkpoint"] == "00"
    assert answer.json["target"] == "work"
    assert answer.json["file"] == "tests/checkpoints/test_00_complete_agent_trace.py"
    assert (answer.json["passed"], answer.json["failed"]) == (1, 2)
    assert answer.json["tasks"] == [
        {"task": 1, "passed": 1, "failed": 0},
        {"task": 2, "passed": 0, "failed": 2},
    ]
    assert [(f["test"], f["criteria"], f["task"]) for f in answer.json["failures"]] == [
        ("test_triple_is_three_times[1]", ["S.61"], 2),
        ("test_triple_is_three_times[2]", ["S.61"], 2),
    ]
    assert "assert 0 == " in answer.json["failures"][0]["message"]
    after = files_of(practice)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == {".kickwheel/progress.json"}
    entry = progress_of(practice)["checkpoints"]["00"]
    assert (entry["state"], entry["tasks"]) == ("red", {"1": "green", "2": "red"})
    assert entry["files"].startswith("sha256:")


@pytest.mark.criterion("S.79")
def test_outside_a_folder_the_installed_package_is_tested(kickwheel: Any, lab: Any) -> None:
    answer = kickwheel("test", "5", "--json")
    assert (answer.exit, answer.json["target"], answer.json["passed"]) == (0, "installed", 3)
    assert kickwheel("test", "--json").json["error"]["code"] == "USAGE"
    assert list(Path().iterdir()) == []


@pytest.mark.criterion("S.79")
def test_a_green_checkpoint_is_stale_once_its_files_change(
    practice: Path, kickwheel: Any, solve: Solve
) -> None:
    solve(practice, "00")
    assert kickwheel("test").exit == 0
    states = [row["state"] for row in kickwheel("list", "--json").json["checkpoints"]]
    assert states == ["green", *["open"] * 7]
    HERE_00.write_text(HERE_00.read_text() + "# a thought\n")
    row = kickwheel("list", "--json").json["checkpoints"][0]
    assert (row["state"], row["tasks_green"]) == ("stale", 2)
    assert kickwheel("next", "--json").json["state"] == "stale"
    assert kickwheel("test", "00").exit == 0
    assert kickwheel("list", "--json").json["checkpoints"][0]["state"] == "green"


@pytest.mark.criterion("S.84")
def test_one_task_alone_neither_gives_nor_needs_the_whole(
    practice: Path, kickwheel: Any, solve: Solve
) -> None:
    solve(practice, "00", (1,))
    answer = kickwheel("test", "00", "--task", "1", "--json")
    assert (answer.exit, answer.json["passed"]) == (0, 1)
    assert answer.json["tasks"] == [{"task": 1, "passed": 1, "failed": 0}]
    entry = progress_of(practice)["checkpoints"]["00"]
    assert (entry["state"], entry["tasks"]) == ("red", {"1": "green"})
    solve(practice, "00", (2,))
    assert kickwheel("test", "00").exit == 0
    assert kickwheel("test", "00", "--task", "2").exit == 0
    assert progress_of(practice)["checkpoints"]["00"]["state"] == "green"


@pytest.mark.criterion("S.84")
def test_previous_and_all_run_one_child_each(practice: Path, kickwheel: Any, solve: Solve) -> None:
    solve(practice, "00")
    answer = kickwheel("test", "1", "--previous", "--json")
    assert answer.exit == 1
    assert [(r["checkpoint"], r["passed"]) for r in answer.json["results"]] == [("00", 3), ("01", 0)]
    answer = kickwheel("test", "--all", "--json")
    assert [r["checkpoint"] for r in answer.json["results"]] == [f"0{n}" for n in range(8)]
    assert answer.err == ""


@pytest.mark.criterion("S.70")
def test_work_on_several_says_one_line_a_unit_on_standard_error(kickwheel: Any, lab: Any) -> None:
    loud = kickwheel("test", "--all")
    assert (loud.exit, len(loud.err.splitlines())) == (0, 8)
    assert loud.err.splitlines()[2].startswith("[3/8] 02-event-stream")
    assert kickwheel("test", "--all", "--quiet").err == ""


@pytest.mark.criterion("S.81")
def test_a_failure_prints_contract_difference_frames_page_and_command_in_this_order(
    practice: Path, kickwheel: Any
) -> None:
    out = kickwheel("test", "00", "--task", "2").out
    wanted = [
        "S.61  tasks build on one another",
        "assert 0 == ",
        "tests/checkpoints/test_00_complete_agent_trace.py:",
        "course/00-complete-agent-trace/#task-2",
        "kickwheel test 00 --task 2",
    ]
    places = [out.index(text) for text in wanted]
    assert places == sorted(places)


@pytest.mark.criterion("S.82")
@pytest.mark.parametrize(
    ("source", "line"),
    [("x = 1\ndef (\n", 2), ("import nowhere_to_be_found\n", 1), ("x = 1\n\nraise ValueError('no')\n", 3)],
)
def test_a_file_that_does_not_import_is_one_block_with_file_line_and_reason(
    source: str, line: int, practice: Path, kickwheel: Any
) -> None:
    HERE_00.write_text(source)
    answer = kickwheel("test", "00", "--json")
    assert answer.exit == 1
    (failure,) = answer.json["failures"]
    assert failure["test"] is None
    assert f"{HERE_00.as_posix()}:{line}" in failure["message"]
    assert f"{HERE_00.as_posix()}:{line}" in kickwheel("test", "00").out
    assert progress_of(practice)["checkpoints"]["00"]["state"] == "red"


@pytest.mark.criterion("S.82")
def test_a_name_the_test_needs_and_the_file_lacks_is_an_import_failure_too(
    practice: Path, kickwheel: Any
) -> None:
    HERE_00.write_text("double = 1\n")
    (failure,) = kickwheel("test", "00", "--json").json["failures"]
    assert failure["test"] is None
    assert "triple" in failure["message"]


@pytest.mark.criterion("S.80")
def test_code_from_elsewhere_is_refused(practice: Path, kickwheel: Any) -> None:
    shutil.rmtree("work/00-complete-agent-trace/lab_alpha")
    Path("work/00-complete-agent-trace/lab_alpha").mkdir()
    answer = kickwheel("test", "00", "--json")
    assert (answer.exit, answer.json["error"]["code"]) == (3, "WRONG_CODE_UNDER_TEST")


@pytest.mark.criterion("S.80")
def test_a_package_that_reaches_for_the_installed_one_is_refused(
    practice: Path, kickwheel: Any, lab: Any
) -> None:
    init = practice / "work/00-complete-agent-trace/lab_alpha/__init__.py"
    init.write_text(f"__path__ = [{str(lab.packages / 'lab_alpha')!r}]\n")
    answer = kickwheel("test", "00", "--json")
    assert (answer.exit, answer.json["error"]["code"]) == (3, "WRONG_CODE_UNDER_TEST")


@pytest.mark.criterion("S.80")
def test_a_folder_without_its_test_or_package_is_damaged(practice: Path, kickwheel: Any) -> None:
    shutil.rmtree("work/00-complete-agent-trace")
    answer = kickwheel("test", "00", "--json")
    assert (answer.exit, answer.json["error"]["code"]) == (3, "STATE_UNREADABLE")


@pytest.mark.criterion("S.86")
def test_hints_come_one_level_at_a_time_and_are_kept(practice: Path, kickwheel: Any) -> None:
    shown = [kickwheel("hint", "--json").json for _ in range(5)]
    assert [(h["level"], h["text"]) for h in shown] == [
        (1, "double one"),
        (2, "double two"),
        (3, "double three"),
        (3, "double three"),
        (3, "double three"),
    ]
    assert {(h["checkpoint"], h["task"], h["levels"]) for h in shown} == {("00", 1, 3)}
    assert "kickwheel solution 00 --task 1" in kickwheel("hint").out
    assert kickwheel("hint", "2", "--task", "2", "--lang", "vi", "--json").json["text"] == "ba một"
    assert progress_of(practice)["checkpoints"]["00"]["hints"] == {"1": 3}
    assert progress_of(practice)["checkpoints"]["02"]["hints"] == {"2": 1}
    assert kickwheel("hint", "2", "--task", "3", "--json").json["error"]["code"] == "UNKNOWN_TASK"


@pytest.mark.criterion("S.91")
@pytest.mark.parametrize("verb", ["solution", "diff"])
def test_the_reference_is_asked_for_once_before_green(verb: str, practice: Path, kickwheel: Any) -> None:
    refused = kickwheel(verb, "00", "--json")
    assert (refused.exit, refused.json["error"]["code"]) == (2, "NEEDS_CONFIRMATION")
    assert "solution_seen" not in progress_of(practice)["checkpoints"]["00"]
    shown = kickwheel(verb, "00", "--json", "--yes")
    assert shown.exit == 0
    (file,) = shown.json["files"]
    assert "return double(x) + x" in (file["text"] if verb == "solution" else file["diff"])
    assert "[solution" not in json.dumps(file)
    assert progress_of(practice)["checkpoints"]["00"]["solution_seen"] is True
    assert kickwheel(verb, "00").exit == 0


@pytest.mark.criterion("S.91")
def test_a_green_checkpoint_shows_its_reference_without_a_question(
    practice: Path, kickwheel: Any, solve: Solve
) -> None:
    solve(practice, "00")
    kickwheel("test")
    one = kickwheel("solution", "00", "--task", "2", "--json").json["files"]
    assert one == [{"path": "lab_alpha/_sums_00.py", "text": "    return double(x) + x\n"}]
    diff = kickwheel("diff", "00")
    assert "-    return 2 * x" in diff.out
    assert "+    return x * 2" in diff.out


@pytest.mark.criterion("S.92")
def test_applying_the_solution_backs_up_first_and_turns_green(practice: Path, kickwheel: Any) -> None:
    HERE_00.write_text("mine = 1\n")
    assert kickwheel("solution", "00", "--apply", "--json").json["error"]["code"] == "NEEDS_CONFIRMATION"
    answer = kickwheel("solution", "00", "--apply", "--yes", "--json")
    assert (answer.exit, answer.json["backup"]) == (0, ".kickwheel/backups/00-1")
    assert Path(".kickwheel/backups/00-1/lab_alpha/_sums_00.py").read_text() == "mine = 1\n"
    assert kickwheel("test", "00").exit == 0
    assert "reference" in kickwheel("diff", "00").out


@pytest.mark.criterion("S.93")
def test_reset_keeps_the_files_and_starts_anew(practice: Path, kickwheel: Any, solve: Solve) -> None:
    starter = HERE_00.read_bytes()
    solve(practice, "00")
    Path("work/00-complete-agent-trace/notes.txt").write_text("mine")
    kickwheel("test")
    assert kickwheel("reset", "00", "--json").json["error"]["code"] == "NEEDS_CONFIRMATION"
    answer = kickwheel("reset", "00", "--yes", "--json")
    assert (answer.exit, answer.json["backup"]) == (0, ".kickwheel/backups/00-1")
    assert "2 * x" in Path(".kickwheel/backups/00-1/lab_alpha/_sums_00.py").read_text()
    assert Path(".kickwheel/backups/00-1/notes.txt").read_text() == "mine"
    assert HERE_00.read_bytes() == starter
    assert kickwheel("list", "--json").json["checkpoints"][0]["state"] == "open"
    assert kickwheel("reset", "00", "--yes", "--json").json["backup"] == ".kickwheel/backups/00-2"


@pytest.mark.criterion("S.94")
def test_verify_takes_a_learners_own_helper_along(practice: Path, kickwheel: Any, solve: Solve) -> None:
    solve(practice, "00")
    HERE_00.write_text(HERE_00.read_text().replace("return 2 * x", "return twice(x)"))
    HERE_00.write_text("from lab_alpha.helpers import twice\n" + HERE_00.read_text())
    HERE_00.with_name("helpers.py").write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    assert kickwheel("test", "00").exit == 0
    answer = kickwheel("verify", "--json")
    assert (answer.exit, answer.json["yours"]) == (0, ["00"])


@pytest.mark.criterion("S.94")
def test_verify_puts_green_checkpoints_beside_the_reference(
    practice: Path, kickwheel: Any, solve: Solve
) -> None:
    solve(practice, "05")
    kickwheel("test", "05")
    solve(practice, "03", (1,))
    kickwheel("test", "03")
    answer = kickwheel("verify", "--json")
    assert (answer.exit, answer.json["yours"], answer.json["trace_equal"]) == (0, ["05"], True)
    assert kickwheel("trace", "--mine", "--json").json["yours"] == ["05"]
    assert kickwheel("trace", "--mine").out == kickwheel("trace").out
    assert kickwheel("trace", "--mine", "--tools", "x:y").exit == 2


class TestTheProgressFile:
    @pytest.mark.criterion("S.75")
    def test_it_has_sorted_keys_and_no_absolute_path(self, practice: Path, kickwheel: Any) -> None:
        kickwheel("test", "00")
        text = (practice / ".kickwheel/progress.json").read_text()
        assert text == json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        assert str(practice) not in text
        assert progress_of(practice)["schema"] == 1

    @pytest.mark.criterion("S.75")
    def test_unknown_keys_survive_on_every_level(self, practice: Path, kickwheel: Any) -> None:
        data = progress_of(practice)
        data["later"] = {"a": 1}
        data["checkpoints"]["00"]["stars"] = 3
        data["checkpoints"]["99"] = {"state": "open", "new": True}
        (practice / ".kickwheel/progress.json").write_text(json.dumps(data))
        kickwheel("test", "00")
        after = progress_of(practice)
        assert after["later"] == {"a": 1}
        assert after["checkpoints"]["00"]["stars"] == 3
        assert after["checkpoints"]["99"] == {"state": "open", "new": True}

    @pytest.mark.criterion("S.75")
    @pytest.mark.parametrize("verb", [["list"], ["test", "00"], ["start"], ["hint"]])
    def test_a_newer_schema_is_refused_and_left_alone(
        self, verb: list[str], practice: Path, kickwheel: Any
    ) -> None:
        path = practice / ".kickwheel/progress.json"
        path.write_text('{"schema": 2, "surprise": []}')
        before = files_of(practice)
        answer = kickwheel(*verb, "--json")
        assert (answer.exit, answer.json["error"]["code"]) == (3, "STATE_TOO_NEW")
        assert files_of(practice) == before

    @pytest.mark.criterion("S.75")
    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{",
            b"[]",
            b"\xff",
            b"{}",
            b'{"schema": true}',
            b'{"schema": 1, "checkpoints": []}',
            b'{"schema": 1, "checkpoints": {"00": {"state": "blue"}}}',
            b"[" * 100_000,
        ],
    )
    def test_an_unreadable_file_is_kept_and_the_next_start_writes_a_fresh_one(
        self, content: bytes, practice: Path, kickwheel: Any, solve: Solve
    ) -> None:
        solve(practice, "00")
        path = practice / ".kickwheel/progress.json"
        path.write_bytes(content)
        for _ in range(2):
            answer = kickwheel("next", "--json")
            assert (answer.exit, answer.json["error"]["code"]) == (3, "STATE_UNREADABLE")
        assert not path.exists()
        assert (practice / ".kickwheel/progress.json.bad-1").read_bytes() == content
        assert kickwheel("start").exit == 0
        states = [row["state"] for row in kickwheel("list", "--json").json["checkpoints"]]
        assert states == ["red", *["open"] * 7]
        path.write_bytes(content)
        assert kickwheel("start").exit == 0
        assert (practice / ".kickwheel/progress.json.bad-2").read_bytes() == content

    @pytest.mark.criterion("S.75")
    def test_a_failed_write_leaves_the_old_file(self, practice: Path, monkeypatch: Any) -> None:
        found = _practice.find_practice(practice)
        assert found is not None
        before = files_of(practice)

        def fail(*_: object) -> None:
            raise OSError("disk full")

        monkeypatch.setattr("os.replace", fail)
        found.progress.entry("00").state = "green"
        with pytest.raises(OSError, match="disk full"):
            found.progress.save()
        assert files_of(practice) == before

    @pytest.mark.criterion("S.75")
    def test_a_file_that_cannot_be_opened_is_unreadable(self, tmp_path: Path) -> None:
        with pytest.raises(SurroundingsError) as caught:
            _progress.Progress.load(tmp_path)
        assert caught.value.code == "STATE_UNREADABLE"


@pytest.mark.criterion("S.95")
def test_doctor_looks_at_everything_once(practice: Path, kickwheel: Any) -> None:
    answer = kickwheel("doctor", "--json")
    checks = {check["name"]: check for check in answer.json["checks"]}
    assert answer.exit == 0
    assert all(set(check) == {"name", "status", "detail", "fix"} for check in checks.values())
    assert {"python", "kickwheel", "kickwheel-protocol", "pytest", "basedpyright"} <= checks.keys()
    assert {"folder", "fixtures", "pending-break"} <= checks.keys()
    assert checks["folder"]["status"] == "ok"


@pytest.mark.criterion("S.95")
def test_doctor_fails_on_a_changed_fixture_a_missing_file_and_a_bad_state(
    practice: Path, kickwheel: Any
) -> None:
    def failing() -> set[str]:
        answer = kickwheel("doctor", "--json")
        names = {check["name"] for check in answer.json["checks"] if check["status"] == "fail"}
        assert answer.exit == (3 if names else 0)
        return names

    Path("fixtures/provider-tool-roundtrip.json").write_text("{}")
    assert failing() == {"fixtures"}
    HERE_00.unlink()
    assert failing() == {"fixtures", "folder"}
    (practice / ".kickwheel/progress.json").write_text("{")
    assert failing() == {"folder"}


@pytest.mark.criterion("S.95")
def test_doctor_outside_a_folder_only_warns(kickwheel: Any, lab: Any) -> None:
    answer = kickwheel("doctor", "--json")
    assert answer.exit == 0
    assert [c["name"] for c in answer.json["checks"] if c["status"] == "warn"] == ["folder"]
    assert "kickwheel start" in kickwheel("doctor").out


@pytest.mark.criterion("S.75")
def test_a_disk_that_refuses_is_one_line_and_exit_3(practice: Path, kickwheel: Any, monkeypatch: Any) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "somewhere/progress.json")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    answer = kickwheel("hint", "--json")
    assert (answer.exit, answer.json["error"]["code"]) == (3, "STATE_UNREADABLE")
    assert "somewhere/progress.json" in answer.json["error"]["message"]


@pytest.mark.criterion("S.81")
def test_what_the_learner_prints_is_shown_with_the_failure(practice: Path, kickwheel: Any) -> None:
    text = HERE_00.read_text().replace("    raise Not", "    print('I am here', x)\n    raise Not")
    HERE_00.write_text(text)
    assert "| I am here 2" in kickwheel("test", "00").out


@pytest.mark.criterion("S.81")
def test_a_red_starter_shows_the_first_failures_and_counts_the_rest(practice: Path, kickwheel: Any) -> None:
    text = (practice / "tests/checkpoints/test_00_complete_agent_trace.py").read_text()
    more = text.replace("[1, 2]", "[1, 2, 3, 4]")
    (practice / "tests/checkpoints/test_00_complete_agent_trace.py").write_text(more)
    out = kickwheel("test", "00").out
    assert out.count("S.6") == 3
    assert out.index("S.60") < out.index("S.61")
    assert "2 more" in out
    assert len(kickwheel("test", "00", "--json").json["failures"]) == 5
