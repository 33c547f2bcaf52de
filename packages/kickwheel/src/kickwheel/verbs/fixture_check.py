"""`kickwheel fixture check`: every fault of fixture files, each with its place."""

from pathlib import Path

from kickwheel._bar import progress
from kickwheel._context import Context, Outcome
from kickwheel._fixture_check import UNREADABLE, FixtureCheck, FixtureFault, check_fixture
from kickwheel._output import one_line
from kickwheel._parse import Options


def run(context: Context, options: Options) -> Outcome:
    """Exit 0 when every file can be played, 1 when one has a fault, 2 when one cannot be read at all."""
    files = options.words("file")
    checks: list[FixtureCheck] = []
    with progress(files, context) as advance:
        for file in files:
            checks.append(check_fixture(file))
            advance(one_line(file), good=checks[-1].ok)
    for check in checks:
        _show(context, check)
    data: dict[str, object] = {"files": [_as_json(check) for check in checks]}
    for check in checks:
        for fault in check.faults:
            if fault.code == UNREADABLE:
                shown = context.text("error.fixture_unreadable", path=check.path, reason=fault.message)
                return Outcome(2, data, (UNREADABLE, shown))
    return Outcome(0 if all(check.ok for check in checks) else 1, data)


def _show(context: Context, check: FixtureCheck) -> None:
    out, text = context.out, context.text
    if check.ok:
        line = text("fixture.ok", path=check.path, count=check.responses)
        out.print(out.style(one_line(line), "green"))
    for fault in check.faults:
        if fault.code != UNREADABLE:
            where = "" if fault.line is None else f":{fault.line}:{fault.column}"
            place = f" {fault.place}" if fault.place else ""
            out.print(one_line(f"{check.path}{where}{place}: {fault.code}: {fault.message}"))


def _as_json(check: FixtureCheck) -> dict[str, object]:
    faults = [_fault_as_json(fault) for fault in check.faults]
    path = Path(check.path).as_posix()
    return {"path": path, "ok": check.ok, "responses": check.responses, "faults": faults}


def _fault_as_json(fault: FixtureFault) -> dict[str, object]:
    return {
        "code": fault.code,
        "message": fault.message,
        "place": fault.place,
        "line": fault.line,
        "column": fault.column,
    }
