"""Everything the command refuses, as one tree.

    KickwheelError           exit  raised when
    ├── RefusedError           2   wrong usage, or a request that would harm; nothing was changed
    ├── SurroundingsError      3   a tool is missing, the folder is damaged, the wrong code is under test
    └── CourseDataError        1   a fault in the course's own files (authors only); names file and line

`code` is a stable string and part of the interface; the wording of a message is not.
"""

from collections.abc import Callable

REFUSAL_CODES = (
    "USAGE",
    "UNKNOWN_CHECKPOINT",
    "UNKNOWN_TASK",
    "UNKNOWN_MUTANT",
    "NOT_A_PRACTICE_FOLDER",
    "FOLDER_NOT_EMPTY",
    "NEEDS_CONFIRMATION",
    "FIXTURE_UNREADABLE",
    "BREAK_PENDING",
)
FAULT_CODES = (
    "TOOL_MISSING",
    "STATE_UNREADABLE",
    "STATE_TOO_NEW",
    "WRONG_CODE_UNDER_TEST",
    "SITE_MISSING",
)


class KickwheelError(Exception):
    """A failure with a stable code, an exit code and a message for people.

    The message is a text, or, with values, the key of one: it is written out where the language is known.
    """

    exit_code = 1

    def __init__(self, code: str, message: str, /, **values: object) -> None:
        """Keep the code beside the text."""
        super().__init__(message)
        self.code = code
        self._message = message
        self._values = values

    def message(self, text: Callable[..., str]) -> str:
        """The message in a language; `text` looks up a key and fills its placeholders."""
        return text(self._message, **self._values) if self._values else self._message


class RefusedError(KickwheelError):
    """Wrong usage, or a request that was declined; nothing was changed (exit 2)."""

    exit_code = 2


class SurroundingsError(KickwheelError):
    """The surroundings do not allow the work: a missing tool, a damaged folder, foreign code (exit 3)."""

    exit_code = 3


class CourseDataError(KickwheelError):
    """A fault in the course's own data or in a region of a package's source (exit 1)."""

    def __init__(self, file: str, line: int | None, reason: str) -> None:
        """Name the place first: whoever reads this has to open that file."""
        place = file if line is None else f"{file}:{line}"
        super().__init__("COURSE_DATA", f"{place}: {reason}")
        self.file = file
        self.line = line
        self.reason = reason
