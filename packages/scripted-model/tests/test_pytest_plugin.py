"""The pytest plugin: a script that must fit the calls made on it, and no network."""

import _thread
import subprocess
import sys
from importlib.metadata import entry_points

import kickwheel_pytest
import pytest

pytest_plugins = ["pytester"]

HEAD = """
import asyncio, socket, threading
import pytest
from kickwheel_protocol import ModelRequest, UserMessage
from kickwheel_scripted_model import say

def connect(address, method="connect", *values, family=socket.AF_INET, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as client:
        getattr(client, method)(*values, address)

def ask(model):
    async def once():
        return await model.stream(ModelRequest("request-001", [UserMessage("message-001", "hi")])).result
    return asyncio.run(once())
"""


def run(pytester: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    """Run a test file in a session of its own."""
    pytester.makepyfile(HEAD + body)
    if not any(entry.value == "kickwheel_pytest" for entry in entry_points(group="pytest11")):
        options = ("-p", "kickwheel_pytest", *options)  # a source tree that was never installed
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)


class TestScriptedModelFixture:
    def test_a_script_that_fits_passes(self, pytester: pytest.Pytester) -> None:
        result = run(
            pytester,
            """
def test_fits(scripted_model):
    scripted_model.set_responses([say("a"), say("b")])
    assert [ask(scripted_model).message.text for _ in range(2)] == ["a", "b"]

def test_fresh(scripted_model):
    assert (scripted_model.call_count, scripted_model.pending_response_count) == (0, 0)
""",
        )
        result.assert_outcomes(passed=2)

    def test_an_unused_response_fails_the_test_at_teardown(self, pytester: pytest.Pytester) -> None:
        result = run(
            pytester,
            """
def test_unused(scripted_model):
    scripted_model.set_responses([say("a"), say("b")])
    ask(scripted_model)
""",
        )
        result.assert_outcomes(passed=1, errors=1)
        result.stdout.fnmatch_lines(["*1 used, 1 unused*", "*1. request-001 -> response-001*"])

    def test_a_call_too_many_fails_the_test_though_it_was_swallowed(self, pytester: pytest.Pytester) -> None:
        result = run(
            pytester,
            """
def test_swallows(scripted_model):
    for _ in range(2):
        try:
            ask(scripted_model)
        except Exception:
            pass
""",
        )
        result.assert_outcomes(passed=1, errors=1)
        result.stdout.fnmatch_lines(["*no response was left for call 1, 2*"])

    @pytest.mark.parametrize("end", ["assert False", "pytest.skip()", "pytest.xfail()"])
    def test_a_test_that_has_not_passed_is_told_once(self, pytester: pytest.Pytester, end: str) -> None:
        result = run(
            pytester,
            f"""
def test_fails(scripted_model):
    scripted_model.set_responses([say("a")])
    {end}
""",
        )
        outcomes = result.parseoutcomes()
        assert sum(outcomes.values()) == 1
        assert "errors" not in outcomes


class TestNoNetwork:
    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ('socket.create_connection(("203.0.113.7", 443), 1)', "203.0.113.7"),
            ('connect(("203.0.113.7", 443))', "connect to 203.0.113.7:443"),
            ('connect(("203.0.113.7", 443), "connect_ex")', "connect to 203.0.113.7:443"),
            (
                'connect(("203.0.113.7", 53), "sendto", b"x", kind=socket.SOCK_DGRAM)',
                "send to 203.0.113.7:53",
            ),
            ('socket.getaddrinfo("host.invalid", 443)', "look up host.invalid"),
            ('socket.gethostbyname("host.invalid")', "look up host.invalid"),
            ('socket.getaddrinfo(b"host.invalid", 443)', "look up host.invalid"),
            ('connect(("127.0.0.1", 9))', "connect to 127.0.0.1:9"),
            ('asyncio.run(asyncio.open_connection("203.0.113.7", 443))', "connect to 203.0.113.7:443"),
            (
                'connect(("2001:db8::1", 443, 0, 0), family=socket.AF_INET6)',
                "connect to [[]2001:db8::1]:443",
            ),
        ],
    )
    def test_an_attempt_fails_the_test_with_its_address(
        self, pytester: pytest.Pytester, line: str, told: str
    ) -> None:
        result = run(pytester, f"@pytest.mark.no_network\ndef test_connects():\n    {line}\n")
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines([f"*no_network: the test tried to *{told}*"])

    def test_a_swallowed_attempt_and_one_of_another_thread_fail_at_teardown(
        self, pytester: pytest.Pytester
    ) -> None:
        result = run(
            pytester,
            """
def swallow():
    try:
        connect(("203.0.113.7", 443))
    except BaseException:
        pass

def test_swallows(no_network):
    swallow()

def test_thread(no_network):
    thread = threading.Thread(target=swallow)
    thread.start()
    thread.join()
""",
        )
        result.assert_outcomes(passed=2, errors=2)
        result.stdout.fnmatch_lines(["*the test tried to connect to 203.0.113.7:443*"] * 2)

    @pytest.mark.parametrize("how", ["marker", "option"])
    def test_loopback_is_allowed_by_choice(self, pytester: pytest.Pytester, how: str) -> None:
        if how == "option":
            pytester.makeini("[pytest]\nno_network_allow_loopback = true\n")
        marker = "no_network(allow_loopback=True)" if how == "marker" else "no_network"
        result = run(
            pytester,
            f"""
@pytest.mark.{marker}
def test_local():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), 5).close()
    socket.getaddrinfo("localhost", 80)

@pytest.mark.{marker}
def test_remote():
    connect(("203.0.113.7", 443))
""",
        )
        result.assert_outcomes(passed=1, failed=1)

    def test_what_stays_in_the_machine_is_never_refused(self, pytester: pytest.Pytester) -> None:
        result = run(
            pytester,
            """
import os, sys

@pytest.mark.no_network
def test_inside(tmp_path):
    asyncio.run(asyncio.sleep(0))
    left, right = socket.socketpair()
    left.close(); right.close()
    if hasattr(socket, "_fallback_socketpair"):
        left, right = socket._fallback_socketpair()
        left.close(); right.close()
    if hasattr(socket, "AF_UNIX"):
        os.chdir(tmp_path)
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
            server.bind("here")
            server.listen()
            client.connect("here")
    socket.getaddrinfo(None, 80)

def test_unmarked():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), 5).close()
""",
        )
        result.assert_outcomes(passed=2)

    def test_the_script_of_a_test_that_touched_the_network_is_still_told(
        self, pytester: pytest.Pytester
    ) -> None:
        result = run(
            pytester,
            """
@pytest.mark.no_network
def test_both(scripted_model):
    scripted_model.set_responses([say("a")])
    assert ask(scripted_model).message.text == "a"
""",
        )
        result.assert_outcomes(passed=1)


