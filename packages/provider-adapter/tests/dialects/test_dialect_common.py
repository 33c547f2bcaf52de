"""What all dialects have in common: start, text, usage, stop words, errors, calls (05D.30 to 05D.69)."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import pytest
from dialect_wire import Frame, Outcome, chat, ndjson, outcome, sse

from kickwheel_provider_adapter import dialects


@dataclass(frozen=True)
class Wire:
    """How one dialect writes text, a call, a stop word and usage."""

    text: Callable[[object], Frame]
    call: Callable[[object, object, str], list[Frame]]  # id, name, argument text
    stop: Callable[[object], Frame]
    usage: Callable[[object, object], Frame]
    body: Callable[..., bytes]
    start: Callable[[object], Frame] | None = None  # a frame that carries the response's id
    calls_have_text: bool = True
    own_words: tuple[str, ...] = ()


def responses_call(call_id: object, name: object, text: str) -> list[Frame]:
    item = {"type": "function_call", "id": f"fc-{name}", "call_id": call_id, "name": name}
    return [{"type": "response.output_item.done", "item": {**item, "arguments": text}}]


def anthropic_call(call_id: object, name: object, text: str) -> list[Frame]:
    block: Frame = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    delta = {"type": "input_json_delta", "partial_json": text}
    return [
        {"type": "content_block_start", "index": 1, "content_block": block},
        {"type": "content_block_delta", "index": 1, "delta": delta},
        {"type": "content_block_stop", "index": 1},
    ]


def bedrock_call(call_id: object, name: object, text: str) -> list[Frame]:
    use = {"toolUseId": call_id, "name": name}
    return [
        {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": use}}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": text}}}},
        {"contentBlockStop": {"contentBlockIndex": 1}},
    ]


def chat_call(call_id: object, name: object, text: str) -> list[Frame]:
    return [chat({"tool_calls": [{"id": call_id, "function": {"name": name, "arguments": text}}]})]


def gemini_call(call_id: object, name: object, text: str) -> list[Frame]:
    part = {"functionCall": {"id": call_id, "name": name, "args": json.loads(text) if text else None}}
    return [{"candidates": [{"content": {"parts": [part]}}]}]


def ollama_call(call_id: object, name: object, text: str) -> list[Frame]:
    entry = {"id": call_id, "function": {"name": name, "arguments": text}}
    return [{"done": False, "message": {"tool_calls": [entry]}}]


WIRES: dict[str, Wire] = {
    "openai-chat": Wire(
        text=lambda text: chat({"content": text}),
        call=chat_call,
        stop=lambda word: chat(finish=word),
        usage=lambda i, o: {"choices": [], "usage": {"prompt_tokens": i, "completion_tokens": o}},
        body=sse,
        start=lambda key: {"id": key, "choices": []},
    ),
    "openai-responses": Wire(
        text=lambda text: {
            "type": "response.output_text.delta",
            "output_index": 0,
            "content_index": 0,
            "delta": text,
        },
        call=responses_call,
        stop=lambda word: {"type": "response.completed", "response": {"status": word}},
        usage=lambda i, o: {
            "type": "response.completed",
            "response": {"status": "completed", "usage": {"input_tokens": i, "output_tokens": o}},
        },
        body=sse,
        start=lambda key: {"type": "response.created", "response": {"id": key}},
    ),
    "anthropic": Wire(
        text=lambda text: {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": text},
        },
        call=anthropic_call,
        stop=lambda word: {"type": "message_delta", "delta": {"stop_reason": word}},
        usage=lambda i, o: {"type": "message_delta", "usage": {"input_tokens": i, "output_tokens": o}},
        body=sse,
        start=lambda key: {"type": "message_start", "message": {"id": key}},
    ),
    "gemini": Wire(
        text=lambda text: {"candidates": [{"content": {"parts": [{"text": text}]}}]},
        call=gemini_call,
        stop=lambda word: {"candidates": [{"finishReason": word}]},
        usage=lambda i, o: {"usageMetadata": {"promptTokenCount": i, "candidatesTokenCount": o}},
        body=sse,
        start=lambda key: {"responseId": key, "candidates": []},
        calls_have_text=False,
    ),
    "ollama": Wire(
        text=lambda text: {"done": False, "message": {"content": text}},
        call=ollama_call,
        stop=lambda word: {"done": True, "message": {}, "done_reason": word},
        usage=lambda i, o: {"done": False, "message": {}, "prompt_eval_count": i, "eval_count": o},
        body=ndjson,
    ),
    "bedrock-converse": Wire(
        text=lambda text: {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}},
        call=bedrock_call,
        stop=lambda word: {"messageStop": {"stopReason": word}},
        usage=lambda i, o: {"metadata": {"usage": {"inputTokens": i, "outputTokens": o}}},
        body=ndjson,
    ),
}

every_dialect = pytest.mark.parametrize("name", dialects.names())
dialects_with_ids = pytest.mark.parametrize("name", [n for n, wire in WIRES.items() if wire.start])

CLASSES = {
    "stop": "stop end_turn stop_sequence eos STOP completed COMPLETE",
    "tool_call": "tool_calls tool_use function_call TOOL_CALL",
    "length": "length max_tokens MAX_TOKENS max_output_tokens model_context_window_exceeded model_length",
    "content_filter": "content_filter content_filtered refusal SAFETY RECITATION BLOCKLIST "
    "PROHIBITED_CONTENT SPII IMAGE_SAFETY MODEL_ARMOR guardrail_intervened",
    "error": "error failed MALFORMED_FUNCTION_CALL",
    "other": "pause_turn OTHER whatever Stop in_progress",
}
WORDS = [(word, kind) for kind, words in CLASSES.items() for word in words.split()]


def answer(name: str, *frames: Frame, done: bool = False) -> Outcome:
    wire = WIRES[name]
    body = wire.body(*frames)
    return outcome(name, body + (b"data: [DONE]\n\n" if done else b""))


def types(name: str, *frames: Frame) -> list[object]:
    return [record["type"] for record in dialects.decode(name, WIRES[name].body(*frames))]


@pytest.mark.criterion("05D.30")
@dialects_with_ids
def test_the_first_id_starts_the_response_and_later_ones_are_ignored(name: str) -> None:
    wire = WIRES[name]
    assert wire.start is not None
    decoder = dialects.decoder(name)
    assert decoder.feed(wire.body(wire.start("  "), wire.start(7), wire.start(None))) == []
    first = decoder.feed(wire.body(wire.start(" real ")))
    assert first == [{"type": "response_start", "responseId": " real ", "role": "assistant"}]
    if name != "anthropic":  # a second message of another id is a fault there (05D.110)
        assert decoder.feed(wire.body(wire.start("other"))) == []
    rest = decoder.feed(wire.body(wire.text("x"), wire.stop("stop"))) + decoder.close()
    assert rest[-1]["responseId"] == " real "


@pytest.mark.criterion("05D.30")
@every_dialect
def test_the_fallback_comes_just_before_the_first_record_that_needs_it(name: str) -> None:
    wire = WIRES[name]
    decoder = dialects.decoder(name, fallback_id="own")
    assert decoder.feed(wire.body(wire.text(""))) == []
    records = decoder.feed(wire.body(wire.text("x")))
    assert [(r["type"], r.get("responseId")) for r in records] == [
        ("response_start", "own"),
        ("text_delta", None),
    ]
    if wire.start is not None:
        assert decoder.feed(wire.body(wire.start("late"))) == []
    decoder.feed(wire.body(wire.stop("stop")))
    assert decoder.close()[-1]["responseId"] == "own"
    assert types(name, wire.stop("stop")) == ["response_start", "response_end"]


@pytest.mark.criterion("05D.31")
@every_dialect
def test_each_piece_of_text_is_a_delta_and_empty_ones_are_none(name: str) -> None:
    text = WIRES[name].text
    frames = [text("a"), text(""), text(None), text("b "), text("\n")]
    records = dialects.decode(name, WIRES[name].body(*frames, WIRES[name].stop("stop")))
    assert [r["text"] for r in records if r["type"] == "text_delta"] == ["a", "b ", "\n"]


@pytest.mark.criterion("05D.33", "05D.168")
@every_dialect
@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["\ud83d", "\ude00"], "😀"),
        (["a\ud83d", "\ude00b"], "a😀b"),
        (["\ud83d\ude00"], "😀"),
        (["\ud83d", "", "\ude00"], "😀"),
        (["\ud83d", "x"], "\ufffdx"),
        (["\ude00"], "\ufffd"),
        (["\ude00\ud83d"], "\ufffd\ufffd"),
        (["\ud83d", "\ud83d", "\ude00"], "\ufffd😀"),
        (["x\ud83d"], "x\ufffd"),
        (["\ud83dé\ude00"], "\ufffdé\ufffd"),
    ],
)
def test_surrogates_join_across_pieces_and_lone_ones_are_replaced(
    name: str, pieces: list[str], text: str
) -> None:
    wire = WIRES[name]
    frames = [*map(wire.text, pieces), wire.stop("stop")]
    escaped = b"".join(json.dumps(frame).encode() + b"\n" for frame in frames)
    assert Outcome(dialects.decode(name, escaped)).text == text


@pytest.mark.criterion("05D.33")
@every_dialect
def test_a_held_surrogate_comes_before_a_call_and_before_an_error(name: str) -> None:
    wire = WIRES[name]
    held = json.dumps(wire.text("\ud83d")).encode() + b"\n"
    if name != "openai-chat":  # whose calls come at the end
        body = held + ndjson(*wire.call("c", "f", "{}"), wire.text("x"), wire.stop("stop"))
        kinds = [r.get("text", r["type"]) for r in dialects.decode(name, body)]
        assert kinds == ["response_start", "\ufffd", "tool_call", "x", "response_end"]
    body = held + ndjson({"error": "gone"})
    assert [r.get("text", r["type"]) for r in dialects.decode(name, body)] == [
        "response_start",
        "\ufffd",
        "transport_error",
    ]


@pytest.mark.criterion("05D.34")
@pytest.mark.parametrize("name", ["openai-chat", "gemini"])
def test_only_choice_0_counts(name: str) -> None:
    def numbered(index: object, frame: Frame) -> Frame:
        key = "choices" if name == "openai-chat" else "candidates"
        [choice] = cast("list[Frame]", frame[key])
        return {key: [{**choice, "index": index}]}

    wire = WIRES[name]
    frames = [
        numbered(1, wire.text("no")),
        numbered(0, wire.text("a")),
        numbered(None, wire.text("b")),
        numbered("1", wire.text("c")),
        numbered(2, wire.stop("length")),
        numbered(0, wire.stop("stop")),
        numbered(1, wire.stop("length")),
    ]
    result = answer(name, *frames)
    assert (result.text, result.ending) == ("abc", "stop")


@pytest.mark.criterion("05D.35")
@every_dialect
def test_a_call_comes_where_it_ends_but_in_chat_at_close(name: str) -> None:
    wire = WIRES[name]
    frames = [
        *wire.call("c1", "f", '{"a":1}'),
        wire.text("after"),
        *wire.call("c2", "g", "{}"),
        wire.stop("stop"),
    ]
    middle = (
        ["text_delta", "tool_call", "tool_call"]
        if name == "openai-chat"
        else ["tool_call", "text_delta", "tool_call"]
    )
    assert types(name, *frames) == ["response_start", *middle, "response_end"]


@pytest.mark.criterion("05D.36", "05D.171")
@every_dialect
def test_json_in_visible_text_is_text(name: str) -> None:
    wire = WIRES[name]
    result = answer(name, wire.text('{"name":"f",'), wire.text('"parameters":{}}'), wire.stop("stop"))
    assert (result.text, result.calls, result.ending) == ('{"name":"f","parameters":{}}', [], "stop")


@pytest.mark.criterion("05D.37")
@every_dialect
def test_the_last_count_sent_is_used_and_never_a_sum(name: str) -> None:
    wire = WIRES[name]
    unsafe = [-1, 1.5, 2.0, True, "7", 2**53, None]
    frames = [wire.usage(5, 1), wire.usage(9, 2), *(wire.usage(x, x) for x in unsafe), wire.stop("completed")]
    response = answer(name, *frames).response
    assert response is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (9, 2)
    bare = answer(name, wire.stop("stop")).response
    assert bare is not None
    assert (bare.usage.input_tokens, bare.usage.output_tokens) == (0, 0)


@pytest.mark.criterion("05D.38")
@pytest.mark.parametrize(
    ("name", "frames"),
    [
        ("openai-chat", [chat({"refusal": "I can"}), chat({"refusal": "not.", "content": ""}, "stop")]),
        (
            "openai-responses",
            [
                {"type": "response.refusal.delta", "delta": "I can"},
                {"type": "response.refusal.delta", "delta": "not."},
                {"type": "response.completed", "response": {"status": "completed"}},
            ],
        ),
    ],
)
def test_refusal_text_is_collected_and_is_an_error(name: str, frames: list[Frame]) -> None:
    result = answer(name, *frames)
    assert (result.ending, str(result.error), result.text) == ("TE refusal", "I cannot.", "")


@pytest.mark.criterion("05D.39", "05D.43")
@every_dialect
def test_the_verdict_at_close_goes_by_its_order(name: str) -> None:
    wire = WIRES[name]
    bad = wire.call("c1", "f", "[1]")
    good = wire.call("c2", "g", "{}")
    assert answer(name, {"x": 1}).ending == "TE unknown_format"
    assert answer(name, wire.text("a")).ending == "MT"
    assert answer(name, *bad, wire.stop("length")).ending == "TE length"
    assert answer(name, *bad, wire.stop("stop")).ending == "TE invalid_arguments"
    assert answer(name, *good, wire.stop("stop")).ending == "toolCall"
    cut = Outcome(dialects.decode(name, wire.body(*bad, wire.stop("stop")) + b'{"x":' + b"\n"))
    assert cut.ending == "MT"
    if name == "openai-chat":
        for ending in ("length", "SAFETY", "failed", "pause_turn"):
            assert answer(name, *good, wire.stop(ending)).calls == []
        assert answer(name, *good).calls == []


@pytest.mark.criterion("05D.39")
@every_dialect
def test_the_message_of_a_bad_stop_is_the_stop_word(name: str) -> None:
    wire = WIRES[name]
    for word in ("length", "SAFETY", "failed", "whatever"):
        assert str(answer(name, wire.stop(word)).error) == word


@pytest.mark.criterion("05D.40")
@every_dialect
def test_calls_decide_the_stop_reason_and_a_call_word_without_calls_is_invalid(name: str) -> None:
    wire = WIRES[name]
    assert answer(name, *wire.call("c", "f", "{}"), wire.stop("end_turn")).ending == "toolCall"
    assert answer(name, wire.text("x"), wire.stop("tool_use")).ending == "PROVIDER_INVALID_TERMINAL"


@pytest.mark.criterion("05D.41")
@every_dialect
def test_an_empty_answer_with_a_good_stop_word_is_a_success(name: str) -> None:
    result = answer(name, WIRES[name].stop("stop"))
    assert (result.ending, result.chunks) == ("stop", [])


@pytest.mark.criterion("05D.42")
@every_dialect
def test_text_usage_and_stop_words_after_the_stop_word_count(name: str) -> None:
    wire = WIRES[name]
    frames = [wire.text("a"), wire.stop("length"), wire.text("b"), wire.usage(3, 4), wire.stop("stop")]
    response = answer(name, *frames).response
    assert response is not None
    assert (response.message.text, response.usage.input_tokens) == ("ab", 3)
    assert answer(name, wire.stop("stop"), wire.stop("length")).ending == "TE length"


@pytest.mark.criterion("05D.44")
@every_dialect
@pytest.mark.parametrize(("word", "kind"), WORDS)
def test_every_stop_word_has_its_class(name: str, word: str, kind: str) -> None:
    wire = WIRES[name]
    expected = {"stop": "stop", "tool_call": "PROVIDER_INVALID_TERMINAL"}.get(kind, f"TE {kind}")
    assert answer(name, wire.stop(word)).ending == expected


@pytest.mark.criterion("05D.45", "05D.155")
@every_dialect
@pytest.mark.parametrize(
    ("error", "ending", "message"),
    [
        ({"code": 502, "message": "bad gateway"}, "TE 502", "bad gateway"),
        ("plain words", "TE error", "plain words"),
        ({"x": 1}, "TE error", "error"),
        (None, "stop", None),
        ("", "stop", None),
        (" ", "stop", None),
        ({}, "stop", None),
        (False, "stop", None),
        (7, "stop", None),
        ([1], "stop", None),
    ],
)
def test_an_error_field_ends_the_body(name: str, error: object, ending: str, message: str | None) -> None:
    wire = WIRES[name]
    frames: list[Frame] = [wire.text("a"), {**wire.text("b"), "error": error}, wire.stop("stop")]
    result = answer(name, *frames, done=wire.body is sse)
    assert result.ending == ending
    assert result.text == ("ab" if message is None else "a")
    if message is not None:
        assert str(result.error) == message


@pytest.mark.criterion("05D.46")
@every_dialect
def test_an_error_event_is_an_error(name: str) -> None:
    assert (
        answer(name, {"type": "error", "error": {"type": "overloaded_error"}}).ending == "TE overloaded_error"
    )
    own = answer(name, {"type": "error", "code": "server_error", "message": "m", "error": 3})
    assert (own.ending, str(own.error)) == ("TE server_error", "m")
    named = outcome(name, sse(("error", {"status": "GONE"})))
    assert named.ending == "TE GONE"


@pytest.mark.criterion("05D.47")
@every_dialect
@pytest.mark.parametrize("key", ["message", "detail"])
def test_an_unrecognised_frame_that_speaks_to_people_is_an_error(name: str, key: str) -> None:
    wire = WIRES[name]
    result = answer(name, {key: "no such model", "type": "not_found"})
    assert (result.ending, str(result.error)) == ("TE not_found", "no such model")
    assert answer(name, wire.text("x"), {key: " "}, {key: 7}, {key: {}}, wire.stop("stop")).ending == "stop"


@pytest.mark.criterion("05D.48")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": "a", "type": "b", "status": "c"}, "a"),
        ({"code": " ", "type": "b", "status": "c"}, "b"),
        ({"code": 5, "type": "b", "status": "c"}, "b"),
        ({"code": 5, "type": "error", "status": "c"}, "c"),
        ({"code": 5, "type": "error", "status": 404}, "5"),
        ({"code": -5}, "-5"),
        ({"code": True}, "error"),
        ({"code": 1.5, "type": "error"}, "error"),
        ({"type": 3, "status": None, "x": 1}, "error"),
    ],
)
def test_the_code_of_an_error(error: Frame, code: str) -> None:
    for name in dialects.names():
        assert answer(name, {"error": error}).ending == f"TE {code}"


@pytest.mark.criterion("05D.49")
@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"message": "m", "detail": "d"}, "m"),
        ({"message": " ", "detail": "d"}, "d"),
        ({"message": 3, "code": "c"}, "c"),
        ({"message": "x" * 3000}, "x" * 2000),
        ("y" * 3000, "y" * 2000),
        ({"message": "a\ud83db"}, "a\ufffdb"),
        ({"message": " " * 2500 + "x", "code": "c"}, "c"),
    ],
)
def test_the_message_of_an_error(error: object, message: str) -> None:
    for name in dialects.names():
        body = json.dumps({"error": error}).encode()
        assert str(outcome(name, body).error) == message


@pytest.mark.criterion("05D.50")
@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"m","type":"invalid_request_error","code":"invalid_api_key"}}',
        b'{"type":"error","error":{"type":"authentication_error","message":"m"}}',
        b'[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]',
        b'{"error":"model not found"}',
        b'{"message":"The security token is invalid"}',
        b'{"detail":"Not Found"}',
    ],
)
def test_an_http_error_body_is_the_same_single_record_in_every_dialect(body: bytes) -> None:
    records = [dialects.decode(name, body) for name in dialects.names()]
    assert all(record == records[0] for record in records)
    assert [record["type"] for record in records[0]] == ["transport_error"]


@pytest.mark.criterion("05D.51", "05D.52")
@every_dialect
def test_ids_are_kept_and_missing_or_repeated_ones_are_made_up(name: str) -> None:
    wire = WIRES[name]
    ids: list[object] = [" c ", "0", "", " ", None, 7, "0", "response-001-call-008", None]
    frames = [frame for n, i in enumerate(ids) for frame in wire.call(i, f"f{n}", "{}")]
    result = answer(name, *frames, wire.stop("stop"))
    assert [call[0] for call in result.calls] == [
        " c ",
        "0",
        "response-001-call-003",
        "response-001-call-004",
        "response-001-call-005",
        "response-001-call-006",
        "response-001-call-007",
        "response-001-call-008",
        "response-001-call-009",
    ]


@pytest.mark.criterion("05D.52")
@every_dialect
def test_a_made_up_id_that_is_taken_gets_a_number(name: str) -> None:
    wire = WIRES[name]
    ids: list[object] = ["response-001-call-003", "response-001-call-003-2", None]
    frames = [frame for n, i in enumerate(ids) for frame in wire.call(i, f"f{n}", "{}")]
    result = answer(name, *frames, wire.stop("stop"))
    assert result.calls[2][0] == "response-001-call-003-3"


@pytest.mark.criterion("05D.53", "05D.54", "05D.154", "05D.169")
@pytest.mark.parametrize("name", [n for n, wire in WIRES.items() if wire.calls_have_text])
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        (" \n", {}),
        ("null", {}),
        (" null ", {}),
        ("{}", {}),
        (' {"a": [1, {"b": null}]} ', {"a": [1, {"b": None}]}),
        ('{"n":9007199254740991}', {"n": 9007199254740991}),
        ('{"a":"xy', None),
        ('"{\\"n\\":2}"', None),
        ("[1,2", None),
        ("[]", None),
        ("1", None),
        ("true", None),
        ('{"a":NaN}', None),
        ('{"a":1e999}', None),
        ('{"n":9007199254740992}', None),
        ('{"a":"\\ud800"}', None),
        ('{"\\ud800":1}', None),
        ('{"a":1}{"b":2}', None),
        ("{'a':1}", None),
        ('{"a":' * 127 + "{}" + "}" * 127, "deep"),
        ('{"a":' * 128 + "{}" + "}" * 128, None),
        ('{"a":' * 5000 + "{}" + "}" * 5000, None),
    ],
)
def test_argument_text_is_an_object_or_bad(name: str, text: str, arguments: object) -> None:
    wire = WIRES[name]
    body = wire.body(*wire.call("c", "f", text), wire.stop("stop"))
    result = Outcome(dialects.decode(name, body))
    if arguments is None:
        assert (result.ending, result.calls) == ("TE invalid_arguments", [])
    else:
        assert result.ending == "toolCall"
        assert arguments == "deep" or result.calls == [("c", "f", arguments)]


@pytest.mark.criterion("05D.53", "05D.54")
@pytest.mark.parametrize(
    ("value", "good"), [({"a": 1}, True), ({}, True), ([], False), (1, False), (True, False)]
)
def test_arguments_on_the_wire_as_json_are_an_object_or_bad(value: object, good: bool) -> None:
    function = {"name": "f", "arguments": value}
    bodies = {
        "openai-chat": sse(chat({"tool_calls": [{"id": "c", "function": function}]}, "tool_calls")),
        "gemini": sse(
            {
                "candidates": [
                    {
                        "content": {"parts": [{"functionCall": {"id": "c", "name": "f", "args": value}}]},
                        "finishReason": "STOP",
                    }
                ]
            }
        ),
        "ollama": ndjson({"done": True, "message": {"tool_calls": [{"id": "c", "function": function}]}}),
    }
    for name, body in bodies.items():
        result = outcome(name, body)
        assert result.calls == ([("c", "f", value)] if good else [])
        assert result.ending == ("toolCall" if good else "TE invalid_arguments")


@pytest.mark.criterion("05D.55")
@every_dialect
def test_a_bad_call_keeps_its_position_and_the_rest_is_still_read(name: str) -> None:
    wire = WIRES[name]
    frames = [
        *wire.call(None, "f", "[1]"),
        *wire.call(None, "g", '{"b":2}'),
        wire.text("x"),
        wire.stop("stop"),
    ]
    result = answer(name, *frames)
    assert result.ending == "TE invalid_arguments"
    assert result.text == "x"
    assert result.calls == [("response-001-call-002", "g", {"b": 2})]


@pytest.mark.criterion("05D.56")
@every_dialect
def test_a_call_without_a_name_is_a_fault(name: str) -> None:
    wire = WIRES[name]
    for call_id, tool in (("c", None), ("c", ""), ("c", " "), ("c", 7)):
        assert answer(name, *wire.call(call_id, tool, "{}"), wire.stop("stop")).ending == "TE invalid_event"
    for call_id, tool in (("\ud800", "f"), ("c", "\ud800")):
        body = json.dumps([*wire.call(call_id, tool, "{}"), wire.stop("stop")]).encode()
        assert outcome(name, body).ending == "TE invalid_event"


@pytest.mark.criterion("05D.56")
@every_dialect
def test_an_entry_with_nothing_is_a_placeholder(name: str) -> None:
    wire = WIRES[name]
    assert answer(name, *wire.call(None, None, ""), wire.text("x"), wire.stop("stop")).ending == "stop"


@pytest.mark.criterion("05D.57")
@every_dialect
def test_call_number_1025_is_too_many(name: str) -> None:
    wire = WIRES[name]
    frames = [frame for n in range(1024) for frame in wire.call(f"c{n}", "f", "{}")]
    assert len(Outcome(dialects.decode(name, wire.body(*frames, wire.stop("stop")))).calls) == 1024
    more = wire.body(*frames, *wire.call("c", "f", "{}"), wire.stop("stop"))
    assert Outcome(dialects.decode(name, more)).ending == "TE too_large"


@pytest.mark.criterion("05D.57")
@pytest.mark.parametrize("name", ["openai-chat", "anthropic", "bedrock-converse", "openai-responses"])
def test_the_argument_text_of_one_call_is_bounded(name: str) -> None:
    limit = 2000
    fragment = "a" * 100
    if name == "openai-chat":
        frames = [
            chat({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": fragment}}]})
        ]
        frames += [chat({"tool_calls": [{"index": 0, "function": {"arguments": fragment}}]})] * 19
    elif name == "anthropic":
        frames = anthropic_call("c", "f", fragment)[:1] + anthropic_call("c", "f", fragment)[1:2] * 20
    elif name == "bedrock-converse":
        frames = bedrock_call("c", "f", fragment)[:1] + bedrock_call("c", "f", fragment)[1:2] * 20
    else:
        item: Frame = {"type": "function_call", "call_id": "c", "name": "f"}
        frames = [{"type": "response.output_item.added", "output_index": 0, "item": item}]
        frames += [
            {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": fragment}
        ] * 20
    wire = WIRES[name]
    exact = dialects.decode(name, wire.body(*frames, wire.stop("stop")), max_frame_bytes=limit)
    assert Outcome(exact).ending == "TE invalid_arguments"
    over = dialects.decode(name, wire.body(*frames, frames[-1], wire.stop("stop")), max_frame_bytes=limit)
    assert Outcome(over).ending == "TE too_large"


RECOGNISED: list[tuple[str, object, bool]] = [
    ("openai-chat", {"choices": []}, True),
    ("openai-chat", {"choices": None}, False),
    ("openai-chat", {"choices": {}}, False),
    ("openai-responses", {"type": "response.created"}, True),
    ("openai-responses", ("response.created", {}), True),
    ("openai-responses", {"object": "response"}, True),
    ("openai-responses", {"type": "responses"}, False),
    *(
        ("anthropic", {"type": kind}, True)
        for kind in [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
            "ping",
            "message",
        ]
    ),
    ("anthropic", ("ping", {}), True),
    ("anthropic", ("ping", {"type": "other"}), False),
    ("gemini", {"candidates": []}, True),
    ("gemini", {"promptFeedback": {}}, True),
    ("gemini", {"usageMetadata": {}}, True),
    ("gemini", {"response": {"usageMetadata": {}}}, True),
    ("gemini", {"response": {}}, False),
    ("gemini", {"candidates": None}, False),
    ("ollama", {"done": False, "message": {}}, True),
    ("ollama", {"done": False, "response": ""}, True),
    ("ollama", {"done": 0, "message": {}}, False),
    ("ollama", {"done": True}, False),
    ("bedrock-converse", {"messageStart": {}}, True),
    ("bedrock-converse", {"contentBlockStart": {}}, True),
    ("bedrock-converse", {"contentBlockDelta": {}}, True),
    ("bedrock-converse", {"contentBlockStop": {}}, True),
    ("bedrock-converse", {"messageStop": {}}, True),
    ("bedrock-converse", {"messageStop": None}, False),
    ("bedrock-converse", {"metadata": {"usage": {}}}, True),
    ("bedrock-converse", {"metadata": {"metrics": {}}}, True),
    ("bedrock-converse", {"metadata": {}}, False),
    ("bedrock-converse", {"output": {}, "stopReason": "end_turn"}, True),
    ("bedrock-converse", {"output": {}}, False),
]


@pytest.mark.criterion("05D.60", "05D.61", "05D.62", "05D.63", "05D.64", "05D.65")
@pytest.mark.parametrize(
    ("name", "frame", "recognised"),
    RECOGNISED,
)
def test_what_a_dialect_recognises(name: str, frame: object, recognised: bool) -> None:
    ending = outcome(name, sse(frame)).ending
    assert (ending != "TE unknown_format") is recognised, ending


@pytest.mark.criterion("05D.66")
@every_dialect
def test_what_nobody_knows_is_ignored(name: str) -> None:
    wire = WIRES[name]
    unknown: list[Frame] = [
        {"future": {"deep": [1]}},
        {**wire.text("a"), "extra": {"x": []}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "future_delta", "text": 3}},
        {"type": "content_block_start", "index": 5, "content_block": {"type": "future"}},
        {"type": "response.future", "delta": 3},
        {"type": "response.output_item.done", "item": {"type": "future"}},
        {"candidates": [{"content": {"parts": [{"future": 1}]}}]},
        {"contentBlockDelta": {"delta": {"future": 1}}},
    ]
    assert answer(name, *unknown, wire.stop("stop")).ending == "stop"


TYPE_FAULTS: list[tuple[str, Frame]] = [
    ("openai-chat", chat({"content": 5})),
    ("openai-chat", chat({"content": [5]})),
    ("openai-chat", chat({"content": [{"type": "text", "text": 5}]})),
    ("openai-chat", chat({"refusal": 5})),
    ("openai-chat", chat({"tool_calls": {}})),
    ("openai-chat", chat({"tool_calls": ["x"]})),
    ("openai-chat", chat({"tool_calls": [{"id": "c", "function": "f"}]})),
    ("openai-chat", chat({"function_call": "f"})),
    ("openai-chat", {"choices": [5]}),
    ("openai-chat", {"choices": [{"message": 5}]}),
    ("openai-chat", {"choices": [], "usage": 5}),
    ("openai-responses", {"type": "response.output_text.delta", "delta": 5}),
    ("openai-responses", {"type": "response.output_text.done", "text": 5}),
    ("openai-responses", {"type": "response.refusal.delta", "delta": {}}),
    ("openai-responses", {"type": "response.function_call_arguments.delta", "delta": 5}),
    ("openai-responses", {"type": "response.function_call_arguments.done", "arguments": 5}),
    ("openai-responses", {"type": "response.output_item.added", "item": 5}),
    ("openai-responses", {"type": "response.output_item.done", "item": []}),
    ("openai-responses", {"type": "response.completed", "response": 5}),
    ("openai-responses", {"object": "response", "output": {}}),
    ("openai-responses", {"type": "response.completed", "response": {"usage": 5}}),
    ("openai-responses", {"type": "response.incomplete", "response": {"incomplete_details": 5}}),
    ("anthropic", {"type": "message_start", "message": 5}),
    ("anthropic", {"type": "content_block_start", "content_block": 5}),
    ("anthropic", {"type": "content_block_start", "content_block": {"type": "text", "text": 5}}),
    ("anthropic", {"type": "content_block_delta", "delta": 5}),
    ("anthropic", {"type": "content_block_delta", "delta": {"type": "text_delta", "text": 5}}),
    ("anthropic", {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": {}}}),
    ("anthropic", {"type": "message_delta", "delta": 5}),
    ("anthropic", {"type": "message_delta", "usage": []}),
    ("anthropic", {"type": "message", "content": "text"}),
    ("gemini", {"candidates": {}}),
    ("gemini", {"candidates": [5]}),
    ("gemini", {"candidates": [{"content": 5}]}),
    ("gemini", {"candidates": [{"content": {"parts": {}}}]}),
    ("gemini", {"candidates": [{"content": {"parts": ["x"]}}]}),
    ("gemini", {"candidates": [{"content": {"parts": [{"text": 5}]}}]}),
    ("gemini", {"candidates": [{"content": {"parts": [{"functionCall": 5}]}}]}),
    ("gemini", {"usageMetadata": 5}),
    ("gemini", {"promptFeedback": 5}),
    ("ollama", {"done": False, "message": {"content": 5}}),
    ("ollama", {"done": False, "message": {"tool_calls": {}}}),
    ("ollama", {"done": False, "message": {"tool_calls": [5]}}),
    ("ollama", {"done": False, "message": {"tool_calls": [{"function": 5}]}}),
    ("bedrock-converse", {"contentBlockDelta": {"delta": 5}}),
    ("bedrock-converse", {"contentBlockDelta": {"delta": {"text": 5}}}),
    ("bedrock-converse", {"contentBlockDelta": {"delta": {"toolUse": 5}}}),
    ("bedrock-converse", {"contentBlockStart": {"start": 5}}),
    ("bedrock-converse", {"contentBlockStart": {"start": {"toolUse": 5}}}),
    ("bedrock-converse", {"metadata": {"usage": 5}}),
    ("bedrock-converse", {"output": 5, "stopReason": "end_turn"}),
    ("bedrock-converse", {"output": {"message": {"content": {}}}, "stopReason": "end_turn"}),
]


@pytest.mark.criterion("05D.67")
@pytest.mark.parametrize(("name", "frame"), TYPE_FAULTS, ids=lambda value: str(value))
def test_a_field_of_another_json_type_is_a_fault(name: str, frame: Frame) -> None:
    wire = WIRES[name]
    assert answer(name, wire.text("a"), frame, wire.stop("stop")).ending == "TE invalid_event"


@pytest.mark.criterion("05D.67")
@every_dialect
@pytest.mark.parametrize("odd", [5, True, {}, [], 1.5, " "])
def test_ids_names_and_stop_words_of_another_type_count_as_absent(name: str, odd: object) -> None:
    wire = WIRES[name]
    if name == "gemini" and odd == 5:
        odd = 0  # an integer is a finish reason there (05D.123)
    default = "stop" if name in ("ollama", "openai-responses") else "MT"
    assert answer(name, wire.text("a"), wire.stop(odd)).ending == default or name == "openai-responses"
    assert answer(name, *wire.call(odd, "f", "{}"), wire.stop("stop")).calls[0][0] == "response-001-call-001"


@pytest.mark.criterion("05D.69")
def test_the_codes_made_here_are_a_closed_set() -> None:
    from kickwheel_provider_adapter.dialects import _faults

    made = (
        "length content_filter error other refusal invalid_arguments invalid_json invalid_utf8 invalid_event"
    )
    assert (*made.split(), "too_large", "unknown_format") == _faults.CODES


@pytest.mark.criterion("05D.173")
@every_dialect
def test_non_ascii_text_in_reads_of_one_and_three_bytes(name: str) -> None:
    wire = WIRES[name]
    body = wire.body(wire.text("hàng đợi "), wire.text("日本語 😀"), wire.stop("stop"))
    for size in (1, 3):
        decoder = dialects.decoder(name)
        records: list[Frame] = []
        for start in range(0, len(body), size):
            records += decoder.feed(body[start : start + size])
        assert Outcome(records + decoder.close()).text == "hàng đợi 日本語 😀"


@pytest.mark.criterion("05D.174")
@every_dialect
@pytest.mark.parametrize(
    "body", [b"", b": a\n\n: b\n", b"data: [DONE]\n\n", b"data: [DONE]", b": a\n\ndata:[DONE]\n"]
)
def test_a_body_that_says_nothing_is_missing_its_terminal(name: str, body: bytes) -> None:
    result = outcome(name, body)
    assert dialects.decode(name, body) == []
    assert result.ending == "MT"
    assert result.error is not None
    assert result.error.record_index == 0


@pytest.mark.criterion("05D.175")
@every_dialect
@pytest.mark.parametrize(
    "body", [b"<!doctype html>\n<html><body>\n502\n</body></html>\n", b"Bad Gateway", b"upstream: down\n"]
)
def test_a_page_or_plain_text_is_an_unknown_format(name: str, body: bytes) -> None:
    assert outcome(name, body).ending == "TE unknown_format"
