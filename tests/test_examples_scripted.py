"""The programs of the guides on the scripted model run and print what the guides show."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GUIDES = {
    "script_a_model.py": "script-a-model.md",
    "step_through_a_stream.py": "step-through-a-stream.md",
    "cancellation_contract.py": "cancellation-contract.md",
}

pytest_plugins = ["pytester"]


@pytest.mark.criterion("S.45")
@pytest.mark.parametrize("program", GUIDES)
@pytest.mark.parametrize("language", ["en", "vi"])
def test_a_program_prints_what_its_guide_shows(
    program: str, language: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(ROOT / "examples" / program), run_name="__main__")
    printed = capsys.readouterr().out
    guide = (ROOT / "docs" / language / "guides" / GUIDES[program]).read_text("utf-8")
    assert f"```text\n{printed}```" in guide
    assert f'--8<-- "examples/{program}"' in guide


@pytest.mark.criterion("S.45")
def test_the_offline_test_file_passes_with_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile((ROOT / "examples" / "offline_agent_test.py").read_text("utf-8"))
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)
