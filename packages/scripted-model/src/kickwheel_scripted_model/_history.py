"""What was asked of a model and what came of it: the evidence that its errors carry."""

from typing import Final

from kickwheel_protocol import ModelRequest

OPEN: Final = "open"
ABORTED: Final = "aborted"

LINES: Final = 20  # 04.B8: a screenful; a script of thousands must not drown the error
ID_LIMIT: Final = 80  # a longer request id is cut in a line, so that a line stays a line


class History:
    """Requests and outcomes by call number, from 1. It holds two references a call."""

    __slots__ = ("_outcomes", "_requests", "_seen")

    def __init__(self) -> None:
        self._requests: list[ModelRequest] = []
        self._outcomes: list[str] = []
        self._seen: tuple[ModelRequest, ...] = ()

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """All requests so far; one tuple until the next call."""
        if len(self._seen) != len(self._requests):
            self._seen = tuple(self._requests)
        return self._seen

    def begin(self, request: ModelRequest) -> int:
        """Capture a call and give its number."""
        self._requests.append(request)
        self._outcomes.append(OPEN)
        return len(self._requests)

    def take_back(self) -> None:
        """Forget the last call: it could not even start."""
        self._requests.pop()
        self._outcomes.pop()

    def settle(self, number: int, outcome: str) -> None:
        """Write down an outcome: the response id, a code, `aborted`, or `error <class name>`."""
        self._outcomes[number - 1] = outcome

    def outcome(self, number: int) -> str:
        """Tell what a call came to; `open` if it is still running."""
        return self._outcomes[number - 1]

    def numbers(self, outcome: str) -> tuple[int, ...]:
        """List the calls that came to this."""
        return tuple([number for number, each in enumerate(self._outcomes, 1) if each == outcome])

    def lines(self, failing: int | None) -> tuple[str, ...]:
        """Spell the last calls, one a line, preceded by the failing one if it is older."""
        last = len(self._requests)
        numbers = list(range(max(1, last - LINES + 1), last + 1))
        if failing is not None and failing < numbers[0]:
            numbers.insert(0, failing)
        return tuple([self._line(number) for number in numbers])

    def _line(self, number: int) -> str:
        return f"{number}. {self._requests[number - 1].id[:ID_LIMIT]} -> {self._outcomes[number - 1]}"
