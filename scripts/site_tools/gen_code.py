"""Generated parts that come from running code: the trace, the command's reference, the diagrams."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

from site_tools.gen_text import MARK, front, glossed
from site_tools.layout import LANGS
from site_tools.pages import split_front_matter

if TYPE_CHECKING:
    from site_tools.layout import Lang, Site


def run_program(site: Site, *command: str) -> str:
    """Standard output of a program of the repository, plain and in English.

    Raises:
        RuntimeError: it ended with another exit code than 0; the text is what it said.

    """
    done = subprocess.run(
        [sys.executable, *command],
        cwd=site.root,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "PYTHONUTF8": "1", "KICKWHEEL_LANG": "en"},
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-800:]}")
    return done.stdout


def traces(site: Site) -> dict[str, str]:
    """What `kickwheel trace` prints, from a run."""
    out = {
        "includes/generated/trace-default.txt": run_program(site, "-m", "kickwheel", "trace", "--lang", "en")
    }
    out["includes/generated/trace-prologue.txt"] = run_program(
        site, "-m", "kickwheel", "trace", "--prologue", "--lang", "en"
    )
    return out


CLI_DESCRIPTION: dict[Lang, str] = {
    "en": "Every verb of the kickwheel command with its options, exit codes and error codes.",
    "vi": "Mọi lệnh con của kickwheel cùng các tùy chọn, mã thoát và mã lỗi.",
}
CLI_TITLE: dict[Lang, str] = {"en": "Command line", "vi": "Dòng lệnh"}


def cli_pages(site: Site) -> dict[str, str]:
    """The reference of the command in both languages, from the parser's own table."""
    from kickwheel._help import render_cli_reference

    out: dict[str, str] = {}
    english = ""
    for lang in LANGS:
        body = "\n" + render_cli_reference(lang).replace("\n\n", f"\n\n{MARK}\n", 1)
        body = re.sub(r"(?m)^## (kickwheel .*?) (\{#.*\})$", r"## `\1` \2", body)
        body = glossed(body, site.glossary.terms) if lang == "vi" else body
        more = {"source_sha256": english} if lang == "vi" else {}
        text = front(CLI_TITLE[lang], CLI_DESCRIPTION[lang], **more).rstrip("\n") + "\n" + body
        english = _digest(text)
        out[f"docs/{lang}/reference/cli.md"] = text
    return out


def _digest(text: str) -> str:
    from hashlib import sha256

    return sha256(split_front_matter(text)[1].encode("utf-8")).hexdigest()


def wire_records(_site: Site) -> dict[str, str]:
    """One record of each kind in its wire form, as `dump_json` writes it."""
    import kickwheel_protocol as p

    call = p.ToolCall("call-add-001", "add", {"left": 20, "right": 22})
    user = p.UserMessage("message-user-001", "What is 20 + 22?")
    asks = p.AssistantMessage("message-response-001", (p.TextBlock("Let me add."), call))
    answer = p.ToolResultMessage("tool-result-call-add-001", "call-add-001", "add", '{"sum":42}')
    text = p.TextDeltaChunk("request-002", "The sum ")
    groups: dict[str, list[p.WireRecord]] = {
        "messages": [user, asks, answer],
        "model": [
            p.ModelRequest("request-001", (user,)),
            text,
            p.ToolCallChunk("request-001", call),
            p.ModelResponse("response-001", "request-001", asks, "toolCall", p.Usage(12, 8)),
        ],
        "events": [
            p.MessageAccepted(0, user),
            p.ModelChunkReceived(1, text),
            p.ToolStarted(2, call),
            p.ToolFinished(3, answer),
            p.RunFinished(4, p.CompletedRun((user,), "The sum is 42.")),
        ],
        "results": [
            p.CompletedRun((user,), "The sum is 42."),
            p.CancelledRun((user,), "stopped by the user"),
            p.MaxStepsRun((user,), 8),
            p.FailedRun((user,), p.RunError("MODEL_STREAM_FAILED", "connection lost")),
        ],
    }
    return {
        f"includes/generated/wire-{name}.json": "".join(p.dump_json(record) + "\n" for record in records)
        for name, records in groups.items()
    }
