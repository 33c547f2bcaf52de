"""The response of one model turn: is it one, and does it say what the chunks said? (checkpoint 07)"""

from kickwheel_agent_loop._arguments import arguments_fault, same_json
from kickwheel_agent_loop._chunks import Part, StreamedTurn
from kickwheel_agent_loop._failures import ModelProtocolError
from kickwheel_agent_loop._limits import LoopLimits
from kickwheel_protocol import AssistantMessage, ModelResponse, TextBlock, ToolCall


def check_response(
    response: object, request_id: str, streamed: StreamedTurn, call_ids: set[str], limits: LoopLimits
) -> ModelResponse:
    """Give the response back if the run may go on with it; `ModelProtocolError` otherwise.

    `call_ids` are those of the transcript so far. Nothing of the turn is kept or run before all of this
    holds.
    """
    try:
        return _checked(response, request_id, streamed, call_ids, limits)
    except AttributeError:
        raise ModelProtocolError("the model gave a response that no constructor has made") from None


def _checked(
    response: object, request_id: str, streamed: StreamedTurn, call_ids: set[str], limits: LoopLimits
) -> ModelResponse:
    # [solution 07.4]
    if type(response) is not ModelResponse:
        raise ModelProtocolError("the model's result is no response record")
    if response.request_id != request_id:
        raise ModelProtocolError("the model answered another request")
    calls = _agreed_calls(response.message, streamed.parts(), limits)
    if bool(calls) is not (response.stop_reason == "toolCall"):
        raise ModelProtocolError(f"stop reason {response.stop_reason} with {len(calls)} tool calls")
    _check_ids(calls, call_ids)
    return response
    # [/solution]


def _check_ids(calls: list[ToolCall], call_ids: set[str]) -> None:
    """A result is linked to its call by the ID alone, so no ID may ever come twice."""
    ids = {call.id for call in calls}
    if len(ids) != len(calls) or not ids.isdisjoint(call_ids):
        raise ModelProtocolError("the model used the ID of a tool call twice")


def _agreed_calls(message: AssistantMessage, streamed: list[Part], limits: LoopLimits) -> list[ToolCall]:
    """Walk message and chunks side by side; give the calls. A call seen on both sides needs no second look.

    The limit of text was kept by the chunks, so a text that equals theirs keeps it too.
    """
    if len(message.content) > limits.max_model_blocks_per_step:
        raise ModelProtocolError(f"the response has more than {limits.max_model_blocks_per_step} blocks")
    told = _parts(message)
    if len(told) != len(streamed):
        raise ModelProtocolError("the response has other parts than the chunks")
    calls: list[ToolCall] = []
    for said, sent in zip(told, streamed, strict=True):
        if type(said) is ToolCall:
            if said is not sent:
                _check_call(said, sent, limits)
            calls.append(said)
        elif said != sent:
            raise ModelProtocolError("the text of the response is not that of the chunks")
    return calls


def _check_call(said: ToolCall, sent: Part, limits: LoopLimits) -> None:
    fault = arguments_fault(said.arguments, limits)
    if fault is not None:
        raise ModelProtocolError(fault)
    if (
        type(sent) is not ToolCall
        or said.id != sent.id
        or said.name != sent.name
        or not same_json(said.arguments, sent.arguments)
    ):
        raise ModelProtocolError("a tool call of the response is not that of the chunks")


def _parts(message: AssistantMessage) -> list[Part]:
    """Merge adjacent text blocks: how a text is cut up says nothing."""
    if len(message.content) == 1:
        block = message.content[0]
        return [block.text if type(block) is TextBlock else block]
    parts: list[Part] = []
    text: list[str] = []
    for block in message.content:
        if type(block) is TextBlock:
            text.append(block.text)
            continue
        if text:
            parts.append("".join(text))
            text = []
        if type(block) is ToolCall:
            parts.append(block)
    if text:
        parts.append("".join(text))
    return parts
