"""Every verb of the command line as data; the parser, the help text and the reference page come from here."""

from typing import NamedTuple


class Argument(NamedTuple):
    """One option or positional argument.

    `kind` is `flag`, `text`, `number`, `seconds` (options), `optional`, `required`, `several` or `any`
    (positionals: at most one, exactly one, at least one, any number).
    """

    name: str
    kind: str
    metavar: str = ""
    short: str = ""


class Verb(NamedTuple):
    """One verb: its name (two words for a nested one), its module under `verbs/`, and its arguments."""

    name: str
    module: str
    arguments: tuple[Argument, ...] = ()
    group: str = "learn"

    def argument(self, name: str) -> Argument:
        """The argument of that name."""
        return next(argument for argument in self.arguments if argument.name == name)


VALUE_KINDS = ("text", "number", "seconds")
"""The kinds of options that take a value."""

GLOBAL_ARGUMENTS = (
    Argument("--json", "flag"),
    Argument("--lang", "text", "LANG"),
    Argument("--quiet", "flag"),
    Argument("--folder", "text", "DIR"),
)

_ID = Argument("ID", "optional")
_NEEDED_ID = Argument("ID", "required")
_TASK = Argument("--task", "number", "N")
_YES = Argument("--yes", "flag")
_DIALECT = Argument("--dialect", "text", "NAME")

VERBS = (
    Verb(
        "trace",
        "trace",
        (
            Argument("FIXTURE", "any"),
            Argument("--prompt", "text", "TEXT"),
            Argument("--max-steps", "number", "N"),
            Argument("--tools", "text", "MODULE:NAME"),
            _DIALECT,
            Argument("--mine", "flag"),
            Argument("--prologue", "flag"),
        ),
        "run",
    ),
    Verb(
        "convert",
        "convert",
        (Argument("FILE", "several"), _DIALECT, Argument("--output", "text", "FIXTURE", "-o")),
        "run",
    ),
    Verb("fixture check", "fixture_check", (Argument("FILE", "several"),), "run"),
    Verb("start", "start", (Argument("DIR", "optional"),)),
    Verb("next", "next"),
    Verb("list", "list"),
    Verb(
        "test",
        "test",
        (
            _ID,
            _TASK,
            Argument("--previous", "flag"),
            Argument("--all", "flag"),
            Argument("--types", "flag"),
            Argument("--timeout", "seconds", "SECONDS"),
        ),
    ),
    Verb("watch", "watch", (_ID, Argument("--timeout", "seconds", "SECONDS"))),
    Verb("hint", "hint", (_ID, _TASK)),
    Verb(
        "break",
        "break_",
        (
            _ID,
            Argument("NAME", "optional"),
            Argument("--list", "flag"),
            Argument("--mine", "flag"),
            Argument("--hold", "flag"),
            Argument("--undo", "flag"),
            _YES,
            Argument("--timeout", "seconds", "SECONDS"),
        ),
    ),
    Verb("diff", "diff", (_NEEDED_ID, _YES)),
    Verb("solution", "solution", (_NEEDED_ID, _TASK, Argument("--apply", "flag"), _YES)),
    Verb("reset", "reset", (_NEEDED_ID, _YES)),
    Verb("verify", "verify", (Argument("--timeout", "seconds", "SECONDS"),)),
    Verb("docs", "docs", (_ID, Argument("--site", "text", "DIR")), "help"),
    Verb("doctor", "doctor", (), "help"),
    Verb("dev check", "dev_check", (_ID,), "authors"),
    Verb("dev sync", "dev_sync", (Argument("--check", "flag"),), "authors"),
)

GROUPS = ("run", "learn", "help", "authors")

BREAK_PENDING_ALLOWS = ("list", "next", "doctor")
"""What still works while an edit of `break --mine --hold` is in place, besides `break --undo`."""

WITHOUT_JSON = ("watch", "docs")
"""Verbs that stay in the foreground and so have no single result."""


def find_verb(name: str) -> Verb:
    """The verb of that name."""
    return next(verb for verb in VERBS if verb.name == name)
