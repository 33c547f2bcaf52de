"""What a reader of a framing hands on: one JSON object at a time."""

from collections.abc import Callable

import msgspec

from ._faults import INVALID_EVENT, TOO_LARGE, BodyFault
from ._json import parse_json

FrameSink = Callable[[str | None, dict[str, object], bool], None]
"""Takes the event name (SSE only), the frame, and whether its strings may hold lone surrogates."""


def parse_frame(data: bytes) -> tuple[dict[str, object], bool]:
    """One complete frame as an object, and whether its strings may hold lone surrogates.

    Raises `BodyFault` with `invalid_utf8`, `invalid_json`, or `invalid_event` when it is JSON but no object.
    """
    value, surrogates = parse_json(data)
    if type(value) is not dict:
        raise not_an_object()
    return value, surrogates  # pyright: ignore[reportUnknownVariableType]  # JSON keys are strings


def parse_fast(data: bytes) -> dict[str, object] | None:
    """The same for data that may not be complete: `None` unless the fast parser takes it as one object."""
    try:
        value: object = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):  # older msgspec lets the second one out
        return None
    return value if type(value) is dict else None  # pyright: ignore[reportUnknownVariableType]  # as above


def not_an_object() -> BodyFault:
    """A frame that is JSON but no object (05D.24)."""
    return BodyFault(INVALID_EVENT, "The frame is JSON but no object")


def too_large(what: str, limit: int) -> BodyFault:
    """A line, an event's data or one JSON object is longer than `limit` bytes (05D.25)."""
    return BodyFault(TOO_LARGE, f"{what} is longer than {limit} bytes")
