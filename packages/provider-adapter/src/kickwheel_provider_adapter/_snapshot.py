"""One deep copy of array-held records, taken before anybody else can change them."""

from collections.abc import Iterator
from typing import Final

from kickwheel_protocol import JsonObject, ProtocolError, freeze_json

from ._inspect import as_array, as_object, shown

MAX_DEPTH: Final = (
    10_000  # far beyond any record's meaning, and far below what a hostile file can nest (05.18)
)

_SHOWN_STEPS: Final = 20  # a longer way names nothing that a reader could follow


class UnsafeValueError(Exception):
    """A value cannot be copied safely; `path` leads to it from the value given, `reason` says why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def snapshot(value: object) -> object:
    """Copy a record with everything in it, so that no later change of the original is seen.

    Most records are JSON through and through: they come back frozen, and their arguments need no second
    copy when they are parsed. The others hold a scalar that JSON cannot (NaN, a huge integer, a lone
    surrogate); whether that does harm depends on where it stands, which the parser decides. Raises
    `UnsafeValueError` for anything that is no plain data.
    """
    try:
        return freeze_json(value)
    except (ProtocolError, RecursionError):  # the second: a caller that has used up the stack itself
        return _copy(value)


_END: Final = object()


class _Frame:
    """A container that is being copied: what is left of it, and the copy so far."""

    __slots__ = ("_left", "copy", "height", "key", "source")

    def __init__(
        self,
        source: object,
        left: Iterator[tuple[object, object]],
        copy: dict[str, object] | list[object],
    ) -> None:
        self.source = source
        self.copy = copy
        self.key: object = None
        self.height = 1
        self._left = left

    def advance(self) -> object:
        """Step to the next child and return it, or `_END`."""
        self.key, child = next(self._left, (None, _END))
        return child

    def put(self, child: object, height: int) -> None:
        """Add a finished child; `height` counts its levels of containers."""
        if isinstance(self.copy, dict):
            self.copy[str(self.key)] = child
        else:
            self.copy.append(child)
        self.height = max(self.height, height + 1)


def _copy(root: object) -> object:
    """Copy without recursion: hostile nesting must end in an error of ours, not of the interpreter."""
    result: list[object] = []
    frames = [_Frame(None, iter([(None, root)]), result)]
    entered: set[int] = set()
    finished: dict[
        int, _Frame
    ] = {}  # what is shared stays shared: a tower of pairs costs its height, not 2**height
    while frames:
        frame = frames[-1]
        child = frame.advance()
        known = finished.get(id(child))
        if child is _END:
            frames.pop()
            finished[id(frame.source)] = frame
            if frames:
                frames[-1].put(frame.copy, frame.height)
        elif _is_leaf(child):
            frame.put(child, 0)
        elif len(frames) + (known.height if known else 1) > MAX_DEPTH + 1:
            raise UnsafeValueError(_path(frames), f"nested more than {MAX_DEPTH} deep")
        elif known is not None:
            frame.put(known.copy, known.height)
        elif id(child) in entered:
            raise UnsafeValueError(_path(frames), "contains itself")
        else:
            entered.add(id(child))
            frames.append(_open(child, frames))
    return result[0]


def _is_leaf(value: object) -> bool:
    kind = type(value)
    return (
        value is None
        or kind is str
        or kind is int
        or kind is float
        or kind is bool
        or kind is JsonObject  # immutable through and through, and never deeper than 128
    )


def _open(value: object, frames: list[_Frame]) -> _Frame:
    array = as_array(value)
    if array is not None:
        return _Frame(array, iter(enumerate(array)), [])
    fields = as_object(value)
    if fields is not None:
        return _Frame(fields, iter(fields.items()), {})
    what = "a key that is no string" if type(value) is dict else "a value that is no plain data"
    raise UnsafeValueError(_path(frames), what)


def _path(frames: list[_Frame]) -> str:
    """Spell the way to the child in hand, outermost step first."""
    steps: list[str] = []
    for frame in frames[1 : _SHOWN_STEPS + 1]:
        if isinstance(frame.key, int):
            steps.append(f"[{frame.key}]")
        else:
            key = str(frame.key)
            steps.append(f".{key}" if key.isascii() and key.isidentifier() else f"[{shown(key)}]")
    return "".join(steps)
