"""Hostile input: every door refuses it in its own way, and no code of it runs (checkpoint 03)."""

import contextlib
import gc
import json
import weakref
from collections import OrderedDict, UserDict, defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import Mock

import pytest

from kickwheel_protocol import (
    AssistantMessage,
    JsonObject,
    ModelRequest,
    ProtocolError,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    dump_json,
    freeze_json,
    parse_chunk,
    parse_event,
    parse_message,
    parse_messages,
    parse_request,
    parse_response,
    parse_run_result,
    to_wire,
    validate_transcript,
)

PARSERS: list[Callable[[object], object]] = [
    parse_message,
    parse_messages,
    parse_request,
    parse_chunk,
    parse_response,
    parse_event,
    parse_run_result,
]


def explode(*_args: object, **_kwargs: object) -> Any:
    raise AssertionError("foreign code ran")


SPECIAL: dict[str, object] = {
    f"__{name}__": explode
    for name in [
        "repr",
        "str",
        "format",
        "bytes",
        "bool",
        "hash",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "len",
        "iter",
        "next",
        "reversed",
        "contains",
        "getitem",
        "setitem",
        "delitem",
        "missing",
        "call",
        "int",
        "float",
        "index",
        "complex",
        "enter",
        "exit",
        "await",
        "aiter",
        "anext",
        "copy",
        "deepcopy",
        "reduce",
        "sizeof",
        "instancecheck",
    ]
}
"""Every special method that a careless reader might run."""
METHODS: dict[str, object] = dict.fromkeys(
    ("keys", "values", "items", "get", "isascii", "strip", "encode"), explode
)
TRAPS = SPECIAL | METHODS | {"__getattribute__": explode}

StrTrap = type("StrTrap", (str,), {k: v for k, v in TRAPS.items() if k != "__getattribute__"})
IntTrap = type("IntTrap", (int,), SPECIAL)
FloatTrap = type("FloatTrap", (float,), SPECIAL)
ListTrap = type("ListTrap", (list,), TRAPS)
TupleTrap = type("TupleTrap", (tuple,), TRAPS)
DictTrap = type("DictTrap", (dict,), TRAPS)


class Point(NamedTuple):
    x: int
    y: int


class Color(StrEnum):
    RED = "red"


class Number(IntEnum):
    ONE = 1


class Meta(type):
    """A class of classes that cannot be looked at."""

    __hash__ = __eq__ = __instancecheck__ = __subclasscheck__ = __repr__ = explode  # type: ignore[assignment]
    __name__ = property(explode)  # type: ignore[assignment]


def Hostile() -> Any:
    """Make an object nothing of which can be touched."""
    return type.__call__(Meta, "Hostile", (), {**TRAPS, "__class__": property(explode)})()


class MyMapping(Mapping[str, object]):
    __getitem__ = __iter__ = __len__ = explode


def generator(advanced: list[int]) -> Iterator[object]:
    advanced.append(1)
    yield {}


def wire_user(**changes: object) -> dict[str, object]:
    return {"role": "user", "id": "m", "content": "hi", **changes}


def wire_call(**changes: object) -> dict[str, object]:
    return {"type": "toolCall", "id": "c", "name": "n", "arguments": {}, **changes}


def wire_assistant(*blocks: object) -> dict[str, object]:
    return {"role": "assistant", "id": "m", "content": [*blocks]}


def wire_result(**changes: object) -> dict[str, object]:
    return {
        "role": "toolResult",
        "id": "r",
        "toolCallId": "c",
        "toolName": "n",
        "content": "x",
        "isError": False,
        **changes,
    }


def codes(transcript: object) -> list[str]:
    return [f"{issue.code}@{issue.message_index}" for issue in validate_transcript(transcript)]


def path_of(read: Callable[[Any], object], value: object) -> str:
    with pytest.raises(ProtocolError) as caught:
        read(value)
    assert len(str(caught.value)) <= 2000
    return caught.value.path


def refused_as_argument(value: object) -> None:
    """Show that no door lets a value in as an argument, alone or deeper down."""
    for arguments, inner in (({"a": value}, ".a"), ({"b": [{"c d": value}]}, '.b[0]["c d"]')):
        assert path_of(lambda x: ToolCall("c", "n", x), arguments) == f"arguments{inner}"
        assert path_of(freeze_json, arguments) == f"value{inner}"
        wire = wire_assistant(wire_call(arguments=arguments))
        assert path_of(parse_message, wire) == f"content[0].arguments{inner}"
        assert codes([wire]) == ["INVALID_TOOL_ARGUMENTS@0"]
    assert path_of(freeze_json, value) == "value"


