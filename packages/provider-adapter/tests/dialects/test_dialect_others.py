"""The five dialects beside `openai-chat`, and their cases (05D.100 to 05D.172)."""

import json

import pytest
from dialect_wire import Frame, Outcome, ndjson, outcome, sse

from kickwheel_provider_adapter import dialects

RESPONSES = "openai-responses"


def event(kind: str, **fields: object) -> Frame:
    return {"type": f"response.{kind}", **fields}


def completed(**fields: object) -> Frame:
    return event("completed", response={"status": "completed", **fields})


def call_item(arguments: object = "", **fields: object) -> Frame:
    return {
        "type": "function_call",
        "id": "fc1",
        "call_id": "c1",
        "name": "f",
        "arguments": arguments,
        **fields,
    }


def responses(*frames: object) -> Outcome:
    return outcome(RESPONSES, sse(*frames))


@pytest.mark.criterion("05D.100")
@pytest.mark.parametrize("kind", ["created", "in_progress", "queued", "completed"])
def test_responses_id_comes_from_any_event(kind: str) -> None:
    result = responses(event(kind, response={"id": "resp-1"}), completed(id="other"))
    assert result.response is not None
    assert result.response.id == "resp-1"


@pytest.mark.criterion("05D.101", "05D.102")
def test_responses_text_comes_from_deltas_else_from_done() -> None:
    def delta(text: str, **fields: object) -> Frame:
        return event("output_text.delta", delta=text, **fields)

    def done(text: str, **fields: object) -> Frame:
        return event("output_text.done", text=text, **fields)

    def item_done(*texts: str, **fields: object) -> Frame:
        content = [{"type": "output_text", "text": text} for text in texts]
        return event("output_item.done", **fields, item={"type": "message", "id": "m1", "content": content})

    place = {"output_index": 0, "content_index": 0}
    told = [delta("a", **place), delta("b", **place), done("ab", **place), item_done("ab", output_index=0)]
    assert responses(*told, completed()).text == "ab"
    assert responses(done("ab", **place), item_done("ab", output_index=0), completed()).text == "ab"
    assert responses(item_done("ab", "cd", output_index=0), completed()).text == "abcd"
    changing = [
        delta("a", item_id="x1", **place),
        done("a", item_id="x2", **place),
        item_done("a", output_index=0),
    ]
    assert responses(*changing, completed()).text == "a"
    by_item = [delta("a", item_id="m1"), done("a", item_id="m1"), item_done("a")]
    assert responses(*by_item, completed()).text == "a"
    mixed = [delta("a", item_id="m1", **place), item_done("a")]
    assert responses(*mixed, completed()).text == "a"
    second_part = [delta("a", **place), item_done("a", "b", output_index=0)]
    assert responses(*second_part, completed()).text == "ab"
    two_items = [delta("a", output_index=0), delta("b", output_index=1), done("b", output_index=1)]
    assert responses(*two_items, completed()).text == "ab"
    empty_delta = [delta("", **place), done("ab", **place)]
    assert responses(*empty_delta, completed()).text == "ab"


@pytest.mark.criterion("05D.103")
def test_responses_refusal_is_collected() -> None:
    result = responses(event("refusal.delta", delta="No."), event("refusal.done", refusal="No."), completed())
    assert (result.ending, str(result.error)) == ("TE refusal", "No.")


@pytest.mark.criterion("05D.104")
@pytest.mark.parametrize("with_index", [True, False])
def test_responses_calls_are_matched_and_replaced_by_what_is_done(with_index: bool) -> None:
    place: Frame = {"output_index": 2} if with_index else {}
    frames = [
        event("output_item.added", item=call_item(), **place),
        event("function_call_arguments.delta", delta='{"n":', item_id="fc1", **place),
        event("function_call_arguments.delta", delta="1}", item_id="fc1", **place),
        event("function_call_arguments.done", arguments='{"n":2}', item_id="fc1", **place),
    ]
    fuller = [*frames, event("output_item.done", item=call_item('{"n":3}'), **place), completed()]
    assert responses(*fuller).calls == [("c1", "f", {"n": 3})]
    emptier = [*frames, event("output_item.done", item=call_item(""), **place), completed()]
    assert responses(*emptier).calls == [("c1", "f", {"n": 2})]
    from_deltas = [*frames[:3], event("output_item.done", item=call_item(None), **place), completed()]
    assert responses(*from_deltas).calls == [("c1", "f", {"n": 1})]


