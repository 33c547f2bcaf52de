"""The published JSON Schema of the fixture file."""

import json
from importlib import resources


def fixture_schema() -> dict[str, object]:
    """Return the JSON Schema (draft 2020-12) of fixture version 1, a fresh plain dict (checkpoint 05).

    It describes the file form and one record at a time; the order of records is the parser's business. The
    same document is the packaged file `fixture-1.schema.json`.
    """
    text = (
        resources.files("kickwheel_provider_adapter")
        .joinpath("fixture-1.schema.json")
        .read_text(encoding="utf-8")
    )
    schema: dict[str, object] = json.loads(text)
    return schema
