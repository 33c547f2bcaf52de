"""How much do the checks of the provider adapter cost on top of reading the JSON? (05.C1 to 05.C6)

Two responses: 10,000 text deltas, and 1,000 tool calls. Each is also run at a tenth of its size: figures
are per record, so equal figures mean that the work is linear. The floor is `json.loads` of the same file.

    python benchmarks/provider_adapter.py [--rounds N] [--quick] [--case NAME] [--json FILE]
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Literal

import msgspec
from _harness import Run, main, seconds

from kickwheel_protocol import ModelRequest, freeze_json
from kickwheel_provider_adapter import FixtureProviderAdapter, ResponseParser

REQUEST = ModelRequest("request-001", ())
SIZES = {
    "1,000 text deltas": ("text", 1_000),
    "10,000 text deltas": ("text", 10_000),
    "100 tool calls": ("call", 100),
    "1,000 tool calls": ("call", 1_000),
}
FLOOR = "json.loads"


def records_of(case: str) -> list[object]:
    """The records of one response."""
    kind, count = SIZES[case]
    usage = {"inputTokens": 12, "outputTokens": count}
    records: list[object] = [{"type": "response_start", "responseId": "response-001", "role": "assistant"}]
    for index in range(count):
        if kind == "text":
            records.append({"type": "text_delta", "text": f"word {index} "})
        else:
            arguments = {"left": index, "right": 22, "options": {"round": True, "tags": ["a", "b"]}}
            records.append(
                {"type": "tool_call", "id": f"call-add-{index}", "name": "add", "arguments": arguments}
            )
    stop = "stop" if kind == "text" else "tool_call"
    records.append({"type": "response_end", "responseId": "response-001", "stopReason": stop, "usage": usage})
    return records


def document(records: list[object]) -> dict[str, object]:
    """A fixture with this one response."""
    return {"schemaVersion": 1, "responses": [{"records": records}]}


def per_record(work: Callable[[list[object]], object]) -> Callable[[str], Run]:
    """A contender that is given the records and timed per record."""

    def contender(case: str) -> Run:
        records = records_of(case)
        return lambda: seconds(lambda: work(records), len(records))

    return contender


def read(case: str) -> Run:
    text = json.dumps(document(records_of(case)))
    return lambda: seconds(lambda: json.loads(text), SIZES[case][1])


def parse(records: list[object]) -> object:
    parser = ResponseParser("request-001")
    for record in records:
        parser.feed(record)
    return parser.close()


async def stream(adapter: FixtureProviderAdapter) -> int:
    playing = adapter.stream(REQUEST)
    count = 0
    async for _ in playing:
        count += 1
    await playing.result
    return count


def play_array(records: list[object]) -> object:
    return asyncio.run(stream(FixtureProviderAdapter(document(records))))


def play_source(records: list[object]) -> object:
    async def source() -> AsyncIterator[object]:
        for record in records:
            yield record

    async def play() -> int:
        return await stream(
            FixtureProviderAdapter({"schemaVersion": 1, "responses": [{"records": source()}]})
        )

    return asyncio.run(play())


def from_file(case: str) -> Run:
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "fixture.json"
    path.write_text(json.dumps(document(records_of(case))), encoding="utf-8")

    def run() -> float:
        return seconds(lambda: FixtureProviderAdapter.from_file(path), SIZES[case][1]) if folder else 0.0

    return run


class Start(msgspec.Struct, tag="response_start"):
    responseId: str
    role: Literal["assistant"]


class Text(msgspec.Struct, tag="text_delta"):
    text: str


class Call(msgspec.Struct, tag="tool_call"):
    id: str
    name: str
    arguments: dict[str, object]


class End(msgspec.Struct, tag="response_end"):
    responseId: str
    stopReason: Literal["stop", "tool_call"]
    usage: dict[str, int]


ANY_RECORD = Start | Text | Call | End


def convert(records: list[object]) -> object:
    """Shape only: no order, no ids, no aliases, nothing frozen."""
    return [msgspec.convert(record, ANY_RECORD) for record in records]


def freeze(records: list[object]) -> object:
    return [freeze_json(record) for record in records]


if __name__ == "__main__":
    main(
        "Provider adapter, microseconds per record",
        list(SIZES),
        {
            FLOOR: read,
            "msgspec.convert, one record at a time (shape only)": per_record(convert),
            "freeze_json, one record at a time": per_record(freeze),
            "ResponseParser: feed and close": per_record(parse),
            "FixtureProviderAdapter(data)": per_record(lambda data: FixtureProviderAdapter(document(data))),
            "FixtureProviderAdapter.from_file": from_file,
            "construct, stream, read: array": per_record(play_array),
            "construct, stream, read: async source": per_record(play_source),
        },
        FLOOR,
    )
