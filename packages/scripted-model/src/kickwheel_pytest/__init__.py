"""The pytest plugin of kickwheel-scripted-model.

pytest loads it by its entry point, so a test has these without an import:

* fixture `scripted_model`: an empty `ScriptedModel`. At teardown it fails the test on responses that were
  never used and on calls that found none left, unless the test has failed already.
* fixture and marker `no_network`: any attempt to connect, to send or to look up a host fails the test and
  names the address. `@pytest.mark.no_network(allow_loopback=True)`, or `no_network_allow_loopback = true` in
  the configuration, lets 127.0.0.0/8, ::1 and localhost through. Sockets of the file system are free.

The plugin is a module of its own and imports the package only when the fixture is used: a run that does not
use it loads nothing but this file, and a test session may still choose which copy of the package it tests.
"""

import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final, cast

import pytest

if TYPE_CHECKING:
    from pluggy import Result

    from kickwheel_scripted_model import ScriptedModel

__all__ = [
    "no_network",
    "pytest_addoption",
    "pytest_configure",
    "pytest_itemcollected",
    "pytest_runtest_makereport",
    "scripted_model",
]

_LOOPBACK_OPTION: Final = "no_network_allow_loopback"
_failed: Final = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.addini(_LOOPBACK_OPTION, "let no_network tests connect to the loopback interface", "bool", False)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", "no_network(allow_loopback=False): fail the test if it touches the network, and say where"
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let the marker use the fixture, before every other fixture of the test."""
    if isinstance(item, pytest.Function) and item.get_closest_marker("no_network") is not None:
        item.fixturenames.insert(0, "no_network")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> "Generator[None, Result[pytest.TestReport], None]":
    """Remember that setup or the test itself did not pass."""
    outcome = yield
    if not outcome.get_result().passed:
        item.stash[_failed] = True


@pytest.fixture
def scripted_model(request: pytest.FixtureRequest) -> "Iterator[ScriptedModel]":
    """An empty `ScriptedModel` whose script must fit the calls that the test makes."""
    from kickwheel_scripted_model import ScriptedModel, ScriptedModelError

    model = ScriptedModel()
    yield model
    if request.node.stash.get(_failed, False):
        return
    surplus = model.exhausted_calls
    if surplus:
        numbers = ", ".join(map(str, surplus))
        pytest.fail(f"scripted_model: no response was left for call {numbers}", pytrace=False)
    try:
        model.assert_complete()
    except ScriptedModelError as error:
        pytest.fail(f"scripted_model: {error}", pytrace=False)


@pytest.fixture
def no_network(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test if it touches the network, also from another thread or behind an `except`."""
    marker = request.node.get_closest_marker("no_network")
    allow: object = request.config.getini(_LOOPBACK_OPTION)
    if marker is not None and "allow_loopback" in marker.kwargs:
        allow = marker.kwargs["allow_loopback"]
    _guard.install()
    attempts = _guard.begin(allow_loopback=bool(allow))
    try:
        yield
    finally:
        _guard.end()
    if attempts and not request.node.stash.get(_failed, False):
        pytest.fail(f"no_network: the test tried {'; '.join(dict.fromkeys(attempts))}", pytrace=False)


class _Guard:
    """Hears of every use of a socket from the interpreter itself, whichever module it comes from.

    An audit hook cannot be taken back, so there is one for the whole run, and it is idle between the tests.
    """

    def __init__(self) -> None:
        self._installed = False
        self._attempts: list[str] | None = None
        self._allow_loopback = False

    def install(self) -> None:
        if not self._installed:
            sys.addaudithook(self.hear)
            self._installed = True

    def begin(self, *, allow_loopback: bool) -> list[str]:
        self._allow_loopback = allow_loopback
        attempts = self._attempts = []
        return attempts

    def end(self) -> None:
        self._attempts = None

    def hear(self, event: str, values: tuple[object, ...]) -> None:
        """Refuse an attempt where it is made, and remember it: the code under test may swallow that."""
        if self._attempts is None or event not in _EVENTS:
            return
        address = values[0] if event.startswith("socket.get") else values[1]
        host = _host_of(address, by_name=event.startswith("socket.get"))
        if host is None or (self._allow_loopback and _is_loopback(host)) or _is_socket_pair():
            return
        attempt = _EVENTS[event].format(_spell(address))
        self._attempts.append(attempt)
        pytest.fail(f"no_network: the test tried {attempt}", pytrace=True)


_EVENTS: Final = {
    "socket.connect": "to connect to {}",
    "socket.sendto": "to send to {}",
    "socket.sendmsg": "to send to {}",
    "socket.getaddrinfo": "to look up {}",
    "socket.gethostbyname": "to look up {}",
    "socket.gethostbyaddr": "to look up {}",
}
"""The events of the interpreter's audit table that leave the process, and what to call them."""

_guard: Final = _Guard()


def _host_of(address: object, *, by_name: bool) -> str | None:
    """Give the host of an attempt; `None` if it stays inside the machine: no address, or a path."""
    if isinstance(address, tuple):
        address = cast("tuple[object, ...]", address)[0]
    elif not by_name:
        return None
    if isinstance(address, bytes):
        return address.decode("latin-1")
    return address if isinstance(address, str) else None


def _is_loopback(host: str) -> bool:
    return host in ("", "localhost", "::1") or host.startswith("127.")


def _is_socket_pair() -> bool:
    """Tell whether this is a loop's own pair of sockets: Windows makes one by connecting to itself."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage] - there is no public way to look at a caller
    for _ in range(4):
        if frame.f_code.co_name in ("socketpair", "_fallback_socketpair"):
            return True
        if frame.f_back is None:
            break
        frame = frame.f_back
    return False


def _spell(address: object) -> str:
    """Write an address as people write it; of IPv6 the two further numbers are left out."""
    if isinstance(address, tuple):
        host, port, *_rest = map(str, cast("tuple[object, ...]", address))
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return address.decode("latin-1") if isinstance(address, bytes) else str(address)
