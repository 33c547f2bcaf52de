"""The functions of `dialects`, and the framing that all dialects share (05D.01 to 05D.27)."""

import csv
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from dialect_wire import Frame, Outcome, chat, dump, ndjson, outcome, sse
from hypothesis import given, settings
from hypothesis import strategies as st

from kickwheel_provider_adapter import FixtureProviderAdapter, dialects

RECORDINGS = Path(__file__).parents[4] / "fixtures" / "recordings"
GOOD = sse(chat({"content": "Hi"}, id="r1"), chat(finish="stop"), done=True)
GOOD_RECORDS: list[Frame] = [
    {"type": "response_start", "responseId": "r1", "role": "assistant"},
    {"type": "text_delta", "text": "Hi"},
    {
        "type": "response_end",
        "responseId": "r1",
        "stopReason": "stop",
        "usage": {"inputTokens": 0, "outputTokens": 0},
    },
]


def recordings(*wires: str) -> list[tuple[str, str]]:
    with (RECORDINGS / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            (r["dialect"], r["path"])
            for r in table
            if r["wire"] in wires and r["dialect"] in dialects.names()
        ]


def parsed(body: bytes, name: str = "openai-chat") -> str:
    return outcome(name, body).ending


@pytest.mark.criterion("05D.01")
def test_the_dialects_have_fixed_names_in_a_fixed_order() -> None:
    assert dialects.names() == (
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "ollama",
        "bedrock-converse",
    )


@pytest.mark.criterion("05D.02")
def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    for call in (lambda: dialects.decoder("cohere"), lambda: dialects.to_fixture("cohere", [])):
        with pytest.raises(ValueError, match="openai-chat") as caught:
            call()
        assert all(name in str(caught.value) for name in dialects.names())
    first, second = dialects.decoder("ollama"), dialects.decoder("ollama")
    assert first is not second
    assert isinstance(first, dialects.Decoder)


@pytest.mark.criterion("05D.02")
def test_the_fallback_id_names_a_response_that_has_none() -> None:
    body = ndjson({"done": True, "message": {"content": "x"}})
    assert Outcome(dialects.decode("ollama", body)).response.id == "response-001"  # pyright: ignore[reportOptionalMemberAccess]
    named = Outcome(dialects.decode("ollama", body, fallback_id="mine"))
    assert named.response is not None
    assert (named.response.id, named.response.message.id) == ("mine", "message-mine")
    for bad in ("", "  ", "\ud800"):
        with pytest.raises(ValueError, match="fallback_id"):
            dialects.decoder("ollama", fallback_id=bad)
    with pytest.raises(ValueError, match="max_frame_bytes"):
        dialects.decoder("ollama", max_frame_bytes=0)


@pytest.mark.criterion("05D.03")
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_feed_takes_every_kind_of_bytes(kind: type) -> None:
    decoder = dialects.decoder("openai-chat")
    assert decoder.feed(kind(b"")) == []
    assert decoder.feed(kind(GOOD)) + decoder.close() == GOOD_RECORDS


@pytest.mark.criterion("05D.03")
@pytest.mark.parametrize("wrong", ["text", None, 1, [b"x"]])
def test_feed_refuses_what_is_no_bytes(wrong: object) -> None:
    decoder = dialects.decoder("openai-chat")
    with pytest.raises(TypeError):
        decoder.feed(wrong)  # pyright: ignore[reportArgumentType]
    assert decoder.feed(GOOD) + decoder.close() == GOOD_RECORDS


@pytest.mark.criterion("05D.04")
def test_the_terminal_comes_from_close_and_close_ends_the_decoder() -> None:
    decoder = dialects.decoder("openai-chat")
    assert decoder.feed(GOOD) == GOOD_RECORDS[:-1]
    assert decoder.close() == GOOD_RECORDS[-1:]
    for call in (lambda: decoder.feed(b"x"), decoder.close):
        with pytest.raises(RuntimeError):
            call()


