"""`kickwheel test`: run the focused file of one checkpoint, or of several."""

from kickwheel._bar import progress
from kickwheel._context import Context, Outcome
from kickwheel._course import Checkpoint, find_task, load_course
from kickwheel._errors import RefusedError
from kickwheel._focused import Focused, Json, describe, keep_score, run_checkpoint, show
from kickwheel._parse import Options
from kickwheel._runner import DEFAULT_TIMEOUT


def run(context: Context, options: Options) -> Outcome:
    """Exit 0 when everything that was asked for is green."""
    timeout = read_timeout(context, options)
    several = options.flag("all") or options.flag("previous")
    if several and options.number("task") is not None:
        raise RefusedError("USAGE", context.text("error.task_of_several"))
    if options.flag("all") and (options.flag("previous") or options.text("id") is not None):
        raise RefusedError("USAGE", context.text("error.all_alone"))
    if options.flag("all"):
        return _run_several(context, options, load_course().checkpoints, timeout)
    checkpoint = chosen_checkpoint(context, options)
    if options.flag("previous"):
        earlier = tuple(c for c in load_course().checkpoints if c.id <= checkpoint.id)
        return _run_several(context, options, earlier, timeout)
    return _run_one(context, options, checkpoint, timeout)


def read_timeout(context: Context, options: Options) -> float:
    """The seconds of `--timeout`, more than none."""
    timeout = options.seconds("timeout")
    if timeout is not None and timeout <= 0:
        raise RefusedError("USAGE", context.text("error.timeout"))
    return timeout or DEFAULT_TIMEOUT


def chosen_checkpoint(context: Context, options: Options) -> Checkpoint:
    """The checkpoint of `ID`, else the current one of the practice folder."""
    word = options.text("id")
    if word is not None:
        return load_course().find(word, context.text)
    if context.practice is None:
        raise RefusedError("USAGE", context.text("error.needs_id"))
    return context.practice.current() or load_course().checkpoints[-1]


def _run_one(context: Context, options: Options, checkpoint: Checkpoint, timeout: float) -> Outcome:
    number = options.number("task")
    task = None if number is None else find_task(checkpoint, number, context.text).number
    checker = _find_checker(context) if options.flag("types") else None
    focused = run_checkpoint(checkpoint, context.practice, task=task, timeout=timeout)
    if context.practice is not None:
        keep_score(context.practice, focused)
    show(focused, context)
    data = describe(focused, context)
    good = focused.green
    if checker is not None:
        good = _add_types(context, checkpoint, checker, data) and good
    if good and context.practice is not None:
        context.out.chat(context.text("test.next"))
    return Outcome(0 if good else 1, data)


def _run_several(
    context: Context, options: Options, checkpoints: tuple[Checkpoint, ...], timeout: float
) -> Outcome:
    checker = _find_checker(context) if options.flag("types") else None
    results: list[Json] = []
    runs: list[Focused] = []
    good = True
    with progress([c.folder_name for c in checkpoints], context) as advance:
        for checkpoint in checkpoints:
            focused = run_checkpoint(checkpoint, context.practice, task=None, timeout=timeout)
            if context.practice is not None:
                keep_score(context.practice, focused)
            data = describe(focused, context)
            fine = focused.green
            if checker is not None:
                fine = _add_types(context, checkpoint, checker, data) and fine
            results.append(data)
            runs.append(focused)
            good = good and fine
            advance(checkpoint.folder_name, good=fine)
    for focused in runs:
        show(focused, context)
    target = "installed" if context.practice is None else "work"
    passed, failed = (sum(int(str(result[key])) for result in results) for key in ("passed", "failed"))
    return Outcome(
        0 if good else 1, {"target": target, "passed": passed, "failed": failed, "results": results}
    )


def _find_checker(context: Context) -> str:
    from kickwheel._type_check import find_checker

    return find_checker(context.text)


def _add_types(context: Context, checkpoint: Checkpoint, checker: str, data: Json) -> bool:
    from kickwheel._type_check import check_checkpoint

    faults = check_checkpoint(checker, checkpoint, context.practice)
    data["types"] = [fault.as_json() for fault in faults]
    for fault in faults:
        context.out.print(f"{fault.place()}  {fault.message}")
    key = "test.types_red" if faults else "test.types_green"
    context.out.print(context.text(key, count=len(faults)))
    return not faults
