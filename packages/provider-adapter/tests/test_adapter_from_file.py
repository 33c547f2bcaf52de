"""Fixture files: strict JSON in UTF-8, bounded, with the place of every fault (05.B1 to 05.B9)."""

import builtins
import gc
import json
import os
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from kickwheel_protocol import ModelChunk, ModelRequest, ModelResponse
from kickwheel_provider_adapter import FixtureProviderAdapter, FixtureProviderError

SHIPPED = Path(__file__).parents[3] / "fixtures" / "provider-tool-roundtrip.json"
EMPTY = '{"schemaVersion": 1, "responses": []}'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a fixture.json"


def refused(path: Path, content: bytes | str, *words: str, **options: int) -> FixtureProviderError:
    """Write the file, see it refused, and find the path and these words in the text."""
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    with pytest.raises(FixtureProviderError) as caught:
        FixtureProviderAdapter.from_file(path, **options)
    error = caught.value
    assert (error.code, error.record_index, error.provider_code) == ("PROVIDER_INVALID_FIXTURE", None, None)
    for word in (str(path), *words):
        assert word in str(error)
    return error


def with_field(value: str) -> str:
    """A fixture with a value in a field that the adapter ignores, at some depth."""
    return f'{{"schemaVersion": 1, "responses": [], "expected": {{"deep": [{value}]}}}}'


async def play(adapter: FixtureProviderAdapter) -> list[tuple[list[ModelChunk], ModelResponse]]:
    played: list[tuple[list[ModelChunk], ModelResponse]] = []
    while adapter.pending_response_count:
        stream = adapter.stream(ModelRequest("request-001", ()))
        played.append(([chunk async for chunk in stream], await stream.result))
    return played


@pytest.mark.criterion("05.B1")
async def test_the_shipped_file_plays_like_its_parsed_data(tmp_path: Path) -> None:
    expected = await play(FixtureProviderAdapter(json.loads(SHIPPED.read_text(encoding="utf-8"))))
    assert len(expected) == 2

    class AsPath:
        def __fspath__(self) -> str:
            return str(SHIPPED)

    for path in (str(SHIPPED), SHIPPED, AsPath()):
        adapter = FixtureProviderAdapter.from_file(path)
        assert (adapter.call_count, adapter.pending_response_count) == (0, 2)
        assert await play(adapter) == expected


@pytest.mark.criterion("05.B1")
def test_from_file_is_synchronous_closes_the_file_and_returns_the_subclass() -> None:
    class Sub(FixtureProviderAdapter):
        pass

    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        assert type(Sub.from_file(SHIPPED)) is Sub
        gc.collect()


@pytest.mark.criterion("05.B2")
def test_a_file_that_cannot_be_read_gives_the_systems_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        FixtureProviderAdapter.from_file(tmp_path / "missing.json")
    assert missing.value.filename == str(tmp_path / "missing.json")
    with pytest.raises(OSError):
        FixtureProviderAdapter.from_file(tmp_path)


@pytest.mark.criterion("05.B2")
def test_an_unreadable_file_gives_the_systems_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(builtins, "open", refuse)
    with pytest.raises(PermissionError):
        FixtureProviderAdapter.from_file(SHIPPED)


@pytest.mark.parametrize("path", [7, None, 1.5, ["x"]])
def test_a_path_is_a_string_or_a_path(path: object) -> None:
    with pytest.raises(TypeError):
        FixtureProviderAdapter.from_file(path)  # pyright: ignore[reportArgumentType]


NOT_UTF8 = [
    b"\xff\xfe{\x00}\x00",
    b'{"a": "\xff"}',
    b'{"a": "\xed\xa0\x80"}',
    EMPTY.encode("utf-16"),
    b"\xc3",
]


@pytest.mark.criterion("05.B3")
@pytest.mark.parametrize("content", NOT_UTF8, ids=range(len(NOT_UTF8)))
def test_bytes_that_are_not_utf8_are_refused(file: Path, content: bytes) -> None:
    assert isinstance(refused(file, content).__cause__, UnicodeDecodeError)