@pytest.mark.criterion("05D.05")
def test_after_a_fault_feed_and_the_one_close_give_nothing() -> None:
    decoder = dialects.decoder("openai-chat")
    records = decoder.feed(b"data: nonsense\n\n" + GOOD)
    assert [r["type"] for r in records] == ["transport_error"]
    assert records[0]["code"] == "invalid_json"
    assert decoder.feed(GOOD) == []
    assert decoder.close() == []


@pytest.mark.criterion("05D.05", "05D.06", "05D.10")
@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(
    name=st.sampled_from(dialects.names()),
    body=st.lists(
        st.one_of(
            st.binary(max_size=8),
            st.sampled_from(
                [
                    b"data: ",
                    b"data:",
                    b"event: error\n",
                    b"\n",
                    b"\r\n",
                    b"\r",
                    b"\n\n",
                    b": ping\n\n",
                    b"[DONE]",
                    b"{",
                    b"}",
                    b"[",
                    b"]",
                    b",",
                    b'"',
                    b"\\",
                    b"\xef\xbb\xbf",
                    b"\xc3",
                    dump(chat({"content": "é"})),
                    dump(chat(finish="stop")),
                    dump({"type": "message_start", "message": {"id": "m"}}),
                    dump(
                        {
                            "type": "content_block_delta",
                            "index": 0,
                            "delta": {"type": "text_delta", "text": "x"},
                        }
                    ),
                    dump({"candidates": [{"content": {"parts": [{"text": "g"}]}, "finishReason": "STOP"}]}),
                    dump({"done": True, "message": {"content": "o"}}),
                    dump({"messageStop": {"stopReason": "end_turn"}}),
                    dump({"type": "response.output_text.delta", "delta": "r"}),
                    b'{"choices":[{"delta":{"content":"\\ud83d"}}]}',
                ]
            ),
        ),
        max_size=14,
    ).map(b"".join),
    cuts=st.lists(st.integers(0, 400), max_size=6),
)
def test_any_bytes_in_any_reads_give_the_same_records_and_never_an_exception(
    name: str, body: bytes, cuts: list[int]
) -> None:
    whole = dialects.decode(name, body)
    json.dumps(whole, allow_nan=False).encode()
    decoder = dialects.decoder(name)
    records: list[Frame] = []
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    for start, end in pairwise(places):
        records += decoder.feed(body[start:end])
    assert records + decoder.close() == whole
    Outcome(whole)


@pytest.mark.criterion("05D.07")
def test_decode_is_one_feed_and_one_close() -> None:
    assert dialects.decode("openai-chat", GOOD) == GOOD_RECORDS


@pytest.mark.criterion("05D.08")
def test_to_fixture_numbers_its_bodies_and_refuses_a_bare_body() -> None:
    body = ndjson({"done": True, "message": {"content": "x"}})
    fixture = dialects.to_fixture("ollama", [body, body])
    assert list(fixture) == ["schemaVersion", "responses"]
    records = dialects.decode("ollama", body), dialects.decode("ollama", body, fallback_id="response-002")
    assert fixture == {"schemaVersion": 1, "responses": [{"records": records[0]}, {"records": records[1]}]}
    assert (
        FixtureProviderAdapter(json.loads(json.dumps(fixture, allow_nan=False))).pending_response_count == 2
    )
    assert FixtureProviderAdapter(dialects.to_fixture("ollama", iter([body]))).pending_response_count == 1
    with pytest.raises(TypeError):
        dialects.to_fixture("ollama", body)  # pyright: ignore[reportArgumentType]


@pytest.mark.criterion("05D.09")
def test_another_process_and_hash_seed_give_the_same_records() -> None:
    path = RECORDINGS / "mistral" / "parallel-tools-no-index.sse"
    program = (
        "import json, sys; from kickwheel_provider_adapter import dialects;"
        "print(json.dumps(dialects.decode('openai-chat', open(sys.argv[1], 'rb').read())))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, str(path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1", "12345")
    }
    here = json.dumps(dialects.decode("openai-chat", path.read_bytes()))
    assert [output.decode().strip() for output in outputs] == [here]


