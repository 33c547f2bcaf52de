"""Arguments that arrive as values at JSON paths (05D.126 to 05D.128)."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, cast

from ._errors_in_band import is_object
from ._faults import TOO_LARGE, BodyFault
from ._fields import text_of

_PATH: Final = re.compile(r"\$((?:\.[^.\[\]]+|\[[0-9]{1,9}\])+)")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[([0-9]+)\]")
_MAX_STEPS: Final = 128  # arguments may be 128 containers deep, the outermost one counted


class _Pieces:
    """A string that grows: joined once, at the end."""

    __slots__ = ("pieces",)

    def __init__(self, first: str) -> None:
        self.pieces = [first]


Node = dict[str, object] | list[object]


class PartialArguments:
    """The arguments of one call while they arrive; `value()` is `None` when they are bad."""

    __slots__ = ("_bad", "_limit", "_root", "_size")

    def __init__(self, start: object, limit: int) -> None:
        self._bad = start is not None and not is_object(start)
        self._root: dict[str, object] = start if is_object(start) else {}
        self._limit = limit
        self._size = 0

    def add(self, parts: Iterable[Mapping[str, object]]) -> None:
        """Set or extend the values of one `partialArgs` array."""
        for part in parts:
            steps = _steps(part.get("jsonPath"))
            value = self._value_of(part)
            if steps is None or value is _BAD:
                self._bad = True
            elif value is not _NONE and not self._bad:
                self._bad = not _put(self._root, steps, value)

    def _value_of(self, part: Mapping[str, object]) -> object:
        if part.get("stringValue") is not None:
            text = text_of(part, "stringValue")
            self._size += len(text)
            if self._size > self._limit:
                raise BodyFault(
                    TOO_LARGE, f"The arguments of a call are longer than {self._limit} characters"
                )
            return text
        number = part.get("numberValue")
        if number is not None:
            return number if type(number) in (int, float) else _BAD
        flag = part.get("boolValue")
        if flag is not None:
            return flag if type(flag) is bool else _BAD
        return None if "nullValue" in part else _NONE  # its wire value is null or the word NULL_VALUE

    def value(self) -> dict[str, object] | None:
        """The finished arguments as plain data."""
        return None if self._bad else cast("dict[str, object]", _plain(self._root))


_BAD: Final = object()
_NONE: Final = object()


def _steps(path: object) -> list[str | int] | None:
    """The steps of a path such as `$.a[0].b`; `None` when it cannot be read."""
    if type(path) is not str:
        return None
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    steps: list[str | int] = [name or int(index) for name, index in _STEP.findall(match[1])]
    return steps if len(steps) <= _MAX_STEPS else None


def _put(root: Node, steps: list[str | int], value: object) -> bool:
    """Set a value, making the containers on the way; false when the path does not fit what is there."""
    node = root
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        old, fits = _look(node, step)
        if not fits:
            return False
        if following is None:
            if type(value) is str and isinstance(old, _Pieces):
                old.pieces.append(value)
                return True
            new: object = _Pieces(value) if type(value) is str else value
        elif type(old) is dict or type(old) is list:
            node = cast("Node", old)
            continue
        elif old is _NONE:
            new = {} if isinstance(following, str) else []
        else:
            return False  # a step into a scalar
        if isinstance(node, dict):
            node[cast("str", step)] = new
        elif step == len(node):
            node.append(new)
        else:
            node[cast("int", step)] = new
        if following is not None:
            node = cast("Node", new)
    return True


def _look(node: Node, step: str | int) -> tuple[object, bool]:
    """What stands at a step, and whether the step fits: an index may be one past the end, not more."""
    if isinstance(node, dict):
        return (node.get(step, _NONE), True) if isinstance(step, str) else (_NONE, False)
    if not isinstance(step, int) or step > len(node):
        return _NONE, False
    return (node[step] if step < len(node) else _NONE), True


def _plain(value: object) -> object:
    """The tree with its strings joined; at most 128 deep, so recursion is safe."""
    if isinstance(value, _Pieces):
        return "".join(value.pieces)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    return value
