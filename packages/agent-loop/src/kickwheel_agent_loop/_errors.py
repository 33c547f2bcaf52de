"""The errors of this package.

    Exception
    ├── ToolContractError          the caller's mistake: a bad definition, batch or call     (checkpoint 06)
    └── NonRecoverableToolError    the tool's own stop: never turned into a result message   (checkpoint 06)

Everything else that goes wrong inside a tool is data: a result message whose content holds one of the
recoverable codes. `code` is part of the API; the wording is not.
"""

from typing import Final, Literal, TypeAlias

ToolContractCode: TypeAlias = Literal[
    "INVALID_TOOL_DEFINITION",  # name, description, validate, execute or parameters break the contract
    "INVALID_TOOL_BATCH",  # tools were not given as an exact list or tuple
    "DUPLICATE_TOOL_NAME",  # a name is taken, in the registry or in the batch itself
    "INVALID_TOOL_CALL",  # no registry, or no genuine `ToolCall` record
]

TOOL_NOT_FOUND: Final = "TOOL_NOT_FOUND"
TOOL_ARGUMENTS_INVALID: Final = "TOOL_ARGUMENTS_INVALID"
TOOL_VALIDATION_FAILED: Final = "TOOL_VALIDATION_FAILED"
TOOL_EXECUTION_FAILED: Final = "TOOL_EXECUTION_FAILED"
TOOL_OUTPUT_SERIALIZATION_FAILED: Final = "TOOL_OUTPUT_SERIALIZATION_FAILED"
RECOVERABLE_TOOL_CODES: Final = (
    TOOL_NOT_FOUND,
    TOOL_ARGUMENTS_INVALID,
    TOOL_VALIDATION_FAILED,
    TOOL_EXECUTION_FAILED,
    TOOL_OUTPUT_SERIALIZATION_FAILED,
)
"""The codes inside error content, found nowhere else: the model may read them and try again."""


class ToolContractError(Exception):
    """The caller broke the tool contract; nothing was changed and no tool ran (checkpoint 06).

    `code` is one of `INVALID_TOOL_DEFINITION`, `INVALID_TOOL_BATCH`, `DUPLICATE_TOOL_NAME`,
    `INVALID_TOOL_CALL`. When code of a definition raised, that error is the `__cause__`.
    """

    def __init__(self, code: ToolContractCode, message: str) -> None:
        super().__init__(code, message)
        self._code: ToolContractCode = code
        self._message = message

    @property
    def code(self) -> ToolContractCode:
        """The stable part; cannot be assigned."""
        return self._code

    def __str__(self) -> str:
        return self._message


class NonRecoverableToolError(Exception):
    """Raised by a tool to say: do not show this to the model, stop (checkpoint 06).

    `execute_tool_call` raises the same object again, also out of an exception group, and makes no result
    message of it. It may be subclassed; another exception with the same name, code or text is not one.
    """

    @property
    def code(self) -> Literal["NON_RECOVERABLE_TOOL_ERROR"]:
        """The stable part; cannot be assigned."""
        return "NON_RECOVERABLE_TOOL_ERROR"
