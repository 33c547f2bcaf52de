"""The README of kickwheel-scripted-model: its fences run, and the six lines are six lines."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "packages/scripted-model/README.md"
PREPARE = """
import asyncio
from kickwheel_agent_loop import run_to_end, tool
from kickwheel_protocol import UserMessage
from kickwheel_scripted_model import ScriptedModel, call, say

@tool(description="Adds two numbers.")
def add(left: int, right: int) -> dict[str, int]:
    return {"sum": left + right}
"""


def fences(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S)


def test_the_example_runs_and_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    example = fences("python")[0]
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out == example.rpartition("# ")[2]


def test_six_lines_test_an_agent_with_one_tool_call() -> None:
    six = fences("python")[1]
    assert len(six.splitlines()) == 6
    names: dict[str, object] = {}
    exec(compile(PREPARE + six, "README.md", "exec"), names)
    test = names["test_the_agent_adds_before_it_answers"]
    assert callable(test)
    test()


def test_the_error_text_is_the_one_that_is_raised() -> None:
    names: dict[str, object] = {}
    program = PREPARE + (
        "from kickwheel_protocol import ModelRequest\n"
        "async def main():\n"
        "    model = ScriptedModel([say('hi')])\n"
        "    await model.stream(ModelRequest('request-001', [])).result\n"
        "    await model.stream(ModelRequest('request-002', [])).result\n"
        "try:\n"
        "    asyncio.run(main())\n"
        "except Exception as error:\n"
        "    told = str(error)\n"
    )
    exec(compile(program, "README.md", "exec"), names)
    assert names["told"] == fences("text")[0].rstrip("\n")
