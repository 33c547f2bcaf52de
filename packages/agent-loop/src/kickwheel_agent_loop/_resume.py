"""From a run that stopped half way back to a transcript that a new run accepts (checkpoint 07)."""

from collections.abc import Sequence

from kickwheel_protocol import AssistantMessage, Message, ToolResultMessage, UserMessage, validate_transcript


def resumable_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Give the longest prefix of a transcript that is a valid transcript by itself.

    Of a cancelled or failed run this drops the assistant message with unanswered calls and what follows it;
    nothing is made up in its place. A tuple that is valid already comes back as the same object.
    """
    transcript = tuple(messages)
    if not validate_transcript(transcript):
        return transcript
    ends = _answered_ends(transcript)
    # A fault stays a fault however much follows, so the valid ones among these prefixes are the shortest
    # ones.
    valid, invalid = 0, len(ends)
    while invalid - valid > 1:
        middle = (valid + invalid) // 2
        if validate_transcript(transcript[: ends[middle]]):
            invalid = middle
        else:
            valid = middle
    return transcript[: ends[valid]]


def _answered_ends(transcript: tuple[Message, ...]) -> list[int]:
    """The lengths, from 0 on, at which no call waits for its result; as far as that can be told."""
    ends = [0]
    waiting: set[str] = set()
    for length, message in enumerate(transcript, start=1):
        if type(message) is AssistantMessage:
            waiting.update(call.id for call in message.tool_calls)
        elif type(message) is ToolResultMessage:
            if message.tool_call_id not in waiting:
                break
            waiting.remove(message.tool_call_id)
        elif type(message) is not UserMessage:
            break
        if not waiting:
            ends.append(length)
    return ends
