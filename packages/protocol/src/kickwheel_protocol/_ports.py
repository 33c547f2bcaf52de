"""The ports that outer packages fill."""

from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Protocol

from ._model import ModelChunk, ModelRequest, ModelResponse


class Signal(Protocol):
    """A request to stop."""

    @property
    def aborted(self) -> bool:
        """Whether."""
        ...

    @property
    def reason(self) -> Exception | None:
        """Why."""
        ...

    def raise_if_aborted(self) -> None:
        """Raise."""
        ...

    def wait(self) -> Awaitable[object]:
        """Wait."""
        ...

    def add_callback(self, callback: Callable[[], object], /) -> Callable[[], object]:
        """Call."""
        ...


class ModelStream(Protocol):
    """One answer."""

    def __aiter__(self) -> AsyncIterator[ModelChunk]:
        """Iterate."""
        ...

    @property
    def result(self) -> Awaitable[ModelResponse]:
        """Result."""
        ...

    async def __aenter__(self) -> object:
        """Enter."""
        ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> bool | None:
        """Exit."""
        ...


class Model(Protocol):
    """A model."""

    def stream(self, request: ModelRequest, signal: Signal | None = None) -> ModelStream:
        """Stream."""
        ...
