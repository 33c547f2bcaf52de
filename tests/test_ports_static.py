"""The ports of the protocol are filled by packages that do not know each other (01.112).

basedpyright in strict mode judges one snippet; nothing is run.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SNIPPET = """from kickwheel_event_stream import AbortController, EventStream
from kickwheel_protocol import Model, ModelChunk, ModelResponse, ModelStream, Signal
from kickwheel_provider_adapter import FixtureProviderAdapter
from kickwheel_scripted_model import ScriptedModel


def signal() -> Signal:
    return AbortController().signal


def stream() -> ModelStream:
    return EventStream[ModelChunk, ModelResponse]()


def scripted() -> Model:
    return ScriptedModel()


def recorded(fixture: object) -> Model:
    return FixtureProviderAdapter(fixture)


s: Signal = AbortController().signal
m: ModelStream = EventStream[ModelChunk, ModelResponse]()
models: list[Model] = [ScriptedModel(), recorded({})]
"""

MISFITS = """from kickwheel_event_stream import AbortController, EventStream
from kickwheel_protocol import Model, ModelChunk, ModelStream, Signal

s: Signal = AbortController()  # !
m: ModelStream = EventStream[ModelChunk, str]()  # !
model: Model = AbortController()  # !
"""
CHECKER = shutil.which("basedpyright", path=str(Path(sys.executable).parent)) or shutil.which("basedpyright")


@pytest.mark.slow
@pytest.mark.criterion("01.112")
@pytest.mark.skipif(CHECKER is None, reason="needs basedpyright")
def test_signals_streams_and_models_of_the_other_packages_fit_the_ports(tmp_path: Path) -> None:
    (tmp_path / "fitting.py").write_text(SNIPPET)
    (tmp_path / "misfits.py").write_text(MISFITS)
    project = tmp_path / "pyrightconfig.json"
    project.write_text(json.dumps({"include": ["."], "typeCheckingMode": "strict", "pythonVersion": "3.11"}))
    assert CHECKER
    command = [CHECKER, "--project", str(project), "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == 2
    found = {(Path(e["file"]).name, e["range"]["start"]["line"] + 1) for e in report["generalDiagnostics"]}
    marked = {("misfits.py", n) for n, line in enumerate(MISFITS.splitlines(), 1) if line.endswith("# !")}
    assert found == marked, report["generalDiagnostics"]
