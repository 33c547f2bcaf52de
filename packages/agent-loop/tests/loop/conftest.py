"""Puts the doubles of this folder on the import path: test modules do not import each other."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
