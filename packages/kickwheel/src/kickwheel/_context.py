"""What every verb receives: the output, the language, and the practice folder if there is one."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kickwheel._errors import RefusedError
from kickwheel._messages import Messages
from kickwheel._output import Output

if TYPE_CHECKING:
    from kickwheel._practice import Practice


@dataclass(frozen=True, slots=True)
class Context:
    """The surroundings of one call."""

    out: Output
    text: Messages
    practice: "Practice | None"
    base: Path

    def need_practice(self) -> "Practice":
        """The practice folder, or `NOT_A_PRACTICE_FOLDER`."""
        if self.practice is None:
            raise RefusedError(
                "NOT_A_PRACTICE_FOLDER", self.text("error.not_a_practice_folder", path=self.base)
            )
        return self.practice


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a verb ended: its exit code and the keys it adds to the JSON object."""

    exit: int = 0
    data: dict[str, object] = field(default_factory=dict[str, object])
    error: tuple[str, str] | None = None
