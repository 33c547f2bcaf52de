"""What the scripted model shares with its neighbours: one registry of iterators, and the protocol's ports."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kickwheel_event_stream import EventStream
from kickwheel_protocol import Model, ModelChunk, ModelRequest, ModelResponse, ModelStream, Signal
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError
from kickwheel_scripted_model import ScriptedModel, ScriptedModelError, say

ROOT = Path(__file__).resolve().parents[1]
REQUEST = ModelRequest("request-001", [])
FIXTURE = json.loads((ROOT / "fixtures" / "provider-tool-roundtrip.json").read_text("utf-8"))
RECORDS: list[object] = FIXTURE["responses"][0]["records"]


async def failure(stream: EventStream[ModelChunk, ModelResponse]) -> Exception:
    with pytest.raises((ScriptedModelError, FixtureProviderError)) as read:
        async for _chunk in stream:
            pass
    with pytest.raises((ScriptedModelError, FixtureProviderError)) as awaited:
        await stream.result
    assert read.value is awaited.value
    return read.value


def adapter_of(source: object) -> FixtureProviderAdapter:
    return FixtureProviderAdapter({**FIXTURE, "responses": [{"records": source}]})


def model_of(source: object) -> ScriptedModel:
    def factory(_request: ModelRequest, _signal: Signal) -> object:
        return source

    return ScriptedModel([factory])  # pyright: ignore[reportArgumentType] - a looser item type


@pytest.mark.criterion("04.78")
async def test_an_iterator_of_an_adapter_serves_no_script() -> None:
    async def records() -> AsyncIterator[object]:
        for record in RECORDS:
            yield record

    source = records()
    running = adapter_of(source).stream(REQUEST)
    await asyncio.sleep(0)
    error = await failure(model_of(source).stream(REQUEST))
    assert isinstance(error, ScriptedModelError)
    assert error.code == "SCRIPT_ITERATOR_REUSED"
    assert (await running.result).request_id == "request-001"


@pytest.mark.criterion("04.78")
async def test_an_iterator_of_a_script_serves_no_adapter() -> None:
    async def items() -> AsyncIterator[object]:
        async for item in say("hi")(REQUEST, Never()):
            yield item

    source = items()
    running = model_of(source).stream(REQUEST)
    await asyncio.sleep(0)
    error = await failure(adapter_of(source).stream(REQUEST))
    assert isinstance(error, FixtureProviderError)
    assert error.code == "PROVIDER_ITERATOR_REUSED"
    assert (await running.result).message.text == "hi"


class Never:
    """A signal of the protocol's shape that never aborts."""

    aborted = False
    reason = None

    def raise_if_aborted(self) -> None:
        return None

    async def wait(self) -> None:
        await asyncio.Event().wait()

    def add_callback(self, callback: object, /) -> "type[object]":
        return object


@pytest.mark.criterion("04.92")
@pytest.mark.slow
def test_a_type_checker_accepts_the_model_and_its_stream_for_the_ports(tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        "from kickwheel_protocol import Model, ModelRequest, ModelStream\n"
        "from kickwheel_scripted_model import ScriptedModel, say\n"
        "model: Model = ScriptedModel([say('hi')], check_stream=True)\n"
        "def ask(request: ModelRequest) -> ModelStream:\n"
        "    return ScriptedModel().stream(request)\n",
        encoding="utf-8",
    )
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--project", str(tmp_path), "--pythonpath", sys.executable],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.criterion("04.92")
def test_the_model_is_used_through_the_port() -> None:
    model: Model = ScriptedModel([say("hi")])

    async def main() -> str:
        stream: ModelStream = model.stream(REQUEST)
        async with stream:
            return (await stream.result).message.text

    assert asyncio.run(main()) == "hi"
