"""Generated files: made in memory, compared by `check`, written by `generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from site_tools import errors_table, gen_code, gen_course, gen_diagrams, gen_text
from site_tools.layout import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from site_tools.layout import Site

COMMAND = "uv run --group docs python scripts/site.py generate"
FOLDER = "includes/generated"

GENERATORS: dict[str, Callable[[Site], dict[str, str]]] = {
    "contract": gen_text.contract_pages,
    "glossary": gen_text.glossary_pages,
    "tooltips": gen_text.abbreviations,
    "error codes": errors_table.pages,
    "changelog": gen_text.changelog_pages,
    "modules": gen_text.module_pages,
    "trace": gen_code.traces,
    "command line": gen_code.cli_pages,
    "diagrams": gen_diagrams.diagrams,
    "wire format": gen_code.wire_records,
    "course map": gen_course.course_map,
    "hints and mutants": gen_course.includes,
    "criteria": gen_course.criteria,
}


def everything(site: Site, only: str | None = None) -> tuple[dict[str, str], list[Fault]]:
    """Path to text of each generated file; a fault for each generator that could not run."""
    files: dict[str, str] = {}
    faults: list[Fault] = []
    for name, make in GENERATORS.items():
        if only is not None and name != only:
            continue
        try:
            files.update(make(site))
        except Exception as error:  # a half-written source must be named, whatever it raises
            faults.append(
                Fault("generated", FOLDER, 0, f"{name} cannot be made: {type(error).__name__}: {error}")
            )
    return files, faults


def differences(site: Site, only: str | None = None) -> list[Fault]:
    """A fault for each generated file that is missing, different or no longer made."""
    files, faults = everything(site, only)
    for path, text in sorted(files.items()):
        file = site.root / path
        if not file.exists():
            faults.append(Fault("generated", path, 0, f"is missing; run: {COMMAND}"))
        elif file.read_bytes() != text.encode("utf-8"):
            line = _first_difference(file.read_text("utf-8"), text)
            faults.append(Fault("generated", path, line, f"is not current; run: {COMMAND}"))
    if not faults and only is None:
        faults += [
            Fault("generated", path, 0, f"nothing makes this file; run: {COMMAND}")
            for path in _left(site, files)
        ]
    return faults


def write(site: Site) -> tuple[list[str], list[Fault]]:
    """Writes what differs; the paths written or removed, and what could not be made."""
    files, faults = everything(site)
    changed: list[str] = []
    for path, text in sorted(files.items()):
        file = site.root / path
        if not file.exists() or file.read_bytes() != text.encode("utf-8"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8", newline="\n")
            changed.append(path)
    if not faults:
        for path in _left(site, files):
            (site.root / path).unlink()
            changed.append(path)
    return changed, faults


def _left(site: Site, files: dict[str, str]) -> list[str]:
    """Files of the generated folder that no generator makes."""
    found = (file.relative_to(site.root).as_posix() for file in (site.root / FOLDER).glob("*"))
    return sorted(path for path in found if path not in files)


def _first_difference(old: str, new: str) -> int:
    rows = zip(old.split("\n"), new.split("\n"), strict=False)
    return next((n for n, (a, b) in enumerate(rows, 1) if a != b), min(old.count("\n"), new.count("\n")) + 1)