@pytest.mark.criterion("05D.104")
def test_responses_call_id_is_never_the_item_id() -> None:
    result = responses(event("output_item.done", item=call_item("{}", call_id=None)), completed())
    assert result.calls == [("response-001-call-001", "f", {})]


@pytest.mark.criterion("05D.104")
def test_responses_item_ids_may_change_from_event_to_event() -> None:
    frames = [
        event("output_item.added", output_index=0, item=call_item(id="a")),
        event("function_call_arguments.delta", output_index=0, item_id="b", delta="{}"),
        event("output_item.done", output_index=0, item=call_item("", id="c")),
        event("output_item.done", output_index=0, item=call_item("", id="c")),
    ]
    assert responses(*frames, completed()).calls == [("c1", "f", {})]


@pytest.mark.criterion("05D.104")
def test_responses_two_calls_at_one_index_one_after_the_other_are_two() -> None:
    frames = [
        event("output_item.done", output_index=0, item=call_item("{}", call_id="c1")),
        event("output_item.added", output_index=0, item=call_item("", call_id="c2", id="fc2")),
        event("output_item.done", output_index=0, item=call_item("{}", call_id="c2", id="fc2")),
        event("output_item.done", output_index=0, item=call_item("{}", call_id="c3", id="fc3")),
    ]
    assert [call[0] for call in responses(*frames, completed()).calls] == ["c1", "c2", "c3"]


@pytest.mark.criterion("05D.105", "05D.170")
def test_responses_half_told_calls() -> None:
    added = event("output_item.added", output_index=0, item=call_item())
    delta = event("function_call_arguments.delta", output_index=0, delta='{"n":1}')
    done = event("output_item.done", output_index=0, item=call_item(""))
    assert responses(added, delta, completed()).calls == [("c1", "f", {"n": 1})]
    assert responses(done, completed()).calls == [("c1", "f", {})]
    assert responses(delta, done, completed()).calls == [("c1", "f", {"n": 1})]
    assert responses(delta, completed()).ending == "TE invalid_event"
    assert responses(added, delta, event("incomplete", response={"status": "incomplete"})).calls == []
    initial = event("output_item.added", output_index=0, item=call_item('{"n":7}'))
    assert responses(initial, completed()).calls == [("c1", "f", {"n": 7})]
    late = event("function_call_arguments.done", output_index=0, arguments='{"n":9}')
    assert responses(done, late, completed()).calls == [("c1", "f", {})]


@pytest.mark.criterion("05D.106")
def test_responses_custom_call_has_bad_arguments() -> None:
    item: Frame = {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"}
    for frames in (
        [
            event("output_item.added", output_index=0, item=item),
            event("output_item.done", output_index=0, item=item),
        ],
        [event("output_item.done", item=item)],
        [event("output_item.added", output_index=0, item=item)],
    ):
        assert responses(*frames, completed()).ending == "TE invalid_arguments"


@pytest.mark.criterion("05D.107")
@pytest.mark.parametrize(
    ("end", "ending"),
    [
        (event("completed", response={"status": "completed"}), "stop"),
        (event("completed", response={}), "stop"),
        (event("completed"), "stop"),
        (event("incomplete", response={"incomplete_details": {"reason": "max_output_tokens"}}), "TE length"),
        (
            event("incomplete", response={"incomplete_details": {"reason": "content_filter"}}),
            "TE content_filter",
        ),
        (event("incomplete", response={"status": "incomplete"}), "TE other"),
        (event("incomplete"), "TE other"),
        (event("failed"), "TE error"),
        (
            event("failed", response={"status": "failed", "error": {"code": "server_error"}}),
            "TE server_error",
        ),
        (event("completed", response={"status": "completed", "error": {"code": "x"}}), "TE x"),
        (event("completed", response={"status": "cancelled"}), "TE other"),
    ],
)
def test_responses_end_has_its_stop_word(end: Frame, ending: str) -> None:
    assert responses(event("output_text.delta", delta="a"), end).ending == ending


@pytest.mark.criterion("05D.107", "05D.37")
def test_responses_usage() -> None:
    response = responses(completed(usage={"input_tokens": 3, "output_tokens": 4})).response
    assert response is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 4)


