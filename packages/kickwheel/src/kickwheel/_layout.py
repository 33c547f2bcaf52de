"""What a practice folder consists of, and how it is filled without overwriting anything."""

from pathlib import Path

from kickwheel._atomic import write_atomically
from kickwheel._course import Checkpoint, Course
from kickwheel._packages import derived_files
from kickwheel._places import course_folder
from kickwheel._practice import Practice
from kickwheel._type_check import TYPE_CHECKING_MODE


def fill(practice: Practice, course: Course, language: str) -> tuple[list[str], list[str]]:
    """Add what is missing; returns the paths that were created and those that were kept."""
    created: list[str] = []
    kept: list[str] = []
    for name, content in plain_files(course, language).items():
        (created if _add(practice.folder / name, content) else kept).append(name)
    for checkpoint in course.checkpoints:
        _fill_work(practice, checkpoint, created, kept)
    return created, kept


def plain_files(course: Course, language: str) -> dict[str, bytes]:
    """The files beside `work/`: relative path to content."""
    template = course_folder() / "practice"
    files = {
        "README.md": (template / f"README.{language}.md").read_bytes(),
        "pyproject.toml": _pyproject((template / "pyproject.txt").read_text("utf-8"), course).encode(),
        "tests/checkpoints/conftest.py": (template / "conftest.txt").read_bytes(),
    }
    for checkpoint in course.checkpoints:
        files[checkpoint.test_file] = (course_folder() / checkpoint.test_file).read_bytes()
        for fixture in checkpoint.fixtures:
            files[f"fixtures/{fixture}"] = (course_folder() / "fixtures" / fixture).read_bytes()
    return files


def _pyproject(template: str, course: Course) -> str:
    environments = "\n".join(
        f'    {{ root = "work/{checkpoint.folder_name}" }},' for checkpoint in course.checkpoints
    )
    return template.replace("@MODE@", TYPE_CHECKING_MODE).replace("@ENVIRONMENTS@", environments)


def _fill_work(practice: Practice, checkpoint: Checkpoint, created: list[str], kept: list[str]) -> None:
    work = practice.work(checkpoint)
    name = practice.relative(work)
    if not work.exists():
        practice.write_starter(checkpoint)
        created.append(name)
        entry = practice.progress.entry(checkpoint.id)
        if entry.files is None:
            entry.state = "open"
            entry.files = practice.fingerprint(checkpoint)
        return
    if not practice.progress.knows(checkpoint.id):
        _judge(practice, checkpoint)
    added = [
        f"{name}/{checkpoint.package}/{file}"
        for file, content in derived_files(checkpoint.package, checkpoint.id).items()
        if _add(work / checkpoint.package / file, content)
    ]
    created.extend(added)
    if not added:
        kept.append(name)


def _judge(practice: Practice, checkpoint: Checkpoint) -> None:
    """The state of a checkpoint whose progress was lost: open if it is still the starter, else red."""
    package = practice.package(checkpoint)
    starter = derived_files(checkpoint.package, checkpoint.id)
    places = {name: package / name for name in starter}
    untouched = all(not path.is_file() or path.read_bytes() == starter[name] for name, path in places.items())
    entry = practice.progress.entry(checkpoint.id)
    entry.state = "open" if untouched else "red"
    entry.files = practice.fingerprint(checkpoint)


def _add(path: Path, content: bytes) -> bool:
    """Write a file that is not there; whether it was written."""
    if path.exists() or path.is_symlink():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return True
