"""The package is offline and says what it exports (section H)."""

import ast
import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, get_args

import pytest

import kickwheel_provider_adapter
from kickwheel_protocol import ModelRequest
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderErrorCode

SHIPPED = Path(__file__).parents[3] / "fixtures" / "provider-tool-roundtrip.json"
SOURCE = Path(kickwheel_provider_adapter.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
NETWORK = {"socket", "ssl", "http", "urllib", "httpx", "aiohttp", "requests", "websockets"}


@pytest.mark.criterion("05.83")
async def test_the_round_trip_needs_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def guard(name: str) -> object:
        def refuse(*_: object, **__: object) -> NoReturn:
            calls.append(name)
            raise AssertionError(f"{name} was called")

        return refuse

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(socket, "socket", guard("socket"))
    monkeypatch.setattr(socket, "create_connection", guard("create_connection"))
    for name in ("create_connection", "create_unix_connection", "create_datagram_endpoint", "create_server"):
        monkeypatch.setattr(loop, name, guard(name))
    for name in ("sock_connect", "getaddrinfo"):
        monkeypatch.setattr(loop, name, guard(name))
    adapter = FixtureProviderAdapter(json.loads(SHIPPED.read_text(encoding="utf-8")))
    responses = [await adapter.stream(ModelRequest(f"request-{index}", ())).result for index in range(2)]
    assert [response.stop_reason for response in responses] == ["toolCall", "stop"]
    assert calls == []


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).split(".")[0]


@pytest.mark.criterion("05.84")
@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_no_module_can_reach_a_network(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert NETWORK.isdisjoint(_imports(ast.parse(text)))
    assert "open_connection" not in text


@pytest.mark.criterion("05.85")
@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_no_unknown_value_is_cast_to_a_record(module: Path) -> None:
    lines = module.read_text(encoding="utf-8").splitlines()
    for line in lines:
        assert not ("cast(" in line and ("ToolCall" in line or "JsonObject" in line)), line
        if "ToolCall(" in line or "freeze_json(" in line or "JsonObject(" in line:
            assert "ignore" not in line, line


def test_all_is_what_can_be_imported() -> None:
    names = kickwheel_provider_adapter.__all__
    assert names == [
        "FixtureProviderAdapter",
        "FixtureProviderError",
        "FixtureProviderErrorCode",
        "ResponseParser",
        "dialects",
        "fixture_schema",
    ]
    for name in names:
        assert getattr(kickwheel_provider_adapter, name) is not None
    with pytest.raises(AttributeError):
        _ = kickwheel_provider_adapter.nothing  # pyright: ignore[reportUnknownVariableType, reportAttributeAccessIssue]


def test_the_dialects_are_loaded_when_asked_for() -> None:
    program = (
        "import sys, kickwheel_provider_adapter as p\n"
        "assert 'kickwheel_provider_adapter.dialects' not in sys.modules\n"
        "from kickwheel_provider_adapter import dialects\n"
        "assert p.dialects is dialects\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_there_are_twelve_codes() -> None:
    codes = get_args(FixtureProviderErrorCode)
    assert len(codes) == len(set(codes)) == 12
    assert all(code.startswith("PROVIDER_") for code in codes)


def test_importing_the_package_stays_light() -> None:
    program = "import sys, kickwheel_provider_adapter; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    heavy = {
        "kickwheel_provider_adapter.dialects",
        "kickwheel_scripted_model",
        "kickwheel_agent_loop",
        "json.tool",
    }
    assert loaded.isdisjoint(heavy)
