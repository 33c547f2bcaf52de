"""`openai-chat` (05D.70 to 05D.89) and its cases (05D.150 to 05D.158)."""

import json

import pytest
from dialect_wire import Frame, Outcome, chat, outcome, piece, sse

from kickwheel_provider_adapter import dialects

CHAT = "openai-chat"


def answer(*frames: Frame, done: bool = True, finish: object = "tool_calls") -> Outcome:
    last = [chat(finish=finish)] if finish is not None else []
    return outcome(CHAT, sse(*frames, *last, done=done))


def calls(*frames: Frame) -> list[tuple[str, str, object]]:
    result = answer(*frames)
    assert result.ending == "toolCall", result.error
    return result.calls


@pytest.mark.criterion("05D.70")
@pytest.mark.parametrize(
    "frame",
    [
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
        {"choices": [], "x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}},
        {"choices": [], "usage": None, "x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}},
        {
            "choices": [],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4},
            "x_groq": {"usage": {"prompt_tokens": 9, "completion_tokens": 9}},
        },
        {"usage": {"prompt_tokens": 3, "completion_tokens": 4}},
    ],
)
def test_usage_is_read_in_any_frame(frame: Frame) -> None:
    response = answer(chat({"content": "x"}, id="r1"), frame, finish="stop").response
    assert response is not None
    assert (response.id, response.usage.input_tokens, response.usage.output_tokens) == ("r1", 3, 4)


@pytest.mark.criterion("05D.71")
@pytest.mark.parametrize(
    "choice",
    [
        {"delta": {"content": "x"}},
        {"message": {"content": "x"}},
        {"delta": None, "message": {"content": "x"}},
        {"delta": "odd", "message": {"content": "x"}},
        {"delta": {"content": "x"}, "message": {"content": "y"}},
    ],
)
def test_content_is_the_delta_or_else_the_message(choice: Frame) -> None:
    assert answer({"choices": [choice]}, finish="stop").text == "x"
    assert answer({"choices": [{}]}, finish="stop").ending == "stop"


@pytest.mark.criterion("05D.72")
def test_content_parts_of_type_text_are_text() -> None:
    parts: list[Frame | None] = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hidden"}]},
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {}},
        {"type": "text", "text": "b"},
        None,
    ]
    assert answer(chat({"content": parts}), finish="stop").text == "ab"


@pytest.mark.criterion("05D.73")
def test_a_choice_may_carry_the_error() -> None:
    result = answer(
        chat({"content": "a"}), {"choices": [{"index": 0, "error": {"code": 502, "message": "bad"}}]}
    )
    assert (result.ending, str(result.error), result.text) == ("TE 502", "bad", "a")
    nothing: list[object] = [None, {}, "", 5]
    for none in nothing:
        assert answer({"choices": [{"index": 0, "error": none}]}, finish="stop").ending == "stop"


@pytest.mark.criterion("05D.74")
def test_the_stop_word_is_the_finish_reason() -> None:
    assert answer(chat({"content": "a"}, ""), finish="stop").ending == "stop"
    assert answer(chat({"content": "a"}, "stop"), chat({}, None), finish=None).ending == "stop"


@pytest.mark.criterion("05D.75", "05D.54")
def test_a_custom_call_has_bad_arguments() -> None:
    custom: Frame = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": '{"a":1}'}}
    later: Frame = {"index": 0, "custom": {"input": " more"}}
    result = answer(chat({"tool_calls": [custom]}), chat({"tool_calls": [later]}))
    assert (result.ending, result.calls) == ("TE invalid_arguments", [])
    both = {**custom, "function": {"name": "f", "arguments": "{}"}}
    assert calls(chat({"tool_calls": [both]})) == [("c", "f", {})]