@pytest.mark.criterion("05D.12")
@pytest.mark.parametrize("space", [b"", b"\n\n", b" \t\r\n ", b"\xef\xbb\xbf", b"\xef\xbb\xbf \n"])
def test_the_first_significant_byte_decides_the_framing(space: bytes) -> None:
    frames = [chat({"content": "a"}, id="r1"), chat({"content": "b"}, "stop")]
    bodies = [
        space + ndjson(*frames),
        space + b"".join(map(dump, frames)),
        space + json.dumps(frames, indent=1).encode(),
        space.rstrip(b" \t") + sse(*frames),
    ]
    answers = [outcome("openai-chat", body) for body in bodies]
    assert [answer.ending for answer in answers] == ["stop"] * 4
    assert [answer.text for answer in answers] == ["ab"] * 4


@pytest.mark.criterion("05D.12", "05D.174")
@pytest.mark.parametrize("body", [b"", b"\xef\xbb\xbf", b"\n \n\t", b" " * 200_000, b" \n" * 50_000])
def test_a_body_of_nothing_has_no_records(body: bytes) -> None:
    assert dialects.decode("gemini", body) == []


@pytest.mark.criterion("05D.12")
def test_much_leading_white_space_changes_nothing() -> None:
    space = b" \n" * 100_000
    assert parsed(space + ndjson(chat({"content": "a"}, "stop"))) == "stop"
    assert parsed(space + GOOD) == "stop"
    assert dialects.decode("openai-chat", b"\xef\xbb") == dialects.decode("openai-chat", b"x\xbb")


@pytest.mark.criterion("05D.13", "05D.157")
@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_lines_end_at_line_feed_and_carriage_return_only(odd: str) -> None:
    text = f"a{odd}b"
    raw = text if odd > "\x20" else "a" + json.dumps(odd)[1:-1] + "b"
    body = f'data: {{"choices":[{{"delta":{{"content":"{raw}"}},"finish_reason":"stop"}}]}}\n\n'.encode()
    assert outcome("openai-chat", body).text == text
    assert outcome("openai-chat", ndjson(chat({"content": text}, "stop"))).text == text
    comment = f": x{odd}data: nonsense\n".encode() + GOOD
    assert parsed(comment) == "stop"


@pytest.mark.criterion("05D.13", "05D.26")
@pytest.mark.parametrize(("name", "path"), recordings("sse"), ids=lambda value: str(value))
def test_line_ends_marks_comments_and_ids_do_not_change_the_records(name: str, path: str) -> None:
    body = (RECORDINGS / path).read_bytes()
    plain = body.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    if not plain.endswith(b"\n"):
        plain += b"\n\n"
    records = dialects.decode(name, plain)
    variants = {
        "CRLF": plain.replace(b"\n", b"\r\n"),
        "CR": plain.replace(b"\n", b"\r"),
        "BOM": b"\xef\xbb\xbf" + plain,
        "comments between": b": hi\n\n" + plain.replace(b"\n\n", b"\n\n: ping\n\n"),
        "comments inside": plain.replace(b"\ndata:", b"\n: ping\ndata:"),
        "ids": plain.replace(b"\n\n", b"\nid: 7\nretry: 100\n\n"),
    }
    for what, variant in variants.items():
        assert dialects.decode(name, variant) == records, what
    crlf = variants["CRLF"]
    decoder = dialects.decoder(name)  # a read that ends after each CR
    split = [record for part in crlf.split(b"\n") for record in decoder.feed(part + b"\n")]
    assert split + decoder.close() == records


@pytest.mark.criterion("05D.27")
@pytest.mark.parametrize(("name", "path"), recordings("ndjson"), ids=lambda value: str(value))
def test_lines_rewritten_as_one_array_give_the_same_records(name: str, path: str) -> None:
    lines = [line for line in (RECORDINGS / path).read_bytes().splitlines() if line.strip()]
    records = dialects.decode(name, b"\n".join(lines))
    assert dialects.decode(name, b"[" + b",\n".join(lines) + b"]") == records
    assert dialects.decode(name, b"[" + b",".join(lines) + b"]\n") == records
    pretty = json.dumps([json.loads(line) for line in lines], indent=2).encode()
    assert dialects.decode(name, pretty) == records


