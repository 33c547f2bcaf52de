"""The child process: bounded, offline, and clear about whose code it ran."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kickwheel import _packages, _runner
from kickwheel._errors import SurroundingsError

HEAD = """import pytest
from toy import VALUE

pytestmark = [pytest.mark.task(1), pytest.mark.criterion('S.71')]
"""


@pytest.fixture
def toy(tmp_path: Path) -> Any:
    package = tmp_path / "target" / "toy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("VALUE = 1\n")

    def run(body: str, **options: Any) -> _runner.RunReport:
        file = tmp_path / "test_toy.py"
        file.write_text(HEAD + body)
        return _runner.run_focused(file, "toy", package.parent, package, **options)

    return run


@pytest.mark.criterion("S.71")
@pytest.mark.parametrize(
    "attempt",
    [
        "socket.create_connection(('127.0.0.1', 9), 1)",
        "socket.socket().connect(('127.0.0.1', 9))",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
        "socket.getaddrinfo('example.invalid', 80)",
        "socket.gethostbyname('example.invalid')",
        "socket.socket().bind(('127.0.0.1', 0))",
        "asyncio.run(asyncio.open_connection('127.0.0.1', 9))",
    ],
)
@pytest.mark.parametrize("swallow", [False, True])
def test_a_test_that_tries_to_connect_fails_and_the_rule_is_named(
    attempt: str, swallow: bool, toy: Any
) -> None:
    lines = (
        f"    try:\n        {attempt}\n    except Exception:\n        pass\n"
        if swallow
        else f"    {attempt}\n"
    )
    report = toy(
        f"import asyncio, socket, warnings\n\n\ndef test_out():\n{lines}\n\ndef test_in():\n    pass\n"
    )
    failure = report.failures[0]
    assert failure.test == "test_out"
    assert "offline rule" in failure.message


@pytest.mark.criterion("S.71")
def test_an_event_loop_and_a_local_socket_are_allowed(toy: Any) -> None:
    report = toy(
        "import asyncio, socket\n\n\ndef test_loop():\n    asyncio.run(asyncio.sleep(0))\n\n\n"
        "def test_pair():\n    a, b = socket.socketpair()\n    a.close()\n    b.close()\n"
    )
    assert report.green


@pytest.mark.criterion("S.83")
def test_a_hanging_run_is_ended_and_names_its_test(toy: Any, tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    body = (
        "import os, subprocess, sys, time\n\n\ndef test_quick():\n    pass\n\n\ndef test_hangs():\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"    open({str(mark)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n    time.sleep(600)\n"
    )
    started = time.monotonic()
    report = toy(body, timeout=4)
    assert time.monotonic() - started < 60
    assert (report.hung, report.stopped_in, report.green) == (True, "test_hangs", False)
    assert [(case.test, case.outcome) for case in report.cases] == [("test_quick", "passed")]
    end = time.monotonic() + 20
    while any(running(int(pid)) for pid in mark.read_text().split()):
        assert time.monotonic() < end, "a process of the run is still there"
        time.sleep(0.05)


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.criterion("S.83")
def test_a_hang_at_import_names_no_test(toy: Any) -> None:
    report = toy("import time\ntime.sleep(600)\n", timeout=3)
    assert (report.hung, report.stopped_in) == (True, None)


@pytest.mark.criterion("S.83")
def test_a_child_that_dies_names_its_test(toy: Any) -> None:
    report = toy("import os\n\n\ndef test_dies():\n    os._exit(9)\n")
    assert (report.crashed, report.stopped_in, report.green) == (True, "test_dies", False)


@pytest.mark.criterion("S.82")
@pytest.mark.parametrize("leave", ["raise SystemExit(3)", "import os; os._exit(0)"])
def test_a_file_that_leaves_at_import_is_not_green(leave: str, toy: Any) -> None:
    assert not toy(f"{leave}\n\n\ndef test_a():\n    pass\n").green


def test_a_file_without_tests_is_not_green(toy: Any) -> None:
    assert not toy("").green


@pytest.mark.criterion("S.81")
def test_at_most_five_frames_of_the_learners_file_and_the_test_are_kept(toy: Any, tmp_path: Path) -> None:
    (tmp_path / "target/toy/__init__.py").write_text(
        "import json\nVALUE = 1\n\n\ndef deep(n):\n    return json.loads('{') if n == 0 else deep(n - 1)\n"
    )
    report = toy("from toy import deep\n\n\ndef test_deep():\n    deep(7)\n")
    (failure,) = report.failures
    assert len(failure.frames) == 5
    assert {Path(frame.file).name for frame in failure.frames} == {"__init__.py"}
    assert [frame.line for frame in failure.frames] == [6] * 5


def test_setup_and_teardown_failures_count_once(toy: Any) -> None:
    report = toy(
        "@pytest.fixture\ndef bad():\n    raise ValueError('setup')\n\n\n"
        "@pytest.fixture\ndef late():\n    yield\n    raise ValueError('teardown')\n\n\n"
        "def test_a(bad):\n    pass\n\n\ndef test_b(late):\n    pass\n\n\n"
        "@pytest.mark.skip\ndef test_c():\n    pass\n"
    )
    assert [(case.test, case.outcome) for case in report.cases] == [
        ("test_a", "failed"),
        ("test_b", "failed"),
        ("test_c", "skipped"),
    ]


def test_a_warning_is_a_failure_and_foreign_options_are_ignored(toy: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--nonsense")
    monkeypatch.setenv("PYTEST_PLUGINS", "nowhere")
    report = toy("import warnings\n\n\ndef test_warns():\n    warnings.warn('x')\n")
    assert [case.outcome for case in report.cases] == ["failed"]


@pytest.mark.criterion("S.79")
def test_the_child_leaves_nothing_beside_the_files_it_ran(toy: Any, tmp_path: Path) -> None:
    toy("def test_a():\n    open('litter', 'w').close()\n")
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"test_toy.py", "target/toy/__init__.py"}


@pytest.mark.criterion("S.80")
def test_a_package_from_elsewhere_is_refused(toy: Any, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "toy"
    other.mkdir(parents=True)
    with pytest.raises(SurroundingsError) as caught:
        _runner.run_focused(tmp_path / "none.py", "toy", tmp_path / "target", other)
    assert caught.value.code == "WRONG_CODE_UNDER_TEST"


def test_a_tool_is_found_beside_the_interpreter_or_not_at_all() -> None:
    assert _runner.find_tool(Path(sys.executable).name) is not None
    assert _runner.find_tool("no-such-tool-anywhere") is None


def test_a_package_that_is_not_installed_is_a_missing_tool() -> None:
    with pytest.raises(SurroundingsError) as caught:
        _packages.installed("kickwheel_nowhere")
    assert caught.value.code == "TOOL_MISSING"
