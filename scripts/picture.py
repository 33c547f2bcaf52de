"""Draw the README's picture of a trace from a real run of `kickwheel trace`.

`python scripts/picture.py` writes docs/en/assets/trace.svg; with `--check` it fails when the file is stale.
"""

import argparse
import os
import re
import subprocess
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "en" / "assets" / "trace.svg"
FIXTURE = "fixtures/provider-tool-roundtrip.json"

CHARACTER, LINE, PAD = 8.43, 22, 20
COLOURS = {"message": "#7dcfff", "model": "#9ece6a", "tool": "#e0af68", "run": "#bb9af7"}
INK, DIM, PAPER = "#c0caf5", "#8089b3", "#1a1b26"


def trace_lines() -> list[str]:
    """What the command prints into a pipe."""
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "KICKWHEEL_LANG": "en"}
    command = [sys.executable, "-m", "kickwheel", "trace", FIXTURE]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def draw(lines: list[str]) -> str:
    """An SVG without fonts, scripts or styles from elsewhere."""
    width = round(max(map(len, [*lines, "$ kickwheel trace"])) * CHARACTER + 2 * PAD)
    height = (len(lines) + 1) * LINE + 2 * PAD
    rows = [text(0, [("$ ", DIM), ("kickwheel trace", INK)])]
    for number, line in enumerate(lines, 1):
        event = next((word for word in line.split() if "." in word), "")
        colour = COLOURS.get(event.partition(".")[0], INK)
        before, _, after = line.partition(event)
        rows.append(text(number, [(before, DIM), (event, colour), (after, INK)]))
    title = "kickwheel trace: six events of an agent run"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{title}">\n'
        f"<title>{title}</title>\n"
        f'<rect width="100%" height="100%" rx="10" fill="{PAPER}"/>\n'
        '<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14">\n'
        + "".join(rows)
        + "</g>\n</svg>\n"
    )


def text(row: int, spans: list[tuple[str, str]]) -> str:
    """One line of coloured spans, each run of words placed by its column."""
    parts: list[str] = []
    column = 0
    for words, colour in spans:
        for run in re.finditer(r"\S+(?: \S+)*", words):  # SVG folds wider gaps
            x = PAD + (column + run.start()) * CHARACTER
            place = f'x="{x:.1f}" textLength="{len(run[0]) * CHARACTER:.1f}"'
            parts.append(f'<tspan {place} fill="{colour}">{escape(run[0])}</tspan>')
        column += len(words)
    return f'<text y="{PAD + 14 + row * LINE}">{"".join(parts)}</text>\n'


def main() -> int:
    """Write the picture, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the picture is stale")
    options = parser.parse_args()
    picture = draw(trace_lines())
    if options.check:
        current = PICTURE.read_text(encoding="utf-8") if PICTURE.exists() else ""
        if current != picture:
            print("docs/en/assets/trace.svg is stale: run python scripts/picture.py", file=sys.stderr)
            return 1
        return 0
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
