"""What an installation brings: time of an import, size on disk, distributions and modules, beside the peers.

Run: python benchmarks/installed.py [--rounds N] [--json FILE] [--quick]

Every contender gets an environment of its own, made with `uv` and kept under the folder that
`KICKWHEEL_BENCH_ENVIRONMENTS` names (default: `kickwheel-bench-environments` in the folder for temporary
files), so that the size is what installing it alone brings. Ours are built into wheels from this checkout
each time; peers come in the versions of `requirements-peers.txt`. An import is a fresh interpreter with warm
caches; the floor is one that imports nothing. Sizes leave compiled files out.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import _harness

ROOT = Path(__file__).parent.parent
QUIET = {"capture_output": True, "text": True, "cwd": ROOT}
# What must not look for a network while it is imported.
OFFLINE = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
FLOOR = "nothing (floor)"
OURS: Mapping[str, str] = MappingProxyType(
    {
        "kickwheel-protocol": "import kickwheel_protocol",
        "kickwheel-event-stream": "import kickwheel_event_stream",
        "kickwheel-scripted-model": "import kickwheel_scripted_model",
        "kickwheel-provider-adapter": "import kickwheel_provider_adapter",
        "kickwheel-agent-loop": "import kickwheel_agent_loop",
        "kickwheel": "import kickwheel",
    }
)
PEERS: Mapping[str, str] = MappingProxyType(
    {
        "msgspec": "import msgspec",
        "pydantic": "import pydantic; pydantic.BaseModel",
        "pydantic-ai-slim": "import pydantic_ai; from pydantic_ai.models.function import FunctionModel",
        "openai": "from openai import AsyncOpenAI",
        "anthropic": "from anthropic import AsyncAnthropic",
        "openai-agents": "from agents import Agent, Runner",
        "langchain-core": "from langchain_core.language_models.fake_chat_models import GenericFakeChatModel",
        "langgraph": "from langgraph.prebuilt import create_react_agent",
        "smolagents": "from smolagents import ToolCallingAgent",
        "llama-index-core": "from llama_index.core.llms.mock import MockLLM",
        "autogen-ext": "from autogen_ext.models.replay import ReplayChatCompletionClient",
        "litellm": "import litellm; litellm.acompletion",
    }
)
# What a distribution leaves out of its requirements although the import above needs it.
WITH: Mapping[str, tuple[str, ...]] = MappingProxyType({"autogen-ext": ("autogen-agentchat",)})


def environments() -> Path:
    named = os.environ.get("KICKWHEEL_BENCH_ENVIRONMENTS")
    return Path(named) if named else Path(tempfile.gettempdir()) / "kickwheel-bench-environments"


def interpreter(name: str) -> Path:
    return environments() / name / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


@functools.cache
def wheels() -> Path:
    """Build all our wheels, once in a run."""
    folder = environments() / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(
        ["uv", "build", "-q", "--wheel", "--all-packages", "--out-dir", folder], check=True, **QUIET
    )
    return folder


def pinned(name: str) -> str:
    """The requirement of a peer, in the version of `requirements-peers.txt` and without its extras."""
    text = (ROOT / "benchmarks" / "requirements-peers.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(name)}(?:\[[^]]*\])?==(\S+)$", text, re.MULTILINE)
    return f"{name}=={found.group(1)}" if found else name


def make(name: str) -> Path:
    """Give the interpreter of an environment with one distribution and what it requires."""
    if shutil.which("uv") is None:
        raise ImportError("uv is not on the path")
    folder, python = environments() / name, interpreter(name)
    requirements = [] if name == FLOOR else [pinned(name), *map(pinned, WITH.get(name, ()))]
    stamp = folder / "requirements"
    wanted = "\n".join([sys.version, *requirements])
    if name not in OURS and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    try:
        subprocess.run(["uv", "venv", "-q", "--python", sys.executable, folder], check=True, **QUIET)
        if name in OURS:
            requirements = ["--find-links", str(wheels()), name]
        if requirements:
            install = ["uv", "pip", "install", "-q", "--compile-bytecode", "--python", python]
            subprocess.run([*install, *requirements], check=True, **QUIET)
    except subprocess.CalledProcessError as error:
        raise ImportError(error.stderr.strip().splitlines()[-1]) from error
    stamp.write_text(wanted, encoding="utf-8")
    return python


def contender(name: str, code: str) -> _harness.Contender:
    def prepare(_case: str) -> _harness.Run:
        python = make(name)
        subprocess.run(
            [python, "-I", "-c", code], check=True, capture_output=True, cwd=environments(), env=OFFLINE
        )

        def run() -> float:
            started = time.perf_counter()
            subprocess.run([python, "-I", "-c", code], check=True, cwd=environments(), env=OFFLINE)
            return time.perf_counter() - started

        return run

    return prepare


def print_sizes() -> None:
    """Print what each environment holds, smallest first."""
    rows: list[tuple[float, str]] = []
    for name, code in {**OURS, **PEERS}.items():
        if not (environments() / name / "requirements").exists():
            continue
        site = next((environments() / name).glob("[Ll]ib/**/site-packages"))
        own = [path for path in site.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        megabytes = sum(path.stat().st_size for path in own if not path.name.startswith("_virtualenv")) / 1e6
        distributions = len(list(site.glob("*.dist-info")))
        count = subprocess.run(
            [interpreter(name), "-I", "-c", f"import sys; before = len(sys.modules); {code}; "
             "print(len(sys.modules) - before)"],
            check=True, capture_output=True, text=True, cwd=environments(),
        ).stdout.split()[-1]  # fmt: skip
        rows.append((megabytes, f"| {name} | {megabytes:.2f} | {distributions} | {count} |"))
    print("\n### Installed\n\n| contender | MB | distributions | modules imported |\n|---|---:|---:|---:|")
    for _megabytes, row in sorted(rows):
        print(row)


if __name__ == "__main__":
    environments().mkdir(parents=True, exist_ok=True)
    contenders = {name: contender(name, code) for name, code in {FLOOR: "pass", **OURS, **PEERS}.items()}
    _harness.main("What an installation brings", ["import"], contenders, FLOOR, unit="ms", scale=1e3)
    print_sizes()
