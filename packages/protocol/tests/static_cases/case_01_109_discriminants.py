"""01.109: all values of each discriminant are handled"""

from typing import assert_never, assert_type

from kickwheel_protocol import (
    AgentEvent,
    AssistantBlock,
    Invalid,
    Message,
    ModelChunk,
    RunResult,
    ToolValidation,
    Valid,
)


def check_message(m: Message) -> object:
    if m.role == "user":
        return m
    elif m.role == "assistant":
        return m
    elif m.role == "toolResult":
        return m
    else:
        assert_never(m)


def check_block(b: AssistantBlock) -> object:
    if b.type == "text":
        return b
    elif b.type == "toolCall":
        return b
    else:
        assert_never(b)


def check_chunk(k: ModelChunk) -> object:
    if k.type == "textDelta":
        return k
    elif k.type == "toolCall":
        return k
    else:
        assert_never(k)


def check_event(e: AgentEvent) -> object:
    if e.type == "message.accepted":
        return e
    elif e.type == "model.chunk":
        return e
    elif e.type == "tool.started":
        return e
    elif e.type == "tool.finished":
        return e
    elif e.type == "run.finished":
        return e
    else:
        assert_never(e)


def check_run(r: RunResult) -> object:
    if r.status == "completed":
        return r
    elif r.status == "cancelled":
        return r
    elif r.status == "maxSteps":
        return r
    elif r.status == "failed":
        return r
    else:
        assert_never(r)


def check_validation(v: ToolValidation[int]) -> int | str:
    if v.ok is True:
        assert_type(v, Valid[int])
        return v.value
    else:
        assert_type(v, Invalid)
        return v.error