@pytest.mark.criterion("05.B3")
def test_one_byte_order_mark_is_dropped_and_two_are_too_many(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + EMPTY.encode())
    assert FixtureProviderAdapter.from_file(file).pending_response_count == 0
    refused(file, b"\xef\xbb\xbf\xef\xbb\xbf" + EMPTY.encode(), "line 1 column 1")


NO_JSON: list[tuple[str, str]] = [
    ("", "line 1 column 1"),
    (" \n\t", "line 2 column 2"),
    ("hello", "line 1 column 1"),
    ("{'a': 1}", "line 1 column 2"),
    (EMPTY + "\n{}", "line 2 column 1"),
    (EMPTY + EMPTY, f"line 1 column {len(EMPTY) + 1}"),
    (EMPTY + ",", f"line 1 column {len(EMPTY) + 1}"),
    ('{\n  "a": 1,\n  "b": }', "line 3 column 8"),
    ('{"a": [1, 2}', "line 1 column 12"),
    ('{"a": "x\ty"}', "line 1 column 9"),
    ("// note\n{}", "line 1 column 1"),
    ('{"a": 01}', "line 1 column 8"),
    ('{"a": +1}', "line 1 column 7"),
    ('{"a": "\\x"}', "line 1 column 8"),
]


@pytest.mark.criterion("05.B4")
@pytest.mark.parametrize(("content", "place"), NO_JSON, ids=[repr(content)[:20] for content, _ in NO_JSON])
def test_a_text_that_is_no_json_is_refused_with_line_and_column(file: Path, content: str, place: str) -> None:
    assert isinstance(refused(file, content, place).__cause__, json.JSONDecodeError)


BAD_NUMBERS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    "1" + "0" * 400 + ".0",
    "1" * 5_000,
    "-" + "7" * 5_000,
]


@pytest.mark.criterion("05.B5")
@pytest.mark.parametrize("number", BAD_NUMBERS, ids=lambda text: text[:9])
def test_a_number_that_json_cannot_mean_is_refused_even_in_an_ignored_field(file: Path, number: str) -> None:
    column = with_field(number).index(number) + 1
    error = refused(file, with_field(number), f"line 1 column {column}:")
    assert len(str(error)) < 1_000
    assert error.__cause__ is not None
    record = f'{{"schemaVersion": 1,\n "responses": [{{"records": [{{"type": "x",\n  "n": {number}}}]}}]}}'
    refused(file, record, "line 3 column 8")


@pytest.mark.criterion("05.B5")
def test_ordinary_numbers_and_words_pass(file: Path) -> None:
    file.write_text(with_field('1e308, -0.0, 5e-324, 12345678901234567890, true, false, null, "NaN 1e999"'))
    assert FixtureProviderAdapter.from_file(file).pending_response_count == 0


@pytest.mark.criterion("05.B5")
def test_ordinary_words_and_numbers_before_the_fault_are_passed_over(file: Path) -> None:
    before = '"NaN", true, false, null, -12, 1.5e3, {"a": 1}, [{"a": 2}], '
    content = with_field(before + "NaN")
    refused(file, content, f"line 1 column {content.rindex('NaN') + 1}:")


TWICE: list[tuple[str, str]] = [
    ('{"schemaVersion": 1, @"schemaVersion": 1, "responses": []}', "'schemaVersion'"),
    ('{"schemaVersion": 1, "responses": [], @"responses": []}', "'responses'"),
    (with_field('{"a": {"x": 1, "y": {}, @"x": 1}}'), "'x'"),
    (with_field('{"key": 1, @"k\\u0065y": 2}'), "'key'"),
    (with_field('{"": 1, @"": 2}'), "''"),
    (with_field('{"\\ud800": 1, @"\\ud800": 2}'), "ud800"),
    (with_field('{"a": "{\\"a\\": 1}", "b": ["a", {"a": 1}], @"a": 3}'), "'a'"),
]
"""Texts and the key that stands twice; the second one stands at the sign."""


