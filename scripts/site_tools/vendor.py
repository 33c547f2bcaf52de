"""Brings the drawing library into `overrides/assets/vendor/`: one file, by hash, with its licence."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
import tempfile
from pathlib import Path

VERSION = "11.17.2"
SHA256 = "581ed7d74bd9048d0e3a91363927d72ef22942d7722546b27f7cc29e35390eb8"
FOLDER = "overrides/assets/vendor"
SCRIPT = "mermaid.min.js"
LICENCE = "mermaid.LICENSE"


class VendorError(RuntimeError):
    """The library could not be fetched, or is not the one we know."""


def vendor(root: Path) -> str:
    """Stores the library unless it is there with the right hash; returns one line that says what was done.

    Raises:
        VendorError: nothing could be fetched, or the hash is another one; nothing is stored then.

    """
    folder = root / FOLDER
    if (folder / LICENCE).exists() and (folder / SCRIPT).exists() and digest(folder / SCRIPT) == SHA256:
        return f"mermaid {VERSION} is there"
    script, licence = fetch()
    store(folder, script, licence)
    return f"mermaid {VERSION} stored in {FOLDER}"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetch() -> tuple[bytes, bytes]:
    """The script and its licence out of the published package."""
    with tempfile.TemporaryDirectory() as scratch:
        command = ["npm", "pack", f"mermaid@{VERSION}", "--silent", "--pack-destination", scratch]
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
            return _member(archive, f"package/dist/{SCRIPT}"), _member(archive, "package/LICENSE")


def store(folder: Path, script: bytes, licence: bytes) -> None:
    """Writes both files, or none when the hash is wrong."""
    found = hashlib.sha256(script).hexdigest()
    if found != SHA256:
        raise VendorError(f"mermaid {VERSION}: expected SHA-256 {SHA256}, found {found}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SCRIPT).write_bytes(script)
    (folder / LICENCE).write_bytes(licence)


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    try:
        stream = archive.extractfile(name)
    except KeyError as error:
        raise VendorError(f"{name} is not in the package") from error
    if stream is None:
        raise VendorError(f"{name} is not a file of the package")
    return stream.read()