OUTPUT: list[Frame] = [
    {"type": "reasoning", "summary": []},
    {
        "type": "message",
        "content": [
            {"type": "output_text", "text": "a"},
            {"type": "future"},
            {"type": "output_text", "text": "b"},
        ],
    },
    call_item('{"n":1}'),
]


@pytest.mark.criterion("05D.108")
def test_responses_output_of_the_end_counts_only_without_a_middle() -> None:
    alone = responses(event("created", response={"id": "r"}), completed(output=OUTPUT))
    assert (alone.text, alone.calls, alone.ending) == ("ab", [("c1", "f", {"n": 1})], "toolCall")
    after_text = responses(event("output_text.delta", delta="a"), completed(output=OUTPUT))
    assert (after_text.text, after_text.calls) == ("a", [])
    after_call = responses(event("output_item.done", item=call_item("{}")), completed(output=OUTPUT))
    assert (after_call.text, len(after_call.calls)) == ("", 1)
    after_refusal = responses(event("refusal.delta", delta="no"), completed(output=OUTPUT))
    assert (after_refusal.ending, after_refusal.text) == ("TE refusal", "")


@pytest.mark.criterion("05D.109")
def test_responses_document() -> None:
    document: Frame = {"object": "response", "id": "resp-1", "status": "completed", "output": OUTPUT}
    document["usage"] = {"input_tokens": 1, "output_tokens": 2}
    result = outcome(RESPONSES, json.dumps(document, indent=2).encode())
    assert result.response is not None
    assert (result.response.id, result.text, result.calls) == ("resp-1", "ab", [("c1", "f", {"n": 1})])
    assert result.response.usage.output_tokens == 2
    refusal = {
        **document,
        "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}],
    }
    assert str(outcome(RESPONSES, ndjson(refusal)).error) == "No."
    assert outcome(RESPONSES, ndjson({"object": "response"})).ending == "MT"
    custom = {**document, "output": [{"type": "custom_tool_call", "name": "sql", "input": "x"}]}
    assert outcome(RESPONSES, ndjson(custom)).ending == "TE invalid_arguments"


# anthropic


def start(index: int, **block: object) -> Frame:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **fields: object) -> Frame:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def stop(index: int) -> Frame:
    return {"type": "content_block_stop", "index": index}


END: Frame = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}


def anthropic(*frames: object) -> Outcome:
    return outcome("anthropic", sse(*frames))


@pytest.mark.criterion("05D.110")
def test_anthropic_message_start_again() -> None:
    first: Frame = {"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 1}}}
    again: Frame = {"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 5}}}
    other: Frame = {"type": "message_start", "message": {"id": "m2"}}
    response = anthropic(first, again, END).response
    assert response is not None
    assert (response.id, response.usage.input_tokens) == ("m1", 5)
    assert anthropic(first, other, END).ending == "TE invalid_event"


@pytest.mark.criterion("05D.111")
def test_anthropic_text() -> None:
    result = anthropic(start(0, type="text", text="a"), delta(0, type="text_delta", text="b"), stop(0), END)
    assert result.text == "ab"


@pytest.mark.criterion("05D.112", "05D.163")
@pytest.mark.parametrize(
    ("given", "pieces", "arguments"),
    [
        ({}, [], {}),
        ({}, [""], {}),
        ({}, ['{"a":', "1}"], {"a": 1}),
        ({"b": 2}, [], {"b": 2}),
        ({"b": 2}, ["", " "], {"b": 2}),
        ({"b": 2}, ["{}"], {}),
        (None, [], {}),
        ([1], [], None),
        ("x", [], None),
        ({}, ['{"a":'], None),
    ],
)
def test_anthropic_call_arguments(given: object, pieces: list[str], arguments: object) -> None:
    frames = [start(1, type="tool_use", id="c", name="f", input=given)]
    frames += [delta(1, type="input_json_delta", partial_json=text) for text in pieces]
    for ending in ([stop(1)], []):
        result = anthropic(*frames, *ending, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}})
        assert result.calls == ([] if arguments is None else [("c", "f", arguments)])
        assert result.ending == ("TE invalid_arguments" if arguments is None else "toolCall")


