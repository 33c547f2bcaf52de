"""Focused test of checkpoint 03: the door for outside data, and findings on whole transcripts."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from kickwheel_protocol import (
    AssistantMessage,
    JsonObject,
    ProtocolError,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    dump_json,
    freeze_json,
    parse_chunk,
    parse_message,
    parse_messages,
    thaw_json,
    to_wire,
    validate_transcript,
)

criterion = pytest.mark.criterion
Wire = dict[str, Any]


def nested(depth: int) -> Any:
    """Return an object that is `depth` containers deep, the outermost one counted."""
    value: Any = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def path_of(value: Any) -> str:
    with pytest.raises(ProtocolError) as caught:
        freeze_json(value)
    return caught.value.path


# Task 1: freeze in one walk


@criterion("03.110", "03.113", "03.114")
@pytest.mark.task(1)
def test_outside_data_is_copied_and_frozen_at_every_depth() -> None:
    data: Wire = {"path": "README.md", "options": {"lines": True, "ranges": [1, {"label": "tail"}]}}
    frozen = freeze_json(data)
    data["options"]["ranges"].append(2)
    assert frozen == {"path": "README.md", "options": {"lines": True, "ranges": (1, {"label": "tail"})}}
    assert isinstance(frozen, JsonObject)
    thawed: Any = thaw_json(frozen)
    assert thawed["options"]["ranges"] == [1, {"label": "tail"}]
    assert freeze_json(thaw_json(frozen)) == frozen


@criterion("03.106", "03.112")
@pytest.mark.task(1)
def test_what_is_frozen_comes_back_as_the_same_object() -> None:
    frozen = freeze_json({"values": [1, {"a": None}]})
    assert freeze_json(frozen) is frozen
    assert ToolCall("call-1", "read", frozen).arguments is frozen
    outer = freeze_json({"inner": frozen})
    assert isinstance(outer, JsonObject)
    assert outer["inner"] is frozen


@criterion("03.11", "03.13")
@pytest.mark.task(1)
def test_a_call_keeps_its_own_arguments_and_names_the_place_of_a_bad_one() -> None:
    arguments: Wire = {"path": "README.md", "options": {"depth": 1}}
    call = ToolCall("call-1", "read", arguments)
    arguments["options"]["depth"] = 2
    assert call.arguments == {"path": "README.md", "options": {"depth": 1}}
    with pytest.raises(ProtocolError) as caught:
        ToolCall("call-1", "read", {"values": [object()]})
    assert caught.value.path == "arguments.values[0]"


class Lying(dict[str, Any]):
    """A subclass whose methods must never run."""

    def items(self) -> Any:
        raise AssertionError("a method of the caller ran")

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("a method of the caller ran")


@criterion("03.83", "03.86", "03.87", "03.90", "03.91", "03.94")
@pytest.mark.task(1)
@pytest.mark.parametrize(
    "bad",
    [
        Lying(),
        defaultdict(int, {"a": 1}),
        {1, 2},
        b"bytes",
        float("nan"),
        float("inf"),
        2**53,
        -(2**53),
        "\ud800",
        object(),
    ],
    ids=["subclass", "defaultdict", "set", "bytes", "nan", "inf", "large", "small", "surrogate", "object"],
)
def test_what_is_not_json_is_refused_where_it_stands(bad: object) -> None:
    assert path_of({"a": [{"b c": bad}]}) == 'value.a[0]["b c"]'


@criterion("03.88", "03.93", "03.97")
@pytest.mark.task(1)
def test_booleans_odd_keys_and_shared_parts_are_data() -> None:
    shared = [1]
    frozen = freeze_json({"__class__": True, "": False, "a": shared, "b": shared, "limit": 2**53 - 1})
    assert frozen == {"__class__": True, "": False, "a": (1,), "b": (1,), "limit": 2**53 - 1}


@criterion("03.96", "03.99", "03.107", "03.108")
@pytest.mark.task(1)
def test_depth_is_bounded_and_counts_through_frozen_parts() -> None:
    deepest = freeze_json(nested(128))
    for too_deep in (nested(129), nested(100_000), {"a": deepest}):
        with pytest.raises(ProtocolError):
            freeze_json(too_deep)
    cycle: Wire = {}
    cycle["self"] = cycle
    with pytest.raises(ProtocolError):
        freeze_json(cycle)


# Task 2: parse a record

CALL: Wire = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}
USER: Wire = {"role": "user", "id": "m1", "content": "hi"}
ASSISTANT: Wire = {
    "role": "assistant",
    "id": "m2",
    "content": [{"type": "text", "text": "Let me see."}, CALL],
}
RESULT: Wire = {
    "role": "toolResult",
    "id": "m3",
    "toolCallId": "c1",
    "toolName": "read",
    "content": "x",
    "isError": False,
}


@criterion("03.140", "03.141", "03.152")
@pytest.mark.task(2)
def test_wire_data_becomes_records_and_back() -> None:
    messages = parse_messages([USER, ASSISTANT, {**RESULT, "extra": 1}])
    assert messages == (
        UserMessage("m1", "hi"),
        AssistantMessage("m2", [TextBlock("Let me see."), ToolCall("c1", "read", {"path": "a"})]),
        ToolResultMessage("m3", "c1", "read", "x"),
    )
    assert [to_wire(message) for message in messages] == [USER, ASSISTANT, RESULT]
    assert parse_messages(json.loads(json.dumps([USER, ASSISTANT, RESULT]))) == messages


@criterion("03.25", "03.26", "03.27")
@pytest.mark.task(2)
def test_the_text_of_a_message_leaves_its_calls_out() -> None:
    message = parse_message(
        {**ASSISTANT, "content": [*ASSISTANT["content"], {"type": "text", "text": " Done."}]}
    )
    assert isinstance(message, AssistantMessage)
    assert message.text == "Let me see. Done."
    assert message.tool_calls == (ToolCall("c1", "read", {"path": "a"}),)


@criterion("03.142")
@pytest.mark.task(2)
def test_finished_records_pass_as_the_same_objects() -> None:
    messages = (UserMessage("m1", "hi"), ToolResultMessage("m3", "c1", "read", "x"))
    assert parse_messages(messages) is messages
    assert parse_message(messages[0]) is messages[0]


@criterion("03.143", "03.144", "03.145", "03.146", "03.147")
@pytest.mark.task(2)
@pytest.mark.parametrize(
    ("wire", "path"),
    [
        (None, ""),
        ("text", ""),
        ({**USER, "role": "system"}, "role"),
        ({"id": "m1", "content": "hi"}, "role"),
        ({**USER, "id": " "}, "id"),
        ({**USER, "content": 42}, "content"),
        ({**ASSISTANT, "content": [{"type": "image"}]}, "content[0].type"),
        ({**ASSISTANT, "content": [{**CALL, "name": " "}]}, "content[0].name"),
        ({**ASSISTANT, "content": [{**CALL, "arguments": {"v": [object()]}}]}, "content[0].arguments.v[0]"),
        ({key: value for key, value in RESULT.items() if key != "isError"}, "isError"),
        ({**RESULT, "toolCallId": None, "toolName": None}, "toolCallId"),
    ],
)
def test_a_fault_has_the_path_of_its_place(wire: object, path: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_message(wire)
    assert caught.value.path == path


@criterion("03.144")
@pytest.mark.task(2)
def test_a_chunk_is_parsed_by_its_type() -> None:
    assert to_wire(parse_chunk({"type": "textDelta", "requestId": "r", "delta": ""}))["delta"] == ""
    with pytest.raises(ProtocolError) as caught:
        parse_chunk({"type": "usage", "requestId": "r"})
    assert caught.value.path == "type"


# Task 3: find the faults of shape


def found(transcript: object) -> list[str]:
    return [f"{issue.code}@{issue.message_index}" for issue in validate_transcript(transcript)]


@criterion("03.31", "03.81")
@pytest.mark.task(3)
def test_a_good_transcript_has_no_finding_in_either_form() -> None:
    for transcript in ([], (), [USER, ASSISTANT, RESULT], [USER, USER]):
        assert found(transcript) == []


@criterion("03.30", "03.32", "03.80")
@pytest.mark.task(3)
@pytest.mark.parametrize("value", [None, "text", b"x", {}, {1}, 7, object()])
def test_what_is_no_transcript_is_one_finding(value: object) -> None:
    assert found([USER]) == []
    assert found(value) == ["INVALID_TRANSCRIPT@-1"]


@criterion("03.34", "03.44", "03.83")
@pytest.mark.task(3)
def test_a_foreign_entry_is_one_finding_and_the_others_are_still_told() -> None:
    transcript: list[Any] = [
        {**USER, "content": 1},
        Lying(USER),
        None,
        {**USER, "role": "system"},
        {**USER, "id": 7},
    ]
    assert found(transcript) == [f"INVALID_MESSAGE@{index}" for index in range(5)]


@criterion("03.83")
@pytest.mark.task(3)
def test_a_dict_subclass_is_refused_at_the_border() -> None:
    assert found([defaultdict(str, USER)]) == ["INVALID_MESSAGE@0"]


@criterion("03.40", "03.41", "03.42", "03.43")
@pytest.mark.task(3)
@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ({**CALL, "id": " "}, ["INVALID_MESSAGE@0"]),
        ({**CALL, "name": " "}, ["EMPTY_TOOL_NAME@0"]),
        ({**CALL, "arguments": []}, ["INVALID_TOOL_ARGUMENTS@0"]),
        ({**CALL, "arguments": {"a": [object(), object()]}}, ["INVALID_TOOL_ARGUMENTS@0"]),
        (
            {"type": "toolCall", "id": " ", "name": " ", "arguments": "bad"},
            ["INVALID_MESSAGE@0", "EMPTY_TOOL_NAME@0", "INVALID_TOOL_ARGUMENTS@0"],
        ),
    ],
)
def test_the_position_of_a_bad_value_decides_the_code(call: Wire, codes: list[str]) -> None:
    assert found([{**ASSISTANT, "content": [call]}]) == codes


@criterion("03.45", "03.48", "03.49")
@pytest.mark.task(3)
def test_extra_keys_and_repeated_message_ids_are_no_fault_but_a_missing_flag_is() -> None:
    assert found([{**USER, "extra": 1}, USER, {**USER, "role": "user"}]) == []
    assert found([{key: value for key, value in RESULT.items() if key != "isError"}]) == ["INVALID_MESSAGE@0"]


# Task 4: judge the links


def a(*calls: str, **changes: Any) -> Wire:
    """Return an assistant message with calls written as `id:name`."""
    blocks = [{**CALL, "id": text.split(":")[0], "name": text.split(":")[1], **changes} for text in calls]
    return {**ASSISTANT, "content": blocks}


def r(call_id: str, name: str = "read", **changes: Any) -> Wire:
    return {**RESULT, "toolCallId": call_id, "toolName": name, **changes}


ROWS: dict[str, tuple[list[Any], list[str]]] = {
    "03.50": ([r("cX")], ["ORPHAN_TOOL_RESULT@0"]),
    "03.51": ([a("c1:read", "c2:write")], ["MISSING_TOOL_RESULT@0", "MISSING_TOOL_RESULT@0"]),
    "03.52": ([r("c1"), a("c1:read")], ["TOOL_RESULT_BEFORE_CALL@0", "MISSING_TOOL_RESULT@1"]),
    "03.53": ([a("c1:read"), r("c1", "write")], ["TOOL_NAME_MISMATCH@1"]),
    "03.54": ([a("c1:read", "c1:read"), r("c1")], ["DUPLICATE_TOOL_CALL_ID@0"]),
    "03.55": ([a("c1:read"), r("c1"), r("c1")], ["DUPLICATE_TOOL_RESULT@2"]),
    "03.56": (
        [r("c1"), r("c1"), a("c1:read")],
        [
            "DUPLICATE_TOOL_RESULT@1",
            "TOOL_RESULT_BEFORE_CALL@0",
            "TOOL_RESULT_BEFORE_CALL@1",
            "MISSING_TOOL_RESULT@2",
        ],
    ),
    "03.58": ([a("c1:read", arguments=[]), r("c1")], ["INVALID_TOOL_ARGUMENTS@0"]),
    "03.59": ([a("c1:read"), r("c1", content=42)], ["INVALID_MESSAGE@1"]),
    "03.62": ([a("c1:read"), r("c1"), r("c1", "write")], ["DUPLICATE_TOOL_RESULT@2", "TOOL_NAME_MISMATCH@2"]),
    "03.66": (
        [a("c1:read"), a("c1:read", arguments=[]), r("c1", "write")],
        ["INVALID_TOOL_ARGUMENTS@1"],
    ),
    "03.74": (
        [r("cX"), r("cX")],
        ["DUPLICATE_TOOL_RESULT@1", "ORPHAN_TOOL_RESULT@0", "ORPHAN_TOOL_RESULT@1"],
    ),
    "03.78": ([a("c1:read", "c2:read"), r("c2"), r("c1")], []),
    "03.184": (
        [r("c1"), r("c2"), r("c1")],
        ["DUPLICATE_TOOL_RESULT@2", "ORPHAN_TOOL_RESULT@0", "ORPHAN_TOOL_RESULT@2", "ORPHAN_TOOL_RESULT@1"],
    ),
    "03.187": (
        [a("c1:read"), a("c2:read"), r("c2", "x"), r("c1", "y")],
        ["TOOL_NAME_MISMATCH@2", "TOOL_NAME_MISMATCH@3"],
    ),
}


@pytest.mark.task(4)
@pytest.mark.parametrize("row", [pytest.param(row, marks=criterion(row), id=row) for row in ROWS])
def test_the_links_of_a_transcript(row: str) -> None:
    transcript, findings = ROWS[row]
    assert found(transcript) == findings


@criterion("03.71", "03.72", "03.73")
@pytest.mark.task(4)
def test_records_and_their_json_have_the_same_findings() -> None:
    orphan = [UserMessage("m1", "hi"), ToolResultMessage("m2", "call-missing", "read", "x")]
    assert found(orphan) == found([to_wire(message) for message in orphan]) == ["ORPHAN_TOOL_RESULT@1"]
    good = parse_messages([USER, ASSISTANT, RESULT])
    again = json.loads("[" + ",".join(dump_json(message) for message in good) + "]")
    assert type(again[0]) is dict
    assert found(again) == []


@criterion("03.69")
@pytest.mark.task(4)
def test_the_texts_name_the_ids_and_names_they_speak_of() -> None:
    (mismatch,) = validate_transcript([a("c1:read"), r("c1", "write")])
    assert all(word in mismatch.message for word in ("c1", "read", "write"))
