"""What a dialect is: which frames it recognises, and what it reads in them."""

from abc import ABC, abstractmethod
from typing import ClassVar

from ._response import Response


class Dialect(ABC):
    """Reads the frames of one response into a `Response`; one instance a body."""

    name: ClassVar[str]

    def __init__(self, response: Response) -> None:
        self.response = response

    @staticmethod
    @abstractmethod
    def recognises(name: str | None, frame: dict[str, object]) -> bool:
        """Whether a frame, with its SSE event name, belongs to this dialect (05D.60 to 05D.65)."""

    @abstractmethod
    def read(self, name: str | None, frame: dict[str, object]) -> None:
        """Read a recognised frame. Raises `BodyFault`."""

    def read_unknown(self, frame: dict[str, object]) -> None:  # noqa: B027  # most dialects have nothing to do
        """Read what little counts in a frame that is not recognised; nothing, in most dialects."""

    def body_said_done(self) -> None:  # noqa: B027  # as above
        """The body ended with `[DONE]`; called before the stop word is looked at."""

    def finish(self) -> None:  # noqa: B027  # as above
        """The body ended well: calls that are still open end now. Raises `BodyFault`."""


def kind_of(name: str | None, frame: dict[str, object]) -> str:
    """A frame's `type`, else its SSE event name, else the empty string."""
    kind = frame.get("type")
    return kind if type(kind) is str else name or ""
