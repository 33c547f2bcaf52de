"""Which technology for records? Creation, read, match, equality, encode, decode, the cost of freezing.

The same message three ways, each with the checks of the protocol: a frozen slotted dataclass, a class
written by hand, a msgspec struct (what the package uses). The floor is a struct without any check, except
for freezing, where it is a plain recursive copy of the same data.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import _harness
import msgspec

from kickwheel_protocol import (
    ModelRequest,
    TextDeltaChunk,
    UserMessage,
    dump_json,
    freeze_json,
    parse_message,
    to_wire,
)

CASES = [
    "create",
    "read",
    "match",
    "equal",
    "encode",
    "decode",
    "freeze 10 leaves",
    "freeze 1,000 leaves",
    "freeze again, 1,000 leaves",
    "snapshot of a request of 1,000 messages",
]
DICT: type[dict[str, object]] = dict
LIST: type[list[object]] = list
FREEZING = CASES[6:8]


class Bare(msgspec.Struct, frozen=True, gc=False):
    """A struct that checks nothing."""

    id: str
    content: str


@dataclass(frozen=True, slots=True)
class Data:
    """A frozen dataclass with the checks of a user message."""

    id: str
    content: str
    role: str = field(default="user", init=False)

    def __post_init__(self) -> None:
        if type(self.id) is not str or not self.id.strip():
            raise ValueError("id")
        if type(self.content) is not str:
            raise ValueError("content")


class Hand:
    """A class written by hand, with the same checks and no way to assign."""

    __slots__ = ("content", "id")
    role = "user"
    __match_args__ = ("id", "content")
    id: str
    content: str

    def __init__(self, id: str, content: str) -> None:  # noqa: A002  # the field's name
        if type(id) is not str or not id.strip():
            raise ValueError("id")
        if type(content) is not str:
            raise ValueError("content")
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "content", content)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)

    def __eq__(self, other: object) -> bool:
        return type(other) is Hand and self.id == other.id and self.content == other.content

    def __hash__(self) -> int:
        return hash((self.id, self.content))


def leaves(count: int) -> dict[str, Any]:
    """Plain arguments as a model writes them, ten leaves in four containers, repeated to `count` leaves."""
    if count > 10:
        return {"items": [leaves(10) for _ in range(count // 10)]}
    return {
        "path": "docs/guide.md",
        "limit": 200,
        "ratio": 0.5,
        "follow": True,
        "options": {"encoding": "utf-8", "cursor": None, "lines": {"first": 1, "last": 80}},
        "labels": ["draft", "en"],
    }


def plain_copy(value: Any) -> Any:
    """The floor of freezing: a recursive copy that checks nothing."""
    if type(value) is DICT:
        return {key: plain_copy(item) for key, item in value.items()}
    if type(value) is LIST:
        return [plain_copy(item) for item in value]
    return value


def read(record: Any) -> str:
    return record.content


def match_bare(record: object) -> str:
    match record:
        case Bare(content=text):
            return text
        case _:
            raise AssertionError


def match_data(record: object) -> str:
    match record:
        case Data(content=text):
            return text
        case _:
            raise AssertionError


def match_hand(record: object) -> str:
    match record:
        case Hand(content=text):
            return text
        case _:
            raise AssertionError


def match_ours(record: object) -> str:
    match record:
        case UserMessage(content=text):
            return text
        case _:
            raise AssertionError


MATCHES: dict[object, Callable[[object], str]] = {
    Bare: match_bare,
    Data: match_data,
    Hand: match_hand,
    UserMessage: match_ours,
}


def of(kind: Any) -> _harness.Contender:
    """The cases that a technology takes part in by itself."""

    def contender(case: str) -> _harness.Run | None:
        one, two = kind("m1", "hello"), kind("m1", "hello")
        matching = MATCHES[kind]
        work: dict[str, Callable[[], object]] = {
            "create": lambda: kind("m1", "hello"),
            "read": lambda: read(one),
            "match": lambda: matching(one),
            "equal": lambda: one == two,
        }
        chosen = work.get(case)
        return None if chosen is None else (lambda: _harness.seconds(chosen))

    return contender


def bare(case: str) -> _harness.Run | None:
    one = Bare("m1", "hello")
    data = b'{"id":"m1","content":"hello"}'
    decoder = msgspec.json.Decoder(Bare)
    work: dict[str, Callable[[], object]] = {
        "encode": lambda: msgspec.json.encode(one),
        "decode": lambda: decoder.decode(data),
        "freeze again, 1,000 leaves": lambda: None,
        "snapshot of a request of 1,000 messages": lambda: None,
    }
    if case in FREEZING:
        value = leaves(10 if case == FREEZING[0] else 1000)
        work[case] = lambda: plain_copy(value)
    chosen = work.get(case)
    return of(Bare)(case) if chosen is None else (lambda: _harness.seconds(chosen))


def ours(case: str) -> _harness.Run | None:
    one = UserMessage("m1", "hello")
    wire = to_wire(one)
    big = freeze_json(leaves(1000))
    request = ModelRequest("r1", [UserMessage(f"m{n}", "hello") for n in range(1000)])
    work: dict[str, Callable[[], object]] = {
        "encode": lambda: dump_json(one),
        "decode": lambda: parse_message(json.loads('{"role":"user","id":"m1","content":"hello"}')),
        "freeze again, 1,000 leaves": lambda: freeze_json(big),
        "snapshot of a request of 1,000 messages": lambda: request.messages,
    }
    assert parse_message(wire) == one
    if case in FREEZING:
        value = leaves(10 if case == FREEZING[0] else 1000)
        work[case] = lambda: freeze_json(value)
    chosen = work.get(case)
    return of(UserMessage)(case) if chosen is None else (lambda: _harness.seconds(chosen))


def chunk(case: str) -> _harness.Run | None:
    if case != "create":
        return None
    return lambda: _harness.seconds(lambda: TextDeltaChunk("request-001", "token"))


def deep_copy(case: str) -> _harness.Run | None:
    if case not in FREEZING:
        return None
    value = leaves(10 if case == FREEZING[0] else 1000)
    return lambda: _harness.seconds(lambda: copy.deepcopy(value))


if __name__ == "__main__":
    _harness.main(
        "Records: time an operation",
        CASES,
        {
            "floor (bare struct; plain copy)": bare,
            "kickwheel (checked struct)": ours,
            "kickwheel TextDeltaChunk": chunk,
            "frozen slotted dataclass, checked": of(Data),
            "class written by hand, checked": of(Hand),
            "copy.deepcopy": deep_copy,
        },
        "floor (bare struct; plain copy)",
        targets={
            **dict.fromkeys(FREEZING, "at most 1.8 times the copy, and 0.6 of copy.deepcopy"),
            CASES[8]: "under 0.2 µs, whatever the size",
            CASES[9]: "under 0.2 µs, whatever the size",
        },
    )
