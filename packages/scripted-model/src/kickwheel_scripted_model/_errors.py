"""The one error of this package.

    Exception
    └── ScriptedModelError            `.code` says which; `.script` says what every recent call came to
        ├── SCRIPT_EXHAUSTED          the caller's fault: one call more than there are responses
        ├── SCRIPT_UNUSED             the caller's fault: fewer calls than responses (`assert_complete`)
        ├── SCRIPT_REQUEST_MISMATCH   the script's fault: a chunk or response for another request
        ├── SCRIPT_INVALID_RESPONSE   the script's fault: no response, two, or one that contradicts itself
        └── SCRIPT_ITERATOR_REUSED    the script's fault: an iterator that has served a call before

The second column is a code, not a class: branch on `error.code`. An item or a factory of the wrong shape is a
`TypeError`; an abort, and an exception that a script raises, reach the caller as they are.
"""

from typing import Final, Literal, TypeAlias, get_args

ScriptedModelErrorCode: TypeAlias = Literal[
    "SCRIPT_EXHAUSTED",
    "SCRIPT_REQUEST_MISMATCH",
    "SCRIPT_INVALID_RESPONSE",
    "SCRIPT_ITERATOR_REUSED",
    "SCRIPT_UNUSED",
]
"""What a `ScriptedModelError` is about: a closed set, and stable (checkpoint 04)."""

_CODES: Final = frozenset[str](get_args(ScriptedModelErrorCode))


class ScriptedModelError(Exception):
    """A script and the calls made on it do not fit together (checkpoint 04).

    `call_number` is the failing call's number, from 1; `None` for `SCRIPT_UNUSED` and for an error made by
    hand. `used` and `pending` count the responses taken since construction and those still queued. `script`
    holds one line a call, in call order: `<number>. <request id> -> <outcome>`; of a long script the last
    20 calls, and the failing one. `str(error)` is the text followed by those lines. Raises `ValueError` for
    an unknown code.
    """

    def __init__(
        self,
        code: ScriptedModelErrorCode,
        text: str,
        *,
        call_number: int | None = None,
        used: int | None = None,
        pending: int | None = None,
        script: tuple[str, ...] = (),
    ) -> None:
        if code not in _CODES:
            raise ValueError(f"code must be one of {', '.join(sorted(_CODES))}")
        super().__init__("\n  ".join((text, *script)))
        self._code: ScriptedModelErrorCode = code
        self._text = text
        self._call_number = call_number
        self._used = used
        self._pending = pending
        self._script = script

    @property
    def code(self) -> ScriptedModelErrorCode:
        """Which kind of misfit; stable."""
        return self._code

    @property
    def call_number(self) -> int | None:
        """The number of the failing call, from 1; counts attempted calls."""
        return self._call_number

    @property
    def used(self) -> int | None:
        """How many responses were taken since the model was made."""
        return self._used

    @property
    def pending(self) -> int | None:
        """How many responses are still queued."""
        return self._pending

    @property
    def script(self) -> tuple[str, ...]:
        """One line a call: `<number>. <request id> -> <outcome>`, in call order."""
        return self._script

    def __reduce__(self) -> tuple[object, ...]:
        values = (self._code, self._text, self._call_number, self._used, self._pending, self._script)
        return (_rebuilt, values)


def _rebuilt(
    code: ScriptedModelErrorCode,
    text: str,
    call_number: int | None,
    used: int | None,
    pending: int | None,
    script: tuple[str, ...],
) -> ScriptedModelError:
    return ScriptedModelError(code, text, call_number=call_number, used=used, pending=pending, script=script)
