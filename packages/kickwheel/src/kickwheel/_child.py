"""Runs one focused test file in a process of its own. A script, never imported as part of the package.

It needs nothing but pytest: the code under test may be a learner's `kickwheel`. What happens is appended to a
report file, one JSON object a line, so that a run that is killed has still said which test it was in.
"""

import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

OFFLINE_RULE = "offline rule: a focused test opens no connection and asks no name server"
MAX_FRAMES = 5
MAX_MESSAGE_LINES = 24
MAX_PRINTED = 2000

_NETWORK_EVENTS = (
    "socket.connect",
    "socket.bind",
    "socket.sendto",
    "socket.getaddrinfo",
    "socket.gethostbyname",
)


class OfflineRuleError(RuntimeError):
    """Raised in the place of every connection."""


class Report:
    """The report file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def add(self, kind: str, **values: object) -> None:
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, **values}) + "\n")


class Guard:
    """Refuses the network by an audit hook, and remembers that somebody tried."""

    def __init__(self) -> None:
        self.attempts: list[str] = []

    def install(self) -> None:
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _NETWORK_EVENTS or _is_local(event, arguments):
            return
        self.attempts.append(f"{event} {arguments[-1] if event.startswith('socket.get') else arguments[1]!r}")
        raise OfflineRuleError(OFFLINE_RULE)


def _is_local(event: str, arguments: tuple[Any, ...]) -> bool:
    """Sockets of the file system, and the pair that an event loop makes for itself on Windows."""
    if event in ("socket.connect", "socket.bind") and isinstance(arguments[1], str | bytes):
        return True
    frame = inspect.currentframe()
    callers: list[str] = []
    while frame is not None and len(callers) < 4:
        callers.append(frame.f_code.co_name)
        frame = frame.f_back
    return os.name == "nt" and any("socketpair" in name for name in callers)


class Plugin:
    """Selects the task, checks whose code is loaded, and writes down what every test did."""

    def __init__(self, spec: dict[str, Any], report: Report, guard: Guard) -> None:
        self._task: int | None = spec["task"]
        self._package: str = spec["package"]
        self._expected = Path(spec["expected"]).resolve()
        self._roots = [self._expected, Path(spec["file"]).resolve()]
        self._report = report
        self._guard = guard

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "criterion(*lines): spec lines")
        config.addinivalue_line("markers", "task(number): course task")

    def pytest_sessionstart(self) -> None:
        spec = importlib.util.find_spec(self._package)
        origin = None if spec is None else spec.origin
        if origin is None or not _inside(Path(origin), self._expected):
            self._stop(str(origin))

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self._task is None:
            return
        wanted = [item for item in items if task_of(item) == self._task]
        config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
        items[:] = wanted

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        found = self._foreign()
        if found is not None:
            self._stop(found)
        self._report.add("collected", count=len(session.items))

    def pytest_sessionfinish(self) -> None:
        found = self._foreign()
        if found is not None:
            self._report.add("wrong", found=found)

    def _stop(self, found: str) -> NoReturn:
        self._report.add("wrong", found=found)
        pytest.exit("wrong code under test", returncode=1)

    def _foreign(self) -> str | None:
        """Where a module of the package under test was loaded from, if that is not where it should be."""
        for name, module in sorted(sys.modules.items()):
            if name == self._package or name.startswith(self._package + "."):
                file = _file_of(module)
                if file is not None and not _inside(file, self._expected):
                    return str(file)
        return None

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._guard.attempts.clear()
        self._report.add("running", test=name_of(nodeid))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        yield
        if self._guard.attempts:
            raise OfflineRuleError(f"{OFFLINE_RULE} (tried: {self._guard.attempts[0]})")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        failed = report.failed
        if failed or (report.when == "call" and report.passed) or report.skipped:
            self._report.add(
                "test",
                test=name_of(item.nodeid),
                task=task_of(item),
                task_marks=len(list(item.iter_markers("task"))),
                criteria=[str(line) for mark in item.iter_markers("criterion") for line in mark.args],
                outcome=report.outcome,
                message=self._message_of(call) if failed else "",
                frames=self._frames(call) if failed else [],
                printed=report.capstdout[-MAX_PRINTED:] if failed else "",
            )
        return report

    def _message_of(self, call: pytest.CallInfo[None]) -> str:
        """What failed; an attempt to connect comes first, whatever else broke because of it."""
        message = _message(call)
        if self._guard.attempts and OFFLINE_RULE not in message:
            return f"{OFFLINE_RULE} (tried: {self._guard.attempts[0]})\n{message}"
        return message

    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any]
    ) -> None:
        if isinstance(node, pytest.Collector) and call.excinfo is not None:
            error: BaseException = call.excinfo.value
            while isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
                error = error.__cause__
            file, line = self._place(error)
            self._report.add("import", file=file, line=line, reason=_reason(error))

    def _place(self, error: BaseException) -> tuple[str | None, int | None]:
        if isinstance(error, SyntaxError) and error.filename:
            return error.filename, error.lineno
        place: tuple[str | None, int | None] = (None, None)
        trace = error.__traceback__
        while trace is not None:
            if self._is_ours(trace.tb_frame.f_code.co_filename):
                place = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
            trace = trace.tb_next
        return place

    def _frames(self, call: pytest.CallInfo[None]) -> list[dict[str, object]]:
        frames: list[dict[str, object]] = []
        trace = call.excinfo.value.__traceback__ if call.excinfo is not None else None
        while trace is not None:
            code = trace.tb_frame.f_code
            if self._is_ours(code.co_filename):
                frames.append({"file": code.co_filename, "line": trace.tb_lineno, "function": code.co_name})
            trace = trace.tb_next
        return frames[-MAX_FRAMES:]

    def _is_ours(self, filename: str) -> bool:
        return any(_inside(Path(filename), root) for root in self._roots)


def name_of(nodeid: str) -> str:
    """The test's name without its file."""
    return nodeid.partition("::")[2]


def task_of(item: pytest.Item) -> int | None:
    """The task that a test is marked with."""
    mark = item.get_closest_marker("task")
    return mark.args[0] if mark is not None and mark.args else None


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file) if isinstance(file, str) else None


def _inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, ValueError, RuntimeError):
        return False


def _message(call: pytest.CallInfo[None]) -> str:
    text = call.excinfo.exconly() if call.excinfo is not None else ""
    lines = text.splitlines()
    cut = [*lines[:MAX_MESSAGE_LINES], "…"] if len(lines) > MAX_MESSAGE_LINES else lines
    return "\n".join(cut)


def _reason(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _arguments(spec: dict[str, Any]) -> Sequence[str]:
    file = Path(spec["file"])
    return [
        str(file),
        f"--rootdir={file.parent}",
        f"--confcutdir={file.parent}",
        f"-c{os.devnull}",
        "--noconftest",
        "--import-mode=importlib",
        "--strict-markers",
        "-pno:cacheprovider",
        "-Werror",
        "--tb=no",
        "-q",
    ]


def main(spec_file: str) -> int:
    """Run the file that the specification names."""
    spec: dict[str, Any] = json.loads(Path(spec_file).read_text("utf-8"))
    report, guard = Report(spec["report"]), Guard()
    if spec["target"] is not None:
        sys.path.insert(0, spec["target"])
    guard.install()
    plugin: Callable[..., object] | Plugin = Plugin(spec, report, guard)
    code = pytest.main(list(_arguments(spec)), plugins=[plugin])
    report.add("end", exit=int(code))
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
