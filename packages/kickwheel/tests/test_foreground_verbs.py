"""`kickwheel watch` and `kickwheel docs` stay in the foreground; questions on a terminal."""

import os
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kickwheel import _keys

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals exist on POSIX only")

Solve = Callable[..., None]
BOUND = 60.0


class Terminal:
    """A command of the lab on a pseudo-terminal."""

    def __init__(self, lab: Any, cwd: Path, *words: str) -> None:
        code = f"""
import signal
import sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
from kickwheel import _places
_places.COURSE_FOLDER = Path({str(lab.course)!r})
sys.path.insert(0, {str(lab.packages)!r})
from kickwheel._cli import main
sys.exit(main({list(words)!r}))
"""
        self._master, slave = os.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=cwd, stdin=slave, stdout=slave, stderr=slave, close_fds=True
        )
        os.close(slave)
        self._text = ""

    def wait_for(self, pattern: str) -> str:
        """Read until the pattern shows; what was read up to its end is used up and returned."""
        end = time.monotonic() + BOUND
        while (found := re.search(pattern, self._text)) is None:
            assert time.monotonic() < end, f"{pattern!r} never came; got {self._text!r}"
            self._read(0.2)
        seen, self._text = self._text[: found.end()], self._text[found.end() :]
        return seen

    def press(self, key: str) -> None:
        os.write(self._master, key.encode())

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self) -> int:
        """Wait for the end, reading on so that nothing blocks."""
        end = time.monotonic() + BOUND
        while self._process.poll() is None:
            assert time.monotonic() < end, f"still running; got {self._text!r}"
            self._read(0.1)
        return self._process.returncode

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)

    def _read(self, seconds: float) -> None:
        ready, _, _ = select.select([self._master], [], [], seconds)
        if ready:
            try:
                self._text += os.read(self._master, 65536).decode("utf-8", "replace").replace("\r\n", "\n")
            except OSError:  # the other end is closed
                time.sleep(0.05)


@pytest.fixture
def terminal(lab: Any) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(cwd: Path, *words: str) -> Terminal:
        opened.append(Terminal(lab, cwd, *words))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.mark.criterion("S.85")
def test_watch_runs_again_after_a_save_and_answers_its_keys(
    practice: Path, terminal: Callable[..., Terminal], solve: Solve
) -> None:
    shell = terminal(practice, "watch")
    first = shell.wait_for("q quit")
    assert first.index("Checking 00-complete-agent-trace") < first.index("3 red")
    solve(practice, "00", (1,))
    assert "2 red, 1 passed" in shell.wait_for("q quit").replace("1 green", "1 passed")
    shell.press("h")
    shell.wait_for("triple one")
    shell.press("l")
    shell.wait_for("07 .*The agent loop")
    shell.press("b")
    shell.wait_for("The sum is one too high")
    shell.press("?")
    solve(practice, "00", (2,))
    shell.wait_for("3 tests green")
    shell.wait_for("q quit")
    shell.press("n")
    shell.wait_for("Checking 01-protocol")
    shell.wait_for("q quit")
    shell.press("r")
    shell.wait_for("Checking 01-protocol")
    shell.wait_for("q quit")
    shell.press("q")
    assert shell.end() == 1


@pytest.mark.criterion("S.85")
def test_saving_an_older_file_does_not_change_the_current_checkpoint(
    practice: Path, terminal: Callable[..., Terminal], solve: Solve, kickwheel: Any
) -> None:
    solve(practice, "00")
    kickwheel("test", "00")
    shell = terminal(practice, "watch")
    shell.wait_for("Checking 01-protocol")
    shell.wait_for("q quit")
    file = practice / "work/00-complete-agent-trace/lab_alpha/_sums_00.py"
    file.write_text(file.read_text() + "# a thought\n")
    assert "Checking 00" not in shell.wait_for("q quit")
    shell.press("q")
    assert shell.end() == 1


