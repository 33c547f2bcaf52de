"""The ports that outer packages fill. They are structural: nothing has to import them in order to fit."""

from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Protocol

from ._model import ModelChunk, ModelRequest, ModelResponse


class Signal(Protocol):
    """A port: a request to stop, as data (checkpoint 01). It is raised at most once and stays raised."""

    @property
    def aborted(self) -> bool:
        """Whether the request to stop has been made."""
        ...

    @property
    def reason(self) -> Exception | None:
        """What `raise_if_aborted` raises; nothing before the abort."""
        ...

    def raise_if_aborted(self) -> None:
        """Raise the reason once aborted; do nothing before."""
        ...

    def wait(self) -> Awaitable[object]:
        """Return what is awaited until the abort."""
        ...

    def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
        """Have a function called once at the abort, at once if it is past; return what takes it back."""
        ...


class ModelStream(Protocol):
    """A port: one answer of a model while it arrives (checkpoint 01).

    Iterate for the chunks, await `result` for the whole, and leave `async with` to let go of its producer.
    """

    def __aiter__(self) -> AsyncIterator[ModelChunk]:
        """Return the iterator over the chunks; a stream has one consumer."""
        ...

    @property
    def result(self) -> Awaitable[ModelResponse]:
        """The complete answer; may be awaited any number of times."""
        ...

    async def __aenter__(self) -> "ModelStream":
        """Start to own the stream."""
        ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> bool | None:
        """Close the stream and its producer."""
        ...


class Model(Protocol):
    """A port: answers requests (checkpoint 01)."""

    def stream(self, request: ModelRequest, signal: Signal | None = None) -> ModelStream:
        """Begin to answer; returns at once."""
        ...
