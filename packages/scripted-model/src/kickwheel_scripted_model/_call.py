"""One call of a scripted model: what its production takes, accepts and refuses."""

import asyncio
from types import AsyncGeneratorType

from kickwheel_event_stream import AbortSignal, claim_iterator
from kickwheel_event_stream.production import Producer
from kickwheel_protocol import (
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Signal,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
)

from ._check import stream_fault
from ._errors import ScriptedModelError, ScriptedModelErrorCode
from ._history import ABORTED, OPEN
from ._lines import ScriptedLine
from ._script import Script

_NEVER = AbortSignal.never()


class Call(Producer[ModelChunk, ModelResponse]):
    """One `stream()` call while it runs."""

    __slots__ = ("_script", "_signal", "_streamed", "_terminal", "number", "request")

    def __init__(
        self, script: Script, request: ModelRequest, signal: Signal | None, check_stream: bool
    ) -> None:
        self.number = script.history.begin(request)
        self.request = request
        self._script = script
        self._signal = signal
        self._streamed: list[ModelChunk] | None = [] if check_stream else None
        self._terminal: ModelResponse | None = None

    # The hooks of production, in the order in which they are called.

    def open(self) -> object:
        """Take the next response and call it: the abort has been looked at, nothing else has happened."""
        # [solution 04.2]
        script, signal = self._script, self._signal
        if not script.queue:
            raise self._error("SCRIPT_EXHAUSTED", "no response is left for this call")
        script.used += 1  # for good: a response is never put back
        factory = script.queue.popleft()
        if isinstance(factory, ScriptedLine):
            return factory.play(self.request, self.number, script.numbering, pausing=signal is not None)
        source: object = factory(self.request, _NEVER if signal is None else signal)
        kind = type(source)
        return source if kind is AsyncGeneratorType else self._iterable(source)
        # [/solution]

    def _iterable(self, source: object) -> object:
        """Refuse what a factory must not return; a coroutine is closed, because nobody will await it."""
        # [solution 04.4]
        if getattr(type(source), "__aiter__", None) is None:
            if asyncio.iscoroutine(source):
                source.close()
            raise TypeError(
                f"{self._place()}: the factory returned an object of type {type(source).__name__}, "
                "not an async iterator"
            )
        return source
        # [starter]
        # return source
        # [/solution]

    def own(self, iterator: object, /) -> None:
        """Make sure that this iterator has never served another call, here or anywhere."""
        # [solution 04.4]
        if not claim_iterator(iterator):
            raise self._error(
                "SCRIPT_ITERATOR_REUSED", "the factory returned an iterator that has served a call"
            )
        # [starter]
        # return
        # [/solution]

    def accept(self, item: object, /) -> ModelChunk | None:
        """Let a chunk through; keep the terminal, and refuse whatever comes after it."""
        # [solution 04.3]
        if self._terminal is not None:
            raise self._error("SCRIPT_INVALID_RESPONSE", "the script goes on after its response")
        if type(item) is TextDeltaChunk or type(item) is ToolCallChunk:
            if item.request_id != self.request.id:
                raise self._mismatch("chunk", item.request_id)
            if self._streamed is not None:
                self._streamed.append(item)
            return item
        if type(item) is ModelResponse:
            self._terminal = self._checked(item)
            return None
        raise TypeError(
            f"{self._place()}: the script yielded an object of type {type(item).__name__}, "
            "not a TextDeltaChunk, ToolCallChunk or ModelResponse"
        )
        # [/solution]

    def finish(self) -> ModelResponse:
        """Give the terminal; a script that ends without one has answered nothing."""
        # [solution 04.3]
        if self._terminal is None:
            raise self._error("SCRIPT_INVALID_RESPONSE", "the script ended without a response")
        return self._terminal
        # [/solution]

    def settled(self, error: Exception | None, aborted: bool, /) -> None:
        """Write down what the call came to."""
        history, number = self._script.history, self.number
        if aborted:
            history.settle(number, ABORTED)
        elif self._terminal is not None and error is None:
            history.settle(number, self._terminal.id)
        elif history.outcome(number) == OPEN:  # else it is the code of an error that this call made
            history.settle(number, f"error {type(error).__name__}")

    # What can be wrong with a terminal, in the order in which it is reported.

    def _checked(self, response: ModelResponse) -> ModelResponse:
        # [solution 04.3]
        if response.request_id != self.request.id:
            raise self._mismatch("response", response.request_id)
        calls = 0
        for block in response.message.content:
            if type(block) is ToolCall:
                calls += 1
        if (response.stop_reason == "toolCall") != (calls > 0):
            raise self._error(
                "SCRIPT_INVALID_RESPONSE", f"stop reason {response.stop_reason} with {calls} tool calls"
            )
        # [/solution]
        fault = None if self._streamed is None else stream_fault(self._streamed, response.message)
        if fault is not None:
            raise self._error("SCRIPT_INVALID_RESPONSE", fault)
        return response

    # Errors that name the call and the script.

    def _mismatch(self, what: str, request_id: str) -> ScriptedModelError:
        return self._error("SCRIPT_REQUEST_MISMATCH", f"a {what} for {request_id!r} answers this request")

    def _error(self, code: ScriptedModelErrorCode, text: str) -> ScriptedModelError:
        self._script.history.settle(self.number, code)
        return self._script.error(code, f"{self._place()}: {text}", self.number)

    def _place(self) -> str:
        return f"call {self.number} ({self.request.id})"
