"""Public bug reports of people who parse provider streams, as small inputs with the right outcome.

Each row names a kind of fault that some parser has; the whole kind must be impossible here.
"""

import json

import pytest
from dialect_wire import Frame, chat, ndjson, outcome, piece, sse

CHAT = "openai-chat"


EMPTY: Frame = {}


def anthropic_text(text: str) -> Frame:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def gemini_parts(*parts: Frame, **candidate: object) -> Frame:
    return {"candidates": [{"content": {"parts": list(parts)}, **candidate}]}


def gemini_call(n: int) -> Frame:
    return {"functionCall": {"name": "f", "args": {"n": n}}}


END = chat(finish="tool_calls")
TWO_AT_ONE_INDEX = [
    piece(index=0, id="a", name="read", arguments='{"p":1}'),
    piece(index=0, id="b", name="read", arguments='{"p":2}'),
]
THREE = [piece(index=n, id=f"c{n}", name="f", arguments="{}") for n in range(3)]
RAW_SEPARATOR = 'data: {"choices":[{"delta":{"content":"a\u2028b"},"finish_reason":"stop"}]}\n\n'.encode()
PING = (
    b"id: 1\ndata: "
    + json.dumps(chat({"content": "a"})).encode()
    + b"\n\n: ping\n\n"
    + sse(chat(finish="stop"))
)
RESPONSES_HALF: list[Frame] = [
    {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""},
    },
    {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"n":1}'},
    {"type": "response.completed", "response": {"status": "completed"}},
]
CONTENT_ONLY: Frame = {"candidates": [{"content": EMPTY}]}
MALFORMED = gemini_parts({"functionCall": {"name": "f", "args": {}}}, finishReason="MALFORMED_FUNCTION_CALL")
ANTHROPIC_START: Frame = {"type": "message_start", "message": {"id": "m", "usage": {"output_tokens": 1}}}
ANTHROPIC_END: Frame = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn"},
    "usage": {"output_tokens": 15},
}
NO_ARGUMENTS: list[Frame] = [
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "c", "name": "f"},
    },
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ""}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
]

