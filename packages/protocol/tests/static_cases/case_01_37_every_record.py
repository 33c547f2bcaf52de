"""01.37: every record is built once"""

from kickwheel_protocol import (
    AssistantMessage,
    CancelledRun,
    CompletedRun,
    FailedRun,
    Invalid,
    MaxStepsRun,
    MessageAccepted,
    MessageId,
    ModelChunkReceived,
    ModelRequest,
    ModelRequestId,
    ModelResponse,
    ModelResponseId,
    RunError,
    RunFinished,
    Signal,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    ToolCallId,
    ToolContext,
    ToolFinished,
    ToolResultMessage,
    ToolStarted,
    Usage,
    UserMessage,
    Valid,
)


def check(signal: Signal, message_id: MessageId, call_id: ToolCallId) -> list[object]:
    request_id: ModelRequestId = "request-1"
    response_id: ModelResponseId = "response-1"
    texts: list[TextBlock] = [TextBlock("a")]
    call = ToolCall(
        id=call_id, name="add", arguments={"left": [1, {"a": [None]}], "right": {"b": True, "c": 1.5}}
    )
    user = UserMessage(id=message_id, content="x")
    assistant = AssistantMessage(id=message_id, content=[TextBlock(text="a"), call])
    result = ToolResultMessage(id=message_id, tool_call_id=call_id, tool_name="add", content="42")
    failed = ToolResultMessage(
        id=message_id, tool_call_id=call_id, tool_name="add", content="", is_error=True
    )
    request = ModelRequest(id=request_id, messages=[user, assistant, result])
    delta = TextDeltaChunk(request_id=request_id, delta="a")
    completed = CompletedRun(messages=[user], final_text="a")
    return [
        AssistantMessage(id="a", content=texts),
        AssistantMessage("a", (call,)),
        ToolCall("c", "n", call.arguments),
        failed,
        request.followed_by("request-2", result),
        ToolCallChunk(request_id=request_id, tool_call=call),
        ModelResponse(response_id, request_id, assistant, "toolCall", Usage(input_tokens=1, output_tokens=2)),
        ModelResponse(id="i", request_id="q", message=assistant, stop_reason="stop", usage=Usage(1, 1)),
        Valid(value=1),
        Invalid(error="no"),
        ToolContext(signal=signal, tool_call_id=call_id),
        MessageAccepted(sequence=0, message=user),
        ModelChunkReceived(sequence=1, chunk=delta),
        ToolStarted(sequence=2, tool_call=call),
        ToolFinished(sequence=3, message=result),
        RunFinished(sequence=4, result=completed),
        CancelledRun(messages=(user,), reason="a"),
        MaxStepsRun(messages=request.messages, max_steps=4),
        FailedRun(messages=[], error=RunError(code="E", message="x")),
        message_id.upper() + call_id.strip() + response_id + request_id,
    ]
