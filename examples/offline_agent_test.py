"""A test file for an agent: no key, no network, and the same trace in every run."""

import asyncio

import pytest

from kickwheel_agent_loop import run_to_end, tool
from kickwheel_protocol import ToolResultMessage, UserMessage
from kickwheel_scripted_model import ScriptedModel, call, say

QUESTION = UserMessage("message-user-001", "What is 20 + 22?")


@tool(description="Adds two numbers.")
def add(left: int, right: int) -> int:
    """Add: the tool under test."""
    return left + right


@pytest.mark.no_network
def test_the_agent_adds_and_then_answers(scripted_model: ScriptedModel) -> None:
    """Pin the whole trace."""
    scripted_model.set_responses([call("add", {"left": 20, "right": 22}), say("The sum ", "is 42.")])
    run = asyncio.run(run_to_end(messages=[QUESTION], model=scripted_model, tools=[add], max_steps=4))
    assert [event.type for event in run.events] == [
        "message.accepted",
        "model.chunk",
        "tool.started",
        "tool.finished",
        "model.chunk",
        "model.chunk",
        "run.finished",
    ]
    assert run.result.status == "completed"


@pytest.mark.no_network
def test_the_model_is_shown_what_the_tool_said(scripted_model: ScriptedModel) -> None:
    """Look at the request of the second call."""
    scripted_model.set_responses([call("add", {"left": "x"}), say("I could not add that.")])
    asyncio.run(run_to_end(messages=[QUESTION], model=scripted_model, tools=[add], max_steps=4))
    shown = scripted_model.requests[1].messages[-1]
    assert isinstance(shown, ToolResultMessage)
    assert shown.is_error
    assert "TOOL_ARGUMENTS_INVALID" in shown.content