@pytest.mark.criterion("05D.112", "05D.43")
def test_anthropic_open_call_is_dropped_when_the_stop_word_is_not_good() -> None:
    frames = [
        start(1, type="tool_use", id="c", name="f", input={}),
        delta(1, type="input_json_delta", partial_json="{}"),
    ]
    result = anthropic(*frames, {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}})
    assert (result.ending, result.calls) == ("TE length", [])


@pytest.mark.criterion("05D.112")
def test_anthropic_call_whose_index_is_taken_over_is_kept() -> None:
    frames = [
        start(1, type="tool_use", id="a", name="f", input={}),
        start(1, type="tool_use", id="b", name="g", input={}),
        stop(1),
    ]
    assert [call[0] for call in anthropic(*frames, END).calls] == ["b", "a"]


@pytest.mark.criterion("05D.113", "05D.32")
def test_anthropic_other_blocks_and_their_deltas_are_nothing() -> None:
    frames = [
        start(0, type="thinking", thinking="deep"),
        delta(0, type="thinking_delta", thinking="deeper"),
        delta(0, type="signature_delta", signature="s"),
        stop(0),
        start(1, type="redacted_thinking", data="x"),
        start(2, type="server_tool_use", id="s", name="web_search", input={}),
        delta(2, type="input_json_delta", partial_json='{"q":1}'),
        stop(2),
        start(3, type="web_search_tool_result", content=[]),
        delta(3, type="text_delta", text="hidden"),
        start(4, type="text", text=""),
        delta(4, type="citations_delta", citation={}),
        delta(4, type="text_delta", text="seen"),
    ]
    result = anthropic(*frames, END)
    assert (result.text, result.calls, result.ending) == ("seen", [], "stop")


@pytest.mark.criterion("05D.114")
def test_anthropic_stray_deltas() -> None:
    assert anthropic(delta(9, type="text_delta", text="x"), END).text == "x"
    assert anthropic(delta(9, type="input_json_delta", partial_json="{}"), END).ending == "TE invalid_event"
    assert anthropic(delta(9, type="input_json_delta", partial_json=""), END).ending == "stop"
    assert anthropic(stop(9), END).ending == "stop"


@pytest.mark.criterion("05D.115")
def test_anthropic_usage_is_a_running_total() -> None:
    frames: list[Frame] = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 15, "cache_read_input_tokens": 4512},
        },
    ]
    response = anthropic(*frames).response
    assert response is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 15)


