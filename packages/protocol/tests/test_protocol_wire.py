"""Wire form and parsing: tables, round trips, paths of faults (checkpoint 03)."""

import json
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kickwheel_protocol import (
    AssistantMessage,
    CancelledRun,
    CompletedRun,
    FailedRun,
    Invalid,
    MaxStepsRun,
    MessageAccepted,
    ModelChunkReceived,
    ModelRequest,
    ModelResponse,
    ProtocolError,
    RunError,
    RunFinished,
    Signal,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    ToolContext,
    ToolFinished,
    ToolResultMessage,
    ToolStarted,
    Usage,
    UserMessage,
    Valid,
    WireRecord,
    dump_json,
    parse_chunk,
    parse_event,
    parse_message,
    parse_messages,
    parse_request,
    parse_response,
    parse_run_result,
    to_wire,
)
from kickwheel_protocol.testing import texts, wire_records

stable = settings(derandomize=True, database=None, deadline=None, max_examples=100)

Parser = Callable[[object], WireRecord]
Wire = dict[str, Any]

USER = UserMessage("m1", "Add 20 and 22.")
CALL = ToolCall("call-add-001", "add", {"left": 20, "right": {"é": [1.5, None]}})
ASSISTANT = AssistantMessage("m2", [TextBlock("I will."), CALL])
RESULT = ToolResultMessage("m3", "call-add-001", "add", "42")
DELTA = TextDeltaChunk("q", "The")
CALL_CHUNK = ToolCallChunk("q", CALL)
REQUEST = ModelRequest("q", [USER, ASSISTANT, RESULT])
RESPONSE = ModelResponse("i", "q", ASSISTANT, "toolCall", Usage(1, 2))
COMPLETED = CompletedRun([USER], "Done.")

W_USER = {"role": "user", "id": "m1", "content": "Add 20 and 22."}
W_CALL = {
    "type": "toolCall",
    "id": "call-add-001",
    "name": "add",
    "arguments": {"left": 20, "right": {"é": [1.5, None]}},
}
W_ASSISTANT = {"role": "assistant", "id": "m2", "content": [{"type": "text", "text": "I will."}, W_CALL]}
W_RESULT = {
    "role": "toolResult",
    "id": "m3",
    "toolCallId": "call-add-001",
    "toolName": "add",
    "content": "42",
    "isError": False,
}
W_DELTA = {"type": "textDelta", "requestId": "q", "delta": "The"}
W_CALL_CHUNK = {"type": "toolCall", "requestId": "q", "toolCall": W_CALL}
W_REQUEST = {"id": "q", "messages": [W_USER, W_ASSISTANT, W_RESULT]}
W_USAGE = {"inputTokens": 1, "outputTokens": 2}
W_RESPONSE = {"id": "i", "requestId": "q", "message": W_ASSISTANT, "stopReason": "toolCall", "usage": W_USAGE}
W_COMPLETED = {"status": "completed", "messages": [W_USER], "finalText": "Done."}
W_FAILED: Wire = {"status": "failed", "messages": [], "error": {"code": "E", "message": "x"}}


def event(kind: str, sequence: int, **payload: object) -> dict[str, object]:
    return {"type": kind, "sequence": sequence, "payload": payload}


TABLE: list[tuple[WireRecord, Wire, Parser]] = [
    (USER, W_USER, parse_message),
    (ASSISTANT, W_ASSISTANT, parse_message),
    (RESULT, W_RESULT, parse_message),
    (REQUEST, W_REQUEST, parse_request),
    (DELTA, W_DELTA, parse_chunk),
    (CALL_CHUNK, W_CALL_CHUNK, parse_chunk),
    (RESPONSE, W_RESPONSE, parse_response),
    (MessageAccepted(0, USER), event("message.accepted", 0, message=W_USER), parse_event),
    (ModelChunkReceived(1, DELTA), event("model.chunk", 1, chunk=W_DELTA), parse_event),
    (ToolStarted(2, CALL), event("tool.started", 2, toolCall=W_CALL), parse_event),
    (ToolFinished(3, RESULT), event("tool.finished", 3, message=W_RESULT), parse_event),
    (RunFinished(4, COMPLETED), event("run.finished", 4, result=W_COMPLETED), parse_event),
    (COMPLETED, W_COMPLETED, parse_run_result),
    (CancelledRun([], "why"), {"status": "cancelled", "messages": [], "reason": "why"}, parse_run_result),
    (MaxStepsRun([], 4), {"status": "maxSteps", "messages": [], "maxSteps": 4}, parse_run_result),
    (FailedRun([], RunError("E", "x")), W_FAILED, parse_run_result),
]
PARTS: list[tuple[WireRecord, Wire]] = [
    (CALL, W_CALL),
    (TextBlock("a"), {"type": "text", "text": "a"}),
    (Usage(1, 2), W_USAGE),
    (RunError("E", "x"), {"code": "E", "message": "x"}),
]
each_record = pytest.mark.parametrize(("record", "wire", "parse"), TABLE, ids=lambda x: type(x).__name__)


