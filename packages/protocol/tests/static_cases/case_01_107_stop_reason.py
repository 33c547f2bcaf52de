"""01.107: a provider's stop reason is none of ours"""

from kickwheel_protocol import AssistantMessage, ModelResponse, Usage


def check(a: AssistantMessage) -> None:
    ModelResponse(id="i", request_id="q", message=a, stop_reason="tool_call", usage=Usage(1, 1))  # !
