"""One-line responses, and the ids that a model gives them."""

from collections.abc import AsyncIterator, Generator
from typing import Final, TypeAlias, final

from kickwheel_protocol import (
    AssistantBlock,
    AssistantMessage,
    ModelRequest,
    ModelResponse,
    Signal,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
    UserMessage,
)

from ._types import ScriptedItem

NO_USAGE: Final = Usage(0, 0)
PLACEHOLDER: Final = "call"


class Numbering:
    """The ids that one model has given to the tool calls of its one-line responses."""

    __slots__ = ("_counts", "_issued")

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._issued: set[str] = set()

    def given(self, call_id: str) -> None:
        """Remember an id chosen by hand; it moves no counter."""
        self._issued.add(call_id)

    def next_for(self, tool: str) -> str:
        """Give the next free id for a call of this tool."""
        count = self._counts.get(tool, 0) + 1
        while (call_id := f"call-{tool}-{count:03}") in self._issued:
            count += 1
        self._counts[tool] = count
        self._issued.add(call_id)
        return call_id


@final
class PlannedCall:
    """A tool call whose id may still be open."""

    __slots__ = ("numbered", "tool_call")

    def __init__(self, tool_call: ToolCall, numbered: bool) -> None:
        self.tool_call = tool_call
        self.numbered = numbered

    def issue(self, numbering: Numbering) -> ToolCall:
        """Give the call its id, at the moment in which the model produces it."""
        call = self.tool_call
        if not self.numbered:
            numbering.given(call.id)
            return call
        return ToolCall(numbering.next_for(call.name), call.name, call.arguments)


Part: TypeAlias = str | PlannedCall


@final
class ScriptedLine:
    """An immutable `ScriptedResponseFactory` made by `say` and `call`; `first + second` is one response of
    both.

    Played by a `ScriptedModel`, its ids are `response-<call number>`, `message-<response id>` and
    `call-<tool>-<n>`, counted by that model, each number in at least three digits. Called by hand, it
    counts as the first call of a fresh model.
    """

    __slots__ = ("_parts", "_response_id", "_usage")

    _parts: tuple[Part, ...]
    _usage: Usage | None
    _response_id: str | None

    def __init__(self, parts: tuple[Part, ...], usage: Usage | None, response_id: str | None) -> None:
        object.__setattr__(self, "_parts", parts)
        object.__setattr__(self, "_usage", usage)
        object.__setattr__(self, "_response_id", response_id)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a scripted line is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a scripted line is immutable: {name} cannot be deleted")

    def __add__(self, other: "ScriptedLine") -> "ScriptedLine":
        if type(other) is not ScriptedLine:
            return NotImplemented
        mine, theirs = self._response_id, other._response_id
        if mine is not None and theirs is not None and mine != theirs:
            raise ValueError(f"one response has one id, not {mine!r} and {theirs!r}")
        return ScriptedLine(
            self._parts + other._parts,
            self._usage if other._usage is None else other._usage,
            theirs if mine is None else mine,
        )

    def __call__(self, request: ModelRequest, signal: Signal, /) -> AsyncIterator[ScriptedItem]:
        return self.play(request, 1, Numbering(), pausing=True)

    async def play(
        self, request: ModelRequest, number: int, numbering: Numbering, *, pausing: bool
    ) -> AsyncIterator[ScriptedItem]:
        """Stream the line as the answer to call `number` of the model that owns the numbering.

        With `pausing` the loop gets a turn before each part, so that an abort between two parts can happen.
        """
        request_id = request.id
        blocks: list[AssistantBlock] = []
        texts: list[str] = []
        calls = False
        for part in self._parts:
            if pausing:
                await TURN
            if isinstance(part, str):
                texts.append(part)
                yield TextDeltaChunk(request_id, part)
            else:
                calls = True
                tool_call = part.issue(numbering)
                _flush(texts, blocks)
                blocks.append(tool_call)
                yield ToolCallChunk(request_id, tool_call)
        if pausing:
            await TURN
        _flush(texts, blocks)
        response_id = self._response_id or f"response-{number:03}"
        yield ModelResponse(
            response_id,
            request_id,
            AssistantMessage(f"message-{response_id}", blocks),
            "toolCall" if calls else "stop",
            self._usage or NO_USAGE,
        )


class _Turn:
    """Awaited, it gives the loop one turn."""

    def __await__(self) -> Generator[None, None, None]:
        yield


TURN: Final = _Turn()


def _flush(texts: list[str], blocks: list[AssistantBlock]) -> None:
    """Texts that stand next to each other become one block; `say("")` makes an empty one."""
    if texts:
        blocks.append(TextBlock("".join(texts)))
        texts.clear()


def say(*texts: str, usage: Usage | None = None, response_id: str | None = None) -> ScriptedLine:
    """Script one text answer: a chunk for each text, and one `TextBlock` of all of them (checkpoint 04).

    `usage` defaults to `Usage(0, 0)`, `response_id` to `response-` and the call's number. Raises
    `TypeError` for a text that is not a string, `ProtocolError` for a bad id.
    """
    for index, text in enumerate(texts):
        if type(text) is not str:
            raise TypeError(f"texts[{index}] must be a string, not {type(text).__name__}")
    return ScriptedLine(texts, *_checked(usage, response_id))


def call(
    name: str,
    arguments: object = None,
    *,
    call_id: str | None = None,
    usage: Usage | None = None,
    response_id: str | None = None,
) -> ScriptedLine:
    """Script one tool call (checkpoint 04); `arguments` is a JSON object, copied and frozen now, default
    `{}`.

    `call_id` defaults to `call-<name>-<n>`, counted by the model that plays it. Raises `ProtocolError` for
    a bad name, id or argument.
    """
    given: object = {} if arguments is None else arguments
    tool_call = ToolCall(PLACEHOLDER if call_id is None else call_id, name, given)
    return ScriptedLine((PlannedCall(tool_call, call_id is None),), *_checked(usage, response_id))


def _checked(usage: Usage | None, response_id: str | None) -> tuple[Usage | None, str | None]:
    if usage is not None and type(usage) is not Usage:
        raise TypeError(f"usage must be a Usage, not {type(usage).__name__}")
    if response_id is not None:
        UserMessage(response_id, "")  # an id like any other; the record's constructor checks it
    return usage, response_id