@pytest.mark.criterion("05D.76")
def test_an_old_call_has_no_id_and_nameless_pieces_continue_it() -> None:
    frames = [
        chat({"function_call": {"name": "f", "arguments": ""}}),
        chat({"function_call": {"arguments": '{"a"'}}),
        chat({"function_call": {"arguments": ":1}"}}),
    ]
    result = answer(*frames, finish="function_call")
    assert result.calls == [("response-001-call-001", "f", {"a": 1})]
    document = {
        "choices": [{"message": {"function_call": {"name": "f", "arguments": "{}"}}, "finish_reason": "stop"}]
    }
    assert outcome(CHAT, json.dumps(document).encode()).calls == [("response-001-call-001", "f", {})]


@pytest.mark.criterion("05D.77")
@pytest.mark.parametrize(
    ("frames", "done", "ending"),
    [
        ([chat({"content": "a"})], True, "stop"),
        ([piece(index=0, id="c", name="f", arguments="{}")], True, "toolCall"),
        ([chat({"content": ""})], True, "MT"),
        ([chat()], True, "MT"),
        ([chat({"refusal": "no"})], True, "MT"),
        ([chat({"content": "a"})], False, "MT"),
        ([piece(index=0, id="c", name="f", arguments="{}")], False, "MT"),
        ([chat({"content": "a"}, "length")], True, "TE length"),
    ],
)
def test_done_stands_in_for_a_stop_word_after_text_or_a_call(
    frames: list[Frame], done: bool, ending: str
) -> None:
    result = answer(*frames, done=done, finish=None)
    assert result.ending == ending
    assert bool(result.calls) is (ending == "toolCall")


@pytest.mark.criterion("05D.78")
def test_an_old_completion_is_refused() -> None:
    assert (
        answer({"choices": [{"index": 0, "text": "Hi", "finish_reason": "stop"}]}).ending
        == "TE invalid_event"
    )
    assert answer({"choices": [{"text": "Hi", "delta": None, "message": None}]}).ending == "TE invalid_event"
    both: Frame = {"choices": [{"text": "Hi", "delta": {"content": "x"}}]}
    assert answer(both, finish="stop").text == "x"
    assert answer({"choices": [{"text": None}]}, finish="stop").ending == "stop"


@pytest.mark.criterion("05D.80")
def test_an_index_opens_a_call_gaps_allowed() -> None:
    frames = [
        piece(index=7, id="a", name="f", arguments='{"n":'),
        piece(index=-2, id="b", name="g", arguments="{"),
        piece(index=7, arguments="1}"),
        piece(index=-2, arguments="}"),
    ]
    assert calls(*frames) == [("a", "f", {"n": 1}), ("b", "g", {})]


@pytest.mark.criterion("05D.81", "05D.87")
def test_a_new_id_with_a_name_opens_a_call_at_a_used_index() -> None:
    frames = [
        piece(index=0, id="a", name="read", arguments='{"p":1}'),
        piece(index=0, id="b", name="read", arguments='{"p":'),
        piece(index=0, arguments="2}"),
    ]
    assert calls(*frames) == [("a", "read", {"p": 1}), ("b", "read", {"p": 2})]
    unfinished = [
        piece(index=0, id="a", name="f", arguments="{"),
        piece(index=0, id="b", name="g", arguments="{}"),
    ]
    assert answer(*unfinished).ending == "TE invalid_arguments"


@pytest.mark.criterion("05D.82", "05D.88")
@pytest.mark.parametrize("ids", [True, False])
def test_seven_whole_calls_at_index_0_are_seven_calls(ids: bool) -> None:
    names = ["a", "b", "b", "c", "d", "e", "e"]
    frames = [
        piece(index=0, id=f"id{n}" if ids else "", name=name, arguments=json.dumps({"n": n, "s": '}"{\\'}))
        for n, name in enumerate(names)
    ]
    expected = [
        (f"id{n}" if ids else f"response-001-call-{n + 1:03d}", name, {"n": n, "s": '}"{\\'})
        for n, name in enumerate(names)
    ]
    assert calls(*frames) == expected


