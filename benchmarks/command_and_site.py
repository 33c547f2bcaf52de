"""How long does the command take to answer, the site to build, a page to arrive? (S.C1 to S.C4)

    python benchmarks/command_and_site.py [--rounds N] [--json FILE] [--quick]

S.C1: `kickwheel --help`, target 150 ms. S.C2: a focused run, child included, target 2 s. S.C3: both languages
of the site, target 60 s on two cores (not with --quick). S.C4: bytes of a page without a diagram and of all
that it loads, compressed as a server sends it, target 600 kB. Nothing is asserted: read the column.
"""

import argparse
import gzip
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def timed(rounds: int, *command: str) -> float:
    found: list[float] = []
    for _ in range(rounds):
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
        )
        found.append(time.perf_counter() - started)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr[-2000:]}")
    return statistics.median(found)


def page_bytes(page: Path) -> int:
    """The page and its scripts and styles, compressed; pictures are drawn inline."""
    text = page.read_text("utf-8")
    total = len(gzip.compress(page.read_bytes()))
    for link in set(re.findall(r'(?:src|href)="([^"]+\.(?:js|css|svg))"', text)):
        total += len(gzip.compress((page.parent / link).resolve().read_bytes()))
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description="Command and site.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round, and no build of the site")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rounds = 1 if options.quick else options.rounds
    rows: list[tuple[str, str, str, str]] = []
    rows.append(
        ("S.C1", "kickwheel --help", f"{timed(rounds, '-m', 'kickwheel', '--help') * 1e3:.0f} ms", "150 ms")
    )
    rows.append(
        ("S.C2", "kickwheel test 02", f"{timed(rounds, '-m', 'kickwheel', 'test', '02'):.2f} s", "2 s")
    )
    if not options.quick:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "site"
            took = timed(1, "scripts/site.py", "build", "--quiet", "--out", str(out))
            rows.append(("S.C3", "site build, both languages", f"{took:.1f} s", "60 s"))
            size = max(
                page_bytes(out / name / "index.html")
                for name in ("quickstart", "reference/errors", "vi/glossary")
            )
            rows.append(("S.C4", "a page without a diagram, compressed", f"{size / 1e3:.0f} kB", "600 kB"))
    print("| line | what | found | target |\n| --- | --- | ---: | ---: |")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
