"""What a type checker and a fresh interpreter say of the package."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "static_cases"


def checked(name: str, folder: Path) -> list[tuple[int, str]]:
    """Return line and severity of each finding of the strict checker."""
    checker = shutil.which("basedpyright", path=str(Path(sys.executable).parent)) or shutil.which(
        "basedpyright"
    )
    if checker is None:
        pytest.skip("basedpyright is not installed")
    (folder / name).write_text((CASES / name).read_text("utf-8"), "utf-8")
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', "utf-8")
    command = [checker, "--outputjson", "--project", str(folder), "--pythonpath", sys.executable]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    report = json.loads(found.stdout)
    return [(item["range"]["start"]["line"] + 1, item["severity"]) for item in report["generalDiagnostics"]]


@pytest.mark.slow
@pytest.mark.criterion("02.D1")
def test_the_types_of_events_and_results_come_through(tmp_path: Path) -> None:
    assert checked("stream_types_accepted.py", tmp_path) == []


@pytest.mark.slow
@pytest.mark.criterion("02.D2")
def test_each_misuse_is_an_error(tmp_path: Path) -> None:
    text = (CASES / "stream_types_refused.py").read_text("utf-8")
    marked = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# refused")]
    assert len(marked) == 5
    assert [line for line, _severity in checked("stream_types_refused.py", tmp_path)] == marked


@pytest.mark.criterion("02.D3")
def test_the_package_loads_no_sibling() -> None:
    program = "import sys, kickwheel_event_stream; print(*sorted({n.partition('.')[0] for n in sys.modules}))"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = [name for name in found.stdout.split() if name.startswith("kickwheel")]
    assert loaded == ["kickwheel_event_stream"]


@pytest.mark.criterion("02.D3")
def test_the_public_names_are_complete() -> None:
    import kickwheel_event_stream

    public = [name for name in vars(kickwheel_event_stream) if not name.startswith("_")]
    assert set(public) - {"production"} == set(kickwheel_event_stream.__all__)
    assert kickwheel_event_stream.__all__ == sorted(kickwheel_event_stream.__all__)
