"""The chunks of one model turn: which are let through, and what they add up to (checkpoint 07)."""

from typing import TypeAlias, final

from kickwheel_agent_loop._arguments import arguments_fault
from kickwheel_agent_loop._failures import ModelProtocolError
from kickwheel_agent_loop._limits import LoopLimits
from kickwheel_protocol import ModelChunk, TextDeltaChunk, ToolCall, ToolCallChunk

Part: TypeAlias = str | ToolCall
"""A stretch of text, however it was cut, or one call."""


@final
class StreamedTurn:
    """Checks the chunks of one turn as they come, and keeps what the response must agree with."""

    __slots__ = ("_code_points", "_count", "_limits", "_parts", "_request_id", "_text")

    def __init__(self, request_id: str, limits: LoopLimits) -> None:
        self._request_id = request_id
        self._limits = limits
        self._count = 0
        self._code_points = 0
        self._text: list[str] = []  # the deltas of the stretch of text at work, joined once
        self._parts: list[Part] = []

    def accept(self, chunk: object) -> ModelChunk:
        """Give the chunk back if it may be told: count, record, request ID, limits. `ModelProtocolError`
        otherwise.
        """
        try:
            return self._checked(chunk)
        except AttributeError:
            raise ModelProtocolError("the model sent a chunk that no constructor has made") from None

    def parts(self) -> list[Part]:
        """What was streamed: stretches of text and calls, in order."""
        self._end_text()
        return self._parts

    def _checked(self, chunk: object) -> ModelChunk:
        # [solution 07.3]
        limits = self._limits
        self._count += 1
        if self._count > limits.max_model_chunks_per_step:
            raise ModelProtocolError(f"the model sent more than {limits.max_model_chunks_per_step} chunks")
        if type(chunk) is not TextDeltaChunk and type(chunk) is not ToolCallChunk:
            raise ModelProtocolError("the model sent something that is no chunk record")
        if chunk.request_id != self._request_id:
            raise ModelProtocolError("the model sent a chunk of another request")
        if type(chunk) is TextDeltaChunk:
            self._code_points += len(chunk.delta)
            if self._code_points > limits.max_model_text_code_points:
                raise ModelProtocolError(
                    f"the model sent more than {limits.max_model_text_code_points} code points of text"
                )
            self._text.append(chunk.delta)
        elif type(chunk) is ToolCallChunk:
            fault = arguments_fault(chunk.tool_call.arguments, limits)
            if fault is not None:
                raise ModelProtocolError(fault)
            self._end_text()
            self._parts.append(chunk.tool_call)
        return chunk
        # [/solution]

    def _end_text(self) -> None:
        if self._text:
            self._parts.append("".join(self._text))
            self._text.clear()