@pytest.mark.criterion("S.85", "S.73")
def test_an_interrupt_ends_the_watch(practice: Path, terminal: Callable[..., Terminal]) -> None:
    shell = terminal(practice, "watch")
    shell.wait_for("q quit")
    shell.signal(signal.SIGINT)
    assert shell.end() == 130


@pytest.mark.criterion("S.85")
def test_without_a_terminal_watch_is_one_run(practice: Path, kickwheel: Any, solve: Solve) -> None:
    assert kickwheel("watch").exit == 1
    solve(practice, "00")
    assert kickwheel("watch").exit == 0
    assert kickwheel("watch", "01").exit == 1


@pytest.mark.criterion("S.91", "S.93")
@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("\n", 2), ("n\n", 2)])
def test_a_question_on_a_terminal_takes_yes_or_nothing_happens(
    answer: str, code: int, practice: Path, terminal: Callable[..., Terminal]
) -> None:
    shell = terminal(practice, "reset", "00")
    shell.wait_for(r"\[y/N\] ")
    shell.press(answer)
    assert shell.end() == code
    assert (practice / ".kickwheel/backups").exists() is (code == 0)


@pytest.mark.criterion("S.87")
def test_break_waits_for_a_key_on_a_terminal(practice: Path, terminal: Callable[..., Terminal]) -> None:
    shell = terminal(practice, "break", "00")
    seen = shell.wait_for("press a key")
    assert "Which tests notice?" in seen
    assert "x + 1" not in seen
    shell.press("x")
    shell.wait_for("The sum is one too high")
    assert shell.end() == 0


@pytest.mark.criterion("S.70")
def test_a_terminal_shows_a_bar_with_name_and_count(
    practice: Path, terminal: Callable[..., Terminal]
) -> None:
    shell = terminal(practice, "test", "1", "--previous")
    shell.wait_for("0/2")
    shell.wait_for("1/2")
    assert shell.end() == 1


def test_the_end_of_the_input_is_q(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    with os.fdopen(read) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert _keys.read_key(0.0) is None
        os.write(write, b"r")
        assert _keys.read_key(1.0) == "r"
        os.close(write)
        assert _keys.read_key(1.0) == "q"


@pytest.mark.criterion("S.96")
@pytest.mark.parametrize("words", [["docs", "5"], ["docs", "5", "--site", "site"]])
def test_docs_serves_the_site_and_prints_the_address_of_the_page(
    words: list[str], tmp_path: Path, terminal: Callable[..., Terminal]
) -> None:
    page = tmp_path / "site/course/05-provider-adapter"
    page.mkdir(parents=True)
    (tmp_path / "site/index.html").write_text("home")
    (page / "index.html").write_text("checkpoint five")
    shell = terminal(tmp_path, *words)
    address = re.search(r"http://127\.0\.0\.1:\d+\S*", shell.wait_for(r"http://\S+/ "))
    assert address is not None
    assert address.group().endswith("/course/05-provider-adapter/")
    with urllib.request.urlopen(address.group(), timeout=BOUND) as answer:
        assert answer.read() == b"checkpoint five"
    shell.signal(signal.SIGINT)
    assert shell.end() == 130


@pytest.mark.criterion("S.96")
def test_docs_opens_the_vietnamese_page_where_there_is_one(
    tmp_path: Path, terminal: Callable[..., Terminal]
) -> None:
    (tmp_path / "site/vi").mkdir(parents=True)
    (tmp_path / "site/index.html").write_text("home")
    (tmp_path / "site/vi/index.html").write_text("nhà")
    shell = terminal(tmp_path, "docs", "--lang", "vi")
    assert "/vi/" in shell.wait_for(r"http://\S+/")


@pytest.mark.criterion("S.96")
def test_without_a_site_the_line_that_builds_it_is_named(kickwheel: Any, lab: Any) -> None:
    for words in (["docs"], ["docs", "--site", "."]):
        answer = kickwheel(*words)
        assert answer.exit == 3
        assert "SITE_MISSING" in answer.err
        assert "scripts/site.py build" in answer.err