def order_of(value: Any) -> object:
    """Return a value with its keys as a list of pairs, so that their order counts in comparisons."""
    if isinstance(value, dict):
        return [(key, order_of(part)) for key, part in cast(Wire, value).items()]
    if isinstance(value, list):
        return [order_of(part) for part in cast(list[Any], value)]
    return value


def path_of(read: Callable[[Any], object], value: object) -> str:
    with pytest.raises(ProtocolError) as caught:
        read(value)
    assert caught.value.path in str(caught.value)
    return caught.value.path


def changed(wire: Wire, **changes: object) -> Wire:
    return {**wire, **changes}


class TestWireForm:
    @pytest.mark.criterion("03.115", "03.116", "03.117")
    @pytest.mark.parametrize(("record", "wire"), [*[row[:2] for row in TABLE], *PARTS])
    def test_is_the_table_s(self, record: WireRecord, wire: Wire) -> None:
        assert order_of(to_wire(record)) == order_of(wire)

    @each_record
    @pytest.mark.criterion("03.115")
    def test_is_fresh_at_each_call(self, record: WireRecord, wire: Wire, parse: Parser) -> None:
        first: Any = to_wire(record)
        spoil(first)
        assert to_wire(record) == wire
        assert parse(to_wire(record)) == record

    @pytest.mark.criterion("03.118")
    @pytest.mark.parametrize(("record", "wire"), [*[row[:2] for row in TABLE], *PARTS])
    def test_json_is_compact_and_ordered(self, record: WireRecord, wire: Wire) -> None:
        text = dump_json(record)
        assert text == json.dumps(wire, ensure_ascii=False, separators=(",", ":"))
        assert json.loads(text) == to_wire(record)

    @pytest.mark.criterion("03.119")
    @pytest.mark.parametrize(
        "text", ["\ud83d", "a\udfffb", "\\ud83d\ud83d", "\ude00\ud83d", "é\ud800\n\x7f\u2028"], ids=ascii
    )
    def test_a_lone_surrogate_is_written_as_an_escape(self, text: str) -> None:
        for record in (UserMessage("m", text), TextDeltaChunk("é", text), CompletedRun([USER], text)):
            dumped = dump_json(record)
            dumped.encode()
            assert "\\ud" in dumped
            assert json.loads(dumped) == to_wire(record)
        assert to_wire(UserMessage("m", text))["content"] == text
        message = AssistantMessage("m", [TextBlock(text), CALL])
        assert parse_message(json.loads(dump_json(message))) == message
        assert parse_message(to_wire(message)) == message
        accepted = MessageAccepted(0, message)
        assert parse_event(json.loads(dump_json(accepted))) == accepted
        assert type(to_wire(message)["content"]) is list

    @pytest.mark.criterion("03.119")
    def test_a_pair_of_surrogates_comes_back_as_one_character(self) -> None:
        dumped = dump_json(UserMessage("m", "\ud83d\ude00"))
        assert "\\ud83d\\ude00" in dumped
        assert json.loads(dumped)["content"] == "😀"

    @pytest.mark.criterion("03.121")
    @pytest.mark.parametrize(
        "value",
        [
            Valid(1),
            Invalid("no"),
            {},
            None,
            [],
            (),
            "text",
            UserMessage,
            W_USER,
            pytest.param(object(), id="object()"),
        ],
        ids=repr,
    )
    def test_what_has_no_wire_form_is_a_type_error(self, value: Any) -> None:
        with pytest.raises(TypeError):
            to_wire(value)
        with pytest.raises(TypeError):
            dump_json(value)

    @pytest.mark.criterion("03.121")
    def test_a_context_has_no_wire_form(self) -> None:
        signal: Any = object()
        held: Signal = signal
        context: Any = ToolContext(held, "c")
        with pytest.raises(TypeError):
            to_wire(context)

    @pytest.mark.criterion("03.122", "03.117")
    def test_a_tool_result_says_whether_it_is_an_error(self) -> None:
        record = ToolResultMessage(id="m3", tool_call_id="call-add-001", tool_name="add", content="42")
        assert dump_json(record) == (
            '{"role":"toolResult","id":"m3","toolCallId":"call-add-001","toolName":"add","content":"42","isError":false}'
        )

    @pytest.mark.criterion("03.123", "03.116")
    def test_an_event_nests_its_field_in_the_payload(self) -> None:
        assert dump_json(ToolStarted(0, ToolCall("call-add-001", "add", {"left": 20}))) == (
            '{"type":"tool.started","sequence":0,"payload":{"toolCall":{"type":"toolCall","id":"call-add-001",'
            '"name":"add","arguments":{"left":20}}}}'
        )

    @pytest.mark.criterion("03.88", "03.118")
    def test_numbers_keep_their_kind(self) -> None:
        arguments = {
            "a": 1.0,
            "b": 1,
            "c": True,
            "d": -0.0,
            "e": 1e22,
            "f": 5e-324,
            "g": 1.7976931348623157e308,
        }
        read = json.loads(dump_json(ToolCall("c", "n", arguments)))["arguments"]
        assert [(type(value), repr(value)) for value in read.values()] == [
            (type(value), repr(value)) for value in arguments.values()
        ]
        assert list(map(repr, to_wire(ToolCall("c", "n", arguments))["arguments"].values())) == list(  # type: ignore[attr-defined]
            map(repr, arguments.values())
        )


