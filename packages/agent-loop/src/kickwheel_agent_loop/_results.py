"""The terminal result: what a failure, an abort or an answer becomes. Everything here is data, nothing is
raised.
"""

from typing import Final

from kickwheel_agent_loop._failures import (
    ModelProtocolError,
    ModelStreamError,
    RunErrorCode,
    ToolPhaseError,
    TranscriptError,
)
from kickwheel_event_stream import AbortError
from kickwheel_protocol import FailedRun, Message, RunError

CANCELLED_TEXT: Final = "The run was cancelled"
"""The reason when the signal's reason has no text of its own."""
LEFT_EARLY_TEXT: Final = "The run was left before its end"
"""The reason of a run whose `async with` block was left, or whose task was cancelled."""


def reason_text(reason: object) -> str:
    """Give the text of an abort: never blank, and never an error, whatever the reason is."""
    # [solution 07.2]
    if isinstance(reason, AbortError) and reason.reason is not None:
        carried = reason.reason
        return text_of(carried, CANCELLED_TEXT) if isinstance(carried, str) else CANCELLED_TEXT
    return text_of(reason, CANCELLED_TEXT)
    # [/solution]


def text_of(error: object, fallback: str) -> str:
    """Give `str(error)`, or the fallback if that raises, is blank or is no exact `str`."""
    try:
        text = str.__str__(str(error))  # the exact type, whatever the error's own code gives
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # an error's own code may fail in any way; it does not replace the outcome
        return fallback
    return fallback if is_blank(text) else text


def is_blank(text: str) -> bool:
    """Tell whether nothing is to be seen: white space and byte order marks only."""
    return not text.replace("\ufeff", "").strip()


def failed(messages: tuple[Message, ...], code: RunErrorCode, text: str) -> FailedRun:
    """Build the result of a failed run."""
    return FailedRun(messages, RunError(code, text))


def failure_parts(error: BaseException) -> tuple[RunErrorCode, str]:
    """Map what was raised to a code and a text, in the order protocol, stream, tool phase, other."""
    if isinstance(error, TranscriptError):
        return "INVALID_TRANSCRIPT", str(error)
    if isinstance(error, ModelProtocolError):
        return "MODEL_PROTOCOL_ERROR", str(error)
    if isinstance(error, ModelStreamError):
        return "MODEL_STREAM_FAILED", _described(error.error, "The model stream failed")
    if isinstance(error, ToolPhaseError):
        return "TOOL_EXECUTION_FAILED", _described(error.error, "A tool stopped the run")
    return "AGENT_RUNTIME_FAILED", _described(error, "The run failed")


def _described(error: BaseException, what: str) -> str:
    return text_of(error, f"{what}: {type(error).__name__}")
