"""The build: vendor, generation check, English, Vietnamese, finishing. The first step that fails stops it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import yaml

from site_tools import finish, generate, vendor
from site_tools.layout import LANGS, Site
from site_tools.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from site_tools.layout import Lang

CONFIGS: dict[Lang, str] = {"en": "mkdocs.yml", "vi": "mkdocs.vi.yml"}
DEFAULT_URLS: dict[Lang, str] = {"en": "https://kickwheel.example/", "vi": "https://kickwheel.example/vi/"}
URL_VARIABLES: dict[Lang, str] = {"en": "KICKWHEEL_SITE_URL", "vi": "KICKWHEEL_SITE_URL_VI"}


DRAFT = {"strict": False, "markdown_extensions": {"pymdownx.snippets": {"check_paths": False}}}
"""What a draft does not insist on."""


class StepError(RuntimeError):
    """A step of the build failed; the text begins with the step's name."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to build and where to."""

    root: Path
    out: Path
    draft: bool = False
    quiet: bool = False


def site_urls() -> dict[Lang, str]:
    """The address of each language's home page; always with a slash at the end."""
    urls: dict[Lang, str] = {lang: os.environ.get(URL_VARIABLES[lang], DEFAULT_URLS[lang]) for lang in LANGS}
    return {lang: url if url.endswith("/") else url + "/" for lang, url in urls.items()}


def build(options: Options) -> None:
    """Runs every step in order.

    Raises:
        StepError: a step failed; the later ones did not run.

    """
    steps: list[tuple[str, Callable[[], None]]] = [
        ("vendor", lambda: _vendor(options)),
        ("generated files", lambda: _generated(options)),
        ("English", lambda: _mkdocs(options, "en")),
        ("Vietnamese", lambda: _mkdocs(options, "vi")),
        ("finishing", lambda: _finish(options)),
    ]
    with Progress("site build", len(steps), quiet=options.quiet) as progress:
        for name, step in steps:
            progress.begin(name)
            step()
            progress.done(name)


def _vendor(options: Options) -> None:
    try:
        vendor.vendor(options.root)
    except vendor.VendorError as error:
        raise StepError(f"vendor: {error}") from error


def _generated(options: Options) -> None:
    faults = [] if options.draft else generate.differences(Site(options.root))
    if faults:
        raise StepError("generated files: " + "\n".join(map(str, faults)))


def _mkdocs(options: Options, lang: Lang) -> None:
    out = options.out if lang == "en" else options.out / "vi"
    # not --quiet: it would drop the warnings before --strict can count them
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(out)]
    config = None
    if options.draft:
        command += ["--no-strict", "--config-file", "-"]
        config = draft_config(options.root, lang)
    else:
        command += ["--strict", "--config-file", CONFIGS[lang]]
    done = subprocess.run(
        command,
        cwd=options.root,
        input=config,
        capture_output=True,
        text=True,
        check=False,
        env=environment(options.out),
    )
    if done.returncode:
        name = "English" if lang == "en" else "Vietnamese"
        raise StepError(f"{name}: {_without_information(done.stdout + done.stderr)}")
    if options.draft and not options.quiet:
        print(_without_information(done.stderr), file=sys.stderr)


def _without_information(text: str) -> str:
    """The page builder's warnings and errors; of a traceback only the last line."""
    rows = [row for row in text.split("\n") if row.strip()]
    return "\n".join(
        row
        for index, row in enumerate(rows)
        if row.startswith(("WARNING", "ERROR", "  - ", "Aborted")) or index == len(rows) - 1
    )


def environment(out: Path) -> dict[str, str]:
    """The variables that both configurations read."""
    urls = site_urls()
    return {
        **os.environ,
        "KICKWHEEL_SITE_URL": urls["en"],
        "KICKWHEEL_SITE_URL_VI": urls["vi"],
        "KICKWHEEL_INVENTORY": (out.resolve() / "objects.inv").as_uri(),
        "NO_MKDOCS_2_WARNING": "1",
        "PYTHONHASHSEED": "0",
    }


def draft_config(root: Path, lang: Lang) -> str:
    """The configuration with a navigation of the pages that exist: for a site that is being written."""
    docs = root / "docs" / lang
    nav = _existing(navigation(root / CONFIGS[lang]), lambda path: (docs / path).exists())
    return yaml.safe_dump({**DRAFT, "INHERIT": CONFIGS[lang], "nav": nav}, allow_unicode=True)


class _Loader(yaml.SafeLoader):
    """Reads our own configuration without its tags."""


_Loader.add_multi_constructor("", lambda loader, suffix, node: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType] untyped library


def navigation(config: Path) -> list[object]:
    """The `nav` of a configuration, as written."""
    loaded: object = yaml.load(config.read_text("utf-8"), Loader=_Loader)
    return cast("dict[str, list[object]]", loaded).get("nav", [])


def _existing(entries: list[object], exists: Callable[[str], bool]) -> list[object]:
    kept: list[object] = []
    for entry in entries:
        if isinstance(entry, str):
            kept += [entry] if exists(entry) else []
            continue
        for title, value in cast("dict[str, object]", entry).items():
            if isinstance(value, list):
                inner = _existing(cast("list[object]", value), exists)
                kept += [{title: inner}] if inner else []
            elif exists(str(value)):
                kept.append({title: value})
    return kept


def _finish(options: Options) -> None:
    try:
        finish.finish(Site(options.root), options.out, site_urls())
    except (finish.FinishError, OSError) as error:
        raise StepError(f"finishing: {error}") from error
