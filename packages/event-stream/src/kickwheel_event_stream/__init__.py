"""A single-consumer event stream with one terminal result, and an abort signal as data."""

from kickwheel_event_stream._abort import AbortController, AbortSignal
from kickwheel_event_stream._claim import claim_iterator
from kickwheel_event_stream._errors import AbortError, StreamBusyError, StreamClosedError
from kickwheel_event_stream._race import race_abort
from kickwheel_event_stream._stream import EventStream

__all__ = [
    "AbortController",
    "AbortError",
    "AbortSignal",
    "EventStream",
    "StreamBusyError",
    "StreamClosedError",
    "claim_iterator",
    "race_abort",
]