@pytest.mark.criterion("05.B6")
@pytest.mark.parametrize(("content", "key"), TWICE, ids=range(len(TWICE)))
def test_one_key_twice_in_an_object_is_refused_by_name(file: Path, content: str, key: str) -> None:
    refused(file, content.replace("@", ""), key, f"line 1 column {content.index('@') + 1}:", "twice")


@pytest.mark.criterion("05.B6")
def test_one_key_in_several_objects_is_fine(file: Path) -> None:
    file.write_text(with_field('{"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 2}]}'))
    assert FixtureProviderAdapter.from_file(file).pending_response_count == 0


@pytest.mark.criterion("05.B7")
def test_a_file_may_be_as_large_as_max_bytes_and_no_larger(file: Path) -> None:
    size = len(EMPTY)
    file.write_text(EMPTY)
    assert FixtureProviderAdapter.from_file(file, max_bytes=size).pending_response_count == 0
    refused(file, EMPTY, str(size - 1), max_bytes=size - 1)
    refused(file, EMPTY + " ", max_bytes=size)
    refused(file, b"\xef\xbb\xbf" + EMPTY.encode(), max_bytes=size)


@pytest.mark.criterion("05.B7")
@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are made otherwise there")
def test_no_more_than_max_bytes_and_one_are_read(tmp_path: Path) -> None:
    pipe = tmp_path / "endless.json"
    os.mkfifo(pipe)
    written: list[int] = []

    def write() -> None:
        with open(pipe, "wb", buffering=0) as sink:
            for byte in b'{"schemaVersion": 1':
                written.append(sink.write(bytes([byte])))
            done.wait(10)

    done = threading.Event()
    writer = threading.Thread(target=write)
    writer.start()
    try:
        # A reader that wanted one byte more would wait here for good: the writer stays open.
        with pytest.raises(FixtureProviderError):
            FixtureProviderAdapter.from_file(pipe, max_bytes=18)
    finally:
        done.set()
        writer.join()
    assert sum(written) == 19


@pytest.mark.criterion("05.B7")
@pytest.mark.parametrize("max_bytes", [0, -1, True, 1.5, "10", None])
def test_max_bytes_is_a_positive_integer(max_bytes: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        FixtureProviderAdapter.from_file(SHIPPED, max_bytes=max_bytes)


@pytest.mark.criterion("05.B8")
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_nesting_of_any_depth_is_refused_without_a_recursion_error(file: Path, brackets: str) -> None:
    opened = "[" if brackets == "[]" else '{"a":'
    closed = brackets[1]
    for content in (opened * 100_000, opened * 100_000 + "1" + closed * 100_000):
        refused(file, content)
        refused(file, f'{{"schemaVersion": 1, "responses": [{{"records": [{content}]}}]}}')


@pytest.mark.criterion("05.B8", "05.97")
async def test_arguments_of_the_greatest_depth_can_be_written_to_a_file(file: Path) -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    assert text.count('"left": 20') == 1
    deep = text.replace('"left": 20', '"left": ' + '{"a":' * 127 + "1" + "}" * 127)
    file.write_bytes(deep.encode())  # noqa: ASYNC240 - a few bytes
    assert len(await play(FixtureProviderAdapter.from_file(file))) == 2


NO_FIXTURES = ["[]", "null", "1", '"x"', '{"schemaVersion": 2, "responses": []}', '{"schemaVersion": 1}']


@pytest.mark.criterion("05.B9")
@pytest.mark.parametrize("content", NO_FIXTURES)
def test_json_that_is_no_fixture_is_refused_with_the_path(file: Path, content: str) -> None:
    assert isinstance(refused(file, content).__cause__, FixtureProviderError)


def test_big_integers_and_lone_surrogates_are_judged_where_they_stand(file: Path) -> None:
    """As 05.87 has it for data in memory."""
    file.write_text(with_field('9007199254740993, "\\ud800"'))
    assert FixtureProviderAdapter.from_file(file).pending_response_count == 0
