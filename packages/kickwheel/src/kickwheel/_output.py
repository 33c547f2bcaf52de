"""Printing: plain when piped, coloured on a terminal, never broken by an encoding.

No width is asked for anywhere, so the same run prints the same bytes on every terminal.
"""

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Mapping
from typing import TextIO

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def use_utf8() -> None:
    """Make the standard streams write UTF-8 and escape what cannot be written, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def wants_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """`NO_COLOR` beats `FORCE_COLOR`, which beats the question whether this is a terminal."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return stream.isatty() and environment.get("TERM") != "dumb"


def dump_line(value: object) -> str:
    """One line of JSON; lone surrogates stay escapes, so the line always encodes."""
    text = json.dumps(value, ensure_ascii=False)
    return _LONE_SURROGATE.sub(_escape, text)


def one_line(text: str) -> str:
    """Foreign text made safe for one line of a terminal: control and direction marks become escapes."""
    return _UNPRINTABLE.sub(_escape, text)


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, with an ellipsis where something was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    return named if named is not None else f"\\u{ord(character):04x}"


class Output:
    """What a verb prints for people; silent in JSON mode, and quieter with `--quiet`."""

    def __init__(self, *, json_mode: bool = False, quiet: bool = False) -> None:
        """Decide once about colour; standard output and standard error may differ."""
        self.json_mode = json_mode
        self.quiet = quiet
        self._colour_out = wants_colour(sys.stdout)
        self._colour_err = wants_colour(sys.stderr)

    def style(self, text: str, *styles: str) -> str:
        """The text in the given styles, for standard output."""
        return _paint(text, styles) if self._colour_out else text

    def print(self, text: str = "") -> None:
        """A line on standard output, for people only."""
        if not self.json_mode:
            sys.stdout.write(text + "\n")

    def chat(self, text: str = "") -> None:
        """A line that `--quiet` leaves out."""
        if not self.quiet:
            self.print(text)

    def warn(self, text: str) -> None:
        """A line on standard error."""
        sys.stderr.write((_paint(text, ("yellow",)) if self._colour_err else text) + "\n")

    def fail(self, text: str) -> None:
        """An error line on standard error, also in JSON mode (standard output holds the object)."""
        sys.stderr.write((_paint(text, ("red",)) if self._colour_err else text) + "\n")

    def json(self, value: Mapping[str, object]) -> None:
        """The one JSON object of `--json`."""
        sys.stdout.write(dump_line(value) + "\n")

    def flush(self) -> None:
        """Bring everything out before a child process or a wait."""
        sys.stdout.flush()
        sys.stderr.flush()


def _paint(text: str, styles: tuple[str, ...]) -> str:
    codes = ";".join(_STYLES[name] for name in styles)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text
