"""Words, options, languages and colours: the rules that hold for every verb."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kickwheel import _help, _messages, _output
from kickwheel._verb_table import VERBS

CLEAN = {"HOME": "/nowhere", "PATH": "/usr/bin:/bin"}


@pytest.mark.criterion("S.66")
@pytest.mark.parametrize(
    "words",
    [
        ["--json", "nonsense"],
        ["nonsense", "--json"],
        ["--json", "test", "--nonsense"],
        ["test", "--json", "--task"],
        ["--json", "trace", "--max-steps", "many"],
        ["--json", "trace", "a.json", "b.json"],
        ["--json", "--lang", "de", "list"],
        ["--json", "watch"],
        ["docs", "--json"],
        ["--json", "test", "--all", "--previous"],
        ["--json", "test", "5", "--timeout", "0"],
        ["--json", "test", "--all", "--task", "1"],
        ["--json", "break"],
        ["--json", "break", "00", "--hold"],
        ["--json", "fixture"],
        ["--json", "dev", "chek"],
        ["--json", "convert", "x"],
        ["--json", "solution", "00", "--apply", "--task", "1"],
    ],
)
def test_a_usage_error_is_one_json_object_and_exit_2(words: list[str], kickwheel: Any, lab: Any) -> None:
    answer = kickwheel(*words)
    assert answer.exit == 2
    assert answer.out.endswith("}\n")
    assert answer.out.count("\n") == 1
    assert answer.json["schema"] == 1
    assert answer.json["exit"] == 2
    assert answer.json["error"]["code"] == "USAGE"
    assert "command" in answer.json


@pytest.mark.criterion("S.67")
@pytest.mark.parametrize(
    ("words", "code", "near"),
    [
        (["tset"], "USAGE", "test"),
        (["test", "provider-adaptor"], "UNKNOWN_CHECKPOINT", "05 (provider-adapter)"),
        (["test", "99"], "UNKNOWN_CHECKPOINT", "07 (agent-loop)"),
        (["test", "05", "--task", "7"], "UNKNOWN_TASK", "1 to 2"),
        (["break", "05", "ads-too-much"], "UNKNOWN_MUTANT", "adds-too-much"),
    ],
)
def test_an_unknown_name_is_refused_and_the_nearest_are_named(
    words: list[str], code: str, near: str, kickwheel: Any, lab: Any
) -> None:
    answer = kickwheel("--json", *words)
    assert (answer.exit, answer.json["error"]["code"]) == (2, code)
    assert near in answer.json["error"]["message"]


@pytest.mark.criterion("S.67")
@pytest.mark.parametrize("word", ["5", "05", "provider-adapter", "05-provider-adapter"])
def test_a_checkpoint_is_named_by_number_or_slug(word: str, kickwheel: Any, lab: Any) -> None:
    assert kickwheel("--json", "break", word, "--list").json["checkpoint"] == "05"


@pytest.mark.criterion("S.66")
@pytest.mark.parametrize("words", [["--json", "list"], ["list", "--json"]])
def test_options_stand_before_or_after_the_verb(words: list[str], kickwheel: Any, lab: Any) -> None:
    answer = kickwheel(*words)
    assert (answer.exit, answer.json["command"]) == (0, "list")
    assert answer.err == ""


@pytest.mark.criterion("S.66")
def test_the_folder_option_may_stand_before_the_verb(
    kickwheel: Any, practice: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(practice.parent)
    assert kickwheel("--folder", "course", "next", "--json").exit == 0
    assert kickwheel("next", "--json", "--folder=course").exit == 0
    assert kickwheel("next", "--json").json["error"]["code"] == "NOT_A_PRACTICE_FOLDER"


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


@pytest.mark.criterion("S.68")
def test_both_message_files_have_the_same_keys_and_placeholders() -> None:
    english, vietnamese = (_messages.load_messages(language) for language in ("en", "vi"))
    assert {key: placeholders(text) for key, text in english.items()} == {
        key: placeholders(text) for key, text in vietnamese.items()
    }
    same = {key for key, text in english.items() if text and text == vietnamese[key]}
    assert same == {"error.fixture_unreadable"}


@pytest.mark.criterion("S.68")
@pytest.mark.parametrize(
    ("option", "folder", "environment", "chosen"),
    [
        ("vi", "en", {}, "vi"),
        (None, "vi", {"KICKWHEEL_LANG": "en"}, "vi"),
        (None, None, {"KICKWHEEL_LANG": "vi", "LANG": "en_US.UTF-8"}, "vi"),
        (None, None, {"KICKWHEEL_LANG": "fr", "LANG": "vi_VN.UTF-8"}, "vi"),
        (None, None, {"LC_ALL": "en_US.UTF-8", "LANG": "vi_VN.UTF-8"}, "en"),
        (None, None, {"LC_ALL": "", "LC_MESSAGES": "vi_VN", "LANG": "C"}, "vi"),
        (None, None, {"LANG": "de_DE.UTF-8"}, "en"),
        (None, None, {}, "en"),
    ],
)
def test_the_language_is_chosen_in_order(
    option: str | None, folder: str | None, environment: dict[str, str], chosen: str
) -> None:
    assert _messages.choose_language(option, folder, environment) == chosen


@pytest.mark.criterion("S.68")
def test_a_practice_folder_keeps_the_language_it_was_started_in(
    kickwheel: Any, lab: Any, monkeypatch: Any
) -> None:
    kickwheel("start", "khoa-hoc", "--lang", "vi")
    monkeypatch.chdir("khoa-hoc")
    monkeypatch.setenv("KICKWHEEL_LANG", "en")
    assert kickwheel("next", "--json").json["title"] == "Một dấu vết agent hoàn chỉnh"
    assert kickwheel("next", "--json", "--lang", "en").json["title"] == "One complete agent trace"


class FakeStream:
    def __init__(self, *, terminal: bool) -> None:
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.criterion("S.69")
@pytest.mark.parametrize(
    ("environment", "terminal", "coloured"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_follows_the_environment(environment: dict[str, str], terminal: bool, coloured: bool) -> None:
    stream: Any = FakeStream(terminal=terminal)
    assert _output.wants_colour(stream, environment) is coloured


@pytest.mark.criterion("S.69")
def test_foreign_text_cannot_write_to_the_terminal() -> None:
    assert _output.one_line("a\x1b[31m\r\n\u202eb\ud800") == "a\\u001b[31m\\r\\n\\u202eb\\ud800"
    assert json.loads(_output.dump_line({"x": "đ\ud800"})) == {"x": "đ\ud800"}
    _output.dump_line({"x": "\ud800"}).encode()


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "kickwheel", *words],
        capture_output=True,
        env={**CLEAN, **environment},
        timeout=30,
        check=False,
    )


@pytest.mark.criterion("S.69")
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_output_is_utf8_whatever_the_encoding_of_the_surroundings(encoding: str) -> None:
    done = run("--help", "--lang", "vi", PYTHONIOENCODING=encoding, PYTHONUTF8="0", LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "kickwheel" in done.stdout.decode("utf-8")
    assert "Chạy vòng lặp agent" in done.stdout.decode("utf-8")


@pytest.mark.criterion("S.74")
def test_help_loads_no_test_runner_no_rich_and_no_sibling() -> None:
    code = (
        "import sys; from kickwheel.__main__ import main; "
        "sys.argv[1:] = ['--help']; main(); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=CLEAN, timeout=30, check=True, text=True
    )
    loaded = done.stdout.splitlines()[-1].split()
    tops = {name.partition(".")[0] for name in loaded}
    assert tops.isdisjoint({"pytest", "_pytest", "rich"})
    assert {name for name in tops if name.startswith("kickwheel_")} <= {"kickwheel_protocol"}


@pytest.mark.criterion("S.74")
def test_version_prints_the_name_and_the_version() -> None:
    assert re.fullmatch(rb"kickwheel \d+\.\d+\.\d+\S*\r?\n", run("--version").stdout)


@pytest.mark.criterion("S.77")
def test_without_a_verb_outside_a_folder_the_overview_is_printed(kickwheel: Any, lab: Any) -> None:
    answer = kickwheel()
    assert answer.exit == 0
    assert all(verb.name in answer.out for verb in VERBS)


@pytest.mark.criterion("S.12")
@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_the_reference_page_holds_what_each_verb_prints(verb: str, kickwheel: Any) -> None:
    pages = {language: _help.render_cli_reference(language) for language in ("en", "vi")}
    shown = kickwheel(*verb.split(), "--help", "--lang", "en")
    assert shown.exit == 0
    for page in pages.values():
        assert f"```text\n{shown.out}```" in page
    assert kickwheel(*verb.split(), "--help", "--lang", "vi").out != shown.out


@pytest.mark.criterion("S.12")
def test_both_reference_pages_have_the_same_fences_and_anchors() -> None:
    english, vietnamese = (_help.render_cli_reference(language) for language in ("en", "vi"))
    for pattern in (r"```text\n.*?```", r"\{#[a-z-]+\}"):
        assert re.findall(pattern, english, re.DOTALL) == re.findall(pattern, vietnamese, re.DOTALL)
    assert english != vietnamese


@pytest.mark.criterion("S.66")
def test_help_and_version_are_json_objects_too(kickwheel: Any) -> None:
    assert kickwheel("--json", "--help").json["exit"] == 0
    assert kickwheel("--json", "--version").json["version"]
    assert kickwheel("--json", "dev", "--help").json["exit"] == 0


@pytest.mark.criterion("S.69")
def test_a_reader_that_goes_away_is_no_crash() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "kickwheel", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=CLEAN,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=30)
    assert errors == b""
