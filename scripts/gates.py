"""Is each package a product of its own? Gates that catch what the others miss.

    metadata   two builds are byte-equal; wheels are typed and licensed; Requires-Dist is the allowed graph
    isolated   an environment that holds one package and what it declares; its own tests pass there
    wheel      the built wheel alone in a fresh environment outside the tree; its own tests pass against it
    lowest     the same with the lowest versions that the package declares
    types      every public name has a known type (--verifytypes), and mypy --strict has nothing to say
    sizes      a table of installed sizes and import times: printed, never asserted

Run `python scripts/gates.py GATE [--package NAME] [--python INTERPRETER]`; `all` is all but the last.
Needs uv on the path.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "packages"

ALLOWED: dict[str, set[str]] = {
    "kickwheel-event-stream": set(),
    "kickwheel-protocol": {"msgspec"},
    "kickwheel-scripted-model": {"kickwheel-protocol", "kickwheel-event-stream"},
    "kickwheel-provider-adapter": {"kickwheel-protocol", "kickwheel-event-stream", "msgspec"},
    "kickwheel-agent-loop": {"kickwheel-protocol", "kickwheel-event-stream", "msgspec"},
    "kickwheel": {
        "kickwheel-protocol",
        "kickwheel-event-stream",
        "kickwheel-scripted-model",
        "kickwheel-provider-adapter",
        "kickwheel-agent-loop",
        "rich",
        "pytest",
    },
}
"""What each distribution may require: the layers of the design, and what has its reason in a README."""


class GateError(Exception):
    """A gate is closed; the text says why."""


@dataclass(frozen=True)
class Package:
    """One distribution of the workspace."""

    folder: Path

    @property
    def name(self) -> str:
        """The distribution's name."""
        return str(
            tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
        )

    @property
    def module(self) -> str:
        """The import name."""
        return self.name.replace("-", "_")


def packages() -> list[Package]:
    """All packages, those without siblings first."""
    found = [Package(path.parent) for path in sorted(PACKAGES.glob("*/pyproject.toml"))]
    return sorted(found, key=lambda package: (len(ALLOWED.get(package.name, ())), package.name))


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Run a command and give its output; raises `GateError` with the output when it fails."""
    clean = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**clean, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    if done.returncode:
        raise GateError(f"{' '.join(str(part) for part in command)}\n{output[-6000:]}")
    return output


def last_line(output: str) -> str:
    """The line that says how many tests passed."""
    return output.strip().splitlines()[-1].strip("= ") if output.strip() else ""


@contextmanager
def folder() -> Generator[Path]:
    """A temporary folder outside the tree."""
    with tempfile.TemporaryDirectory(prefix="gate-") as path:
        yield Path(path)


def python_of(environment: Path) -> Path:
    """The interpreter of an environment."""
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def build(into: Path, *names: str) -> None:
    """Build wheels without the workspace's own sources, as a user would get them."""
    for name in names or [package.name for package in packages()]:
        run("uv", "build", "--no-sources", "--wheel", "--package", name, "--out-dir", into, "-q")


def isolated(package: Package, python: str) -> str:
    """Only what the package declares, and the test tools, are there; then its own tests."""
    with folder() as temporary:
        output = run(
            *(
                "uv",
                "run",
                "--isolated",
                "--exact",
                "--no-default-groups",
                "--group",
                "dev",
                "--python",
                python,
            ),
            *("--package", package.name, "pytest", "-q", "-p", "no:cacheprovider", package.folder / "tests"),
            env={"UV_PROJECT_ENVIRONMENT": str(temporary / "environment")},
        )
    return last_line(output)


def in_clean_environment(package: Package, python: str, *options: str) -> str:
    with folder() as temporary:
        wheels, environment = temporary / "wheels", temporary / "environment"
        build(wheels)
        run("uv", "venv", "-q", "--python", python, environment)
        interpreter = python_of(environment)
        install = ("uv", "pip", "install", "-q", "--python", interpreter, "--find-links", wheels)
        if options:
            requirements = temporary / "requirements.txt"
            requirements.write_text("\n".join(requirements_of(package)), encoding="utf-8")
            run(*install, *options, "-r", requirements)
            run(*install, "--no-deps", next(wheels.glob(f"{package.module}-[0-9]*.whl")))
        else:
            run(*install, package.name)
        run(*install, "--group", f"{ROOT / 'pyproject.toml'}:dev")
        run("uv", "pip", "check", "--python", interpreter)
        run(interpreter, "-I", "-c", f"import {package.module}", cwd=temporary)
        tests = package.folder / "tests"
        configuration = ("-c", ROOT / "pyproject.toml", "--rootdir", ROOT, "-p", "no:cacheprovider")
        return last_line(run(interpreter, "-I", "-m", "pytest", "-q", *configuration, tests, cwd=temporary))


def requirements_of(package: Package) -> list[str]:
    """What the package declares, as written."""
    data = tomllib.loads((package.folder / "pyproject.toml").read_text(encoding="utf-8"))
    return [str(line) for line in data["project"]["dependencies"]]


def wheel(package: Package, python: str) -> str:
    """The built wheel in a fresh environment outside the tree; `src` is out of reach."""
    return in_clean_environment(package, python)


def lowest(package: Package, python: str) -> str:
    """The lowest versions that the package's own requirements admit."""
    return in_clean_environment(package, python, "--resolution", "lowest-direct")


