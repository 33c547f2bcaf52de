"""The transcript validator: shape, linkage, order of findings (checkpoint 03)."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kickwheel_protocol import (
    AssistantMessage,
    Message,
    ProtocolError,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    TranscriptIssue,
    UserMessage,
    dump_json,
    parse_messages,
    to_wire,
    validate_transcript,
)
from kickwheel_protocol.testing import messages, transcripts

stable = settings(derandomize=True, database=None, deadline=None, max_examples=100)

Wire = dict[str, Any]


def call(call_id: object = "c1", name: object = "read", **changes: object) -> Wire:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": {}, **changes}


def assistant(*blocks: object, **changes: object) -> Wire:
    return {"role": "assistant", "id": "a", "content": [*blocks], **changes}


def result(call_id: object = "c1", name: object = "read", **changes: object) -> Wire:
    base = {
        "role": "toolResult",
        "id": "r",
        "toolCallId": call_id,
        "toolName": name,
        "content": "x",
        "isError": False,
    }
    return {**base, **changes}


def user(**changes: object) -> Wire:
    return {"role": "user", "id": "u", "content": "hi", **changes}


def without(wire: Wire, key: str) -> Wire:
    return {name: value for name, value in wire.items() if name != key}


class Mapped(dict[str, object]):
    """A dict, but not exactly one."""


def found(transcript: object) -> list[str]:
    issues = validate_transcript(transcript)
    assert type(issues) is tuple
    assert all(type(issue) is TranscriptIssue for issue in issues)
    return [f"{issue.code}@{issue.message_index}" for issue in issues]


ORPHAN, MISSING, BEFORE = "ORPHAN_TOOL_RESULT", "MISSING_TOOL_RESULT", "TOOL_RESULT_BEFORE_CALL"
TWICE_CALLED, TWICE_ANSWERED = "DUPLICATE_TOOL_CALL_ID", "DUPLICATE_TOOL_RESULT"
OTHER_NAME, NO_NAME = "TOOL_NAME_MISMATCH", "EMPTY_TOOL_NAME"
ARGUMENTS, INVALID = "INVALID_TOOL_ARGUMENTS", "INVALID_MESSAGE"

A = assistant(call())
ROWS: dict[str, tuple[list[object], list[str]]] = {
    "03.50": ([result("cX")], [f"{ORPHAN}@0"]),
    "03.51": ([assistant(call(), call("c2", "write"))], [f"{MISSING}@0", f"{MISSING}@0"]),
    "03.52": ([result(), A], [f"{BEFORE}@0", f"{MISSING}@1"]),
    "03.53": ([A, result("c1", "write")], [f"{OTHER_NAME}@1"]),
    "03.54": ([assistant(call(), call()), result()], [f"{TWICE_CALLED}@0"]),
    "03.55": ([A, result(), result()], [f"{TWICE_ANSWERED}@2"]),
    "03.56": (
        [result(), result(), A],
        [f"{TWICE_ANSWERED}@1", f"{BEFORE}@0", f"{BEFORE}@1", f"{MISSING}@2"],
    ),
    "03.57": (
        [A, assistant(call("c1", "write")), result("c1", "bogus"), result("c1", "bogus")],
        [f"{TWICE_CALLED}@1", f"{TWICE_ANSWERED}@3"],
    ),
    "03.58": ([assistant(call(arguments=[])), result()], [f"{ARGUMENTS}@0"]),
    "03.59": ([A, result(content=42)], [f"{INVALID}@1"]),
    "03.60": ([assistant(without(call(), "name")), result()], [f"{NO_NAME}@0"]),
    "03.61": ([A, without(result(), "toolName")], [f"{NO_NAME}@1"]),
    "03.62": ([A, result(), result("c1", "write")], [f"{TWICE_ANSWERED}@2", f"{OTHER_NAME}@2"]),
    "03.63": ([result(), A, result()], [f"{TWICE_ANSWERED}@2", f"{BEFORE}@0"]),
    "03.64": ([result("cX", content=42)], [f"{INVALID}@0"]),
    "03.65": ([A, result(), result(content=42)], [f"{INVALID}@2"]),
    "03.66": ([A, assistant(call(arguments=[])), result("c1", "write")], [f"{ARGUMENTS}@1"]),
    "03.67": ([assistant(call(" ")), result()], [f"{INVALID}@0", f"{ORPHAN}@1"]),
    "03.68": ([user(), user()], []),
    "03.74": ([result("cX"), result("cX")], [f"{TWICE_ANSWERED}@1", f"{ORPHAN}@0", f"{ORPHAN}@1"]),
    "03.75": ([result("c1", "write"), A], [f"{BEFORE}@0", f"{MISSING}@1"]),
    "03.76": ([A, result("c1", "write"), result(content=42)], [f"{INVALID}@2", f"{OTHER_NAME}@1"]),
    "03.77": ([A, A, assistant(call(arguments=[]))], [f"{TWICE_CALLED}@1", f"{ARGUMENTS}@2"]),
    "03.78": ([assistant(call(), call("c2")), result("c2"), result()], []),
    "03.79": ([A, result(), A, result()], [f"{TWICE_CALLED}@2", f"{TWICE_ANSWERED}@3"]),
    "03.180": ([assistant(call(), id=" "), result()], [f"{INVALID}@0"]),
    "03.181": ([A, result(id=" ")], [f"{INVALID}@1"]),
    "03.182": ([assistant(call(), role="system"), result()], [f"{INVALID}@0"]),
    "03.183": ([A, result(role="tool")], [f"{INVALID}@1"]),
    "03.184": (
        [result(), result("c2"), result()],
        [f"{TWICE_ANSWERED}@2", f"{ORPHAN}@0", f"{ORPHAN}@2", f"{ORPHAN}@1"],
    ),
    "03.185": ([result("c2"), A, result("cX")], [f"{ORPHAN}@0", f"{ORPHAN}@2", f"{MISSING}@1"]),
    "03.186": (
        [result(), result(), assistant(call(arguments=[]))],
        [f"{TWICE_ANSWERED}@1", f"{ARGUMENTS}@2"],
    ),
    "03.187": (
        [A, assistant(call("c2")), result("c2", "x"), result("c1", "y")],
        [f"{OTHER_NAME}@2", f"{OTHER_NAME}@3"],
    ),
    "03.188": (
        [A, assistant(call("c2")), assistant(call("c3")), result("c2")],
        [f"{MISSING}@0", f"{MISSING}@2"],
    ),
    "03.189": ([assistant(call(), id=7), A], [f"{INVALID}@0"]),
    "03.190": ([A, 7, result()], [f"{INVALID}@1"]),
    "03.191": ([assistant(Mapped(call())), result()], [f"{INVALID}@0", f"{ORPHAN}@1"]),
}
each_row = pytest.mark.parametrize(
    ("transcript", "findings"),
    [pytest.param(*row, id=line, marks=pytest.mark.criterion(line)) for line, row in ROWS.items()],
)


def as_records(transcript: list[object]) -> tuple[Message, ...] | None:
    """Return the record form of a transcript that has no malformed part."""
    try:
        return parse_messages(transcript)
    except ProtocolError:
        return None


class TestLinkage:
    @each_row
    def test_findings_are_complete_and_in_order(self, transcript: list[object], findings: list[str]) -> None:
        assert found(transcript) == findings
        assert found(tuple(transcript)) == findings

    @each_row
    @pytest.mark.criterion("03.71")
    def test_records_have_the_findings_of_their_wire_form(
        self, transcript: list[object], findings: list[str]
    ) -> None:
        records = as_records(transcript)
        if records is None:
            assert {issue.split("@")[0] for issue in findings} & {INVALID, NO_NAME, ARGUMENTS}
            return
        assert found(records) == findings
        assert found([*records]) == findings
        assert found([to_wire(record) if at % 2 else record for at, record in enumerate(records)]) == findings
        blocks: list[object] = [
            {**to_wire(m), "content": m.content} if type(m) is AssistantMessage else m for m in records
        ]
        assert found(blocks) == findings

    @pytest.mark.criterion("03.70")
    @pytest.mark.parametrize("broken", ["id", "role"])
    def test_an_entry_that_is_refused_whole_blames_nobody_else(self, broken: str) -> None:
        spoiled_call = assistant(call(), TextBlock("x"), ToolCall("c2", "read", {}), 7, **{broken: None})
        assert found([spoiled_call, result(), result("c2")]) == [f"{INVALID}@0"]
        spoiled_result = result(**{broken: "\ufeff"})
        assert found([A, spoiled_result]) == [f"{INVALID}@1"]
        both = {**assistant(call(), **{broken: " "}), "toolCallId": "c9"}
        assert found([assistant(call("c9")), both, result()]) == [f"{INVALID}@1"]
        odd: dict[str, object] = {"role": None, "content": {"type": "toolCall", "id": "c1"}, "toolCallId": 7}
        assert found([odd, result()]) == [f"{INVALID}@0", f"{ORPHAN}@1"]
        unknown = assistant({"type": "image", "id": "c1"}, {"id": "c1"}, {"type": "toolCall"}, role="x")
        assert found([unknown, result()]) == [f"{INVALID}@0", f"{ORPHAN}@1"]

    @pytest.mark.criterion("03.70")
    def test_a_block_of_unknown_type_is_no_call(self) -> None:
        assert found([assistant({"type": "image", "id": "c1"}), result()]) == [f"{INVALID}@0", f"{ORPHAN}@1"]
        assert found([assistant({**call(), 1: 1}), result()]) == [f"{INVALID}@0", f"{ORPHAN}@1"]

    @pytest.mark.criterion("03.69")
    def test_texts_name_the_ids_and_names(self) -> None:
        call_id, name, other = "c" * 100, "n" * 100, "o" * 100
        one = assistant(call(call_id, name))
        (twice,) = validate_transcript([one, one, result(call_id, name)])
        assert call_id in twice.message
        (again,) = validate_transcript([one, result(call_id, name), result(call_id, name)])
        assert call_id in again.message
        (mismatch,) = validate_transcript([one, result(call_id, other)])
        assert name in mismatch.message
        assert other in mismatch.message


class TestShape:
    @pytest.mark.criterion("03.31")
    def test_nothing_is_found_in_a_valid_transcript(self) -> None:
        text = {"type": "text", "text": "a"}
        assert found([user(), assistant(text, call(), text), result()]) == []
        assert found([]) == []
        assert found(()) == []

    @pytest.mark.criterion("03.32")
    def test_no_transcript_is_one_finding(self) -> None:
        (issue,) = validate_transcript(None)
        assert (issue.code, issue.message_index) == ("INVALID_TRANSCRIPT", -1)

    @pytest.mark.criterion("03.34")
    def test_a_bad_entry_keeps_the_findings_around_it(self) -> None:
        assert found([user(content=1), object(), user(id="")]) == [f"{INVALID}@{index}" for index in range(3)]

    @pytest.mark.criterion("03.35")
    def test_each_bad_block_is_a_finding(self) -> None:
        assert found([assistant({"type": "text"}, object())]) == [f"{INVALID}@0"] * 2

    @pytest.mark.criterion("03.37", "03.38", "03.40", "03.44", "03.45")
    @pytest.mark.parametrize(
        "entry",
        [
            {"role": "user"},
            user(content=42),
            without(user(), "content"),
            assistant({"type": "text"}),
            assistant({"type": "text", "text": None}),
            assistant({"type": "image"}),
            assistant({"type": 7}),
            assistant({"text": "x"}),
            assistant(None),
            user(id=" "),
            without(user(), "id"),
            without(user(), "role"),
            None,
            7,
            "user",
            [],
            user(role=7),
            user(role="system"),
            user(role=None),
            assistant(content=None),
            without(assistant(), "content"),
        ],
        ids=repr,
    )
    def test_one_fault_is_one_finding(self, entry: object) -> None:
        assert found([user(), entry]) == [f"{INVALID}@1"]

    @pytest.mark.criterion("03.45")
    def test_the_constructor_s_default_is_not_for_wire_data(self) -> None:
        assert found([A, without(result(), "isError")]) == [f"{INVALID}@1"]
        assert found([A, result(isError=0)]) == [f"{INVALID}@1"]

    @pytest.mark.criterion("03.39")
    def test_a_result_s_missing_fields_are_told_one_by_one(self) -> None:
        bare = {"id": "r", "role": "toolResult", "toolCallId": "c1"}
        assert found([bare]) == [f"{NO_NAME}@0", f"{INVALID}@0", f"{INVALID}@0"]

    @pytest.mark.criterion("03.41")
    def test_a_name_that_cannot_be_seen_is_empty(self) -> None:
        assert found([assistant(call(name="  "))]) == [f"{NO_NAME}@0"]
        assert found([result(name="")]) == [f"{NO_NAME}@0"]
        assert found([assistant(call(name=None))]) == [f"{NO_NAME}@0"]

    @pytest.mark.criterion("03.42")
    @pytest.mark.parametrize(
        "arguments",
        [
            None,
            [],
            "bad",
            pytest.param({"values": [object()]}, id="object in a list"),
            pytest.param({"a": {1}, "b": object()}, id="set and object"),
        ],
        ids=repr,
    )
    def test_arguments_are_one_finding_a_call(self, arguments: object) -> None:
        assert found([assistant(call(arguments=arguments))]) == [f"{ARGUMENTS}@0"]
        assert found([assistant(without(call(), "arguments"))]) == [f"{ARGUMENTS}@0"]

    @pytest.mark.criterion("03.43")
    def test_the_faults_of_one_call_come_in_the_order_of_its_fields(self) -> None:
        assert found([assistant(call(" ", " ", arguments=[]))]) == [
            f"{INVALID}@0",
            f"{NO_NAME}@0",
            f"{ARGUMENTS}@0",
        ]

    @pytest.mark.criterion("03.48")
    def test_order_of_roles_and_message_ids_are_free(self) -> None:
        transcript = [
            assistant(call()),
            user(id="a"),
            user(id="a"),
            assistant(),
            assistant(),
            result(),
            user(),
        ]
        assert found(transcript) == []

    @pytest.mark.criterion("03.49")
    def test_extra_keys_are_not_looked_at(self) -> None:
        assert found([user(extra=object()), assistant(call(extra=object())), result(extra=object())]) == []

    @pytest.mark.criterion("03.30")
    def test_a_finding_is_a_record_with_a_wire_form(self) -> None:
        (issue,) = validate_transcript([7])
        assert list(to_wire(issue).items()) == [
            ("code", "INVALID_MESSAGE"),
            ("messageIndex", 0),
            ("message", issue.message),
        ]
        assert json.loads(dump_json(issue)) == to_wire(issue)
        assert issue == TranscriptIssue("INVALID_MESSAGE", 0, issue.message)


class TestRoundTrip:
    @settings(stable, max_examples=40)
    @given(transcripts())
    @pytest.mark.criterion("03.72", "03.73", "03.71", "03.31")
    def test_a_valid_transcript_stays_valid_through_json(self, transcript: tuple[Message, ...]) -> None:
        assert validate_transcript(transcript) == ()
        plain = [json.loads(dump_json(message)) for message in transcript]
        assert validate_transcript(plain) == ()
        assert {type(message) for message in plain} <= {dict}
        assert parse_messages(plain) == transcript
        for message, wire in zip(transcript, plain, strict=True):
            assert (message.id, message.role) == (wire["id"], wire["role"])
            if type(message) is AssistantMessage:
                assert [block.type for block in message.content] == [
                    block["type"] for block in wire["content"]
                ]
                assert [c.id for c in message.tool_calls] == [
                    b["id"] for b in wire["content"] if b["type"] == "toolCall"
                ]

    @stable
    @given(st.lists(messages(), max_size=6))
    @pytest.mark.criterion("03.71", "03.B4")
    def test_both_forms_have_the_same_findings(self, transcript: list[Message]) -> None:
        wire = [to_wire(message) for message in transcript]
        assert found(wire) == found(transcript)
        assert validate_transcript(wire) == validate_transcript(transcript) == validate_transcript(wire)


KEYS = ["role", "id", "content", "type", "text", "name", "arguments", "toolCallId", "toolName", "isError"]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=2)
    | st.sampled_from(["user", "assistant", "toolResult", "text", "toolCall", "c1", "", " ", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(KEYS)
        | st.text(max_size=2)
        | st.integers(),
        inner,
        max_size=5,
    )
    | st.lists(inner, max_size=3).map(tuple),
    max_leaves=20,
)  # fmt: skip
near_call = st.fixed_dictionaries(
    {"type": st.just("toolCall")}, optional={"id": anything, "name": anything, "arguments": anything}
)
nearly = st.lists(
    anything
    | messages()
    | st.fixed_dictionaries(
        {
            "role": st.just("assistant"),
            "id": st.just("a"),
            "content": st.lists(near_call | anything, max_size=3),
        }
    )
    | st.fixed_dictionaries(
        {"role": st.just("toolResult"), "id": st.just("r")},
        optional={"toolCallId": anything, "toolName": anything, "content": anything, "isError": anything},
    ),
    max_size=4,
)


class TestEverything:
    @stable
    @given(anything | nearly)
    @pytest.mark.criterion("03.30", "03.B1", "03.153")
    def test_the_parser_raises_exactly_when_the_validator_finds_a_bad_shape(self, value: object) -> None:
        codes = {finding.split("@")[0] for finding in found(value)}
        broken = bool(codes & {"INVALID_TRANSCRIPT", INVALID, NO_NAME, ARGUMENTS})
        try:
            parse_messages(value)
        except ProtocolError:
            assert broken
        else:
            assert not broken

    @pytest.mark.criterion("03.B4", "03.120")
    def test_findings_and_texts_do_not_depend_on_the_hash_seed(self) -> None:
        program = (
            "from kickwheel_protocol import *\n"
            "results = [ToolResultMessage(f'r{n}', f'call-{n % 7}', 'read', 'x') for n in range(30)]\n"
            "arguments = {'z': 1, 'a': {'y': 1, 'b': 2}}\n"
            "said = AssistantMessage('a', [ToolCall(f'call-{n}', 'read', arguments) for n in range(9)])\n"
            "for issue in validate_transcript([*results, said]): print(dump_json(issue))\n"
            "print(dump_json(said))\n"
        )
        texts = {
            subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
                timeout=30,
            ).stdout
            for seed in ("0", "1", "4242")
        }
        assert len(texts) == 1
        assert texts.pop().count("\n") > 30


@pytest.mark.criterion("03.50", "03.52")
def test_the_orphan_experiment_behaves_as_described() -> None:
    lost = result("call-missing", "read")
    named = assistant(call("call-missing", "read"))
    assert found([lost]) == [f"{ORPHAN}@0"]
    assert found([named, lost]) == []
    assert found([lost, named]) == [f"{BEFORE}@0", f"{MISSING}@1"]


@pytest.mark.criterion("03.72")
def test_records_of_one_transcript_are_the_three_messages() -> None:
    said = (
        UserMessage("u", "hi"),
        AssistantMessage("a", [ToolCall("c", "n", {})]),
        ToolResultMessage("r", "c", "n", "x"),
    )
    assert parse_messages([to_wire(message) for message in said]) == said
