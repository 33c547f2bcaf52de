"""The errors of the provider adapter.

    Exception
    └── FixtureProviderError            what a fixture or its source did wrong; read `.code`
        whose fault                     codes
        ├── the fixture as a whole      PROVIDER_INVALID_FIXTURE
        ├── the caller                  PROVIDER_EXHAUSTED  PROVIDER_ITERATOR_REUSED
        ├── one record                  PROVIDER_INVALID_EVENT  PROVIDER_UNKNOWN_EVENT
        ├── the order of records        PROVIDER_MISSING_START  PROVIDER_DUPLICATE_START
        │                               PROVIDER_MISSING_TERMINAL  PROVIDER_DUPLICATE_TERMINAL
        │                               PROVIDER_INVALID_TERMINAL  PROVIDER_RESPONSE_MISMATCH
        └── the provider itself         PROVIDER_TRANSPORT_ERROR

The code is part of the API and stays. The text is for people and may change.
"""

from typing import Literal, TypeAlias

FixtureProviderErrorCode: TypeAlias = Literal[
    "PROVIDER_INVALID_FIXTURE",
    "PROVIDER_EXHAUSTED",
    "PROVIDER_UNKNOWN_EVENT",
    "PROVIDER_INVALID_EVENT",
    "PROVIDER_MISSING_START",
    "PROVIDER_DUPLICATE_START",
    "PROVIDER_MISSING_TERMINAL",
    "PROVIDER_DUPLICATE_TERMINAL",
    "PROVIDER_RESPONSE_MISMATCH",
    "PROVIDER_INVALID_TERMINAL",
    "PROVIDER_ITERATOR_REUSED",
    "PROVIDER_TRANSPORT_ERROR",
]
"""The twelve stable codes (checkpoint 05)."""


class FixtureProviderError(Exception):
    """A fixture, a record or a record source broke the rules of schema version 1 (checkpoint 05).

    `code` is one of the twelve codes. `record_index` counts records of one response from 0: the offending
    record, or, for `PROVIDER_MISSING_TERMINAL`, how many records there were; it is `None` where no single
    record is to blame. `provider_code` is the provider's own code, for `PROVIDER_TRANSPORT_ERROR` only.
    All three are read-only; `str(error)` is the text.
    """

    def __init__(
        self,
        code: FixtureProviderErrorCode,
        message: str,
        *,
        record_index: int | None = None,
        provider_code: str | None = None,
    ) -> None:
        super().__init__(message)
        self._code: FixtureProviderErrorCode = code
        self._record_index = record_index
        self._provider_code = provider_code

    @property
    def code(self) -> FixtureProviderErrorCode:
        """The stable code: branch on this, never on the text."""
        return self._code

    @property
    def record_index(self) -> int | None:
        """The record's index in its response, from 0, or `None`."""
        return self._record_index

    @property
    def provider_code(self) -> str | None:
        """The provider's own error code, for `PROVIDER_TRANSPORT_ERROR` only."""
        return self._provider_code

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        # The default would lose the code, and a worker process that fails has to report it.
        return _rebuild, (type(self), self._code, str(self), self._record_index, self._provider_code)


def _rebuild(
    kind: type[FixtureProviderError],
    code: FixtureProviderErrorCode,
    message: str,
    record_index: int | None,
    provider_code: str | None,
) -> FixtureProviderError:
    return kind(code, message, record_index=record_index, provider_code=provider_code)