def spoil(value: Any) -> None:
    """Change everything in a plain value that can be changed."""
    parts: list[Any] = [*cast(Wire, value).values()] if isinstance(value, dict) else value
    for part in parts:
        if isinstance(part, dict | list):
            spoil(part)
    value.clear()


class TestRoundTrip:
    @each_record
    @pytest.mark.criterion("03.140")
    def test_each_record_comes_back(self, record: WireRecord, wire: Wire, parse: Parser) -> None:
        assert parse(wire) == record
        assert type(parse(wire)) is type(record)
        assert parse(json.loads(dump_json(record))) == record

    @stable
    @given(wire_records())
    @pytest.mark.criterion("03.B2", "03.140", "03.118")
    def test_any_record_comes_back(self, record: WireRecord) -> None:
        wire = to_wire(record)
        assert any(parses_to(parse, wire, record) for parse in PARSERS)
        text = dump_json(record)
        assert order_of(json.loads(text)) == order_of(wire)
        assert any(parses_to(parse, json.loads(text), record) for parse in PARSERS)

    @stable
    @given(texts(surrogates=True))
    @pytest.mark.criterion("03.B2", "03.119")
    def test_any_text_comes_back(self, text: str) -> None:
        message = UserMessage("m", text)
        assert parse_message(json.loads(dump_json(message))) == message
        assert dump_json(message).encode().decode() == dump_json(message)

    @stable
    @given(wire_records(), st.randoms(use_true_random=False), st.booleans())
    @pytest.mark.criterion("03.B3", "03.141")
    def test_order_extra_keys_and_tuples_make_no_difference(
        self, record: WireRecord, random: Any, tuples: bool
    ) -> None:
        wire = to_wire(record)
        decorated = decorate(wire, random, tuples)
        parse = next(parse for parse in PARSERS if parses_to(parse, wire, record))
        again = parse(decorated)
        assert again == record
        assert to_wire(again) == wire


PARSERS: list[Parser] = [
    parse_message,
    parse_chunk,
    parse_event,
    parse_run_result,
    parse_response,
    parse_request,
]


def parses_to(parse: Parser, wire: object, record: WireRecord) -> bool:
    try:
        return type(parse(wire)) is type(record) and parse(wire) == record
    except ProtocolError:
        return False


def decorate(value: Any, random: Any, tuples: bool, *, arguments: bool = False) -> Any:
    """Shuffle keys, add extra ones outside of arguments, and turn lists into tuples."""
    if isinstance(value, dict):
        wire = cast(Wire, value)
        items: list[tuple[str, Any]] = [
            (key, decorate(part, random, tuples, arguments=arguments or key == "arguments"))
            for key, part in wire.items()
        ]
        if not arguments:
            items.append(("extra key", object()))
        random.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        parts = [decorate(part, random, tuples, arguments=arguments) for part in cast(list[Any], value)]
        return tuple(parts) if tuples else parts
    return value