@pytest.mark.criterion("05D.27")
def test_an_array_rewritten_as_lines_gives_the_same_records() -> None:
    body = (RECORDINGS / "gemini" / "json-array-tool.json").read_bytes()
    assert dialects.decode("gemini", ndjson(*json.loads(body))) == dialects.decode("gemini", body)


@pytest.mark.criterion("05D.14", "05D.158")
def test_field_names_and_comments() -> None:
    frame = dump(chat({"content": "Hi"}, "stop", id="r1"))
    for body in (
        b"data:" + frame + b"\n\n",
        b"data: " + frame + b"\n\n",
        b":data: nonsense\ndata: " + frame + b"\n\n",
        b"id: 1\ndata: " + frame + b"\n\n: ping\n\n",
        b"id\nretry\ndata\ndata: " + frame + b"\n\n",
    ):
        assert outcome("openai-chat", body).text == "Hi", body
    two_spaces = b"data:  " + frame + b"\n\n"  # one space belongs to the field, the other is JSON's
    assert outcome("openai-chat", two_spaces).text == "Hi"


@pytest.mark.criterion("05D.15")
def test_data_lines_are_joined_and_the_event_has_its_name() -> None:
    pretty = json.dumps(chat({"content": "a\nb"}, "stop"), indent=1).splitlines()
    body = "".join(f"data: {line}\n" for line in pretty) + "\n"
    assert outcome("openai-chat", body.encode()).text == "a\nb"
    named = b'event: message_delta\ndata: {"delta":{"stop_reason":"end_turn"}}\n\n'
    assert parsed(named, "anthropic") == "stop"


@pytest.mark.criterion("05D.16", "05D.162")
def test_an_event_without_data_is_nothing_and_its_name_is_forgotten() -> None:
    for nothing in (
        b"event: error\n\n",
        b"event: error\ndata:\n\n",
        b"event: error\ndata:  \t\n\n",
        b"\n\n\n",
    ):
        assert dialects.decode("openai-chat", nothing + GOOD) == GOOD_RECORDS


@pytest.mark.criterion("05D.17")
@pytest.mark.parametrize("done", [b"data: [DONE]\n\n", b"data:[DONE]\n\n", b"data:  [DONE] \n\n"])
def test_done_ends_the_body(done: bytes) -> None:
    later = sse({"error": {"message": "late"}}) + b"data: nonsense\n\n" + b"data: cut"
    assert (
        dialects.decode("openai-chat", sse(chat({"content": "Hi"}, "stop", id="r1")) + done + later)
        == GOOD_RECORDS
    )
    at_end = sse(chat({"content": "Hi"}, id="r1")) + done.rstrip(b"\n")
    assert parsed(at_end) == "stop"


@pytest.mark.criterion("05D.18")
def test_stray_lines_that_are_one_object_are_a_frame() -> None:
    error = json.dumps({"error": {"code": 499, "message": "gone", "status": "CANCELLED"}}, indent=2).encode()
    first = sse(chat({"content": "Hi"}))
    assert parsed(first + error + b"\n") == "TE CANCELLED"
    assert parsed(first + error + b"\n\n" + sse(chat(finish="stop"))) == "TE CANCELLED"
    assert parsed(first + b"not a field\n\n" + sse(chat(finish="stop"))) == "stop"
    assert parsed(first + b' data: {"error":"x"}\n\n' + sse(chat(finish="stop"))) == "stop"
    assert parsed(first + b"{broken\n\n" + sse(chat(finish="stop"))) == "stop"
    assert parsed(first + b"[1]\n\n" + sse(chat(finish="stop"))) == "stop"


