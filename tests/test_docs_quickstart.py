"""The quickstart, run as written: its lines in order, in a fresh folder, with every connection refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from site_tools.layout import ROOT, Site

pytestmark = pytest.mark.slow

REFUSED = "http://127.0.0.1:9"


def lines() -> list[tuple[str, int]]:
    """Each shell line of the page with the exit code that the page states for it (0 where it states none)."""
    page = Site().page("en", "quickstart.md")
    assert page is not None
    found: list[tuple[str, int]] = []
    for fence in page.fences:
        if fence.language == "bash":
            stated = re.search(r'title="exits with (\d+)"', fence.info)
            found += [(row, int(stated[1]) if stated else 0) for row in fence.body if row.strip()]
    return found


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pip that sees the packages installed here and can reach no index; the folder of its programs."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True, symlinks=True)
    program = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.run([program, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    installed = sysconfig.get_path("purelib")
    (Path(own) / "installed.pth").write_text(f"import site; site.addsitedir({installed!r})\n", "utf-8")
    return folder / ("Scripts" if os.name == "nt" else "bin")


@pytest.mark.criterion("S.03")
@pytest.mark.skipif(os.name == "nt", reason="the page's shell lines are for bash")
def test_every_line_ends_with_the_exit_code_that_the_page_states(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "quickstart_test.py").write_bytes((ROOT / "examples/quickstart_test.py").read_bytes())
    environment = {
        "PATH": os.pathsep.join([str(programs), sysconfig.get_path("scripts"), os.environ["PATH"]]),
        "HOME": str(tmp_path),
        "PIP_INDEX_URL": REFUSED,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "HTTP_PROXY": REFUSED,
        "HTTPS_PROXY": REFUSED,
        "PYTHONUTF8": "1",
    }
    place = tmp_path
    ran: list[tuple[str, int]] = []
    for line, code in lines():
        if line.startswith("cd "):
            place = place / line.removeprefix("cd ")
            assert place.is_dir()
            continue
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, f"{line}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        ran.append((line, code))
    assert ("kickwheel test 00", 1) in ran
    assert ("kickwheel test 00", 0) in ran


@pytest.mark.criterion("S.45", "S.02")
def test_the_quickstart_s_test_passes_and_finds_a_wrong_order() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/quickstart_test.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
