"""The offline provider: recorded responses behind the same stream as every model (checkpoint 05)."""

import asyncio
import os
from collections import deque
from typing import Self

from kickwheel_event_stream import EventStream, claim_iterator
from kickwheel_event_stream.production import Producer, start_production
from kickwheel_protocol import ModelChunk, ModelRequest, ModelResponse, Signal

from ._errors import FixtureProviderError
from ._file import DEFAULT_MAX_BYTES, invalid_file, read_file
from ._fixture import RecordSource, read_fixture
from ._parser import ResponseParser, checked_request_id


class FixtureProviderAdapter:
    """Plays the responses of a fixture, in order, as checked chunks and responses (checkpoint 05).

    `fixture` is untrusted data of schema version 1: `{"schemaVersion": 1, "responses": [{"records": …},
    …]}`, where `records` is an array, copied now, or an async source, opened when its turn comes. Anything
    else is a `FixtureProviderError` with `PROVIDER_INVALID_FIXTURE`. No network, no clock, no randomness.

    It fits the protocol's `Model`. Responses are taken first in, first out, and a response that was taken
    is never put back, whatever becomes of its stream.
    """

    def __init__(self, fixture: object) -> None:
        self._queue: deque[RecordSource] = deque(read_fixture(fixture))
        self._call_count = 0

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_MAX_BYTES) -> Self:
        """Make an adapter from a JSON file in UTF-8; reads it once, synchronously, and closes it.

        Raises the operating system's `OSError` when the file cannot be read, and `FixtureProviderError`
        with `PROVIDER_INVALID_FIXTURE` when it can but holds no fixture: not UTF-8, not JSON, a key twice
        in one object, `NaN` or an infinity, more than `max_bytes` bytes (default 64 MiB), or data that the
        constructor refuses. The text names the path, and line and column where there is one; `__cause__`
        keeps the cause. `max_bytes` that is no positive `int` is a `TypeError` or `ValueError`.
        """
        fixture = read_file(path, max_bytes)
        try:
            return cls(fixture)
        except FixtureProviderError as error:
            raise invalid_file(os.fsdecode(path), str(error)) from error

    @property
    def call_count(self) -> int:
        """How many calls of `stream` were accepted, whatever became of them."""
        return self._call_count

    @property
    def pending_response_count(self) -> int:
        """How many responses are still queued."""
        return len(self._queue)

    def stream(
        self, request: ModelRequest, signal: Signal | None = None
    ) -> EventStream[ModelChunk, ModelResponse]:
        """Start the next response; of the request only its `id` is read.

        Returns at once. At the next turn of the event loop the response is taken from the queue, unless
        `signal` has aborted by then: then it stays. Iterating the stream and awaiting its `result` fail
        with the same error object: `FixtureProviderError`, or the reason of the abort.

        Raises `TypeError` or `ValueError` for a request without a usable id, `TypeError` for something that
        is no signal, and `RuntimeError` without a running event loop; none of these counts as a call.
        """
        request_id = _request_id(request)
        if signal is not None and not callable(getattr(signal, "add_callback", None)):
            raise TypeError("signal must be an abort signal, such as the `.signal` of an AbortController")
        # [solution 05.4]
        asyncio.get_running_loop()  # raises before anything has changed
        stream = start_production(_Playback(self._queue, request_id), signal)
        self._call_count += 1
        return stream
        # [/solution]


class _Playback(Producer[ModelChunk, ModelResponse]):
    """What one stream does with one response."""

    def __init__(self, queue: deque[RecordSource], request_id: str) -> None:
        self._queue = queue
        self._parser = ResponseParser(request_id)

    def open(self) -> RecordSource:
        """Take the next response: the first act of production, so an earlier abort leaves it queued."""
        # [solution 05.4]
        if not self._queue:
            raise FixtureProviderError("PROVIDER_EXHAUSTED", "the fixture has no response left")
        return self._queue.popleft()
        # [/solution]

    def own(self, iterator: object) -> None:
        """Refuse an iterator that any stream of this process has owned before."""
        # [solution 05.5]
        if not claim_iterator(iterator):
            raise FixtureProviderError(
                "PROVIDER_ITERATOR_REUSED", "the source's iterator belongs to another response already"
            )
        # [/solution]

    def accept(self, item: object) -> ModelChunk | None:
        """Parse one record."""
        return self._parser.feed(item)

    def finish(self) -> ModelResponse:
        """Make the response once the source has ended, and not before: a later record can still spoil it."""
        return self._parser.close()

    def source_error(self, error: Exception) -> Exception:
        """Make a source's failure ours: what it raises proves nothing, not even an error of our class."""
        # [solution 05.5]
        failure = FixtureProviderError("PROVIDER_INVALID_FIXTURE", "the record source failed")
        failure.__cause__ = error
        return failure
        # [/solution]


def _request_id(request: ModelRequest) -> str:
    try:
        value: object = (
            request.id
        )  # read once: whatever stands in for a request may answer differently next time
    except Exception as error:
        raise TypeError("the request must have an id") from error
    return checked_request_id(value)