def refused_as_object(value: object) -> None:
    """Show that no door takes a value for a message, a block or arguments."""
    assert path_of(parse_message, value) == ""
    assert path_of(parse_messages, [value]) == "[0]"
    assert path_of(parse_message, wire_assistant(value)) == "content[0]"
    assert path_of(parse_message, wire_assistant(wire_call(arguments=value))) == "content[0].arguments"
    assert path_of(lambda x: ToolCall("c", "n", x), value) == "arguments"
    assert path_of(lambda x: AssistantMessage("m", [x]), value) == "content[0]"
    assert path_of(lambda x: ModelRequest("r", [x]), value) == "messages[0]"
    assert codes([wire_user(), value, wire_user(id="")]) == ["INVALID_MESSAGE@1", "INVALID_MESSAGE@2"]
    assert codes([wire_assistant(value, value)]) == ["INVALID_MESSAGE@0", "INVALID_MESSAGE@0"]
    assert codes([wire_assistant(wire_call(arguments=value))]) == ["INVALID_TOOL_ARGUMENTS@0"]
    for parser in PARSERS:
        assert path_of(parser, value) == ""


def refused_as_array(value: object) -> None:
    """Show that no door takes a value for a transcript or a content."""
    assert codes(value) == ["INVALID_TRANSCRIPT@-1"]
    assert path_of(parse_messages, value) == ""
    assert path_of(lambda x: AssistantMessage("m", x), value) == "content"
    assert path_of(lambda x: ModelRequest("r", x), value) == "messages"
    assert path_of(parse_message, wire_assistant() | {"content": value}) == "content"
    assert path_of(parse_request, {"id": "r", "messages": value}) == "messages"
    assert codes([wire_assistant() | {"content": value}]) == ["INVALID_MESSAGE@0"]


@pytest.mark.criterion("03.80", "03.07")
def test_a_transcript_is_a_list_or_a_tuple() -> None:
    values: list[Any] = ["", "abc", b"", {}, JsonObject(), {1}, frozenset({1}), range(3), iter([1]), None, 7]
    for value in [*values, Hostile()]:
        refused_as_array(value)


@pytest.mark.criterion("03.80", "03.07", "01.52")
def test_a_generator_is_refused_and_not_advanced() -> None:
    advanced: list[int] = []
    refused_as_array(generator(advanced))
    assert advanced == []


@pytest.mark.criterion("03.81", "03.105")
def test_lists_and_tuples_of_records_and_wire_data_are_accepted() -> None:
    call = ToolCall("c", "n", {})
    contents: list[list[object] | tuple[object, ...]] = [
        [TextBlock("a"), call],
        (TextBlock("a"), call),
        [{"type": "text", "text": "a"}, wire_call()],
        ({"type": "text", "text": "a"}, call),
        [TextBlock("a"), wire_call()],
    ]
    for content in contents:
        wire = wire_assistant() | {"content": content}
        for transcript in ([wire, wire_result()], (wire, wire_result())):
            assert codes(transcript) == []
            assert parse_messages(transcript)[0] == AssistantMessage("m", [TextBlock("a"), call])


@pytest.mark.criterion("03.82")
def test_a_subclass_of_list_or_tuple_is_refused() -> None:
    for value in (ListTrap(), ListTrap([1]), TupleTrap((1,)), Point(1, 2)):
        refused_as_array(value)
        refused_as_argument(value)


@pytest.mark.criterion("03.83", "03.86")
def test_a_subclass_of_dict_is_refused_and_gains_nothing() -> None:
    filling: defaultdict[str, list[int]] = defaultdict(list)
    values: list[Any] = [OrderedDict(role="user", id="m", content="x"), filling]
    for value in values:
        refused_as_object(value)
        refused_as_argument(value)
    for value in (DictTrap(role="user"), DictTrap()):
        refused_as_object(value)
    assert filling == {}


