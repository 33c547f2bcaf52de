"""Replay recorded provider streams as one checked protocol, offline."""

__all__: list[str] = []
