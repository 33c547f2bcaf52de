"""The kickwheel command line: trace an agent run, and take the course checkpoint by checkpoint."""

__all__: list[str] = []
