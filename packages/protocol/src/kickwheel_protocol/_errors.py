"""The errors of this package.

ValueError
└── ProtocolError      a value breaks the rule of the place it was given for; `.path` names that place

Everything else that can be raised is the caller's programming error and an ordinary `TypeError`: a missing or
unknown constructor argument, a subclass of a record, `to_wire` of something that has no wire form.
"""

from typing import Final, TypeAlias

Step: TypeAlias = str | int
"""One step of a path: a field name or key, or an index."""

PATH_LIMIT: Final = 1_000  # a path longer than a screen names nothing; it also bounds the text below
TEXT_LIMIT: Final = 2_000  # 01.B4: no refused value, however large, makes an error larger than this
REST: Final = "…"


class ProtocolError(ValueError):
    """A value was refused; nothing of it was kept.

    Raised by record constructors, parsers and `freeze_json` (checkpoints 01 and 03).

    `path` says where, in steps from the value that was given: `content[0].name`, `arguments["a key"][2]`,
    or the empty string for the value itself. Branch on `path`, never on the text.
    """

    path: str

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        shown = path or "value"
        super().__init__(cut(f"{shown}: {reason}", TEXT_LIMIT))

    def __reduce__(self) -> tuple[object, ...]:
        return (_restored, (self.path, str(self)))


def _restored(path: str, text: str) -> ProtocolError:
    error = ProtocolError.__new__(ProtocolError, text)
    error.path = path
    return error


def cut(text: str, limit: int) -> str:
    """Return `text`, shortened to `limit` characters with a mark where something is missing."""
    return text if len(text) <= limit else text[: limit - len(REST)] + REST


def render_path(steps: list[Step], root: str = "") -> str:
    """Spell steps as a path: `.name` for identifiers, `[3]` for indices, `["a key"]` for other keys."""
    path = root
    for step in steps:
        if len(path) > PATH_LIMIT:
            break
        path += _spell(step)
    return cut(path if root else path.removeprefix("."), PATH_LIMIT)


def _spell(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if step.isascii() and step.isidentifier():
        return f".{step}"
    from json import dumps  # only the error path pays for this import

    return f"[{dumps(step[:PATH_LIMIT])}]"
