"""The site's one entry: build, check, serve, vendor, generate.

uv run --group docs python scripts/site.py build [--out site] [--draft]
uv run --group docs python scripts/site.py check [--release] [--checkpoint NN] [--json]
"""

from __future__ import annotations

import sys
from pathlib import Path

# This file is called site.py; its folder must not come before the standard library's own `site`.
sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).resolve().parent]
sys.path.append(str(Path(__file__).resolve().parent))

from site_tools.cli import main  # noqa: E402 the path is set first

if __name__ == "__main__":
    sys.exit(main())
