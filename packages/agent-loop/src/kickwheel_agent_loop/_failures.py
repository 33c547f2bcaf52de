"""What ends a run early, inside the loop. None of these leaves it: each becomes a result (checkpoint 07).

    Exception
    ├── TranscriptError     the starting transcript is not valid                         → INVALID_TRANSCRIPT
    ├── RunStoppedError     the run signal is aborted, or its task was cancelled         → CancelledRun
    ├── ModelProtocolError  the model broke the contract of `ModelStream`                →
    MODEL_PROTOCOL_ERROR ├── ModelStreamError    the model's stream raised; it carries what
    → MODEL_STREAM_FAILED └── ToolPhaseError      a tool said that the run must not go on; it carries what
    → TOOL_EXECUTION_FAILED

Whatever else is raised in the loop is `AGENT_RUNTIME_FAILED`. An error while the caller's signal is read is
noted in the run itself, because it may come inside somebody else's `abort()`: `SIGNAL_ACCESS_FAILED`.
"""

from typing import Literal, TypeAlias

RunErrorCode: TypeAlias = Literal[
    "INVALID_TRANSCRIPT",
    "MODEL_PROTOCOL_ERROR",
    "MODEL_STREAM_FAILED",
    "TOOL_EXECUTION_FAILED",
    "AGENT_RUNTIME_FAILED",
    "SIGNAL_ACCESS_FAILED",
]
"""The codes of a `FailedRun`: what a consumer branches on."""


class TranscriptError(Exception):
    """The text is that of the first finding."""


class RunStoppedError(Exception):
    """Nothing more may be published."""


class ModelProtocolError(Exception):
    """The text says what the model did."""


class ModelStreamError(Exception):
    """Carries what the model raised."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class ToolPhaseError(Exception):
    """Carries what the tool phase raised."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error
