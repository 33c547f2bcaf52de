"""`kickwheel trace`: run the agent loop on a fixture and print the ordered events."""

import importlib
import sys
from contextlib import redirect_stdout
from pathlib import Path

from kickwheel._context import Context, Outcome
from kickwheel._errors import RefusedError
from kickwheel._fixture_input import DEFAULT_FIXTURE, convert_bodies, default_fixture_path, open_fixture
from kickwheel._parse import Options
from kickwheel._trace_lines import event_line, prologue_line
from kickwheel._trace_run import DEFAULT_MAX_STEPS, DEFAULT_PROMPT, default_tools, trace_fixture
from kickwheel_agent_loop import ToolRegistry
from kickwheel_protocol import to_wire
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError

MAX_STEPS_LIMIT = 64


def run(context: Context, options: Options) -> Outcome:
    """Print the trace; exit 0 for `completed`, 1 for every other end."""
    files = options.words("fixture")
    _check(context, options, files)
    if options.flag("prologue"):
        return _run_prologue(context)
    if options.flag("mine"):
        from kickwheel.verbs import verify

        return verify.trace_mine(context, options)
    shown = " ".join(Path(file).as_posix() for file in files) or f"fixtures/{DEFAULT_FIXTURE}"
    tools = _load_tools(context, options.text("tools"))
    try:
        adapter = _open(context, options, files)
    except FixtureProviderError as error:
        return Outcome(1, {"fixture": shown, "events": [], "result": None}, (error.code, str(error)))
    return _trace(context, options, shown, adapter, tools)


def _check(context: Context, options: Options, files: tuple[str, ...]) -> None:
    steps = options.number("max_steps")
    if steps is not None and not 1 <= steps <= MAX_STEPS_LIMIT:
        raise RefusedError("USAGE", context.text("error.max_steps", limit=MAX_STEPS_LIMIT))
    if options.text("dialect") is not None:
        if not files:
            raise RefusedError("USAGE", context.text("error.dialect_needs_files"))
    elif len(files) > 1:
        raise RefusedError("USAGE", context.text("error.one_fixture"))
    if options.flag("prologue") and (files or options.flag("mine")):
        raise RefusedError("USAGE", context.text("error.prologue_alone"))


def _open(context: Context, options: Options, files: tuple[str, ...]) -> FixtureProviderAdapter:
    dialect = options.text("dialect")
    if dialect is not None:
        return FixtureProviderAdapter(convert_bodies(dialect, files, context.text))
    if not files:
        return open_fixture(default_fixture_path(), DEFAULT_FIXTURE, context.text)
    return open_fixture(Path(files[0]), files[0], context.text)


def _trace(
    context: Context, options: Options, shown: str, adapter: FixtureProviderAdapter, tools: ToolRegistry
) -> Outcome:
    prompt = options.text("prompt")
    with redirect_stdout(sys.stderr):  # what a tool prints is not part of the trace
        outcome = trace_fixture(
            adapter,
            prompt=DEFAULT_PROMPT if prompt is None else prompt,
            max_steps=options.number("max_steps") or DEFAULT_MAX_STEPS,
            tools=tools,
        )
    events = [to_wire(event) for event in outcome.events]
    for event in events:
        context.out.print(event_line(event, context.out))
    data: dict[str, object] = {"fixture": shown, "events": events, "result": to_wire(outcome.result)}
    error = None if outcome.refusal is None else (outcome.refusal.code, str(outcome.refusal))
    return Outcome(0 if outcome.result.status == "completed" else 1, data, error)


def _load_tools(context: Context, name: str | None) -> ToolRegistry:
    """The registry that `module:name` names; whatever goes wrong on the way is one line for the user."""
    if name is None:
        return default_tools()
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise RefusedError("USAGE", context.text("error.tools_form", name=name))
    sys.path.insert(0, str(Path.cwd()))
    try:
        with redirect_stdout(sys.stderr):
            found: object = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise RefusedError("USAGE", context.text("error.tools_import", name=name, reason=reason)) from error
    if not isinstance(found, ToolRegistry):
        raise RefusedError("USAGE", context.text("error.tools_type", name=name, found=type(found).__name__))
    return found


def _run_prologue(context: Context) -> Outcome:
    from kickwheel._prologue import run_prologue

    wire = run_prologue().to_wire()
    events = wire["events"]
    assert isinstance(events, list)
    for event in events:  # pyright: ignore[reportUnknownVariableType]
        context.out.print(prologue_line(event, context.out))  # pyright: ignore[reportUnknownArgumentType]
    return Outcome(0, {"fixture": None, **wire})
