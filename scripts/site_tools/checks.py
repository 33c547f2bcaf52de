"""The checks, in order. Each is a small function from a site to faults; a test plants each fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from site_tools import errors_table, generate, parity, structure, vietnamese
from site_tools.layout import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from site_tools.layout import Site

Status = Literal["ok", "warn", "fail"]
Check = "Callable[[Site], list[Fault]]"


@dataclass(frozen=True, slots=True)
class Result:
    """One check's outcome."""

    name: str
    status: Status
    faults: tuple[Fault, ...]


CHECKS: dict[str, Callable[[Site], list[Fault]]] = {
    "trees": structure.trees,
    "nav": structure.nav,
    "front matter": structure.front_matter,
    "course map": structure.course_map,
    "guides": structure.guides,
    "headings": structure.headings,
    "paths": structure.paths,
    "diagrams": structure.diagrams,
    "tasks": structure.tasks,
    "focused": structure.focused,
    "experiment": structure.experiment,
    "cited": structure.cited,
    "hints": structure.hints,
    "pi-sdk": structure.pi_sdk,
    "length": structure.length,
    "fences": structure.fences,
    "examples": structure.examples,
    "renderings": vietnamese.renderings,
    "first use": vietnamese.first_use,
    "spelling": vietnamese.spelling,
    "thousands": vietnamese.numbers,
    "parity": parity.parity,
    "figures": parity.numbers,
    "stale": parity.stale,
    "error codes": errors_table.codes,
    "generated": generate.differences,
}
WARNINGS: frozenset[str] = frozenset({"stale"})


def run(site: Site, *, release: bool = False, checkpoint: str | None = None) -> list[Result]:
    """Every check; with a checkpoint, only the faults in its own files."""
    results: list[Result] = []
    for name, check in CHECKS.items():
        found = _made(name, check, site)
        faults = tuple(sorted(f for f in found if checkpoint is None or _concerns(f, checkpoint)))
        status: Status = "ok" if not faults else "warn" if name in WARNINGS and not release else "fail"
        results.append(Result(name, status, faults))
    return results


def _made(name: str, check: Callable[[Site], list[Fault]], site: Site) -> list[Fault]:
    """The check's faults; a check that cannot read its sources is red, it does not end the others."""
    try:
        return check(site)
    except Exception as error:  # whatever a half-written source makes it raise
        return [Fault(name, ".", 0, f"could not be made: {type(error).__name__}: {error}")]


def _concerns(fault: Fault, checkpoint: str) -> bool:
    name = fault.file.rsplit("/", 1)[-1]
    return name.startswith((f"{checkpoint}-", f"{checkpoint}.", f"test_{checkpoint}_"))