@pytest.mark.criterion("05D.116")
def test_anthropic_document() -> None:
    document: Frame = {
        "type": "message",
        "id": "m1",
        "content": [
            {"type": "thinking", "thinking": "x"},
            {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "c", "name": "f", "input": {"n": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    result = outcome("anthropic", json.dumps(document).encode())
    assert result.response is not None
    assert (result.response.id, result.text, result.calls) == ("m1", "a", [("c", "f", {"n": 1})])
    content: list[Frame] = [{"type": "tool_use", "id": "c", "name": "f", "input": []}]
    bad: Frame = {**document, "content": content}
    assert outcome("anthropic", json.dumps(bad).encode()).ending == "TE invalid_arguments"


@pytest.mark.criterion("05D.159", "05D.160", "05D.161")
def test_anthropic_bodies_that_end_badly() -> None:
    text = [start(0, type="text", text=""), delta(0, type="text_delta", text="partial")]
    error = ("error", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    politely_closed = anthropic(*text)
    assert (politely_closed.ending, politely_closed.text) == ("MT", "partial")
    failed = anthropic(*text, error)
    assert (failed.ending, failed.text) == ("TE overloaded_error", "partial")
    at_once = anthropic(error)
    assert (at_once.ending, at_once.chunks) == ("TE overloaded_error", [])


# gemini


def gemini_parts(*parts: Frame, **candidate: object) -> Frame:
    return {"candidates": [{"content": {"parts": list(parts)}, **candidate}]}


def gemini(*frames: object) -> Outcome:
    return outcome("gemini", sse(*frames))


@pytest.mark.criterion("05D.120")
def test_gemini_frames_may_be_wrapped() -> None:
    inner = {**gemini_parts({"text": "x"}, finishReason="STOP"), "responseId": "r1"}
    result = gemini({"response": inner, "traceId": "t"})
    assert result.response is not None
    assert (result.response.id, result.text) == ("r1", "x")


@pytest.mark.criterion("05D.121", "05D.165", "05D.166")
def test_gemini_text_thoughts_and_missing_parts() -> None:
    thought = gemini_parts(
        {"text": "hidden", "thought": True}, {"text": "seen", "thought": False}, {"text": ""}
    )
    last: Frame = {"candidates": [{"content": {}, "finishReason": "STOP"}]}
    assert gemini(thought, last).text == "seen"
    assert gemini(thought, last).ending == "stop"
    only: Frame = {"candidates": [{"content": {}}]}
    assert gemini(only).ending == "MT"
    assert gemini({"candidates": [{"content": {"parts": None}, "finishReason": "STOP"}]}).ending == "stop"


@pytest.mark.criterion("05D.122", "05D.167")
def test_gemini_calls_without_ids_get_two_different_ids() -> None:
    frames = gemini_parts(
        {"functionCall": {"name": "f", "args": {"n": 1}}},
        {"functionCall": {"name": "f", "args": {"n": 2}}},
        {"functionCall": {"id": "own", "name": "g"}},
        finishReason="STOP",
        responseId="unused",
    )
    assert gemini(frames).calls == [
        ("response-001-call-001", "f", {"n": 1}),
        ("response-001-call-002", "f", {"n": 2}),
        ("own", "g", {}),
    ]


@pytest.mark.criterion("05D.123")
@pytest.mark.parametrize(
    ("number", "ending", "message"),
    [
        (0, "MT", None),
        (1, "stop", None),
        (2, "TE length", "MAX_TOKENS"),
        (3, "TE content_filter", "SAFETY"),
        (4, "TE content_filter", "RECITATION"),
        (5, "TE other", "OTHER"),
        (6, "TE content_filter", "BLOCKLIST"),
        (7, "TE content_filter", "PROHIBITED_CONTENT"),
        (8, "TE content_filter", "SPII"),
        (9, "TE error", "MALFORMED_FUNCTION_CALL"),
        (10, "TE other", "10"),
        (-1, "TE other", "-1"),
        (2**200, "MT", None),
        (True, "MT", None),
    ],
)
def test_gemini_integer_finish_reasons(number: object, ending: str, message: str | None) -> None:
    result = gemini({"candidates": [{"finishReason": number}]})
    assert result.ending == ending
    if message is not None:
        assert str(result.error) == message


@pytest.mark.criterion("05D.124")
@pytest.mark.parametrize("reason", ["SAFETY", "OTHER", "NEW_WORD", "STOP"])
def test_gemini_blocked_prompt_is_a_content_filter(reason: str) -> None:
    result = gemini({"promptFeedback": {"blockReason": reason}})
    assert (result.ending, str(result.error)) == ("TE content_filter", reason)
    assert gemini({"promptFeedback": {}}, {"candidates": [{"finishReason": "STOP"}]}).ending == "stop"
    both: Frame = {"promptFeedback": {"blockReason": reason}, "candidates": [{"finishReason": "STOP"}]}
    assert gemini(both).ending == "TE content_filter"


@pytest.mark.criterion("05D.125")
@pytest.mark.parametrize(
    ("frames", "counts"),
    [
        ([{"promptTokenCount": 3, "candidatesTokenCount": 4}], (3, 4)),
        ([{"promptTokenCount": 3, "candidatesTokenCount": 4, "thoughtsTokenCount": 5}], (3, 9)),
        ([{"promptTokenCount": 3, "thoughtsTokenCount": 5}], (3, 5)),
        ([{"promptTokenCount": 3}], (3, 0)),
        ([{"candidatesTokenCount": 4}, {"thoughtsTokenCount": 5}, {"candidatesTokenCount": 6}], (0, 11)),
        ([{"candidatesTokenCount": 4}, {"candidatesTokenCount": -1, "thoughtsTokenCount": True}], (0, 4)),
    ],
)
def test_gemini_usage_counts_thoughts_as_output(frames: list[Frame], counts: tuple[int, int]) -> None:
    chunks: list[Frame] = [{"usageMetadata": usage} for usage in frames]
    response = gemini(*chunks, {"candidates": [{"finishReason": "STOP"}]}).response
    assert response is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == counts


def streamed(*arguments: list[Frame], end: bool = True, **first: object) -> list[Frame]:
    frames = [gemini_parts({"functionCall": {"name": "f", "willContinue": True, **first}})]
    frames += [
        gemini_parts({"functionCall": {"partialArgs": parts, "willContinue": True}}) for parts in arguments
    ]
    if end:
        frames.append(gemini_parts({"functionCall": {}}))
    return [*frames, {"candidates": [{"finishReason": "STOP"}]}]


@pytest.mark.criterion("05D.126", "05D.127")
def test_gemini_streamed_arguments() -> None:
    parts: list[list[Frame]] = [
        [{"jsonPath": "$.city", "stringValue": "Bos", "willContinue": True}],
        [{"jsonPath": "$.city", "stringValue": "ton"}, {"jsonPath": "$.n", "numberValue": 1.5}],
        [
            {"jsonPath": "$.list[0].a", "boolValue": True},
            {"jsonPath": "$.list[1]", "nullValue": "NULL_VALUE"},
        ],
        [{"jsonPath": "$.list[0].b[0][0]", "numberValue": 7}, {"jsonPath": "$.none", "nullValue": None}],
        [{"jsonPath": "$.n", "numberValue": 2}, {"jsonPath": "$.empty"}],
    ]
    assert gemini(*streamed(*parts)).calls == [
        (
            "response-001-call-001",
            "f",
            {"city": "Boston", "n": 2, "list": [{"a": True, "b": [[7]]}, None], "none": None},
        )
    ]
    assert gemini(*streamed()).calls == [("response-001-call-001", "f", {})]
    whole = gemini_parts({"functionCall": {"name": "f", "partialArgs": parts[0]}}, finishReason="STOP")
    assert gemini(whole).calls == [("response-001-call-001", "f", {"city": "Bos"})]
    started = streamed([{"jsonPath": "$.b", "numberValue": 2}], args={"a": 1})
    assert gemini(*started).calls[0][2] == {"a": 1, "b": 2}


@pytest.mark.criterion("05D.128")
@pytest.mark.parametrize(
    "parts",
    [
        [{"jsonPath": "city", "stringValue": "x"}],
        [{"jsonPath": "$", "stringValue": "x"}],
        [{"jsonPath": "$..a", "stringValue": "x"}],
        [{"jsonPath": "$.a[", "stringValue": "x"}],
        [{"jsonPath": "$.a[*]", "stringValue": "x"}],
        [{"jsonPath": None, "stringValue": "x"}],
        [{"jsonPath": 7, "stringValue": "x"}],
        [{"jsonPath": "$.a[1]", "stringValue": "x"}],
        [{"jsonPath": "$[0]", "stringValue": "x"}],
        [{"jsonPath": "$.a", "numberValue": 1}, {"jsonPath": "$.a.b", "numberValue": 1}],
        [{"jsonPath": "$.a", "stringValue": "s"}, {"jsonPath": "$.a[0]", "numberValue": 1}],
        [{"jsonPath": "$.a[0]", "numberValue": 1}, {"jsonPath": "$.a.b", "numberValue": 1}],
        [{"jsonPath": "$.a.b", "numberValue": 1}, {"jsonPath": "$.a[0]", "numberValue": 1}],
        [{"jsonPath": "$.a", "numberValue": "1"}],
        [{"jsonPath": "$.a", "boolValue": "true"}],
        [{"jsonPath": "$" + ".a" * 128, "numberValue": 1}, {"jsonPath": "$" + ".b" * 129, "numberValue": 1}],
        [{"jsonPath": "$.a", "stringValue": "\ud800"}],
    ],
)
def test_gemini_arguments_that_cannot_be_put_together_are_bad(parts: list[Frame]) -> None:
    body = json.dumps(streamed(parts)).encode()
    result = outcome("gemini", body)
    assert (result.ending, result.calls) == ("TE invalid_arguments", [])


@pytest.mark.criterion("05D.128", "05D.126")
def test_gemini_call_that_is_still_open_is_bad() -> None:
    assert gemini(*streamed(end=False)).ending == "TE invalid_arguments"
    overtaken = [
        *streamed(end=False)[:-1],
        gemini_parts({"functionCall": {"name": "g"}}, finishReason="STOP"),
    ]
    result = gemini(*overtaken)
    assert (result.ending, result.calls) == ("TE invalid_arguments", [("response-001-call-002", "g", {})])
    assert gemini(*streamed(args=[1])).ending == "TE invalid_arguments"


@pytest.mark.criterion("05D.57")
def test_gemini_streamed_strings_are_bounded() -> None:
    parts: list[Frame] = [{"jsonPath": "$.a", "stringValue": "x" * 300}]
    body = sse(*streamed(*[parts] * 3))
    assert Outcome(dialects.decode("gemini", body, max_frame_bytes=900)).ending == "toolCall"
    assert Outcome(dialects.decode("gemini", body, max_frame_bytes=899)).ending == "TE too_large"


@pytest.mark.criterion("05D.127")
def test_gemini_strings_grow_without_being_joined_each_time() -> None:
    parts: list[Frame] = [{"jsonPath": "$.a", "stringValue": "x"}]
    body = sse(*streamed(*[parts] * 20_000))
    assert Outcome(dialects.decode("gemini", body)).calls[0][2] == {"a": "x" * 20_000}


@pytest.mark.criterion("05D.164")
@pytest.mark.parametrize("parts", [[], [{"functionCall": {"name": "f", "args": {}}}]])
def test_gemini_malformed_call_is_an_error(parts: list[Frame]) -> None:
    assert gemini(gemini_parts(*parts, finishReason="MALFORMED_FUNCTION_CALL")).ending == "TE error"


# ollama


@pytest.mark.criterion("05D.130", "05D.131", "05D.133")
def test_ollama_text_and_end() -> None:
    frames: list[Frame] = [
        {"done": False, "message": {"thinking": "hidden", "content": "a"}},
        {"done": False, "message": {"content": "b"}, "response": "ignored"},
        {"done": False, "response": "c"},
        {"done": True, "response": "", "prompt_eval_count": 3, "eval_count": 4},
    ]
    response = outcome("ollama", ndjson(*frames)).response
    assert response is not None
    assert (response.id, response.message.text, response.stop_reason) == ("response-001", "abc", "stop")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 4)
    assert outcome("ollama", ndjson(*frames[:-1])).ending == "MT"
    assert (
        outcome("ollama", ndjson({"done": True, "message": {}, "done_reason": "load"})).ending == "TE other"
    )


@pytest.mark.criterion("05D.132", "05D.172")
def test_ollama_calls_also_in_the_last_line() -> None:
    calls: list[Frame] = [
        {"function": {"name": "f", "arguments": {"n": 1}}},
        {"id": "own", "function": {"name": "g", "arguments": '{"n":2}'}},
    ]
    result = outcome("ollama", ndjson({"done": True, "message": {"content": "", "tool_calls": calls}}))
    assert result.ending == "toolCall"
    assert result.calls == [("response-001-call-001", "f", {"n": 1}), ("own", "g", {"n": 2})]


# bedrock-converse


def bedrock(*frames: Frame) -> Outcome:
    return outcome("bedrock-converse", ndjson(*frames))


BEDROCK_END: Frame = {"messageStop": {"stopReason": "end_turn"}}


@pytest.mark.criterion("05D.140", "05D.141")
def test_bedrock_text_with_or_without_a_block_start() -> None:
    frames: list[Frame] = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": "a"}, "contentBlockIndex": 0}},
        {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "hidden"}}}},
        {"contentBlockStart": {"start": {}, "contentBlockIndex": 1}},
        {"contentBlockDelta": {"delta": {"text": "b"}, "contentBlockIndex": 1}},
    ]
    response = bedrock(*frames, BEDROCK_END).response
    assert response is not None
    assert (response.id, response.message.text) == ("response-001", "ab")