class TestTheGuardItself:
    """An interpreter does not trace its audit hooks, so the hook is also called by hand."""

    def test_it_is_idle_between_tests_and_hears_only_sockets(self) -> None:
        guard = kickwheel_pytest._Guard()  # pyright: ignore[reportPrivateUsage] - see the class
        guard.hear("socket.connect", (None, ("203.0.113.7", 443)))
        attempts = guard.begin(allow_loopback=True)
        guard.hear("open", ("file", "r", 0))
        for address in (("127.0.0.1", 80), ("localhost", 80), ("::1", 80, 0, 0), "/a/path", b"path", None):
            guard.hear("socket.connect", (None, address))
        guard.hear("socket.getaddrinfo", (None, 80, 0, 0, 0))
        assert attempts == []
        guard.end()

    @pytest.mark.parametrize(
        ("event", "values", "told"),
        [
            ("socket.connect", (None, ("203.0.113.7", 443)), "to connect to 203.0.113.7:443"),
            ("socket.connect", (None, ("2001:db8::1", 443, 0, 0)), "to connect to [2001:db8::1]:443"),
            ("socket.sendto", (None, ("203.0.113.7", 53)), "to send to 203.0.113.7:53"),
            ("socket.getaddrinfo", ("host.invalid", 443, 0, 0, 0), "to look up host.invalid"),
            ("socket.getaddrinfo", (b"host.invalid", 443, 0, 0, 0), "to look up host.invalid"),
        ],
    )
    def test_an_attempt_is_remembered_and_refused(
        self, event: str, values: tuple[object, ...], told: str
    ) -> None:
        guard = kickwheel_pytest._Guard()  # pyright: ignore[reportPrivateUsage] - see the class
        attempts = guard.begin(allow_loopback=True)
        with pytest.raises(pytest.fail.Exception, match="no_network"):
            guard.hear(event, values)
        assert attempts == [told]

    def test_a_pair_of_sockets_is_no_connection(self) -> None:
        guard = kickwheel_pytest._Guard()  # pyright: ignore[reportPrivateUsage] - see the class

        def socketpair() -> None:
            guard.hear("socket.connect", (None, ("127.0.0.1", 80)))

        attempts = guard.begin(allow_loopback=False)
        socketpair()
        assert attempts == []

    def test_the_outermost_frame_is_no_pair(self) -> None:
        done: list[BaseException] = []
        over = _thread.allocate_lock()
        over.acquire()
        guard = kickwheel_pytest._Guard()  # pyright: ignore[reportPrivateUsage] - see the class
        guard.begin(allow_loopback=False)

        def attempt() -> None:
            try:
                guard.hear("socket.connect", (None, ("127.0.0.1", 80)))
            except BaseException as error:
                done.append(error)
            over.release()

        _thread.start_new_thread(attempt, ())
        assert over.acquire(timeout=10)
        assert isinstance(done[0], pytest.fail.Exception)


class TestLoading:
    def test_loading_the_plugin_loads_no_package_of_ours(self) -> None:
        program = "import sys, kickwheel_pytest; print([n for n in sys.modules if n.startswith('kickwheel')])"
        ran = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=60
        )
        assert ran.stdout.strip() == "['kickwheel_pytest']"

    def test_the_marker_and_the_fixtures_are_listed(self, pytester: pytest.Pytester) -> None:
        result = run(pytester, "", "--markers")
        result.stdout.fnmatch_lines(["@pytest.mark.no_network*"])
        result = run(pytester, "", "--fixtures")
        result.stdout.fnmatch_lines_random(["scripted_model*", "no_network*"])
