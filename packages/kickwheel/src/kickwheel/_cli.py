"""The command: understands the words, runs one verb, and answers with one exit code (and one JSON object)."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, cast

from kickwheel._errors import KickwheelError, RefusedError
from kickwheel._help import overview_help, verb_help
from kickwheel._messages import LANGUAGES, Messages, choose_language
from kickwheel._output import Output, one_line, use_utf8
from kickwheel._parse import Call, Options, guess_verb, parse, wants_json
from kickwheel._verb_table import BREAK_PENDING_ALLOWS, WITHOUT_JSON, Verb, find_verb

if TYPE_CHECKING:
    from kickwheel._context import Context, Outcome
    from kickwheel._practice import Practice

    Runner = Callable[[Context, Options], Outcome]

INTERRUPTED = 130
ENVIRONMENT = 3


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    use_utf8()
    _end_cleanly_on_termination()
    words = sys.argv[1:] if words is None else list(words)
    try:
        code = _answer(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`| head`): say nothing, and keep the interpreter from flushing into the void.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _answer(words: Sequence[str]) -> int:
    out = Output(json_mode=wants_json(words))
    try:
        return _run(words, out)
    except KeyboardInterrupt:
        if out.json_mode:
            out.json({"schema": 1, "command": guess_verb(words), "exit": INTERRUPTED})
        else:
            out.warn(Messages(choose_language(None, None))("error.interrupted"))
        return INTERRUPTED


def _run(words: Sequence[str], out: Output) -> int:
    command, language = guess_verb(words), None
    try:
        call = parse(words)
        language = _language(call)
        return _call(call, out)
    except KickwheelError as error:
        message = error.message(Messages(choose_language(language, None)))
        return _report(out, command, error.exit_code, error.code, message, {})
    except BrokenPipeError:
        raise
    except OSError as error:
        # A full disk, a folder without permission: one line with the path, never a traceback.
        text = Messages(choose_language(language, None))
        values = {"path": error.filename or "?", "reason": error.strerror or type(error).__name__}
        message = text("error.state_unreadable", **values)
        return _report(out, command, ENVIRONMENT, "STATE_UNREADABLE", message, {})


def _call(call: Call, out: Output) -> int:
    out.quiet = call.options.flag("quiet")
    text = Messages(choose_language(_language(call), None))
    if call.wants_version:
        return _show(out, "version", f"kickwheel {_version()}", {"version": _version()})
    if call.wants_help:
        shown = overview_help(text) if call.verb is None else verb_help(call.verb, text)
        return _show(out, "help", shown, {"help": shown})
    if out.json_mode and call.verb is not None and call.verb.name in WITHOUT_JSON:
        raise RefusedError("USAGE", text("error.no_json", verb=call.verb.name))
    return _dispatch(call, out)


def _dispatch(call: Call, out: Output) -> int:
    from kickwheel._context import Context
    from kickwheel._practice import find_practice

    base = Path(call.options.text("folder") or ".")
    practice = None if _tolerates_damage(call.verb) else find_practice(base)
    text = Messages(choose_language(_language(call), practice.language if practice else None))
    verb = call.verb
    if verb is None:
        if practice is None:
            shown = overview_help(text)
            return _show(out, "help", shown, {"help": shown})
        verb = find_verb("next")
    _refuse_while_pending(verb, call.options, practice, text)
    run = cast("Runner", import_module(f"kickwheel.verbs.{verb.module}").run)
    outcome = run(Context(out, text, practice, base), call.options)
    if outcome.error is not None:
        code, message = outcome.error
        return _report(out, verb.name, outcome.exit, code, message, outcome.data)
    if out.json_mode:
        out.json({"schema": 1, "command": verb.name, "exit": outcome.exit, **outcome.data})
    return outcome.exit


def _tolerates_damage(verb: Verb | None) -> bool:
    """`start` repairs a damaged folder and `doctor` describes it: neither may stumble over it first."""
    return verb is not None and verb.name in ("start", "doctor")


def _refuse_while_pending(verb: Verb, options: Options, practice: "Practice | None", text: Messages) -> None:
    if practice is None or verb.name in BREAK_PENDING_ALLOWS:
        return
    if verb.name == "break" and options.flag("undo"):
        return
    if practice.has_pending_break():
        raise RefusedError("BREAK_PENDING", text("error.break_pending"))


def _language(call: Call) -> str | None:
    language = call.options.text("lang")
    if language is not None and language not in LANGUAGES:
        raise RefusedError("USAGE", "error.language", known=", ".join(LANGUAGES))
    return language


def _show(out: Output, command: str, shown: str, data: dict[str, object]) -> int:
    if out.json_mode:
        out.json({"schema": 1, "command": command, "exit": 0, **data})
    out.print(shown)
    return 0


def _report(
    out: Output, command: str | None, exit_code: int, code: str, message: str, data: dict[str, object]
) -> int:
    line = one_line(message)
    if out.json_mode:
        error = {"code": code, "message": line}
        out.json({"schema": 1, "command": command, "exit": exit_code, **data, "error": error})
    else:
        out.flush()
        out.fail(f"kickwheel: {code}: {line}")
    return exit_code


def _version() -> str:
    from importlib.metadata import version

    return version("kickwheel")


def _end_cleanly_on_termination() -> None:
    """A terminated command still ends its child process and puts held files back."""

    def leave(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            try:
                signal.signal(number, leave)
            except ValueError:  # not in the main thread: whoever called us decides about signals
                return