@pytest.mark.criterion("03.84", "03.85", "03.34", "03.35", "03.08")
def test_what_only_looks_like_an_object_is_refused() -> None:
    lookalikes: list[object] = [
        UserDict(wire_user()),
        MappingProxyType(wire_user()),
        MyMapping(),
        SimpleNamespace(**wire_user()),
        Mock(spec=dict),
        Hostile(),
        None,
        7,
        "text",
        b"text",
        UserMessage,
    ]
    for value in lookalikes:
        refused_as_object(value)


@pytest.mark.criterion("03.84", "03.106")
def test_frozen_objects_and_records_are_accepted_as_they_are() -> None:
    frozen = JsonObject(wire_assistant(wire_call(arguments={"a": [1]})))
    message = parse_message(frozen)
    assert message == AssistantMessage("m", [ToolCall("c", "n", {"a": [1]})])
    assert codes([frozen, wire_result()]) == []
    assert parse_message(message) is message
    inner: Any = frozen
    assert isinstance(message, AssistantMessage)
    assert message.tool_calls[0].arguments is inner["content"][0]["arguments"]


@pytest.mark.criterion("03.86")
@pytest.mark.parametrize("kind", [StrTrap, Color])
def test_a_subclass_of_str_is_refused_everywhere(kind: Callable[[str], Any]) -> None:
    text = kind("red")
    assert path_of(parse_message, wire_user(role=text)) == "role"
    assert path_of(parse_message, wire_user(id=text)) == "id"
    assert path_of(parse_message, wire_user(content=text)) == "content"
    assert path_of(parse_message, wire_assistant(wire_call(type=text))) == "content[0].type"
    assert path_of(parse_message, wire_assistant(wire_call(name=text))) == "content[0].name"
    assert path_of(lambda x: UserMessage(x, "hi"), text) == "id"
    assert path_of(lambda x: UserMessage("m", x), text) == "content"
    assert path_of(lambda x: TextBlock(x), text) == "text"
    assert path_of(lambda x: ToolCall("c", x, {}), text) == "name"
    assert codes([wire_user(role=text), wire_user(id=text), wire_user(content=text)]) == [
        f"INVALID_MESSAGE@{index}" for index in range(3)
    ]
    refused_as_argument(text)


@pytest.mark.criterion("03.86", "03.92")
@pytest.mark.parametrize("key", [1, None, True, (1,), 1.5, Color.RED, b"a"], ids=repr)
def test_a_key_that_is_no_exact_string_is_refused_at_its_object(key: object) -> None:
    bad: dict[object, object] = {"1": 1, key: 2}
    assert path_of(freeze_json, bad) == "value"
    assert path_of(freeze_json, {"a": [bad]}) == "value.a[0]"
    assert path_of(lambda x: ToolCall("c", "n", x), bad) == "arguments"
    assert path_of(parse_message, wire_assistant(wire_call(arguments={"a": bad}))) == "content[0].arguments.a"
    assert codes([wire_assistant(wire_call(arguments=bad))]) == ["INVALID_TOOL_ARGUMENTS@0"]
    spoiled: dict[object, object] = {**wire_user(), key: 1}
    assert path_of(parse_message, spoiled) == ""
    assert path_of(parse_message, wire_assistant({**wire_call(), key: 1})) == "content[0]"
    assert codes([spoiled, wire_assistant({**wire_call(), key: 1})]) == [
        "INVALID_MESSAGE@0",
        "INVALID_MESSAGE@1",
    ]


@pytest.mark.criterion("03.86", "03.30")
def test_a_key_s_own_methods_are_not_run_even_where_its_hash_collides() -> None:
    armed: list[int] = []

    class Key:
        def __init__(self, like: str) -> None:
            self.value = hash(like)

        def __hash__(self) -> int:
            return self.value

        def __eq__(self, other: object) -> bool:
            assert not armed, "foreign code ran"
            return False

    for like in ("role", "id", "content", "type", "arguments", "name"):
        for wire in (wire_user(), wire_call(), wire_result()):
            bad: dict[object, object] = {Key(like): 1, **wire}
            armed.append(1)
            assert path_of(parse_message, bad) == ""
            assert path_of(freeze_json, bad) == "value"
            assert codes([bad, wire_assistant(bad)]) == ["INVALID_MESSAGE@0", "INVALID_MESSAGE@1"]
            armed.clear()