@pytest.mark.criterion("05D.19")
@pytest.mark.parametrize("missing", [1, 2])
def test_the_end_of_the_body_ends_the_event(missing: int) -> None:
    body = sse(chat({"content": "Hi"}, "stop", id="r1"))
    assert dialects.decode("openai-chat", body[:-missing]) == GOOD_RECORDS


@pytest.mark.criterion("05D.20")
@pytest.mark.parametrize(
    "tail",
    [
        b'data: {"choices":[',
        b'data: {"choices":[\n',
        b"data: hello\n",
        b"data: 4",
        b"{\n",
        b'{"a":\n1\n',
        b"dat",
        b"event: x",
        b"id: 5",
        b"stray",
        b"data: [DON",
        b"data:",
        b'data: {"a":"\xff"}\n',
    ],
)
def test_an_event_stream_is_cut_when_its_last_event_is_not_whole(tail: bytes) -> None:
    assert parsed(sse(chat({"content": "Hi"}, "stop")) + tail) == "MT"


@pytest.mark.criterion("05D.20")
@pytest.mark.parametrize(
    "tail", [b": comment", b":", b"event: x\n", b"stray\n", b"id: 5\n", b"data: {}", b"{}", b"{}\n"]
)
def test_an_event_stream_is_not_cut_by_comments_or_complete_lines(tail: bytes) -> None:
    assert parsed(sse(chat({"content": "Hi"}, "stop")) + tail) == "stop"


@pytest.mark.criterion("05D.21")
@pytest.mark.parametrize(
    ("body", "ending"),
    [
        (b"%s %s\t\r\n%s", "stop"),
        (b"%s%s%s", "stop"),
        (b"[%s,%s ,\n%s]", "stop"),
        (b"[%s,%s,%s] \n", "stop"),
        (b"[%s,%s,%s]x", "TE invalid_json"),
        (b"[%s,%s,%s][]", "TE invalid_json"),
        (b"[%s,%s,%s]{}", "TE invalid_json"),
        (b"%s,%s%s", "TE invalid_json"),
        (b"%s%s%s]", "TE invalid_json"),
        (b"[%s,%s,%s,1]", "TE invalid_json"),
        (b"[%s,%s,%s,null]", "TE invalid_json"),
        (b"[%s,%s,%s,[]]", "TE invalid_json"),
        (b"%s%s%s\x0b", "TE invalid_json"),
        (b"%s%s%s\xff", "TE invalid_json"),
        (b"[%s%s]%s", "TE invalid_json"),
    ],
)
def test_what_may_stand_between_objects(body: bytes, ending: str) -> None:
    frames = tuple(map(dump, (chat({"content": "a }{\\"}), chat({"content": '"'}), chat(finish="stop"))))
    assert parsed(body % frames) == ending


@pytest.mark.criterion("05D.21")
def test_objects_of_an_array_are_passed_on_before_the_array_ends() -> None:
    decoder = dialects.decoder("openai-chat")
    assert decoder.feed(b"[" + dump(chat({"content": "a"}, id="r1")))[-1] == {
        "type": "text_delta",
        "text": "a",
    }


@pytest.mark.criterion("05D.22")
@pytest.mark.parametrize("body", [b"%s{", b'%s{"a":"}', b'%s{"a":"\\', b"[%s", b"[%s,", b"[%s\n"])
def test_json_is_cut_when_something_is_open(body: bytes) -> None:
    assert parsed(body % dump(chat({"content": "Hi"}, "stop"))) == "MT"


@pytest.mark.criterion("05D.23")
def test_bad_utf8_is_told_and_never_replaced() -> None:
    bad = b'{"choices":[{"delta":{"content":"a\xff"},"finish_reason":"stop"}]}'
    surrogate = b'{"choices":[{"delta":{"content":"a\xed\xa0\x80"},"finish_reason":"stop"}]}'
    for frame in (bad, surrogate):
        for body in (b"data: " + frame + b"\n\n", frame, b"[" + frame + b"]"):
            answer = outcome("openai-chat", body)
            assert (answer.ending, answer.text) == ("TE invalid_utf8", "")
    assert parsed(b": \xff\xfe\n\xff stray\n\nid: \xff\n" + GOOD) == "stop"


