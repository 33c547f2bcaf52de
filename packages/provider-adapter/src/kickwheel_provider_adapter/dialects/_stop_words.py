"""What a provider's finish reason means here (05D.44): one table for every dialect."""

from typing import Final, Literal

StopClass = Literal["stop", "tool_call", "length", "content_filter", "error", "other"]

_WORDS: Final[dict[StopClass, tuple[str, ...]]] = {
    "stop": ("stop", "end_turn", "stop_sequence", "eos", "STOP", "completed", "COMPLETE"),
    "tool_call": ("tool_calls", "tool_use", "function_call", "TOOL_CALL"),
    "length": (
        "length",
        "max_tokens",
        "MAX_TOKENS",
        "max_output_tokens",
        "model_context_window_exceeded",
        "model_length",
    ),
    "content_filter": (
        "content_filter",
        "content_filtered",
        "refusal",
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "MODEL_ARMOR",
        "guardrail_intervened",
    ),
    "error": ("error", "failed", "MALFORMED_FUNCTION_CALL"),
}

STOP_CLASSES: Final[dict[str, StopClass]] = {word: kind for kind, words in _WORDS.items() for word in words}
"""Finish reason, as sent, to its class; a word that is not here has class `other`, `pause_turn` included."""


def stop_class(word: str) -> StopClass:
    """The class of a finish reason: only `stop` and `tool_call` let a response end well."""
    return STOP_CLASSES.get(word, "other")
