"""The texts of the command in two languages, from `course/messages.en.toml` and `course/messages.vi.toml`."""

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

LANGUAGES = ("en", "vi")
MESSAGES = Path(__file__).resolve().parent / "course"


@cache
def load_messages(language: str) -> Mapping[str, str]:
    """Every message of one language, flat: `section.key` to text."""
    with (MESSAGES / f"messages.{language}.toml").open("rb") as file:
        return dict(_flatten("", tomllib.load(file)))


def _flatten(prefix: str, table: Mapping[str, object]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            nested: dict[str, object] = {str(k): v for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            pairs.extend(_flatten(f"{name}.", nested))
        else:
            pairs.append((name, str(value).rstrip("\n")))
    return pairs


class Messages:
    """The messages of one language; a call looks one up and fills its placeholders."""

    def __init__(self, language: str) -> None:
        """Remember the language; the file is read at the first look-up."""
        self.language = language

    def __call__(self, key: str, /, **values: object) -> str:
        """The text of `key` with its placeholders filled."""
        return load_messages(self.language)[key].format(**values)


def choose_language(
    option: str | None, folder: str | None, environment: Mapping[str, str] = os.environ
) -> str:
    """The option, else the practice folder's language, `KICKWHEEL_LANG`, the locale, English."""
    for candidate in (option, folder, environment.get("KICKWHEEL_LANG")):
        if candidate in LANGUAGES:
            return str(candidate)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(name):
            return "vi" if environment[name].lower().startswith("vi") else "en"
    return "en"
