"""What ends a run early, inside the loop. None of these leaves it: each becomes a result (checkpoint 07).

    Exception
    ├── RunStopped       the run signal is aborted, or its task was cancelled      → CancelledRun
    ├── ProtocolFault    the model broke the contract of `ModelStream`             → MODEL_PROTOCOL_ERROR
    ├── StreamFault      the model's stream raised; the error is the cause         → MODEL_STREAM_FAILED
    ├── ToolFault        a tool said that the run must not go on                   → TOOL_EXECUTION_FAILED
    └── TranscriptFault  the starting transcript is not valid                      → INVALID_TRANSCRIPT

Whatever else is raised in the loop is `AGENT_RUNTIME_FAILED`. An error while the caller's signal is read is noted in
the run itself, because it may come inside somebody else's `abort()`: `SIGNAL_ACCESS_FAILED`.
"""

from typing import Final, Literal, TypeAlias

RunErrorCode: TypeAlias = Literal[
    "INVALID_TRANSCRIPT",
    "MODEL_PROTOCOL_ERROR",
    "MODEL_STREAM_FAILED",
    "TOOL_EXECUTION_FAILED",
    "AGENT_RUNTIME_FAILED",
    "SIGNAL_ACCESS_FAILED",
]
"""The codes of a `FailedRun`: what a consumer branches on."""


class RunStopped(Exception):
    """Nothing more may be published."""


class ProtocolFault(Exception):
    """The text says what the model did."""


class StreamFault(Exception):
    """Carries what the model raised."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error: Final = error


class ToolFault(Exception):
    """Carries what the tool phase raised."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error: Final = error


class TranscriptFault(Exception):
    """The text is that of the first finding."""