@pytest.mark.criterion("03.87", "03.90", "03.13", "03.42")
def test_what_is_no_json_is_refused_as_argument() -> None:
    strangers: list[object] = [IntTrap(1), Number.ONE, FloatTrap(1.0), Decimal(1), Fraction(1, 2), 1j]
    strangers += [
        b"x",
        bytearray(b"x"),
        datetime(2026, 1, 1),
        {1},
        frozenset({1}),
        object(),
        len,
        int,
        Hostile(),
    ]
    strangers += [float("nan"), float("inf"), float("-inf"), json.loads("NaN"), json.loads("1e400"), Ellipsis]
    strangers += [ToolCall("c", "n", {}), StrTrap("x"), ListTrap(), TupleTrap(), DictTrap()]
    for value in strangers:
        refused_as_argument(value)


@pytest.mark.criterion("03.91")
def test_integers_are_exact_in_every_json_reader() -> None:
    for value in (2**53, -(2**53), 10**5000, -(10**5000)):
        refused_as_argument(value)
    limits = {"a": 2**53 - 1, "b": 1 - 2**53}
    assert ToolCall("c", "n", limits).arguments == limits
    assert codes([wire_assistant(wire_call(arguments=limits)), wire_result()]) == []


@pytest.mark.criterion("03.88")
def test_booleans_stay_booleans() -> None:
    call = ToolCall("c", "n", {"yes": True, "no": False})
    assert [type(value) for value in call.arguments.values()] == [bool, bool]
    assert dump_json(call).endswith('"arguments":{"yes":true,"no":false}}')


@pytest.mark.criterion("03.89", "03.04", "03.45")
@pytest.mark.parametrize("value", [0, 1, "false", None, Number.ONE], ids=repr)
def test_is_error_is_a_real_boolean(value: Any) -> None:
    assert path_of(lambda x: ToolResultMessage("r", "c", "n", "x", x), value) == "is_error"
    assert path_of(parse_message, wire_result(isError=value)) == "isError"
    call = wire_assistant(wire_call())
    assert codes([call, wire_result(isError=value)]) == ["INVALID_MESSAGE@1"]
    assert codes([call, wire_result(isError=True)]) == []


@pytest.mark.criterion("03.93", "03.16")
def test_names_with_a_meaning_elsewhere_are_ordinary_keys() -> None:
    keys = [
        "",
        "__proto__",
        "constructor",
        "__class__",
        "__init__",
        "keys",
        "items",
        "__dict__",
        "_hash",
        "_depth",
    ]
    arguments = {key: index for index, key in enumerate(keys)}
    call = ToolCall("c", "n", arguments)
    frozen = call.arguments
    assert list(frozen.keys()) == keys
    assert list(frozen.items()) == list(arguments.items())
    assert type(frozen) is JsonObject
    assert frozen.__class__ is JsonObject
    wire = json.loads(dump_json(AssistantMessage("m", [call])))
    assert parse_message(wire) == AssistantMessage("m", [call])
    assert list(wire["content"][0]["arguments"]) == keys


@pytest.mark.criterion("03.94", "03.05")
@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d\ude00", "é\ud800"], ids=ascii)
def test_a_lone_surrogate_is_refused_where_it_would_be_encoded(text: str) -> None:
    assert path_of(lambda x: UserMessage(x, ""), text) == "id"
    assert path_of(lambda x: ToolCall("c", x, {}), text) == "name"
    assert path_of(parse_message, wire_user(id=text)) == "id"
    assert codes([wire_user(id=text)]) == ["INVALID_MESSAGE@0"]
    assert codes([wire_assistant(wire_call(name=text))]) == ["EMPTY_TOOL_NAME@0"]
    refused_as_argument(text)
    assert path_of(freeze_json, {"a": {text: 1}}) == "value.a"
    assert UserMessage("m", text).content == text
    assert TextBlock(text).text == text
    assert TextDeltaChunk("r", text).delta == text
    assert ToolResultMessage("r", "c", "n", text).content == text
    assert parse_message(wire_user(content=text)) == UserMessage("m", text)
    assert codes([wire_user(content=text)]) == []


BLANKS = [
    "",
    " ",
    "   ",
    "\t\n",
    "\u00a0",
    "\u3000",
    "\u2028",
    "\ufeff",
    " \u00a0\ufeff\u3000\t",
    "\ufeff\ufeff",
]