def metadata(package: Package, _python: str) -> str:
    """Reproducible, typed, licensed, and requiring what it may."""
    with folder() as temporary:
        digests: list[str] = []
        for attempt in ("first", "second"):
            build(temporary / attempt, package.name)
            built = next((temporary / attempt).glob("*.whl"))
            digests.append(hashlib.sha256(built.read_bytes()).hexdigest())
        if digests[0] != digests[1]:
            raise GateError(f"two builds of {package.name} differ")
        with zipfile.ZipFile(built) as archive:
            names = archive.namelist()
            text = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    for wanted in (f"{package.module}/py.typed", ".dist-info/licenses/LICENSE"):
        if not any(name.endswith(wanted) for name in names):
            raise GateError(f"{package.name}: the wheel lacks {wanted}")
    if any("tests/" in name and "course/" not in name for name in names):
        raise GateError(f"{package.name}: the wheel holds tests")
    required = {line.split(";")[0].strip() for line in Parser().parsestr(text).get_all("Requires-Dist") or []}
    found = {re.split(r"[<>=!~ (]", line, maxsplit=1)[0] for line in required}
    if found != ALLOWED[package.name]:
        raise GateError(
            f"{package.name} requires {sorted(found)}, allowed is {sorted(ALLOWED[package.name])}"
        )
    return f"{len(names)} files, requires {', '.join(sorted(required)) or 'nothing'}"


def types(package: Package, python: str) -> str:
    """Complete and strict types, seen from outside."""
    with folder() as temporary:
        wheels, environment = temporary / "wheels", temporary / "environment"
        build(wheels)
        run("uv", "venv", "-q", "--python", python, environment)
        interpreter = python_of(environment)
        install = ("uv", "pip", "install", "-q", "--python", interpreter, "--find-links", wheels)
        run(*install, package.name, "hypothesis", "--group", f"{ROOT / 'pyproject.toml'}:dev")
        search = f"{interpreter.parent}{os.pathsep}{os.environ['PATH']}"
        tools = {"VIRTUAL_ENV": str(environment), "PATH": search}
        mypy = (interpreter.parent / "mypy", "--strict", "--exclude", "/course/", "-p", package.module)
        run(*mypy, cwd=temporary, env=tools)
        symbols, unknown = _exported(interpreter.parent / "basedpyright", package, temporary, tools)
    if unknown:
        raise GateError(f"{package.name}: no complete type: {', '.join(unknown[:20])}")
    return f"{symbols} exported symbols, all with known types; mypy --strict clean"


def _exported(
    checker: Path, package: Package, place: Path, environment: dict[str, str]
) -> tuple[int, list[str]]:
    """How many symbols a package exports, and which of them have no complete type.

    The course's copies of focused tests are data of the command, not its API.
    """
    command = [str(checker), "--verifytypes", package.module, "--ignoreexternal", "--outputjson"]
    done = subprocess.run(
        command, cwd=place, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    told = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    exported = [
        symbol
        for symbol in told
        if symbol["isExported"] and not str(symbol["name"]).startswith(f"{package.module}.course.")
    ]
    return len(exported), [str(symbol["name"]) for symbol in exported if not symbol["isTypeKnown"]]


def sizes(package: Package, python: str) -> str:
    """Installed size with and without requirements, and the time of an import over a bare interpreter."""
    with folder() as temporary:
        wheels, environment = temporary / "wheels", temporary / "environment"
        build(wheels)
        run("uv", "venv", "-q", "--python", python, environment)
        interpreter = python_of(environment)
        run("uv", "pip", "install", "-q", "--python", interpreter, "--find-links", wheels, package.name)
        site = Path(run(interpreter, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        own = size_of(site / package.module)
        everything = size_of(site)
        run(interpreter, "-c", f"import {package.module}")

        def start(code: str) -> float:
            started = time.perf_counter()
            subprocess.run([interpreter, "-I", "-c", code], check=True, cwd=temporary)
            return time.perf_counter() - started

        times = [start(f"import {package.module}") - start("pass") for _ in range(15)]
    milliseconds = statistics.median(times) * 1e3
    return (
        f"{own / 1024:.0f} KiB, {everything / 1024:.0f} KiB with requirements, import {milliseconds:.0f} ms"
    )


def size_of(path: Path) -> int:
    """Bytes of all files, compiled ones left out."""
    return sum(
        file.stat().st_size for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )


GATES: dict[str, Callable[[Package, str], str]] = {
    "metadata": metadata,
    "isolated": isolated,
    "wheel": wheel,
    "lowest": lowest,
    "types": types,
    "sizes": sizes,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gates and print a line each; 1 when one is closed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("gate", nargs="+", choices=[*GATES, "all"])
    parser.add_argument("--package", action="append", help="a distribution; may be repeated (default: all)")
    parser.add_argument("--python", default="3.11", help="interpreter or version (default: 3.11)")
    options = parser.parse_args(arguments)
    if shutil.which("uv") is None:
        print("gates: uv is not on the path", file=sys.stderr)
        return 2
    known = {package.name: package for package in packages()}
    unknown = set(options.package or ()) - set(known)
    if unknown:
        print(
            f"gates: no package named {', '.join(sorted(unknown))}; there are {', '.join(known)}",
            file=sys.stderr,
        )
        return 2
    gates = [name for name in GATES if name != "sizes"] if "all" in options.gate else options.gate
    closed = 0
    for gate in gates:
        for name in options.package or known:
            started = time.perf_counter()
            try:
                told = GATES[gate](known[name], options.python)
            except GateError as error:
                closed += 1
                print(f"CLOSED  {gate:9} {name}\n{error}", flush=True)
            else:
                print(
                    f"open    {gate:9} {name:28} {time.perf_counter() - started:5.1f} s  {told}", flush=True
                )
    return 1 if closed else 0


if __name__ == "__main__":
    sys.exit(main())