@pytest.mark.criterion("05D.142")
def test_bedrock_calls() -> None:
    def opened(index: int, **use: object) -> Frame:
        return {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": use}}}

    def piece(index: int, given: object) -> Frame:
        return {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"toolUse": {"input": given}}}}

    def closed(index: int) -> Frame:
        return {"contentBlockStop": {"contentBlockIndex": index}}

    first = [opened(1, toolUseId="a", name="f"), piece(1, '{"n":'), piece(1, "1}"), closed(1)]
    second = [opened(2, toolUseId="b", name="g"), piece(2, {"n": 2})]
    assert bedrock(*first, *second, BEDROCK_END).calls == [("a", "f", {"n": 1}), ("b", "g", {"n": 2})]
    assert bedrock(*second, {"messageStop": {"stopReason": "max_tokens"}}).calls == []
    assert bedrock(piece(7, "{}"), BEDROCK_END).ending == "TE invalid_event"
    assert (
        bedrock(opened(1, name="f"), piece(1, [1]), closed(1), BEDROCK_END).ending == "TE invalid_arguments"
    )
    taken_over = [opened(1, toolUseId="a", name="f"), opened(1, toolUseId="b", name="g"), closed(1)]
    assert [call[0] for call in bedrock(*taken_over, BEDROCK_END).calls] == ["b", "a"]
    own = [opened(1, toolUseId="s", name="search", type="server_tool_use"), piece(1, '{"q":1}'), closed(1)]
    assert bedrock(*own, BEDROCK_END).calls == []


