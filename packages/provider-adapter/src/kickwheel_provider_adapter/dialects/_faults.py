"""What can be wrong with a body, as codes of a `transport_error`.

Exception
└── BodyFault        internal: ends the body with one transport_error, never leaves a decoder
"""

from typing import Final

LENGTH: Final = "length"
CONTENT_FILTER: Final = "content_filter"
ERROR: Final = "error"
OTHER: Final = "other"
REFUSAL: Final = "refusal"
INVALID_ARGUMENTS: Final = "invalid_arguments"
INVALID_JSON: Final = "invalid_json"
INVALID_UTF8: Final = "invalid_utf8"
INVALID_EVENT: Final = "invalid_event"
TOO_LARGE: Final = "too_large"
UNKNOWN_FORMAT: Final = "unknown_format"

CODES: Final = (
    LENGTH,
    CONTENT_FILTER,
    ERROR,
    OTHER,
    REFUSAL,
    INVALID_ARGUMENTS,
    INVALID_JSON,
    INVALID_UTF8,
    INVALID_EVENT,
    TOO_LARGE,
    UNKNOWN_FORMAT,
)
"""Every code made here; all others are the provider's own (05D.69)."""


class BodyFault(Exception):  # noqa: N818  # the body is at fault, nobody made an error
    """The body cannot be read on; `code` and the text become its one `transport_error`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid_event(where: str, expected: str) -> BodyFault:
    """A field that the dialect reads has another JSON type than `expected` (05D.67)."""
    return BodyFault(INVALID_EVENT, f"{where} is not {expected}")
