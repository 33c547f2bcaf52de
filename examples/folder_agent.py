"""An agent that reads the files of one folder, and nothing outside it, run from a recorded conversation."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from kickwheel_agent_loop import RunTrace, ToolRegistry, run_to_end, tool
from kickwheel_protocol import ToolResultMessage, UserMessage
from kickwheel_provider_adapter import FixtureProviderAdapter

FIXTURE = Path(__file__).resolve().parent.parent / "fixtures" / "folder-agent.json"
ASK = UserMessage("message-001", "When does the team meet, and what is the budget?")


def folder_tools(folder: Path) -> ToolRegistry:
    """Give the two tools of one folder. The model's paths are untrusted: each is resolved, then looked at."""
    root = folder.resolve(strict=True)

    @tool
    def list_files() -> list[str]:
        """List the files of the folder."""
        return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())

    @tool
    def read_file(name: str) -> str:
        """Read a text file of the folder, by the name that list_files gives."""
        try:
            path = (root / name).resolve()  # follows `..` and links first, so that neither can lead out
            if path.is_relative_to(root):
                return path.read_text(encoding="utf-8")
        except (OSError, RuntimeError, ValueError):
            # Their texts hold the folder's own path, which is none of the model's business.
            raise ValueError(f"{name} is no text file of the folder") from None
        raise PermissionError(f"{name} is outside the folder")

    return ToolRegistry([list_files, read_file])


async def answer(folder: Path) -> RunTrace:
    """Run the agent over a folder; the model is a recording."""
    return await run_to_end(
        messages=[ASK],
        model=FixtureProviderAdapter.from_file(FIXTURE),
        tools=folder_tools(folder),
        max_steps=4,
    )


def main() -> None:
    """Lay out a folder with a secret beside it, run, and show what the tools said and how it ended."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "shared"
        (folder / "notes").mkdir(parents=True)
        (folder / "notes" / "team.txt").write_text("Monday, 10:00, room 4.", encoding="utf-8")
        (folder / "readme.txt").write_text("Ask the agent.", encoding="utf-8")
        (folder.parent / "budget.txt").write_text("secret", encoding="utf-8")
        trace = asyncio.run(answer(folder))
    for message in trace.result.messages:
        if isinstance(message, ToolResultMessage):
            print("error" if message.is_error else "ok   ", message.content)
    if trace.result.status == "completed":
        print("done ", trace.result.final_text)


if __name__ == "__main__":
    main()