@pytest.mark.criterion("05D.24")
@pytest.mark.parametrize(
    ("data", "ending"),
    [
        (b"NaN", "TE invalid_json"),
        (b'{"a":NaN}', "TE invalid_json"),
        (b'{"a":Infinity}', "TE invalid_json"),
        (b'{"a":-Infinity}', "TE invalid_json"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "TE invalid_json"),
        (b"hello", "TE invalid_json"),
        (b"{'a':1}", "TE invalid_json"),
        (b'{"a":1,}', "TE invalid_json"),
        (b"\xef\xbb\xbf{}", "TE invalid_json"),
        (b"[1]", "TE invalid_event"),
        (b"1", "TE invalid_event"),
        (b'"x"', "TE invalid_event"),
        (b"null", "TE invalid_event"),
        (b'{"choices":[],"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}', "stop"),
        (b'{"choices":[{"delta":{"content":"\\ud800"},"finish_reason":"stop"}]}', "stop"),
        (b'{"choices":[{"delta":{},"finish_reason":"stop"}],"n":1e999,"m":' + b"9" * 6000 + b"}", "stop"),
    ],
)
def test_a_frame_that_is_no_json_object_is_told(data: bytes, ending: str) -> None:
    assert Outcome(dialects.decode("openai-chat", b"data: " + data + b"\n\n")).ending == ending


@pytest.mark.criterion("05D.25")
@pytest.mark.parametrize("frame", ["sse line", "sse data", "stray", "object", "array"])
@pytest.mark.parametrize("over", [0, 1])
def test_the_largest_frame_passes_and_one_byte_more_does_not(frame: str, over: int) -> None:
    limit = 200
    room = limit + over
    object_bytes = dump(chat({"content": "x"}, "stop"))
    if frame == "sse line":
        body = b"data: " + object_bytes + b" " * (room - len(object_bytes) - 6) + b"\n\n"
    elif frame == "sse data":  # joined with line feeds
        half = room // 2
        first = object_bytes + b" " * (half - len(object_bytes))
        body = b"data: " + first + b"\ndata: " + b" " * (room - half - 1) + b"\n\n"
    elif frame == "stray":
        body = sse(chat(finish="stop")) + b"x" * 50 + b"\n" + b"y" * (room - 51) + b"\n\n"
    else:
        padded = object_bytes[:-1] + b" " * (room - len(object_bytes)) + b"}"
        body = b"[" + padded + b"]" if frame == "array" else padded
    for size in (1, 7, len(body)):
        decoder = dialects.decoder("openai-chat", max_frame_bytes=limit)
        records: list[Frame] = []
        for start in range(0, len(body), size):
            records += decoder.feed(body[start : start + size])
        assert Outcome(records + decoder.close()).ending == ("TE too_large" if over else "stop")


@pytest.mark.criterion("05D.25")
def test_the_default_limit_is_16_mib() -> None:
    assert dialects.MAX_FRAME_BYTES == 16_777_216
    assert dialects.MAX_CALLS == 1024


@pytest.mark.criterion("05D.11")
@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b"", None),
        (b"nonsense", None),
        (b"data: {}\n\ndata: nonsense\n\n", None),
        (sse({"x": 1}, chat()), "openai-chat"),
        (b"event: message_start\ndata: {}\n\n", "anthropic"),
        (b'{"done":true,"response":"x"}', "ollama"),
        (b'{"output":{},"stopReason":"end_turn"}', "bedrock-converse"),
        (b'{"response":{"candidates":[]}}', "gemini"),
        (b'{"object":"response"}', "openai-responses"),
        (b'[{"promptFeedback":{}}', "gemini"),
    ],
)
def test_detect_looks_at_the_first_recognisable_frame(body: bytes, name: str | None) -> None:
    assert dialects.detect(body) == name
