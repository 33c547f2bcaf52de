"""01.20: each union has exactly its discriminants"""

from typing import Literal, assert_type

from kickwheel_protocol import AgentEvent, AssistantBlock, Message, ModelChunk, RunResult, ToolValidation


def check(
    m: Message, b: AssistantBlock, k: ModelChunk, e: AgentEvent, r: RunResult, v: ToolValidation[int]
) -> None:
    assert_type(m.role, Literal["toolResult", "assistant", "user"])
    assert_type(b.type, Literal["toolCall", "text"])
    assert_type(k.type, Literal["toolCall", "textDelta"])
    assert_type(
        e.type, Literal["run.finished", "tool.finished", "tool.started", "model.chunk", "message.accepted"]
    )
    assert_type(r.status, Literal["failed", "maxSteps", "cancelled", "completed"])
    assert_type(v.ok, bool)
