"""The examples of the guide on tools do what the guide says they print."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

PRINTED = {
    "write_a_tool.py": """
ok    {"number":7,"state":"packed"}
error {"error":{"code":"TOOL_ARGUMENTS_INVALID","message":"Expected `int`, got `str` - at `$.number`"}}
error {"error":{"code":"TOOL_EXECUTION_FAILED","message":"there is no order 9"}}
ok    order 7 cancelled: late
stop  the warehouse is on fire
""",
    "define_a_tool.py": """
{"room":"b1","time":"10:00"}
{"error":{"code":"TOOL_ARGUMENTS_INVALID","message":"b1 is taken at 10:00"}}
""",
}


@pytest.mark.criterion("S.45", "06.B1", "06.B7", "06.25")
@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_what_its_guide_shows(name: str) -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert run.stdout == PRINTED[name].lstrip()
    for language in ("en", "vi"):
        guide = (ROOT / "docs" / language / "guides" / "write-a-tool.md").read_text(encoding="utf-8")
        assert f'--8<-- "examples/{name}"' in guide
        assert PRINTED[name].strip() in guide
