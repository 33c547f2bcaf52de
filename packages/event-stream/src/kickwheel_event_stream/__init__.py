"""A single-consumer event stream with one terminal result, and an abort signal as data."""

__all__: list[str] = []
