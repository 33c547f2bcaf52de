"""Brings published scripts here, by hash and with their licence: the drawing library, axe for the tests."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Library:
    """One file of a published package, and where it goes."""

    name: str
    version: str
    member: str
    sha256: str
    folder: str

    @property
    def script(self) -> str:
        return self.member.rsplit("/", 1)[-1]

    @property
    def licence(self) -> str:
        return f"{self.name}.LICENSE"


MERMAID = Library(
    "mermaid",
    "11.17.2",
    "package/dist/mermaid.min.js",
    "581ed7d74bd9048d0e3a91363927d72ef22942d7722546b27f7cc29e35390eb8",
    "overrides/assets/vendor",
)
AXE = Library(
    "axe-core",
    "4.14.1",
    "package/axe.min.js",
    "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
    ".tools/axe",
)


class VendorError(RuntimeError):
    """A library could not be fetched, or is not the one we know."""


def vendor(root: Path, library: Library = MERMAID) -> str:
    """Stores the library unless it is there with the right hash; returns one line that says what was done.

    Raises:
        VendorError: nothing could be fetched, or the hash is another one; nothing is stored then.

    """
    folder = root / library.folder
    script = folder / library.script
    if (
        (folder / library.licence).exists()
        and script.exists()
        and digest(script.read_bytes()) == library.sha256
    ):
        return f"{library.name} {library.version} is there"
    store(folder, library, *fetch(library))
    return f"{library.name} {library.version} stored in {library.folder}"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def fetch(library: Library) -> tuple[bytes, bytes]:
    """The script and its licence out of the published package."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            "npm",
            "pack",
            f"{library.name}@{library.version}",
            "--silent",
            "--pack-destination",
            scratch,
        ]
        try:
            done = subprocess.run(
                command, cwd=scratch, capture_output=True, text=True, timeout=300, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise VendorError(f"npm pack could not run: {error}") from error
        archives = list(Path(scratch).glob("*.tgz"))
        if done.returncode or len(archives) != 1:
            raise VendorError(f"npm pack failed: {done.stderr.strip()[:400]}")
        with tarfile.open(archives[0]) as archive:
            return _member(archive, library.member), _member(archive, "package/LICENSE")


def store(folder: Path, library: Library, script: bytes, licence: bytes) -> None:
    """Writes both files, or none when the hash is wrong."""
    found = digest(script)
    if found != library.sha256:
        message = f"{library.name} {library.version}: expected SHA-256 {library.sha256}, found {found}"
        raise VendorError(message)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / library.script).write_bytes(script)
    (folder / library.licence).write_bytes(licence)


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    try:
        stream = archive.extractfile(name)
    except KeyError as error:
        raise VendorError(f"{name} is not in the package") from error
    if stream is None:
        raise VendorError(f"{name} is not a file of the package")
    return stream.read()
