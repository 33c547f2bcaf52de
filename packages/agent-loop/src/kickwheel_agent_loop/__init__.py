"""Tool contract and agent loop with one total event order and results as data."""

__all__: list[str] = []