class TestParsers:
    @each_record
    @pytest.mark.criterion("03.142", "03.106")
    def test_a_finished_record_comes_back_as_the_same_object(
        self, record: WireRecord, wire: Wire, parse: Parser
    ) -> None:
        assert parse(record) is record

    @pytest.mark.criterion("03.142", "03.106")
    def test_a_tuple_of_finished_messages_comes_back_as_the_same_object(self) -> None:
        messages = (USER, ASSISTANT, RESULT)
        assert parse_messages(messages) is messages
        assert parse_messages([*messages]) == messages
        mixed = parse_messages([W_USER, ASSISTANT, W_RESULT])
        assert mixed == messages
        assert mixed[1] is ASSISTANT
        assert parse_request({"id": "q", "messages": messages}).messages is messages
        inside = parse_event({"type": "run.finished", "sequence": 0, "payload": {"result": COMPLETED}})
        assert inside.type == "run.finished"
        assert inside.result is COMPLETED
        assert parse_response(changed(W_RESPONSE, message=ASSISTANT, usage=Usage(3, 4))).usage == Usage(3, 4)

    @pytest.mark.criterion("03.142", "03.145")
    def test_a_finished_record_of_another_class_is_refused_at_its_place(self) -> None:
        assert path_of(parse_message, TextBlock("a")) == ""
        assert path_of(parse_chunk, USER) == ""
        assert path_of(parse_messages, [DELTA]) == "[0]"
        assert path_of(parse_response, changed(W_RESPONSE, message=USER)) == "message"
        assert path_of(parse_event, event("tool.finished", 0, message=USER)) == "payload.message"
        assert path_of(parse_event, event("tool.started", 0, toolCall=TextBlock("a"))) == "payload.toolCall"
        assert path_of(parse_run_result, changed(W_FAILED, error=Usage(0, 0))) == "error"
        assert path_of(parse_response, changed(W_RESPONSE, usage=RunError("E", "x"))) == "usage"

    @each_record
    @pytest.mark.criterion("03.143", "03.147", "03.07")
    def test_each_missing_key_is_told_by_its_path(
        self, record: WireRecord, wire: Wire, parse: Parser
    ) -> None:
        paths = list(key_paths(wire))
        assert paths
        for keys, path in paths:
            if "arguments" not in keys[:-1]:
                assert path_of(parse, without(wire, keys)) == path

    @pytest.mark.criterion("03.144", "03.149")
    @pytest.mark.parametrize("tag", ["system", "", "User", None, 7, ["user"], {}, USER], ids=repr)
    def test_an_unknown_discriminant_is_told_by_its_path(self, tag: object) -> None:
        assert path_of(parse_message, changed(W_USER, role=tag)) == "role"
        assert path_of(parse_chunk, changed(W_DELTA, type=tag)) == "type"
        assert path_of(parse_event, event("message.accepted", 0, message=W_USER) | {"type": tag}) == "type"
        assert path_of(parse_run_result, changed(W_COMPLETED, status=tag)) == "status"
        assert (
            path_of(parse_message, changed(W_ASSISTANT, content=[changed(W_CALL, type=tag)]))
            == "content[0].type"
        )
        accepted = event("message.accepted", 0, message=changed(W_USER, role=tag))
        assert path_of(parse_event, accepted) == "payload.message.role"
        assert (
            path_of(parse_event, event("model.chunk", 0, chunk=changed(W_DELTA, type=tag)))
            == "payload.chunk.type"
        )
        finished = event("run.finished", 0, result=changed(W_COMPLETED, status=tag))
        assert path_of(parse_event, finished) == "payload.result.status"
        assert (
            path_of(parse_response, changed(W_RESPONSE, message=changed(W_ASSISTANT, role=tag)))
            == "message.role"
        )
        assert (
            path_of(parse_chunk, changed(W_CALL_CHUNK, toolCall=changed(W_CALL, type=tag))) == "toolCall.type"
        )

    @pytest.mark.criterion("03.149", "03.144")
    def test_a_record_of_another_kind_is_told_by_its_discriminant(self) -> None:
        assert path_of(parse_event, event("tool.finished", 0, message=W_USER)) == "payload.message.role"
        assert path_of(parse_response, changed(W_RESPONSE, message=W_USER)) == "message.role"
        assert (
            path_of(parse_event, event("tool.started", 0, toolCall={"type": "text", "text": "a"}))
            == "payload.toolCall.type"
        )

    @pytest.mark.criterion("03.145")
    @pytest.mark.parametrize("value", [None, [], "{}", '{"role":"user"}', b"{}", 7, (), True])
    def test_what_is_no_object_is_refused_whole(self, value: Any) -> None:
        for parse in PARSERS:
            assert path_of(parse, value) == ""
        if value not in ([], ()):
            assert path_of(parse_messages, value) == ""
        assert path_of(parse_messages, [W_USER, value]) == "[1]"

    @pytest.mark.criterion("03.146", "03.09", "03.10", "03.13")
    def test_a_fault_deep_inside_is_told_by_its_path(self) -> None:
        no_name = changed(W_ASSISTANT, content=[changed(W_CALL, name=" ")])
        assert path_of(parse_message, no_name) == "content[0].name"
        assert path_of(parse_messages, [W_USER, no_name]) == "[1].content[0].name"
        bad_result = changed(W_RESULT, toolCallId="")
        assert (
            path_of(parse_request, changed(W_REQUEST, messages=[W_USER, W_USER, bad_result]))
            == "messages[2].toolCallId"
        )
        bad_values = changed(W_ASSISTANT, content=[changed(W_CALL, arguments={"values": [object()]})])
        assert (
            path_of(parse_response, changed(W_RESPONSE, message=bad_values))
            == "message.content[0].arguments.values[0]"
        )
        assert (
            path_of(parse_event, event("tool.started", 0, toolCall=changed(W_CALL, id=7)))
            == "payload.toolCall.id"
        )
        assert (
            path_of(parse_run_result, changed(W_FAILED, error={"code": "", "message": "x"})) == "error.code"
        )
        assert (
            path_of(parse_response, changed(W_RESPONSE, usage=changed(W_USAGE, inputTokens=-1)))
            == "usage.inputTokens"
        )
        others: list[Any] = [None, [], "bad"]
        for arguments in others:
            bad = changed(W_ASSISTANT, content=[changed(W_CALL, arguments=arguments)])
            assert path_of(parse_message, bad) == "content[0].arguments"
        assert path_of(lambda x: ToolCall("c", "n", x), {"values": [object()]}) == "arguments.values[0]"

    @pytest.mark.criterion("03.148")
    @pytest.mark.parametrize("payload", [None, [], "x", W_USER])
    def test_an_event_has_a_payload(self, payload: object) -> None:
        flat = {"type": "message.accepted", "sequence": 0, "message": W_USER}
        assert path_of(parse_event, flat) == "payload"
        expected = "payload.message" if payload is W_USER else "payload"
        assert path_of(parse_event, {**flat, "payload": payload}) == expected
        assert path_of(parse_event, {**flat, "sequence": -1}) == "sequence"

    @pytest.mark.criterion("03.150")
    @pytest.mark.parametrize(
        ("changes", "path"),
        [
            ({"stopReason": "tool_call"}, "stopReason"),
            ({"stopReason": "end_turn"}, "stopReason"),
            ({"stopReason": None}, "stopReason"),
            ({"usage": {"inputTokens": True, "outputTokens": 0}}, "usage.inputTokens"),
            ({"usage": {"inputTokens": 1.0, "outputTokens": 0}}, "usage.inputTokens"),
            ({"usage": {"input_tokens": 1, "output_tokens": 0}}, "usage.inputTokens"),
            ({"usage": {"inputTokens": 1, "outputTokens": 2**53}}, "usage.outputTokens"),
            ({"usage": None}, "usage"),
        ],
    )
    def test_a_provider_s_spelling_is_not_the_wire_form(self, changes: dict[str, object], path: str) -> None:
        assert path_of(parse_response, changed(W_RESPONSE, **changes)) == path

    @pytest.mark.criterion("03.151")
    def test_relations_are_checked_elsewhere(self) -> None:
        assert parse_response(changed(W_RESPONSE, stopReason="stop")).stop_reason == "stop"
        assert parse_request({"id": "q", "messages": [W_RESULT]}).messages == (RESULT,)

    @each_record
    @pytest.mark.criterion("03.152")
    def test_later_changes_of_the_input_have_no_effect(
        self, record: WireRecord, wire: Wire, parse: Parser
    ) -> None:
        plain = json.loads(json.dumps(wire))
        parsed = parse(plain)
        spoil(plain)
        assert parsed == record

    @pytest.mark.criterion("03.154", "03.21")
    def test_the_first_of_several_faults_is_told(self) -> None:
        assert path_of(parse_message, {"role": "user", "id": "", "content": 1}) == "id"
        assert path_of(parse_message, {"content": 1}) == "role"
        bad_blocks = [{"type": "text", "text": 1}, {"type": "image"}]
        assert (
            path_of(parse_message, {"role": "assistant", "id": "a", "content": bad_blocks})
            == "content[0].text"
        )
        assert path_of(parse_message, {"role": "assistant", "content": bad_blocks}) == "id"
        keys = ["id", "toolCallId", "toolName", "content", "isError"]
        for at, key in enumerate(keys):
            assert path_of(parse_message, changed(W_RESULT, **dict.fromkeys(keys[at:], 7))) == key
        for at, key in enumerate(["id", "name", "arguments"]):
            bad = dict.fromkeys(["id", "name", "arguments"][at:], 7)
            assert (
                path_of(parse_message, changed(W_ASSISTANT, content=[changed(W_CALL, **bad)]))
                == f"content[0].{key}"
            )
        for at, key in enumerate(["id", "requestId", "message", "stopReason", "usage"]):
            bad = dict.fromkeys(["id", "requestId", "message", "stopReason", "usage"][at:], 7)
            assert path_of(parse_response, changed(W_RESPONSE, **bad)) == key


