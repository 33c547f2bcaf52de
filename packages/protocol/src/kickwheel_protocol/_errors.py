"""The errors of this package.

ValueError
└── ProtocolError      a value breaks the rule of the place it was given for; `.path` names that place

Everything else that is raised is a mistake in the calling code and an ordinary `TypeError`: a missing or
unknown constructor argument, a subclass of a record, `to_wire` of something that has no wire form.
"""

from typing import Final, TypeAlias

Step: TypeAlias = str | int
"""One step of a path: the name of a field or key, or an index."""

PATH_LIMIT: Final = 1_000  # a longer path names nothing a reader could find; it also bounds the text below
TEXT_LIMIT: Final = 2_000  # 01.B4: no refused value, however large, makes a larger error
GAP: Final = "…"


class ProtocolError(ValueError):
    """A value was refused; nothing of it was kept.

    Raised by record constructors, `freeze_json` and the parsers (checkpoints 01 and 03).

    `path` says where, in steps from the value that was given: `content[0].name`, `arguments["a key"][2]`,
    or the empty string for that value itself. `reason` says what was expected there. Branch on `path`,
    never on the text.
    """

    path: str
    reason: str

    def __init__(self, path: str, reason: str) -> None:
        self.path = cut(path, PATH_LIMIT)
        self.reason = cut(reason, TEXT_LIMIT - PATH_LIMIT - 2)
        super().__init__(self.path, self.reason)

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class Refusal(Exception):  # noqa: N818 - it never leaves the package
    """What readers raise inside: the steps are gathered, innermost first, while the stack unwinds.

    The usual case, a value that is fine, therefore pays nothing for the path.
    """

    def __init__(self, reason: str, *steps: Step) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps = [*steps]
        self.at_key = False

    @classmethod
    def of_key(cls, reason: str) -> "Refusal":
        """Refuse a key. It is reported at the object that holds it, so the first step is not taken."""
        refusal = cls(reason)
        refusal.at_key = True
        return refusal

    def passed(self, step: Step) -> "Refusal":
        """Note that the refused value was reached through this step."""
        if self.at_key:
            self.at_key = False
        else:
            self.steps.append(step)
        return self

    def to_error(self, root: str = "") -> ProtocolError:
        """Make the error that callers see; `root` is how the value as a whole is called."""
        return ProtocolError(render_path(self.steps[::-1], root), self.reason)


def cut(text: str, limit: int) -> str:
    """Return `text`, shortened to `limit` characters with a mark where the rest is missing."""
    return text if len(text) <= limit else text[: limit - len(GAP)] + GAP


def render_path(steps: list[Step], root: str = "") -> str:
    """Spell steps as a path: `.name` for identifiers, `[3]` for indices, `["a key"]` for other keys."""
    parts = [root]
    length = len(root)
    for step in steps:
        if length > PATH_LIMIT:
            break
        part = _spell(step)
        parts.append(part)
        length += len(part)
    path = "".join(parts)
    return cut(path if root else path.removeprefix("."), PATH_LIMIT)


def _spell(step: Step) -> str:
    if type(step) is int:
        return f"[{step}]"
    key = str(step)[:PATH_LIMIT]
    if key.isascii() and key.isidentifier():
        return f".{key}"
    from json import dumps  # here, so that only an error pays for the import

    return f"[{dumps(key)}]"
