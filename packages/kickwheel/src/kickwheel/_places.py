"""Where the course lies inside the package: its data, focused tests, fixtures and texts."""

from pathlib import Path

COURSE_FOLDER = Path(__file__).resolve().parent / "course"


def course_folder() -> Path:
    """The course folder; asked for at each use, so that a test can run on a course of its own."""
    return COURSE_FOLDER