# report, dialect, body, ending, text, calls as (id, name, arguments)
REPORTS: list[tuple[str, str, bytes, str, str, list[tuple[str, str, object]]]] = [
    (
        "1 two calls at one index",
        CHAT,
        sse(*TWO_AT_ONE_INDEX, END),
        "toolCall",
        "",
        [("a", "read", {"p": 1}), ("b", "read", {"p": 2})],
    ),
    (
        "2 seven calls at index 0 without ids",
        CHAT,
        sse(*(piece(index=0, id="", name=f"f{n}", arguments="{}") for n in range(7)), END),
        "toolCall",
        "",
        [(f"response-001-call-{n + 1:03d}", f"f{n}", {}) for n in range(7)],
    ),
    (
        "4 whole calls, all at index 0",
        CHAT,
        sse(*(piece(index=0, id=f"call_{c}", name="f", arguments="{}") for c in "xy"), END),
        "toolCall",
        "",
        [("call_x", "f", {}), ("call_y", "f", {})],
    ),
    (
        "5 a whole call without index, finish stop",
        CHAT,
        sse(piece(id="c", name="f", arguments="{}"), chat(finish="stop")),
        "toolCall",
        "",
        [("c", "f", {})],
    ),
    (
        "7 three calls with stop",
        CHAT,
        sse(chat({"content": "t"}), *THREE, chat(finish="stop")),
        "toolCall",
        "t",
        [(f"c{n}", "f", {}) for n in range(3)],
    ),
    ("7 three calls with other", CHAT, sse(*THREE, chat(finish="other")), "TE other", "", []),
    (
        "9 cut arguments, finish tool_calls",
        CHAT,
        sse(piece(index=0, id="c", name="f", arguments='{"a":"xy'), END),
        "TE invalid_arguments",
        "",
        [],
    ),
    (
        "10 arguments [1,2 with tool_calls",
        CHAT,
        sse(piece(index=0, id="c", name="f", arguments="[1,2"), END),
        "TE invalid_arguments",
        "",
        [],
    ),
    (
        "10 whole arguments with length",
        CHAT,
        sse(piece(index=0, id="c", name="f", arguments='{"a":1}'), chat(finish="length")),
        "TE length",
        "",
        [],
    ),
    (
        "12 the body ends between fragments",
        CHAT,
        sse(piece(index=0, id="c", name="f", arguments='{"a":'), piece(index=0, arguments="1")),
        "MT",
        "",
        [],
    ),
    (
        "13 closed politely before message_stop",
        "anthropic",
        sse(ANTHROPIC_START, anthropic_text("part")),
        "MT",
        "part",
        [],
    ),
    (
        "15 error event after text",
        "anthropic",
        sse(anthropic_text("part"), ("error", {"type": "error", "error": {"type": "overloaded_error"}})),
        "TE overloaded_error",
        "part",
        [],
    ),
    (
        "16 error event first",
        "anthropic",
        sse(("error", {"type": "error", "error": {"type": "api_error"}})),
        "TE api_error",
        "",
        [],
    ),
    (
        "17 error beside empty choices",
        CHAT,
        sse({"choices": [], "error": {"code": 502, "message": "x"}}, done=True),
        "TE 502",
        "",
        [],
    ),
    (
        "19 first chunk without choices",
        CHAT,
        sse({"id": "", "choices": [], "prompt_filter_results": []}, chat({"content": "a"}, "stop")),
        "stop",
        "a",
        [],
    ),
    (
        "21 malformed function call",
        "gemini",
        sse({"candidates": [{"content": EMPTY, "finishReason": "MALFORMED_FUNCTION_CALL"}]}),
        "TE error",
        "",
        [],
    ),
    (
        "22 content without parts, last",
        "gemini",
        sse(gemini_parts({"text": "a"}), {"candidates": [{"content": EMPTY, "finishReason": "STOP"}]}),
        "stop",
        "a",
        [],
    ),
    ("22 content without parts, only", "gemini", sse(CONTENT_ONLY), "MT", "", []),
    (
        "24 two calls of one function without ids",
        "gemini",
        sse(gemini_parts(gemini_call(1), gemini_call(2), finishReason="STOP")),
        "toolCall",
        "",
        [("response-001-call-001", "f", {"n": 1}), ("response-001-call-002", "f", {"n": 2})],
    ),
    ("28 U+2028 inside SSE data", CHAT, RAW_SEPARATOR, "stop", "a\u2028b", []),
    (
        "28 U+2028 inside a line",
        "ollama",
        ndjson({"done": True, "message": {"content": "a\u2028b"}}),
        "stop",
        "a\u2028b",
        [],
    ),
    ("31 CRLF", CHAT, sse(chat({"content": "a"}, "stop")).replace(b"\n", b"\r\n"), "stop", "a", []),
    (
        "31 no space after the colon",
        CHAT,
        sse(chat({"content": "a"}, "stop")).replace(b"data: ", b"data:"),
        "stop",
        "a",
        [],
    ),
    ("32 comment and blank line", CHAT, PING, "stop", "a", []),
    (
        "34 event name without data",
        "anthropic",
        b"event: content_block_delta\n\n" + sse(anthropic_text("a"), ANTHROPIC_END),
        "stop",
        "a",
        [],
    ),
    (
        "35 arguments that are a string of JSON",
        CHAT,
        sse(piece(index=0, id="c", name="f", arguments='"{\\"n\\":2}"'), END),
        "TE invalid_arguments",
        "",
        [],
    ),
    (
        "37 lone surrogate in arguments",
        "gemini",
        b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":"\\ud800"}}}]},"finishReason":"STOP"}]}',
        "TE invalid_arguments",
        "",
        [],
    ),
    (
        "37 a pair across two deltas",
        "gemini",
        b'data: {"candidates":[{"content":{"parts":[{"text":"\\ud83d"}]}}]}\n\n'
        b'data: {"candidates":[{"content":{"parts":[{"text":"\\ude00"}]},"finishReason":"STOP"}]}\n\n',
        "stop",
        "\U0001f600",
        [],
    ),
    ("38 call with one empty fragment", "anthropic", sse(*NO_ARGUMENTS), "toolCall", "", [("c", "f", {})]),
    (
        "38 call without a fragment",
        "anthropic",
        sse(NO_ARGUMENTS[0], *NO_ARGUMENTS[2:]),
        "toolCall",
        "",
        [("c", "f", {})],
    ),
    ("39 item never done", "openai-responses", sse(*RESPONSES_HALF), "toolCall", "", [("c", "f", {"n": 1})]),
    (
        "41 a call spelled in content",
        "ollama",
        ndjson(
            {"done": False, "message": {"content": '{"name":"f","parameters":{}}'}},
            {"done": True, "message": {}},
        ),
        "stop",
        '{"name":"f","parameters":{}}',
        [],
    ),
    (
        "42 calls in the line with done",
        "ollama",
        ndjson({"done": True, "message": {"tool_calls": [{"function": {"name": "f", "arguments": EMPTY}}]}}),
        "toolCall",
        "",
        [("response-001-call-001", "f", {})],
    ),
]


@pytest.mark.criterion("05D.06", "05D.43")
@pytest.mark.parametrize(
    ("report", "name", "body", "ending", "text", "calls"), REPORTS, ids=[r[0] for r in REPORTS]
)
def test_a_reported_fault_has_the_right_outcome(
    report: str, name: str, body: bytes, ending: str, text: str, calls: list[tuple[str, str, object]]
) -> None:
    result = outcome(name, body)
    assert (result.ending, result.text, result.calls) == (ending, text, calls), report


def test_usage_of_start_and_delta_is_not_added_up() -> None:
    response = outcome("anthropic", sse(ANTHROPIC_START, anthropic_text("a"), ANTHROPIC_END)).response
    assert response is not None
    assert response.usage.output_tokens == 15


def test_a_malformed_call_is_not_run_though_it_came() -> None:
    assert outcome("gemini", sse(MALFORMED)).ending == "TE error"


def test_text_is_the_same_in_reads_of_one_and_three_bytes() -> None:
    body = sse(chat({"content": "日本語 "}), chat({"content": "😀"}, "stop"))
    assert outcome(CHAT, body).text == "日本語 😀"