def key_paths(wire: Any, keys: tuple[str | int, ...] = (), path: str = "") -> Any:
    """Give the steps to every key of a wire value, and the path that names it when it is missing."""
    if isinstance(wire, dict):
        for key, value in cast(Wire, wire).items():
            here = f"{path}.{key}" if path else key
            yield (*keys, key), here
            yield from key_paths(value, (*keys, key), here)
    elif isinstance(wire, list):
        for index, value in enumerate(cast(list[Any], wire)):
            yield from key_paths(value, (*keys, index), f"{path}[{index}]")


def without(wire: Wire, keys: tuple[str | int, ...]) -> Any:
    plain: Any = json.loads(json.dumps(wire))
    target = plain
    for key in keys[:-1]:
        target = target[key]
    del target[keys[-1]]
    return plain


class TestAssistantMessage:
    @pytest.mark.criterion("03.01", "03.02", "03.03", "03.06", "03.07", "03.17")
    def test_constructors_keep_what_they_are_given(self) -> None:
        assert (USER.id, USER.content, USER.role) == ("m1", "Add 20 and 22.", "user")
        blocks = [TextBlock("a"), CALL, TextBlock("b")]
        message = AssistantMessage("m", blocks)
        assert (list(message.content), message.role) == (blocks, "assistant")
        result = ToolResultMessage("m", "c", "n", "x", True)
        assert (
            result.id,
            result.tool_call_id,
            result.tool_name,
            result.content,
            result.is_error,
            result.role,
        ) == (
            "m",
            "c",
            "n",
            "x",
            True,
            "toolResult",
        )
        assert RESULT.is_error is False
        assert (UserMessage("m", "").content, TextBlock("").text) == ("", "")
        assert AssistantMessage("m", []).content == ()
        assert len(AssistantMessage("m", [CALL, CALL]).tool_calls) == 2

    @pytest.mark.criterion("03.06", "03.10")
    def test_constructors_refuse_what_is_no_text(self) -> None:
        for bad in (None, 7, b"x", ["x"]):
            assert path_of(TextBlock, bad) == "text"
            assert path_of(lambda x: UserMessage("m", x), bad) == "content"
        others: list[Any] = [None, [], "bad"]
        for arguments in others:
            assert path_of(lambda x: ToolCall("c", "n", x), arguments) == "arguments"

    @pytest.mark.criterion("03.25", "03.26")
    def test_text_joins_the_text_blocks(self) -> None:
        blocks = [TextBlock("I will inspect it. "), CALL, TextBlock("Then I will summarize it.")]
        assert AssistantMessage("m", blocks).text == "I will inspect it. Then I will summarize it."
        assert AssistantMessage("m", [CALL]).text == ""
        assert AssistantMessage("m", []).text == ""

    @pytest.mark.criterion("03.27")
    def test_tool_calls_lists_the_calls(self) -> None:
        other = ToolCall("c2", "n", {})
        message = AssistantMessage("m", [TextBlock("a"), CALL, TextBlock("b"), other])
        assert type(message.tool_calls) is tuple
        assert message.tool_calls[0] is CALL
        assert message.tool_calls[1] is other
        assert AssistantMessage("m", [TextBlock("a")]).tool_calls == ()