@pytest.mark.criterion("05D.82")
def test_whole_means_a_complete_object_however_it_came() -> None:
    text = '{"a":"\\"}{","b":{"c":[1]}}'
    frames = [piece(index=0, name="f", arguments="")]
    frames += [piece(index=0, arguments=character) for character in text]
    frames += [piece(index=0, name="f", arguments="{}")]
    assert calls(*frames) == [
        ("response-001-call-001", "f", {"a": '"}{', "b": {"c": [1]}}),
        ("response-001-call-002", "f", {}),
    ]
    whole = [piece(index=0, name="f", arguments={"a": 1}), piece(index=0, name="f", arguments={"b": 2})]
    assert [call[2] for call in calls(*whole)] == [{"a": 1}, {"b": 2}]
    scalar = [piece(index=0, name="f", arguments="1"), piece(index=0, name="g", arguments="2")]
    assert answer(*scalar).ending == "TE invalid_arguments"
    balanced_nonsense = [piece(index=0, name="f", arguments="{x}"), piece(index=0, name="f", arguments="{}")]
    assert answer(*balanced_nonsense).calls == []


@pytest.mark.criterion("05D.83")
def test_without_an_index_an_id_opens_a_call() -> None:
    frames = [
        piece(id="a", name="f", arguments="{"),
        piece(arguments="}"),
        piece(id="b", name="f", arguments="{}"),
    ]
    assert calls(*frames) == [("a", "f", {}), ("b", "f", {})]
    assert calls(piece(name="f", arguments="{"), piece(arguments="}")) == [("response-001-call-001", "f", {})]
    nameless_first = [piece(name="f", arguments="{}"), piece(id="b", name="g", arguments="{}")]
    assert [call[0] for call in calls(*nameless_first)] == ["response-001-call-001", "b"]
    assert (
        answer(piece(id="a", name="f", arguments="{}"), piece(id="b", arguments="")).ending
        == "TE invalid_event"
    )


@pytest.mark.criterion("05D.84")
def test_without_an_index_a_name_opens_a_call_in_three_cases() -> None:
    same_delta = chat(
        {
            "tool_calls": [
                {"id": "x", "function": {"name": "f", "arguments": '{"a":'}},
                {"id": "x", "function": {"name": "f", "arguments": "{}"}},
            ]
        }
    )
    assert answer(same_delta).ending == "TE invalid_arguments"
    whole_delta = chat(
        {"tool_calls": [{"function": {"name": "f", "arguments": f'{{"n":{n}}}'}} for n in range(3)]}
    )
    assert [call[2] for call in calls(whole_delta)] == [{"n": 0}, {"n": 1}, {"n": 2}]
    other_name = [piece(name="f", arguments=""), piece(name="g", arguments="")]
    assert [call[1] for call in calls(*other_name)] == ["f", "g"]
    whole = [piece(name="f", arguments="{}"), piece(name="f", arguments='{"n":2}')]
    assert [call[2] for call in calls(*whole)] == [{}, {"n": 2}]
    repeated = [piece(name="f", arguments='{"n":'), piece(name="f", arguments="1}")]
    assert calls(*repeated) == [("response-001-call-001", "f", {"n": 1})]


@pytest.mark.criterion("05D.85")
def test_a_piece_that_opens_nothing_continues_its_call() -> None:
    grown = [
        piece(index=0, name="get_", arguments=""),
        piece(index=0, name="weather", arguments='{"c":'),
        piece(index=0, id="late", arguments='"x"'),
        piece(index=0, id="other", arguments="}"),
    ]
    assert calls(*grown) == [("late", "get_weather", {"c": "x"})]
    replaced = [piece(index=0, id="a", name="f", arguments='{"x":'), piece(index=0, arguments={"n": 1})]
    assert calls(*replaced) == [("a", "f", {"n": 1})]
    text_after_object = [*replaced, piece(index=0, arguments="}")]
    assert answer(*text_after_object).ending == "TE invalid_arguments"


