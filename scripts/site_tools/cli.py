"""The verbs of `scripts/site.py`. Exit 0: done; 1: something is wrong, named on standard error; 2: usage."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from site_tools import build, checks, generate, vendor
from site_tools.layout import CHECKPOINTS, ROOT, Site


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="scripts/site.py", description="Builds and checks the site in both languages."
    )
    verbs = top.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("build", help="vendor, generation check, English, Vietnamese, finishing")
    verb.add_argument("--out", default="site", help="folder to build into (default: site)")
    verb.add_argument(
        "--draft", action="store_true", help="build with the pages that exist, warnings allowed"
    )
    verb.add_argument("--quiet", action="store_true", help="no progress")
    verb = verbs.add_parser("check", help="pages, translations, generated files")
    verb.add_argument("--release", action="store_true", help="a stale translation is a fault, not a warning")
    verb.add_argument("--checkpoint", choices=sorted(CHECKPOINTS), help="only what concerns this checkpoint")
    verb.add_argument("--json", action="store_true", help="one JSON object on standard output")
    verb = verbs.add_parser("serve", help="serve the built site on 127.0.0.1")
    verb.add_argument("--out", default="site")
    verb.add_argument("--port", type=int, default=0, help="0: a free one")
    verbs.add_parser("vendor", help="fetch the drawing library")
    verbs.add_parser("generate", help="rewrite the committed generated files")
    verb = verbs.add_parser("stamp", help="say that translations are current: writes their source_sha256")
    verb.add_argument("pages", nargs="+", help="paths below docs/vi, such as course/index.md, or 'all'")
    return top


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    """Runs one verb and returns the exit code."""
    options = parser().parse_args(argv)
    try:
        match options.verb:
            case "build":
                build.build(build.Options(root, (root / options.out).resolve(), options.draft, options.quiet))
            case "check":
                return _check(
                    root, release=options.release, checkpoint=options.checkpoint, as_json=options.json
                )
            case "serve":
                return _serve((root / options.out).resolve(), options.port)
            case "vendor":
                print(vendor.vendor(root))
            case "stamp":
                print("\n".join(stamp(Site(root), options.pages)) or "everything is current")
            case _:
                return _generate(root)
    except (build.StepError, vendor.VendorError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _generate(root: Path) -> int:
    changed, faults = generate.write(Site(root))
    print("\n".join(changed) if changed else "everything is current")
    for fault in faults:
        print(fault, file=sys.stderr)
    return int(bool(faults))


def stamp(site: Site, wanted: list[str]) -> list[str]:
    """Writes the digest of each English page into its translation; the paths that changed."""
    changed: list[str] = []
    for path, english, page in site.pairs():
        if page.meta.get("source_sha256") == english.digest or not (path in wanted or wanted == ["all"]):
            continue
        file = site.docs("vi") / path
        text = re.sub(r"(?m)^source_sha256:.*\n", "", file.read_text("utf-8"), count=1)
        text = re.sub(
            r"\A(---\n.*?)(---\n)", rf"\1source_sha256: {english.digest}\n\2", text, count=1, flags=re.DOTALL
        )
        file.write_text(text, "utf-8", newline="\n")
        changed.append(path)
    return changed


def _check(root: Path, *, release: bool, checkpoint: str | None, as_json: bool) -> int:
    site = Site(root)
    results = checks.run(site, release=release, checkpoint=checkpoint)
    failed = any(result.status == "fail" for result in results)
    if as_json:
        rows = [
            {
                "checkpoint": checkpoint,
                "name": r.name,
                "status": r.status,
                "detail": [str(f) for f in r.faults],
            }
            for r in results
        ]
        print(json.dumps({"schema": 1, "checks": rows, "exit": int(failed)}, ensure_ascii=False))
        return int(failed)
    for result in results:
        for fault in result.faults:
            print(("warning: " if result.status == "warn" else "") + str(fault), file=sys.stderr)
    print(f"{len(results)} checks, {sum(r.status == 'fail' for r in results)} red", file=sys.stderr)
    return int(failed)


def _serve(folder: Path, port: int) -> int:
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    if not (folder / "index.html").exists():
        print(
            f"{folder} holds no site; run: uv run --group docs python scripts/site.py build", file=sys.stderr
        )
        return 1
    with ThreadingHTTPServer(
        ("127.0.0.1", port), partial(SimpleHTTPRequestHandler, directory=str(folder))
    ) as server:
        print(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 130
    return 0
