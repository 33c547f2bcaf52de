"""`kickwheel convert`: recorded provider bodies to one version-1 fixture."""

import json
from pathlib import Path

from kickwheel._atomic import write_atomically
from kickwheel._context import Context, Outcome
from kickwheel._errors import RefusedError
from kickwheel._fixture_input import Json, convert_bodies, records_of
from kickwheel._output import one_line
from kickwheel._parse import Options


def run(context: Context, options: Options) -> Outcome:
    """Write the fixture to `--output`, or print it."""
    dialect = options.text("dialect")
    if dialect is None:
        raise RefusedError("USAGE", context.text("error.convert_needs_dialect"))
    files = options.words("file")
    fixture = convert_bodies(dialect, files, context.text)
    output = options.text("output")
    content = json.dumps(fixture, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    if output is None:
        context.out.print(content.rstrip("\n"))
        return Outcome(0, {"output": None, "responses": len(files), "fixture": fixture})
    try:
        write_atomically(Path(output), content.encode())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise RefusedError("USAGE", context.text("error.cannot_write", path=output, reason=reason)) from error
    _describe(context, files, fixture)
    context.out.print(context.text("convert.written", path=output, count=len(files)))
    return Outcome(0, {"output": Path(output).as_posix(), "responses": len(files)})


def _describe(context: Context, files: tuple[str, ...], fixture: Json) -> None:
    for file, records in zip(files, records_of(fixture), strict=True):
        last = records[-1] if records else {}
        end = last.get("stopReason") or last.get("code") or context.text("convert.no_end")
        line = context.text("convert.file", path=file, records=len(records), end=end)
        context.out.chat(one_line(line))