@pytest.mark.criterion("03.95", "03.05", "03.40", "03.41", "03.09")
@pytest.mark.parametrize("text", BLANKS, ids=ascii)
def test_what_cannot_be_seen_is_no_id(text: str) -> None:
    assert path_of(lambda x: UserMessage(x, ""), text) == "id"
    assert path_of(lambda x: ToolCall(x, "n", {}), text) == "id"
    assert path_of(lambda x: ToolCall("c", x, {}), text) == "name"
    assert path_of(lambda x: ToolResultMessage("r", x, "n", ""), text) == "tool_call_id"
    assert path_of(lambda x: ToolResultMessage("r", "c", x, ""), text) == "tool_name"
    assert path_of(parse_message, wire_assistant(wire_call(name=text))) == "content[0].name"
    assert codes([wire_user(id=text)]) == ["INVALID_MESSAGE@0"]
    assert codes([wire_assistant(wire_call(name=text))]) == ["EMPTY_TOOL_NAME@0"]
    assert codes([wire_result(toolName=text)]) == ["EMPTY_TOOL_NAME@0"]


@pytest.mark.criterion("03.95", "03.05")
@pytest.mark.parametrize("text", [" a ", "\u200b", "\ufeffa", "\ta"], ids=ascii)
def test_an_id_is_kept_untrimmed(text: str) -> None:
    assert UserMessage(text, "").id == text
    call = ToolCall(text, text, {})
    assert (call.id, call.name) == (text, text)
    assert codes([wire_user(id=text)]) == []


@pytest.mark.criterion("03.96", "03.13", "03.107")
def test_cycles_and_endless_depth_are_refused_at_every_door() -> None:
    own_list: list[object] = []
    own_list.append(own_list)
    own_dict: dict[str, object] = {}
    own_dict["a"] = own_dict
    two: list[object] = [{"back": None}]
    two[0] = {"back": two}
    deep: object = []
    for _ in range(100_000):
        deep = [deep]
    for value in (own_list, own_dict, two, deep):
        wire = wire_assistant(wire_call(arguments={"v": value}))
        assert path_of(lambda x: ToolCall("c", "n", x), {"v": value}).startswith("arguments.v")
        assert path_of(parse_message, wire).startswith("content[0].arguments.v")
        assert codes([wire]) == ["INVALID_TOOL_ARGUMENTS@0"]
    messages: list[object] = []
    messages.append(messages)
    assert codes(messages) == ["INVALID_MESSAGE@0"]
    assert path_of(parse_messages, messages) == "[0]"
    content: list[object] = []
    content.append(content)
    assert codes([wire_assistant() | {"content": content}]) == ["INVALID_MESSAGE@0"]


@pytest.mark.criterion("03.97", "03.14", "03.99")
def test_shared_and_deep_arguments_pass_every_door() -> None:
    part = [1, {"a": 2}]
    deep: object = {}
    for _ in range(126):
        deep = {"d": deep}
    for arguments in ({"x": part, "y": part, "z": [part]}, {"deep": deep}):
        wire = wire_assistant(wire_call(arguments=arguments))
        message = parse_message(wire)
        assert codes([wire, wire_result()]) == []
        assert codes([message, wire_result()]) == []
        assert to_wire(message) == wire
        assert json.loads(dump_json(message)) == wire
        assert hash(message) == hash(parse_message(wire))
        assert message == parse_message(wire)


@pytest.mark.criterion("03.98")
def test_forty_doublings_pass_no_door_and_take_no_time() -> None:
    value: object = [1]
    for _ in range(40):
        value = [value, value]
    wire = wire_assistant(wire_call(arguments={"v": value}))
    assert path_of(parse_message, wire) == "content[0].arguments"
    assert codes([wire]) == ["INVALID_TOOL_ARGUMENTS@0"]


