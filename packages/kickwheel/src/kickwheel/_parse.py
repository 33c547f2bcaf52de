"""From the words of the command line to a verb and its options, or to a `RefusedError`."""

import argparse
import difflib
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from kickwheel._errors import RefusedError
from kickwheel._verb_table import GLOBAL_ARGUMENTS, VALUE_KINDS, VERBS, Argument, Verb


class Options:
    """The options of one call, read by name and kind."""

    def __init__(self, values: dict[str, object]) -> None:
        """Keep the parsed values."""
        self._values = values

    def flag(self, name: str) -> bool:
        """Whether `--name` was given."""
        return self._values.get(name) is True

    def text(self, name: str) -> str | None:
        """The value of a text option or of a single positional, if given."""
        value = self._values.get(name)
        return value if isinstance(value, str) else None

    def number(self, name: str) -> int | None:
        """The value of a number option, if given."""
        value = self._values.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def seconds(self, name: str) -> float | None:
        """The value of an option in seconds, if given."""
        value = self._values.get(name)
        return value if isinstance(value, float) else None

    def words(self, name: str) -> tuple[str, ...]:
        """The values of a positional that takes several."""
        value = self._values.get(name)
        return tuple(str(word) for word in value) if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


class Call(NamedTuple):
    """One understood command line; `verb` is `None` when none was given."""

    verb: Verb | None
    options: Options
    wants_help: bool
    wants_version: bool


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing and leaving."""

    def error(self, message: str) -> NoReturn:
        raise RefusedError("USAGE", message)


def wants_json(words: Sequence[str]) -> bool:
    """Whether `--json` stands among the words, so that even a usage error is answered in JSON."""
    return "--json" in _before_separator(words)


def guess_verb(words: Sequence[str]) -> str | None:
    """The word that names the verb, for an error that came before parsing was done."""
    found = _verb_position(words)
    if found is None:
        return None
    two = " ".join(words[found : found + 2])
    return two if any(verb.name == two for verb in VERBS) else words[found]


def parse(words: Sequence[str]) -> Call:
    """Understand the words, or raise `RefusedError` with code `USAGE`."""
    position = _verb_position(words)
    before = list(words if position is None else words[:position])
    options = _parse_globals(before)
    if position is None:
        return Call(None, Options(options), options["help"] is True, options["version"] is True)
    verb, rest = _split_verb(words, position)
    if verb is None:
        return Call(None, Options(options), True, False)
    parsed = _parse_verb(verb, rest)
    for name, value in options.items():
        if _was_given(value):
            parsed.setdefault(name, value)
    return Call(verb, Options(parsed), parsed.get("help") is True, parsed.get("version") is True)


def nearest(word: str, known: Sequence[str]) -> str:
    """The known names nearest to a word, for a message; all of them when none is near."""
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    return ", ".join(near or known)


def _before_separator(words: Sequence[str]) -> Sequence[str]:
    return words[: words.index("--")] if "--" in words else words


def _verb_position(words: Sequence[str]) -> int | None:
    with_value = {argument.name for argument in GLOBAL_ARGUMENTS if argument.kind != "flag"}
    skip = False
    for index, word in enumerate(words):
        if skip:
            skip = False
        elif word in with_value:
            skip = True
        elif not word.startswith("-"):
            return index
    return None


def _split_verb(words: Sequence[str], position: int) -> tuple[Verb | None, list[str]]:
    first, rest = words[position], list(words[position + 1 :])
    by_name = {verb.name: verb for verb in VERBS}
    if first in by_name:
        return by_name[first], rest
    nested = [verb.name.split()[1] for verb in VERBS if verb.name.startswith(first + " ")]
    if not nested:
        names = sorted({verb.name.split()[0] for verb in VERBS})
        raise RefusedError("USAGE", "error.unknown_verb", word=first, near=nearest(first, names))
    if rest and rest[0] in nested:
        return by_name[f"{first} {rest[0]}"], rest[1:]
    if rest and rest[0] in ("--help", "-h"):
        return None, rest
    known = ", ".join(f"{first} {name}" for name in nested)
    raise RefusedError("USAGE", "error.unknown_verb", word=" ".join([first, *rest[:1]]), near=known)


def _parse_globals(words: list[str]) -> dict[str, object]:
    parser = _new_parser()
    return dict(vars(parser.parse_args(words)))


def _parse_verb(verb: Verb, words: list[str]) -> dict[str, object]:
    if any(word in ("--help", "-h") for word in _before_separator(words)):
        known, _ = _new_parser().parse_known_args(words)
        return {name: value for name, value in vars(known).items() if _was_given(value)}
    parser = _new_parser()
    for argument in verb.arguments:
        _add(parser, argument)
    parsed = parser.parse_intermixed_args(words)
    return {name: value for name, value in vars(parsed).items() if _was_given(value)}


def _new_parser() -> _Parser:
    parser = _Parser(prog="kickwheel", add_help=False, allow_abbrev=False)
    for argument in GLOBAL_ARGUMENTS:
        _add(parser, argument)
    parser.add_argument("--help", "-h", action="store_true", dest="help")
    parser.add_argument("--version", action="store_true", dest="version")
    return parser


def _add(parser: _Parser, argument: Argument) -> None:
    key = option_key(argument.name)
    names = [argument.name, *([argument.short] if argument.short else [])]
    if argument.kind == "flag":
        parser.add_argument(*names, action="store_true", dest=key)
    elif argument.kind in VALUE_KINDS:
        readers: dict[str, Callable[[str], object]] = {"text": str, "number": _number, "seconds": _seconds}
        parser.add_argument(*names, type=readers[argument.kind], dest=key)
    else:
        counts = {"optional": "?", "several": "+", "any": "*"}
        if argument.kind == "required":
            parser.add_argument(key, metavar=argument.name)
        else:
            parser.add_argument(key, metavar=argument.name, nargs=counts[argument.kind])


def option_key(name: str) -> str:
    """The key under which `Options` holds an argument: `--max-steps` is `max_steps`, `ID` is `id`."""
    return name.lstrip("-").replace("-", "_").lower()


def _number(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
    return int(text)


def _seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return float(text)


def _was_given(value: object) -> bool:
    """Zero was given; an absent value and a flag that was not set were not."""
    return value is not None and value is not False
