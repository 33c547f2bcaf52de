"""`kickwheel break`: a deliberate fault, a question, and the tests that notice."""

import sys

from kickwheel import _journal
from kickwheel._context import Context, Outcome
from kickwheel._course import Checkpoint, Mutant, find_mutant, load_course
from kickwheel._errors import RefusedError
from kickwheel._mutants import MutantRun, apply_edit, run_mutated, run_on_reference, unified_diff
from kickwheel._output import one_line
from kickwheel._parse import Options
from kickwheel._practice import Practice
from kickwheel._type_check import find_checker
from kickwheel.verbs.test import read_timeout


def run(context: Context, options: Options) -> Outcome:
    """Exit 0 when exactly the declared tests turned red."""
    if options.flag("undo"):
        return _undo(context)
    word = options.text("id")
    if word is None:
        raise RefusedError("USAGE", context.text("error.break_needs_id"))
    checkpoint = load_course().find(word, context.text)
    if options.flag("list"):
        return _list(context, checkpoint)
    if options.flag("hold") and not options.flag("mine"):
        raise RefusedError("USAGE", context.text("error.hold_needs_mine"))
    mutant = find_mutant(checkpoint, options.text("name"), context.text)
    timeout = read_timeout(context, options)
    checker = find_checker(context.text) if mutant.check == "types" else None
    if options.flag("mine"):
        practice = context.need_practice()
        held, edited = _prepare(context, practice, checkpoint, mutant)
        _ask(context, options, mutant)
        done = _run_on_mine(
            practice, checkpoint, mutant, held, edited, timeout, checker, options.flag("hold")
        )
        return _answer(context, checkpoint, done, "mine", held=options.flag("hold"))
    _ask(context, options, mutant)
    done = run_on_reference(checkpoint, mutant, timeout=timeout, checker=checker)
    if context.practice is not None and done.as_declared:
        context.practice.progress.entry(checkpoint.id).note_break(mutant.name)
        context.practice.progress.save()
    return _answer(context, checkpoint, done, "reference", held=False)


def _list(context: Context, checkpoint: Checkpoint) -> Outcome:
    mutants: list[dict[str, object]] = []
    for mutant in checkpoint.mutants:
        title = mutant.title[context.text.language]
        context.out.print(f"{mutant.name:<28} {title}  [{', '.join(mutant.criteria)}]")
        mutants.append({"name": mutant.name, "title": title, "criteria": list(mutant.criteria)})
    return Outcome(0, {"checkpoint": checkpoint.id, "mutants": mutants})


def _ask(context: Context, options: Options, mutant: Mutant) -> None:
    out, text = context.out, context.text
    out.print(out.style(mutant.question[text.language], "bold"))
    waits = sys.stdin.isatty() and sys.stdout.isatty() and not out.json_mode and not options.flag("yes")
    if waits:
        from kickwheel._keys import wait_for_key

        def announce() -> None:
            out.print(text("break.press_key"))
            out.flush()

        wait_for_key(announce)


def _prepare(
    context: Context, practice: Practice, checkpoint: Checkpoint, mutant: Mutant
) -> tuple[_journal.Held, bytes]:
    place = practice.package(checkpoint) / mutant.file
    original = place.read_bytes() if place.is_file() else b""
    edited = apply_edit(original, mutant)
    if edited is None:
        path = practice.relative(place)
        raise RefusedError("USAGE", context.text("error.find_not_once", path=path, name=mutant.name))
    relative = practice.relative(place)
    held = _journal.Held(checkpoint.id, mutant.name, relative, original, _journal.fingerprint(edited))
    return held, edited


def _run_on_mine(
    practice: Practice,
    checkpoint: Checkpoint,
    mutant: Mutant,
    held: _journal.Held,
    edited: bytes,
    timeout: float,
    checker: str | None,
    hold: bool,
) -> MutantRun:
    keep = False
    try:
        _journal.edit_with_record(practice, held, edited)
        diff = unified_diff(held.original, edited, held.path)
        work = practice.work(checkpoint)
        done = run_mutated(checkpoint, mutant, diff, work, timeout=timeout, checker=checker)
        keep = hold
        return done
    finally:
        if not keep and practice.has_pending_break():
            _journal.undo(practice, held)


def _answer(context: Context, checkpoint: Checkpoint, done: MutantRun, on: str, *, held: bool) -> Outcome:
    out, text, mutant = context.out, context.text, done.mutant
    language = text.language
    for line in done.diff.splitlines():
        style = {"+": "green", "-": "red"}.get(line[:1], "dim")
        out.print(out.style(one_line(line), style))
    out.print(text("break.red", count=len(done.red)))
    for name in done.red:
        out.print(f"  {name}")
    for fault in done.types or ():
        out.print(f"  {fault.place()}  {one_line(fault.message)}")
    out.print(mutant.why[language])
    key = "break.as_declared" if done.as_declared else "break.not_as_declared"
    out.print(out.style(text(key), "green" if done.as_declared else "red"))
    if held:
        out.print(out.style(text("break.held"), "yellow"))
    data: dict[str, object] = {
        "checkpoint": checkpoint.id,
        "mutant": mutant.name,
        "on": on,
        "question": mutant.question[language],
        "diff": done.diff,
        "expected": list(mutant.red),
        "red": list(done.red),
        "as_declared": done.as_declared,
        "why": mutant.why[language],
        "held": held,
    }
    if done.types is not None:
        data["types"] = [fault.as_json() for fault in done.types]
    return Outcome(0 if done.as_declared else 1, data)


def _undo(context: Context) -> Outcome:
    practice = context.need_practice()
    held = _journal.read_held(practice)
    if held is None:
        raise RefusedError("USAGE", context.text("error.nothing_held"))
    backup = _journal.undo(practice, held)
    context.out.print(context.text("break.undone", path=held.path))
    if backup is not None:
        context.out.print(context.text("break.undone_backup", backup=backup))
    data: dict[str, object] = {"checkpoint": held.checkpoint, "mutant": held.mutant, "restored": held.path}
    return Outcome(0, {**data, "backup": backup})
