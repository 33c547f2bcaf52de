"""The programs of the guides on cancelling, on transcripts and on failed runs print what the pages show."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "cancel-a-run": "cancel_a_run",
    "check-a-transcript": "check_a_transcript",
    "read-a-failed-run": "read_a_failed_run",
}


@pytest.mark.criterion("S.45")
@pytest.mark.parametrize("page", PAGES)
def test_a_program_prints_what_its_page_shows(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / f"{PAGES[page]}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    for language in ("en", "vi"):
        text = (ROOT / "docs" / language / "guides" / f"{page}.md").read_text(encoding="utf-8")
        shown = re.search(r"```text\n(.*?)```", text, re.DOTALL)
        assert shown is not None
        assert shown[1] == printed
