import asyncio
from kickwheel_agent_loop import ToolRegistry, run_to_end, tool
from kickwheel_protocol import UserMessage
from kickwheel_scripted_model import ScriptedModel, call, say
def test_the_agent_adds_before_it_answers() -> None:
    @tool(description="Adds two numbers.")
    def add(left: int, right: int) -> int:
        return left + right
    model = ScriptedModel([call("add", {"left": 20, "right": 22}), say("The sum is 42.")])
    ask = UserMessage("message-user-001", "What is 20 + 22?")
    run = asyncio.run(run_to_end(messages=[ask], model=model, tools=ToolRegistry([add]), max_steps=8))
    assert [event.type for event in run.events][3:] == ["tool.finished", "model.chunk", "run.finished"]
