"""Everything that a release of one distribution needs, up to the upload.

    scripts/release PACKAGE --dry-run

In order: the version and its tag are new and agree, the changelog has what the fragments say, wheel and
source distribution are built, the gates of the package are open, the API is compared with its last tag. The
upload itself is done by the release workflow, from a job that only downloads what this built.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gates import GATES, ROOT, GateError, Package, packages, run


class ReleaseError(Exception):
    """The release stops here; the text says why."""


def version_of(package: Package) -> str:
    """The version in the package's own file."""
    return run("uv", "version", "--package", package.name, "--short").strip().splitlines()[-1]


def last_tag(package: Package, below: str) -> str | None:
    """The newest tag of this distribution, other than the one being released."""
    tags = run("git", "tag", "--list", f"{package.name}-v*", "--sort=-version:refname").split()
    return next((tag for tag in tags if tag != below), None)


def check_tag(package: Package, version: str, given: str | None) -> str:
    """The tag of this release: `<distribution>-vX.Y.Z`, and new unless the workflow runs for it."""
    tag = f"{package.name}-v{version}"
    if given is not None and given != tag:
        raise ReleaseError(f"the tag {given} does not fit: {package.name} has version {version}")
    if given is None and tag in run("git", "tag", "--list", tag).split():
        raise ReleaseError(
            f"{tag} exists already: bump with uv version --package {package.name} --bump patch"
        )
    return tag


def check_changelog(package: Package, version: str) -> str:
    """The changelog has the version, or the fragments for it."""
    changelog = (package.folder / "CHANGELOG.md").read_text(encoding="utf-8")
    fragments = sorted(path.name for path in (package.folder / "changes").glob("*.md"))
    if f"## {version}" in changelog:
        if fragments:
            raise ReleaseError(
                f"{version} is in the changelog, yet fragments are left: {', '.join(fragments)}"
            )
        return "the changelog has it"
    if not fragments:
        raise ReleaseError(
            f"no changelog entry for {version}, and no fragment in {package.folder.name}/changes"
        )
    run(
        *(sys.executable, "-m", "towncrier", "build", "--draft", "--version", version),
        *("--dir", str(package.folder), "--config", str(package.folder / "pyproject.toml")),
    )
    return f"{len(fragments)} fragments"


def build(package: Package, out: Path) -> list[Path]:
    """Wheel and source distribution."""
    out.mkdir(parents=True, exist_ok=True)
    run("uv", "build", "--no-sources", "--package", package.name, "--out-dir", out, "-q")
    return sorted(
        path
        for path in out.iterdir()
        if path.name.startswith(package.module) and path.suffix in (".whl", ".gz")
    )


def check_api(package: Package, tag: str) -> str:
    """No public name went since the last tag, unless the version says so."""
    before = last_tag(package, tag)
    if before is None:
        return "no earlier tag to compare with"
    source = package.folder / "src"
    command = [
        sys.executable,
        "-m",
        "griffe",
        "check",
        package.module,
        "--against",
        before,
        "--search",
        str(source),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode and bump(before, tag) == "patch":
        raise ReleaseError(f"the API breaks with {before} in a patch release:\n{done.stdout}{done.stderr}")
    return f"compared with {before}: " + (
        "compatible" if not done.returncode else "breaks, as the version says"
    )


def bump(before: str, after: str) -> str:
    """Which part of the version changed: `major`, `minor` or `patch`."""
    old, new = ([int(part) for part in tag.rpartition("-v")[2].split(".")[:3]] for tag in (before, after))
    return "major" if old[0] != new[0] else "minor" if old[1] != new[1] else "patch"


def release(package: Package, out: Path, tag: str | None, python: str) -> None:
    """Run every step and say what it found."""
    version = version_of(package)
    name = check_tag(package, version, tag)
    print(f"release    {name}")
    print(f"changelog  {check_changelog(package, version)}")
    for path in build(package, out):
        print(f"built      {path.name}  sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}")
    for gate in ("metadata", "wheel", "types"):
        print(f"gate       {gate}: {GATES[gate](package, python)}", flush=True)
    print(f"api        {check_api(package, name)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when everything but the upload is done, 1 when the release must not happen, 2 for wrong usage."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", help="a distribution, such as kickwheel-protocol")
    parser.add_argument(
        "--dry-run", action="store_true", help="stop before the upload (this script always does)"
    )
    parser.add_argument("--tag", help="the tag that the workflow runs for")
    parser.add_argument("--out", type=Path, help="where the built files go (default: a temporary folder)")
    parser.add_argument("--python", default="3.11", help="interpreter of the gates")
    options = parser.parse_args(arguments)
    known = {package.name: package for package in packages()}
    if options.package not in known:
        print(f"release: no package named {options.package}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    if not options.dry_run:
        print(
            "release: the upload is the release workflow's; push the tag, or say --dry-run", file=sys.stderr
        )
        return 2
    try:
        with tempfile.TemporaryDirectory(prefix="release-") as temporary:
            release(known[options.package], options.out or Path(temporary), options.tag, options.python)
    except (ReleaseError, GateError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print("done       everything but the upload")
    return 0


if __name__ == "__main__":
    sys.exit(main())