@pytest.mark.criterion("03.100", "03.11", "03.152", "03.12")
def test_later_changes_of_the_input_have_no_effect() -> None:
    arguments: dict[str, Any] = {
        "path": "README.md",
        "options": {"lineNumbers": True, "ranges": [1, {"label": "tail"}]},
    }
    blocks: list[Any] = [TextBlock("a"), ToolCall("c", "n", arguments)]
    built = AssistantMessage("m", blocks)
    wire = wire_assistant({"type": "text", "text": "a"}, wire_call(arguments=arguments))
    parsed = parse_message(wire)
    kept = dump_json(built)
    assert dump_json(parsed) == kept
    arguments["options"]["ranges"][1]["label"] = "head"
    arguments["options"]["ranges"].append(2)
    arguments["options"]["lineNumbers"] = False
    arguments["path"] = "other"
    blocks.append(TextBlock("b"))
    content: Any = wire["content"]
    content.clear()
    wire["id"] = "other"
    assert dump_json(built) == dump_json(parsed) == kept


@pytest.mark.criterion("03.101")
@pytest.mark.parametrize("kind", [UserMessage, AssistantMessage, ToolResultMessage, TextBlock, ToolCall])
def test_a_record_cannot_be_forged(kind: Any) -> None:
    with pytest.raises(TypeError):
        object.__new__(kind)
    with pytest.raises(TypeError):
        kind.__new__(kind)
    with pytest.raises(TypeError):
        kind.__new__(kind, "only one", *["too", "many"] * 9)


@pytest.mark.criterion("03.102")
def test_no_text_of_a_finding_or_error_is_long() -> None:
    huge = "x" * 10_000_000
    texts: list[str] = []
    transcripts: list[list[object]] = [
        [wire_user(role=huge)],
        [wire_user(id=huge)],
        [
            wire_assistant(wire_call(id=huge, name=huge), wire_call(id=huge, name=huge)),
            wire_result(toolCallId=huge),
        ],
        [wire_assistant(wire_call(arguments={huge: object()}))],
        [wire_assistant(wire_call(id=huge)), wire_result(toolCallId=huge, toolName=huge)],
        [{huge: 1, 1: 2}],
        [type(huge[:100_000], (), {})()],
    ]
    for transcript in transcripts:
        for issue in validate_transcript(transcript):
            assert len(issue.message) <= 2000
        try:
            parse_messages(transcript)
        except ProtocolError as error:
            texts += [str(error), error.path]
    assert texts
    assert max(map(len, texts)) <= 2000
    for parser in PARSERS:
        assert len(path_of(parser, {"role": huge, "type": huge, "status": huge, "id": huge})) <= 2000
    assert validate_transcript([wire_user(id=huge)]) == ()


@pytest.mark.criterion("03.104")
def test_snake_case_keys_count_as_missing() -> None:
    wire = wire_result()
    wire["tool_call_id"] = wire.pop("toolCallId")
    assert path_of(parse_message, wire) == "toolCallId"
    assert codes([wire]) == ["INVALID_MESSAGE@0"]
    del wire["toolName"], wire["isError"]
    wire |= {"tool_name": "n", "is_error": False}
    assert codes([wire]) == ["INVALID_MESSAGE@0", "EMPTY_TOOL_NAME@0", "INVALID_MESSAGE@0"]


class Refused:
    """Something that can be weakly referenced."""


REFUSALS: dict[str, Callable[[object], object]] = {
    "freeze_json": lambda value: freeze_json([value]),
    "ToolCall": lambda value: ToolCall("c", "n", {"a": [value]}),
    "parse_message": lambda value: parse_message(wire_assistant(wire_call(arguments={"a": value}))),
    "validate_transcript": lambda value: validate_transcript([value]),
}


@pytest.mark.criterion("03.84")
@pytest.mark.parametrize("refuse", REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refused_value_is_gone_when_its_owner_and_the_error_are(refuse: Callable[[object], object]) -> None:
    value = Refused()
    alive = weakref.ref(value)
    gc.disable()
    try:
        with contextlib.suppress(ProtocolError):
            refuse(value)
        del value
        assert alive() is None
    finally:
        gc.enable()


EXTRAS: list[object] = [Hostile(), ListTrap(), object(), float("nan"), "\ud800"]


@pytest.mark.criterion("03.49", "03.141")
def test_extra_keys_are_not_looked_at() -> None:
    for extra in EXTRAS:
        block = wire_call(extra=extra)
        wire = wire_assistant(block) | {"usage": extra}
        assert codes([wire, wire_result(tool_name=extra)]) == []
        assert parse_message(wire) == AssistantMessage("m", [ToolCall("c", "n", {})])
