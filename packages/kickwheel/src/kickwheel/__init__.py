"""The kickwheel command line: trace an agent run, and take the course checkpoint by checkpoint.

The names below are those of checkpoint 00: one fixed, complete agent trace to read before anything is built.
They load at first use, so that the command starts fast.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kickwheel._prologue import (
        AgentEnded,
        FinalTextCompleted,
        ModelStreamOpened,
        PrologueEvent,
        PrologueResult,
        PrologueRun,
        ToolCallCompleted,
        ToolExecutionStarted,
        ToolResultAppended,
        UserMessageAccepted,
        run_prologue,
    )

__all__ = [
    "AgentEnded",
    "FinalTextCompleted",
    "ModelStreamOpened",
    "PrologueEvent",
    "PrologueResult",
    "PrologueRun",
    "ToolCallCompleted",
    "ToolExecutionStarted",
    "ToolResultAppended",
    "UserMessageAccepted",
    "run_prologue",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        from kickwheel import _prologue

        value: object = getattr(_prologue, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
