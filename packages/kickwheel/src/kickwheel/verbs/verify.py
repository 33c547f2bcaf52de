"""`kickwheel verify`: the whole course on one runtime, as much of it as possible the learner's own."""

import tempfile
from pathlib import Path

from kickwheel._assemble import Json, assemble, trace_assembled
from kickwheel._bar import progress
from kickwheel._context import Context, Outcome
from kickwheel._course import Checkpoint, load_course
from kickwheel._errors import RefusedError
from kickwheel._focused import Focused, describe, packaged_test, show
from kickwheel._output import one_line
from kickwheel._parse import Options
from kickwheel._runner import run_focused
from kickwheel._trace_lines import event_line
from kickwheel.verbs.test import read_timeout


def run(context: Context, options: Options) -> Outcome:
    """Exit 0 when all eight focused files pass and the trace equals the reference's."""
    practice = context.need_practice()
    timeout = read_timeout(context, options)
    with tempfile.TemporaryDirectory(prefix="kickwheel-verify-", ignore_cleanup_errors=True) as folder:
        target = Path(folder)
        yours = assemble(practice, target)
        runs = _run_all(context, target, yours, timeout)
        mine = trace_assembled(target, [], timeout=timeout)
    results = [describe(focused, context) for focused in runs]
    equal = {key: mine.get(key) for key in ("events", "result")} == _reference_trace()
    for focused in runs:
        show(focused, context)
    _summary(context, yours, equal=equal)
    good = equal and all(focused.green for focused in runs)
    names = [checkpoint.id for checkpoint in yours]
    return Outcome(0 if good else 1, {"yours": names, "results": results, "trace_equal": equal})


def _run_all(context: Context, target: Path, yours: tuple[Checkpoint, ...], timeout: float) -> list[Focused]:
    checkpoints = load_course().checkpoints
    runs: list[Focused] = []
    with progress([c.folder_name for c in checkpoints], context) as advance:
        for checkpoint in checkpoints:
            package = target / checkpoint.package
            file = packaged_test(checkpoint)
            report = run_focused(file, checkpoint.package, target, package, timeout=timeout)
            origin = "work" if checkpoint in yours else "installed"
            runs.append(Focused(checkpoint, origin, target, report))
            advance(checkpoint.folder_name, good=report.green)
    return runs


def _reference_trace() -> Json:
    from kickwheel._fixture_input import default_fixture_path
    from kickwheel._trace_run import DEFAULT_MAX_STEPS, DEFAULT_PROMPT, default_tools, trace_fixture
    from kickwheel_protocol import to_wire
    from kickwheel_provider_adapter import FixtureProviderAdapter

    adapter = FixtureProviderAdapter.from_file(default_fixture_path())
    outcome = trace_fixture(
        adapter, prompt=DEFAULT_PROMPT, max_steps=DEFAULT_MAX_STEPS, tools=default_tools()
    )
    return {"events": [to_wire(event) for event in outcome.events], "result": to_wire(outcome.result)}


def _summary(context: Context, yours: tuple[Checkpoint, ...], *, equal: bool) -> None:
    out, text = context.out, context.text
    total = len(load_course().checkpoints)
    names = ", ".join(checkpoint.id for checkpoint in yours) or "-"
    out.print(text("verify.yours", count=len(yours), total=total, names=names))
    out.print(out.style(text("verify.equal" if equal else "verify.different"), "green" if equal else "red"))


def trace_mine(context: Context, options: Options) -> Outcome:
    """`kickwheel trace --mine`: the trace of the learner's own runtime."""
    practice = context.need_practice()
    if options.text("tools") is not None:
        raise RefusedError("USAGE", context.text("error.mine_alone"))
    words = [str(Path(file).absolute()) for file in options.words("fixture")]
    for name in ("prompt", "dialect"):
        value = options.text(name)
        words += [] if value is None else [f"--{name}={value}"]
    steps = options.number("max_steps")
    words += [] if steps is None else [f"--max-steps={steps}"]
    with tempfile.TemporaryDirectory(prefix="kickwheel-mine-", ignore_cleanup_errors=True) as folder:
        yours = assemble(practice, Path(folder))
        answer = trace_assembled(Path(folder), words)
    return _show_mine(context, options, yours, answer)


def _show_mine(context: Context, options: Options, yours: tuple[Checkpoint, ...], answer: Json) -> Outcome:
    events = answer.get("events")
    for event in events if isinstance(events, list) else []:  # pyright: ignore[reportUnknownVariableType]
        context.out.print(event_line(event, context.out))  # pyright: ignore[reportUnknownArgumentType]
    if "broken" in answer:
        context.out.print(context.out.style(one_line(str(answer["broken"])), "red"))
    data = {key: value for key, value in answer.items() if key not in ("schema", "command", "exit", "error")}
    files = options.words("fixture")
    if files:
        data["fixture"] = " ".join(Path(file).as_posix() for file in files)
    data["yours"] = [checkpoint.id for checkpoint in yours]
    error = answer.get("error")
    exit_code = answer["exit"]
    assert isinstance(exit_code, int)
    if isinstance(error, dict):
        return Outcome(exit_code, data, (str(error["code"]), str(error["message"])))  # pyright: ignore[reportUnknownArgumentType]
    return Outcome(exit_code, data)
