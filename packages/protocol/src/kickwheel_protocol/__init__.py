"""Typed, deeply frozen records, wire form and transcript checks for agent runtimes."""

__all__: list[str] = []