@pytest.mark.criterion("05D.86")
def test_a_call_opened_without_an_index_is_reachable_by_its_place() -> None:
    frames = [
        piece(id="a", name="f", arguments='{"n":'),
        piece(id="b", name="g", arguments='{"n":'),
        piece(index=0, arguments="1}"),
        piece(index=1, arguments="2}"),
    ]
    assert calls(*frames) == [("a", "f", {"n": 1}), ("b", "g", {"n": 2})]
    held = [
        piece(index=1, id="a", name="f", arguments='{"n":'),
        piece(id="b", name="g", arguments="{}"),
        piece(index=1, arguments="1}"),
    ]
    assert calls(*held) == [("a", "f", {"n": 1}), ("b", "g", {})]


@pytest.mark.criterion("05D.89")
def test_id_and_name_repeated_on_every_fragment_are_one_call() -> None:
    frames = [piece(index=0, id="0", name="f", arguments=part) for part in ('{"a"', ":", "1", "}", "")]
    assert calls(*frames) == [("0", "f", {"a": 1})]


@pytest.mark.criterion("05D.150")
def test_calls_with_stop_are_calls() -> None:
    entries = [{"index": n, "id": f"c{n}", "function": {"name": "f", "arguments": "{}"}} for n in range(3)]
    result = answer(chat({"content": "let me", "tool_calls": entries}), finish="stop")
    assert (result.ending, len(result.calls), result.text) == ("toolCall", 3, "let me")


@pytest.mark.criterion("05D.151", "05D.152", "05D.153", "05D.154")
@pytest.mark.parametrize(
    ("arguments", "finish", "ending"),
    [
        ('{"a":"xy', "tool_calls", "TE invalid_arguments"),
        ("[1,2", "tool_calls", "TE invalid_arguments"),
        ('{"a":1}', "length", "TE length"),
        ('{"a":', None, "MT"),
        ('"{\\"n\\":2}"', "tool_calls", "TE invalid_arguments"),
    ],
)
def test_a_call_that_did_not_arrive_whole_is_never_passed_on(
    arguments: str, finish: object, ending: str
) -> None:
    frames = [piece(index=0, id="c", name="f", arguments=""), piece(index=0, arguments=arguments)]
    result = answer(*frames, finish=finish, done=finish is not None)
    assert (result.ending, result.calls) == (ending, [])


@pytest.mark.criterion("05D.155")
def test_an_error_in_a_chunk_with_empty_choices_is_told_after_the_text() -> None:
    result = answer(
        chat({"content": "a"}), {"choices": [], "error": {"code": 502, "message": "x"}}, finish=None
    )
    assert (result.ending, result.text) == ("TE 502", "a")


@pytest.mark.criterion("05D.156")
def test_a_first_chunk_with_filter_results_only_is_ignored() -> None:
    first: Frame = {"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    response = answer(first, chat({"content": "Hi"}, id="r1"), finish="stop").response
    assert response is not None
    assert (response.id, response.message.text) == ("r1", "Hi")


@pytest.mark.criterion("05D.56")
def test_placeholders_among_entries_are_ignored() -> None:
    empty: Frame = {"index": 3, "id": "", "function": {"name": "", "arguments": ""}}
    frames = [chat({"tool_calls": [empty, None, {"index": 0, "id": "a", "function": {"name": "f"}}, {}]})]
    assert calls(*frames) == [("a", "f", {})]


def test_the_pieces_of_a_long_call_are_joined_once() -> None:
    # A guard on work, not on time: no piece may be looked at again when the next one comes.
    body = sse(piece(index=0, id="c", name="f", arguments='{"a":"'))
    body += sse(piece(index=0, arguments="x")) * 20_000 + sse(
        piece(index=0, arguments='"}'), chat(finish="stop")
    )
    result = Outcome(dialects.decode(CHAT, body))
    assert result.calls == [("c", "f", {"a": "x" * 20_000})]
