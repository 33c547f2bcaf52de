"""`kickwheel docs`: the built site, served on this machine."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from kickwheel._context import Context, Outcome
from kickwheel._course import load_course
from kickwheel._errors import SurroundingsError
from kickwheel._parse import Options
from kickwheel._places import course_folder

BUILD_LINE = "uv run --group docs python scripts/site.py build"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing about every file."""


def run(context: Context, options: Options) -> Outcome:
    """Serve on 127.0.0.1 on a free port until interrupted."""
    site = find_site(context, options)
    word = options.text("id")
    page = "" if word is None else load_course().find(word, context.text).page
    if context.text.language == "vi" and (site / "vi" / "index.html").is_file():
        page = f"vi/{page}"
    handler = partial(_Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        address = f"http://127.0.0.1:{server.server_port}/{page}"
        context.out.print(context.text("docs.serving", address=address))
        context.out.flush()
        server.serve_forever()
    return Outcome()


def find_site(context: Context, options: Options) -> Path:
    """The folder of `--site`, else `./site`, else the one inside the package; or `SITE_MISSING`."""
    given = options.text("site")
    candidates = [Path("site"), course_folder() / "site"] if given is None else [Path(given)]
    for folder in candidates:
        if (folder / "index.html").is_file():
            return folder.resolve()
    raise SurroundingsError("SITE_MISSING", context.text("error.site_missing", line=BUILD_LINE))
