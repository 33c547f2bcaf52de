"""The help text and the reference page, drawn from the table of verbs; the same on every Python and width."""

from kickwheel._messages import Messages
from kickwheel._parse import option_key
from kickwheel._verb_table import GLOBAL_ARGUMENTS, GROUPS, VALUE_KINDS, VERBS, Argument, Verb

_WIDTH = 96
_EXITS = ("0", "1", "2", "3", "130")


def overview_help(text: Messages) -> str:
    """What `kickwheel --help` prints."""
    lines = [text("help.summary"), "", "kickwheel [--json] [--lang LANG] [--quiet] [--folder DIR] VERB …", ""]
    for group in GROUPS:
        lines.append(text(f"help.group.{group}"))
        rows = [(_signature_head(verb), text(_verb_key(verb))) for verb in VERBS if verb.group == group]
        lines += [*_columns(rows), ""]
    lines.append(text("help.options"))
    lines += _columns(_argument_rows(GLOBAL_ARGUMENTS, text, "global"))
    lines += _columns([("--help, -h", text("help.arg.help")), ("--version", text("help.arg.version"))])
    lines += ["", text("help.exits")]
    lines += _columns([(code, text(f"help.exit.{code}")) for code in _EXITS])
    return "\n".join([*lines, "", text("help.more")])


def verb_help(verb: Verb, text: Messages) -> str:
    """What `kickwheel VERB --help` prints."""
    lines = [f"kickwheel {usage(verb)}", "", text(_verb_key(verb))]
    details = text(_verb_key(verb).replace("help.verb.", "help.detail."))
    lines += _wrap(details, 0) if details else []
    if verb.arguments:
        lines += ["", *_columns(_argument_rows(verb.arguments, text, verb.name.replace(" ", "_")))]
    return "\n".join(lines)


def usage(verb: Verb) -> str:
    """The verb and its arguments on one line."""
    return " ".join([verb.name, *(_usage_word(argument) for argument in verb.arguments)])


def render_cli_reference(language: str) -> str:
    """The body of `reference/cli.md` in one language; prose differs, the fences do not.

    The fences hold what the command prints in English: names and codes are the same on both pages.
    """
    prose, english = Messages(language), Messages("en")
    parts = [f"# {prose('reference.title')}", prose("reference.intro"), _fence(overview_help(english))]
    for verb in VERBS:
        parts.append(f"## kickwheel {verb.name} {{#{verb.name.replace(' ', '-')}}}")
        parts += [prose(_verb_key(verb)), _fence(verb_help(verb, english))]
    return "\n\n".join(parts) + "\n"


def _fence(body: str) -> str:
    return f"```text\n{body}\n```"


def _verb_key(verb: Verb) -> str:
    return f"help.verb.{verb.name.replace(' ', '_')}"


def _signature_head(verb: Verb) -> str:
    positionals = [argument for argument in verb.arguments if not argument.name.startswith("-")]
    return " ".join([verb.name, *(_usage_word(argument) for argument in positionals)])


def _usage_word(argument: Argument) -> str:
    if argument.kind == "flag":
        return f"[{argument.name}]"
    if argument.kind in VALUE_KINDS:
        return f"[{argument.name} {argument.metavar}]"
    shapes = {"optional": "[{}]", "required": "{}", "several": "{} [{} …]", "any": "[{} …]"}
    return shapes[argument.kind].format(argument.name, argument.name)


def _argument_rows(arguments: tuple[Argument, ...], text: Messages, verb: str) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for argument in arguments:
        head = ", ".join([argument.name, *([argument.short] if argument.short else [])])
        if argument.metavar:
            head += f" {argument.metavar}"
        rows.append((head, text(f"help.args.{verb}.{option_key(argument.name)}")))
    return rows


def _columns(rows: list[tuple[str, str]]) -> list[str]:
    edge = 26
    lines: list[str] = []
    for head, body in rows:
        first, *others = _wrap(body, edge) or [""]
        start = f"  {head}"
        if len(start) > edge - 2:
            lines.append(start)
            start = ""
        lines.append(f"{start:<{edge}}{first.lstrip()}".rstrip())
        lines += others
    return lines


def _wrap(text: str, indent: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and indent + len(line) + 1 + len(word) > _WIDTH:
            lines.append(" " * indent + line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, " " * indent + line] if line else lines
