"""The six packages as they are installed: where they lie, copies of them, and starters made from them."""

import importlib.util
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from kickwheel import _regions
from kickwheel._errors import SurroundingsError

PACKAGES = (
    "kickwheel_protocol",
    "kickwheel_event_stream",
    "kickwheel_scripted_model",
    "kickwheel_provider_adapter",
    "kickwheel_agent_loop",
    "kickwheel",
)
DATA_FOLDERS = ("course", "__pycache__")
"""Folders of a package that no copy takes along: they hold the course itself, not code."""


@cache
def installed(package: str) -> Path:
    """The folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        line = "pip install kickwheel"
        raise SurroundingsError("TOOL_MISSING", "error.tool_missing", tool=package, line=line)
    return Path(places[0]).resolve()


def source_files(folder: Path) -> Iterator[Path]:
    """The files of a package, relative to its folder, sorted, without data folders and compiled files."""
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        inside_data = any(part in DATA_FOLDERS for part in relative.parts[:-1])
        if path.is_file() and not inside_data and path.suffix in (".py", ".pyi", ".typed"):
            yield relative


def copy_package(package: str, target: Path) -> None:
    """Copy an installed package, byte for byte, into the folder `target/<package>`."""
    _write_package(package, target, None, plain=True)


def write_derived(package: str, target: Path, checkpoint: str | None, solved: Collection[int] = ()) -> None:
    """Write a package as the learner of `checkpoint` gets it (or, with `None`, as the finished solution)."""
    _write_package(package, target, checkpoint, solved)


def derived_files(package: str, checkpoint: str | None, solved: Collection[int] = ()) -> dict[str, bytes]:
    """The files of a derived package: relative path with `/` to content."""
    folder = installed(package)
    return {
        relative.as_posix(): _derive(folder / relative, relative, checkpoint, solved)
        for relative in source_files(folder)
    }


def _write_package(
    package: str, target: Path, checkpoint: str | None, solved: Collection[int] = (), *, plain: bool = False
) -> None:
    folder = installed(package)
    for relative in source_files(folder):
        place = target / package / relative
        place.parent.mkdir(parents=True, exist_ok=True)
        source = folder / relative
        place.write_bytes(source.read_bytes() if plain else _derive(source, relative, checkpoint, solved))


def _derive(path: Path, relative: Path, checkpoint: str | None, solved: Collection[int]) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".py":
        return content
    return _regions.derive(content.decode(), relative.as_posix(), checkpoint, solved).encode()
