"""Replay recorded provider streams as one checked protocol, offline (checkpoint 05)."""

from importlib import import_module
from typing import TYPE_CHECKING

from ._adapter import FixtureProviderAdapter
from ._errors import FixtureProviderError, FixtureProviderErrorCode
from ._parser import ResponseParser
from ._schema import fixture_schema

if TYPE_CHECKING:
    from . import dialects

__all__ = [
    "FixtureProviderAdapter",
    "FixtureProviderError",
    "FixtureProviderErrorCode",
    "ResponseParser",
    "dialects",
    "fixture_schema",
]

for _public in (FixtureProviderAdapter, FixtureProviderError, ResponseParser, fixture_schema):
    _public.__module__ = __name__  # the short path, in tracebacks, reprs and pickles
del _public


def __getattr__(name: str) -> object:
    """Load the dialects when somebody asks for them: most users play finished fixtures."""
    if name == "dialects":
        return import_module(".dialects", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
