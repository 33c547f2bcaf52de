"""Replay recorded provider streams as one checked protocol, offline."""

from ._adapter import FixtureProviderAdapter
from ._errors import FixtureProviderError, FixtureProviderErrorCode
from ._parser import ResponseParser
from ._schema import fixture_schema

__all__ = [
    "FixtureProviderAdapter",
    "FixtureProviderError",
    "FixtureProviderErrorCode",
    "ResponseParser",
    "fixture_schema",
]
