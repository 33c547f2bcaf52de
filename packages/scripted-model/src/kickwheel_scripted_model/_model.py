"""The scripted model: a queue of responses, a record of calls, and one production a call."""

from collections import deque
from collections.abc import Sequence
from typing import cast

from kickwheel_event_stream import EventStream
from kickwheel_event_stream.production import start_production
from kickwheel_protocol import ModelChunk, ModelRequest, ModelResponse, Signal

from ._call import Call
from ._script import Script
from ._types import ScriptedResponseFactory


class ScriptedModel:
    """A finite, deterministic stand-in for a model (checkpoint 04); fits the port `kickwheel_protocol.Model`.

    `responses` is a list or tuple of factories, copied; each call takes at most one, first in, first out. A
    call too many fails with `SCRIPT_EXHAUSTED`, when iterated and when its result is awaited: nothing is
    ever invented or repeated. With `check_stream=True` a response must also say exactly what was streamed
    before it.

    Nothing here reads a clock, a random number, the environment or a network. Not thread-safe.
    """

    def __init__(
        self, responses: Sequence[ScriptedResponseFactory] = (), *, check_stream: bool = False
    ) -> None:
        if type(check_stream) is not bool:
            raise TypeError(f"check_stream must be a bool, not {type(check_stream).__name__}")
        self._script = Script(_checked(responses))
        self._check_stream = check_stream

    @property
    def call_count(self) -> int:
        """How many `stream()` calls were attempted; refused and aborted ones count."""
        return len(self._script.history)

    @property
    def pending_response_count(self) -> int:
        """How many responses are still queued."""
        return len(self._script.queue)

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """The request of every attempted call, in call order: the callers' own, immutable objects."""
        return self._script.history.requests

    @property
    def exhausted_calls(self) -> tuple[int, ...]:
        """The numbers of the calls that found the queue empty, in call order."""
        return self._script.history.numbers("SCRIPT_EXHAUSTED")

    def set_responses(self, responses: Sequence[ScriptedResponseFactory]) -> None:
        """Replace the queue, or change nothing: `TypeError` names the first entry that is not callable.

        Running streams, counts and captured requests stay as they are.
        """
        # [solution 04.1]
        self._script.queue = deque(_checked(responses))
        # [/solution]

    def append_response(self, response: ScriptedResponseFactory) -> None:
        """Queue one more response behind the others. Raises `TypeError` if it is not callable."""
        # [solution 04.1]
        _check_factory(response, "response")
        self._script.queue.append(response)
        # [/solution]

    def stream(
        self, request: ModelRequest, signal: Signal | None = None
    ) -> EventStream[ModelChunk, ModelResponse]:
        """Count and capture the call at once, and answer it from the next loop turn on.

        The stream gives the response's chunks in order, its `result` the response. Both fail with one
        error: the abort error if the signal was first, a `ScriptedModelError`, a `TypeError` for a wrong
        shape, or whatever the script raised. A response once taken is not put back. Raises `TypeError` for
        something that is not a `ModelRequest`, and `RuntimeError` without a running loop; then nothing was
        counted.
        """
        # [solution 04.2]
        if type(request) is not ModelRequest:
            raise TypeError(f"request must be a ModelRequest, not {type(request).__name__}")
        if signal is not None and not callable(getattr(signal, "add_callback", None)):
            raise TypeError(f"signal must be a Signal or None, not {type(signal).__name__}")
        call = Call(self._script, request, signal, self._check_stream)
        try:
            return start_production(call, signal)
        except BaseException:
            self._script.history.take_back()
            raise
        # [/solution]

    def assert_complete(self) -> None:
        """Raise `SCRIPT_UNUSED` if responses are still queued. Call it when the streams have settled."""
        script = self._script
        if script.queue:
            raise script.error("SCRIPT_UNUSED", f"{script.used} used, {len(script.queue)} unused", None)


def _checked(responses: object) -> tuple[ScriptedResponseFactory, ...]:
    """Copy a list of factories, whole or not at all."""
    # [solution 04.1]
    if type(responses) is not list and type(responses) is not tuple:
        raise TypeError(f"responses must be a list or a tuple, not {type(responses).__name__}")
    copied = tuple(cast("list[ScriptedResponseFactory]", responses))
    for index, response in enumerate(copied):
        _check_factory(response, f"responses[{index}]")
    return copied
    # [/solution]


def _check_factory(value: object, place: str) -> None:
    if not callable(value):
        raise TypeError(f"{place} must be callable, not an object of type {type(value).__name__}")