@pytest.mark.criterion("05D.143")
def test_bedrock_usage_comes_after_the_stop() -> None:
    metadata: Frame = {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 4}, "metrics": {}}}
    response = bedrock(BEDROCK_END, metadata).response
    assert response is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 4)


@pytest.mark.criterion("05D.144")
@pytest.mark.parametrize(
    ("value", "message"),
    [({"message": "slow down"}, "slow down"), ({}, "throttlingException"), ("x", "throttlingException")],
)
def test_bedrock_exception_is_an_error(value: object, message: str) -> None:
    result = bedrock(
        {"contentBlockDelta": {"delta": {"text": "a"}}}, {"throttlingException": value}, BEDROCK_END
    )
    assert (result.ending, str(result.error), result.text) == ("TE throttlingException", message, "a")


@pytest.mark.criterion("05D.145")
def test_bedrock_document() -> None:
    content: list[Frame] = [
        {"reasoningContent": {}},
        {"text": "a"},
        {"toolUse": {"toolUseId": "c", "name": "f", "input": {"n": 1}}},
    ]
    document: Frame = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 1, "outputTokens": 2},
    }
    result = bedrock(document)
    assert result.response is not None
    assert (result.text, result.calls, result.response.usage.output_tokens) == (
        "a",
        [("c", "f", {"n": 1})],
        2,
    )


