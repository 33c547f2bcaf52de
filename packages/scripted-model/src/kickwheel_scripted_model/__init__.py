"""A strict, deterministic model double: finite script, no invented answers."""

__all__: list[str] = []
