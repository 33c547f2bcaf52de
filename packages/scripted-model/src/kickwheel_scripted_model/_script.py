"""The state of one model: what is still to be played, what was played, and what came of it."""

from collections import deque
from collections.abc import Iterable

from ._errors import ScriptedModelError, ScriptedModelErrorCode
from ._history import History
from ._lines import Numbering
from ._types import ScriptedResponseFactory


class Script:
    """The queue and the evidence of one model, shared with its running calls."""

    __slots__ = ("history", "numbering", "queue", "used")

    def __init__(self, responses: Iterable[ScriptedResponseFactory]) -> None:
        self.queue = deque(responses)
        self.history = History()
        self.numbering = Numbering()
        self.used = 0

    def error(self, code: ScriptedModelErrorCode, text: str, number: int | None) -> ScriptedModelError:
        """Build an error with the evidence of this moment."""
        return ScriptedModelError(
            code,
            text,
            call_number=number,
            used=self.used,
            pending=len(self.queue),
            script=self.history.lines(number),
        )
