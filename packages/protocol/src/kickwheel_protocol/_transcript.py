"""Transcript checks."""

from typing import Literal, TypeAlias, final

from ._record import Record


@final
class TranscriptIssue(Record, frozen=True):
    """One finding."""

    code: str
    message_index: int
    message: str


def validate_transcript(value: object) -> tuple[TranscriptIssue, ...]:
    """Findings."""
    raise TypeError("under construction")