@pytest.mark.criterion("05D.A16")
@pytest.mark.parametrize(
    ("name", "body", "ending", "text"),
    [
        (
            "openai-chat",
            b'data: {"id":"r1","choices":[{"delta":{"content":"a"}}]}\n\ndata: {"error":"x"}\n\n'
            b'data: {"choices":[{"delta":{"content":"late"},"finish_reason":"stop"}]}\n\n',
            "TE error",
            "a",
        ),
        (
            "openai-chat",
            b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
            b'data: {"choices":[{"delta":{"content":"late"},"finish_reason":"length"}]}\n\n',
            "stop",
            "a",
        ),
        (
            "anthropic",
            b'data: {"type":"message_start","message":{"id":"m1"}}\n\n'
            b'data: {"type":"message_start","message":{"id":"m2"}}\n\n',
            "TE invalid_event",
            "",
        ),
        (
            "openai-chat",
            b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: oops\n\n'
            b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n',
            "TE invalid_json",
            "a",
        ),
        (
            "ollama",
            b'{"done":true,"message":{"tool_calls":[{"function":{"arguments":{"a":1}}}]}}',
            "TE invalid_event",
            "",
        ),
        ("openai-chat", b'{"choices":[{"text":"a","finish_reason":"stop"}]}', "TE invalid_event", ""),
        (
            "openai-chat",
            b'data: {"id":"r1","choices":[{"delta":{"content":"a"}}]}\n\n'
            b'data: {"id":"r2","choices":[{"delta":{},"finish_reason":"stop"}]}\n\n',
            "stop",
            "a",
        ),
    ],
    ids=["after-error", "after-done", "second-message", "not-json", "no-name", "old-completion", "two-ids"],
)
def test_the_numbered_lines_decide_about_other_recordings(
    name: str, body: bytes, ending: str, text: str
) -> None:
    result = outcome(name, body)
    assert (result.ending, result.text) == (ending, text)
    if result.response is not None and b"r2" in body:
        assert result.response.id == "r1"
