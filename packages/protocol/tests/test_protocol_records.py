"""Records at run time: fields, kinds, faults, equality, sharing (checkpoint 01)."""

import asyncio
import copy
import pickle
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple, assert_never, cast

import pytest
from loop_guard import run

from kickwheel_protocol import (
    AgentEvent,
    AssistantMessage,
    CancelledRun,
    CompletedRun,
    FailedRun,
    Invalid,
    JsonObject,
    MaxStepsRun,
    Message,
    MessageAccepted,
    ModelChunk,
    ModelChunkReceived,
    ModelRequest,
    ModelResponse,
    ProtocolError,
    RunError,
    RunFinished,
    RunResult,
    Signal,
    TextBlock,
    TextDeltaChunk,
    Tool,
    ToolCall,
    ToolCallChunk,
    ToolContext,
    ToolFinished,
    ToolResultMessage,
    ToolStarted,
    ToolValidation,
    TranscriptIssue,
    Usage,
    UserMessage,
    Valid,
)

MAX = 2**53 - 1


class StillSignal:
    """The smallest thing that fits the port."""

    aborted = False
    reason = None

    def raise_if_aborted(self) -> None:
        """Nothing was aborted."""

    async def wait(self) -> None:
        """Wait for what never comes."""
        await asyncio.Event().wait()

    def add_callback(self, callback: Callable[[], object], /) -> Callable[[], None]:
        """Have nothing called."""
        del callback
        return lambda: None


SIGNAL = StillSignal()
CALL = ToolCall("call-add-001", "add", {"left": 20, "right": 22})
USER = UserMessage(id="message-001", content="Add 20 and 22.")
ASSISTANT = AssistantMessage(id="message-002", content=[TextBlock("I will add them. "), CALL])
RESULT = ToolResultMessage(id="message-003", tool_call_id="call-add-001", tool_name="add", content="42")
SAMPLES: tuple[Message, ...] = (USER, ASSISTANT, RESULT)
DELTA = TextDeltaChunk("request-001", "The sum ")
CALL_CHUNK = ToolCallChunk("request-001", ToolCall("call-add-002", "add", {}))
DONE = CompletedRun(SAMPLES, "Done.")
RUNS: tuple[RunResult, ...] = (
    DONE,
    CancelledRun(SAMPLES, "caller aborted"),
    MaxStepsRun(SAMPLES, 4),
    FailedRun(SAMPLES, RunError("MODEL_FAILED", "it broke")),
)
EVENTS: tuple[AgentEvent, ...] = (
    MessageAccepted(0, USER),
    ModelChunkReceived(1, DELTA),
    ToolStarted(2, CALL),
    ToolFinished(3, RESULT),
    RunFinished(4, DONE),
)


class Row(NamedTuple):
    """A record of the table: its class, a good value for each field in order, and another good value."""

    make: Callable[..., object]
    fields: dict[str, object]
    other: dict[str, object]
    discriminant: str | None
    bad: dict[str, tuple[object, str]]

    def __repr__(self) -> str:
        return getattr(self.make, "__name__", "record")


ROWS = [
    Row(TextBlock, {"text": "a"}, {"text": "b"}, "type", {"text": (1, "text")}),
    Row(
        ToolCall,
        {"id": "c", "name": "n", "arguments": {"a": [1]}},
        {"id": "d", "name": "o", "arguments": {}},
        "type",
        {"id": ("", "id"), "name": (None, "name"), "arguments": ([], "arguments")},
    ),
    Row(
        UserMessage,
        {"id": "m", "content": "hi"},
        {"id": "n", "content": ""},
        "role",
        {"id": (7, "id"), "content": (b"", "content")},
    ),
    Row(
        AssistantMessage,
        {"id": "m", "content": [TextBlock("a"), CALL]},
        {"id": "n", "content": ()},
        "role",
        {"id": (" ", "id"), "content": ([TextBlock("a"), {}], "content[1]")},
    ),
    Row(
        ToolResultMessage,
        {"id": "m", "tool_call_id": "c", "tool_name": "n", "content": "x", "is_error": False},
        {"id": "n", "tool_call_id": "d", "tool_name": "o", "content": "y", "is_error": True},
        "role",
        {
            "id": (None, "id"),
            "tool_call_id": ("\ud800", "tool_call_id"),
            "tool_name": ("\ufeff", "tool_name"),
            "content": (None, "content"),
            "is_error": (1, "is_error"),
        },
    ),
    Row(
        ModelRequest,
        {"id": "r", "messages": [USER]},
        {"id": "s", "messages": ()},
        None,
        {"id": ("", "id"), "messages": ([USER, None], "messages[1]")},
    ),
    Row(
        TextDeltaChunk,
        {"request_id": "r", "delta": "d"},
        {"request_id": "s", "delta": ""},
        "type",
        {"request_id": (0, "request_id"), "delta": (None, "delta")},
    ),
    Row(
        ToolCallChunk,
        {"request_id": "r", "tool_call": CALL},
        {"request_id": "s", "tool_call": ToolCall("x", "y", {})},
        "type",
        {"request_id": ("\t", "request_id"), "tool_call": (TextBlock("a"), "tool_call")},
    ),
    Row(
        Usage,
        {"input_tokens": 1, "output_tokens": 2},
        {"input_tokens": 0, "output_tokens": MAX},
        None,
        {"input_tokens": (-1, "input_tokens"), "output_tokens": (True, "output_tokens")},
    ),
    Row(
        ModelResponse,
        {"id": "i", "request_id": "r", "message": ASSISTANT, "stop_reason": "stop", "usage": Usage(1, 2)},
        {
            "id": "j",
            "request_id": "s",
            "message": AssistantMessage("m", []),
            "stop_reason": "toolCall",
            "usage": Usage(0, 0),
        },
        None,
        {
            "id": ("", "id"),
            "request_id": ("", "request_id"),
            "message": (USER, "message"),
            "stop_reason": ("tool_call", "stop_reason"),
            "usage": ({"input_tokens": 1, "output_tokens": 2}, "usage"),
        },
    ),
    Row(Invalid, {"error": "no"}, {"error": "never"}, "ok", {"error": (" ", "error")}),
    Row(
        ToolContext,
        {"signal": SIGNAL, "tool_call_id": "c"},
        {"signal": StillSignal(), "tool_call_id": "d"},
        None,
        {"tool_call_id": ("", "tool_call_id")},
    ),
    Row(
        MessageAccepted,
        {"sequence": 0, "message": USER},
        {"sequence": 1, "message": RESULT},
        "type",
        {"sequence": (-1, "sequence"), "message": (DELTA, "message")},
    ),
    Row(
        ModelChunkReceived,
        {"sequence": 0, "chunk": DELTA},
        {"sequence": 1, "chunk": CALL_CHUNK},
        "type",
        {"sequence": (1.0, "sequence"), "chunk": (CALL, "chunk")},
    ),
    Row(
        ToolStarted,
        {"sequence": 0, "tool_call": CALL},
        {"sequence": 1, "tool_call": ToolCall("x", "y", {})},
        "type",
        {"sequence": (None, "sequence"), "tool_call": ({}, "tool_call")},
    ),
    Row(
        ToolFinished,
        {"sequence": 0, "message": RESULT},
        {"sequence": 1, "message": ToolResultMessage("a", "b", "c", "d")},
        "type",
        {"sequence": (True, "sequence"), "message": (USER, "message")},
    ),
    Row(
        RunFinished,
        {"sequence": 0, "result": DONE},
        {"sequence": 1, "result": MaxStepsRun([], 1)},
        "type",
        {"sequence": (2**53, "sequence"), "result": (USER, "result")},
    ),
    Row(
        CompletedRun,
        {"messages": [USER], "final_text": "x"},
        {"messages": [], "final_text": ""},
        "status",
        {"messages": ([TextBlock("a")], "messages[0]"), "final_text": (1, "final_text")},
    ),
    Row(
        CancelledRun,
        {"messages": [USER], "reason": "x"},
        {"messages": [], "reason": ""},
        "status",
        {"messages": (None, "messages"), "reason": (None, "reason")},
    ),
    Row(
        MaxStepsRun,
        {"messages": [USER], "max_steps": 4},
        {"messages": [], "max_steps": 0},
        "status",
        {"messages": ("", "messages"), "max_steps": (1.5, "max_steps")},
    ),
    Row(
        FailedRun,
        {"messages": [USER], "error": RunError("A", "x")},
        {"messages": [], "error": RunError("B", "x")},
        "status",
        {"messages": ({}, "messages"), "error": ("MODEL_FAILED", "error")},
    ),
    Row(
        RunError,
        {"code": "A", "message": "x"},
        {"code": "B", "message": ""},
        None,
        {"code": ("", "code"), "message": (None, "message")},
    ),
    Row(Valid, {"value": "v"}, {"value": "w"}, "ok", {}),
    Row(
        TranscriptIssue,
        {"code": "INVALID_MESSAGE", "message_index": 0, "message": "x"},
        {"code": "INVALID_TRANSCRIPT", "message_index": -1, "message": "y"},
        None,
        {},
    ),
]
each_record = pytest.mark.parametrize("row", ROWS, ids=repr)


def fault(make: Callable[..., object], /, *args: object, **fields: object) -> str:
    """Build something that is refused, and return the path of the error."""
    with pytest.raises(ProtocolError) as caught:
        make(*args, **fields)
    assert caught.value.path in str(caught.value)
    return caught.value.path


def pickled(value: object) -> object:
    return pickle.loads(pickle.dumps(value))


def refuses_every_change(value: object, attributes: list[str]) -> None:
    """Try the ordinary routes of changing a value."""
    for name in [*attributes, "something_new"]:
        with pytest.raises((AttributeError, TypeError)):
            setattr(value, name, "changed")
        with pytest.raises((AttributeError, TypeError)):
            delattr(value, name)
    with pytest.raises((AttributeError, TypeError)):
        _ = value.__dict__


def describe(message: Message) -> str:
    match message:
        case UserMessage(content=content):
            return content
        case AssistantMessage(content=blocks):
            return "".join([b.text if isinstance(b, TextBlock) else f"{b.name}:{b.id}" for b in blocks])
        case ToolResultMessage(tool_name=name, content=content):
            return f"{name}:{content}"
        case _:
            assert_never(message)


def outcome(run_result: RunResult) -> str:
    if run_result.status == "completed":
        return run_result.final_text
    if run_result.status == "cancelled":
        return run_result.reason
    if run_result.status == "maxSteps":
        return str(run_result.max_steps)
    if run_result.status == "failed":
        return run_result.error.code
    assert_never(run_result)


class Pair(NamedTuple):
    left: float
    right: float


class AddTool:
    name = "add"
    description = "Add two numbers."

    def validate(self, value: object, /) -> ToolValidation[Pair]:
        if not isinstance(value, Mapping):
            return Invalid("expected an object")
        fields = cast(Mapping[str, object], value)
        left, right = fields.get("left"), fields.get("right")
        if isinstance(left, int | float) and isinstance(right, int | float):
            return Valid(Pair(left, right))
        return Invalid("expected two numbers")

    async def execute(self, value: Pair, context: ToolContext, /) -> dict[str, float]:
        context.signal.raise_if_aborted()
        return {"sum": value.left + value.right}


class TestVocabulary:
    @pytest.mark.criterion("01.01", "01.B2")
    def test_a_message_is_told_by_its_class(self) -> None:
        assert [describe(message) for message in SAMPLES] == [
            "Add 20 and 22.",
            "I will add them. add:call-add-001",
            "add:42",
        ]

    @pytest.mark.criterion("01.02")
    def test_a_chunk_is_told_by_its_type(self) -> None:
        def read(chunk: ModelChunk) -> str:
            return chunk.delta if chunk.type == "textDelta" else chunk.tool_call.id

        assert [read(DELTA), read(CALL_CHUNK)] == ["The sum ", "call-add-002"]

    @pytest.mark.criterion("01.03")
    def test_a_response_names_its_request(self) -> None:
        request = ModelRequest("request-001", SAMPLES)
        response = ModelResponse("response-001", "request-001", ASSISTANT, "stop", Usage(1, 2))
        assert (response.id, response.request_id, response.stop_reason) == (
            "response-001",
            request.id,
            "stop",
        )

    @pytest.mark.criterion("01.04")
    def test_events_carry_their_type_and_sequence(self) -> None:
        assert [(event.type, event.sequence) for event in EVENTS] == [
            ("message.accepted", 0),
            ("model.chunk", 1),
            ("tool.started", 2),
            ("tool.finished", 3),
            ("run.finished", 4),
        ]

    @pytest.mark.criterion("01.05", "01.56")
    def test_a_tool_executes_what_its_validator_passed(self) -> None:
        tool: Tool[Pair, dict[str, float]] = AddTool()
        validated = tool.validate({"left": 20, "right": 22})
        assert validated.ok is True
        context = ToolContext(SIGNAL, "call-add-001")
        assert context.signal is SIGNAL

        async def execute() -> dict[str, float]:
            return await tool.execute(validated.value, context)

        assert run(execute()) == {"sum": 42}

    @pytest.mark.criterion("01.06")
    @pytest.mark.parametrize("value", [None, [], "20", {}, {"left": 1}, {"left": "20", "right": 22}])
    def test_a_validator_says_no_without_raising(self, value: object) -> None:
        said = AddTool().validate(value)
        assert not said.ok
        assert isinstance(said, Invalid)
        assert said.error

    @pytest.mark.criterion("01.07")
    def test_a_run_is_told_by_its_status(self) -> None:
        assert [outcome(result) for result in RUNS] == ["Done.", "caller aborted", "4", "MODEL_FAILED"]

    @pytest.mark.criterion("01.08")
    def test_a_case_that_cannot_be_reached_names_its_value(self) -> None:
        with pytest.raises(AssertionError, match="unexpected"):
            assert_never("unexpected")  # pyright: ignore[reportArgumentType] - reached on purpose

    @pytest.mark.criterion("01.10")
    def test_ids_are_exact_strings(self) -> None:
        values = [USER.id, CALL.id, RESULT.tool_call_id, DELTA.request_id, ModelRequest("r", ()).id]
        assert {type(value) for value in values} == {str}

    @pytest.mark.criterion("01.11")
    def test_runs_are_values_of_four_statuses_and_no_exceptions(self) -> None:
        assert [result.status for result in RUNS] == ["completed", "cancelled", "maxSteps", "failed"]
        assert not any(isinstance(result, BaseException) for result in RUNS)
        for kind in (CompletedRun, CancelledRun, MaxStepsRun, FailedRun):
            with pytest.raises(TypeError):
                kind(SAMPLES, "x", status="running")  # type: ignore[call-arg]

    @pytest.mark.criterion("01.12", "01.66")
    def test_every_run_keeps_its_messages(self) -> None:
        assert all(result.messages is SAMPLES for result in RUNS)


class TestEveryRecord:
    @each_record
    @pytest.mark.criterion("01.40")
    def test_refuses_every_change(self, row: Row) -> None:
        record = row.make(**row.fields)
        refuses_every_change(record, list(row.fields))
        assert record == row.make(**row.fields)

    @pytest.mark.criterion("01.40")
    @pytest.mark.parametrize("make", [AssistantMessage, ModelRequest])
    def test_a_list_is_stored_as_a_tuple(self, make: Callable[[str, list[object]], object]) -> None:
        given: list[object] = [TextBlock("a")] if make is AssistantMessage else [USER]
        record = make("m", given)
        given.clear()
        field: object = getattr(record, "content" if make is AssistantMessage else "messages")
        assert isinstance(field, tuple)
        assert len(cast(tuple[object, ...], field)) == 1

    @each_record
    @pytest.mark.criterion("01.41")
    def test_has_no_descendants(self, row: Row) -> None:
        with pytest.raises(TypeError):
            type("Sub", (row.make,), {})  # type: ignore[arg-type]

    @pytest.mark.criterion("01.41")
    def test_a_json_object_has_no_descendants(self) -> None:
        with pytest.raises(TypeError):
            type("Sub", (JsonObject,), {})

    @each_record
    @pytest.mark.criterion("01.42")
    def test_a_discriminant_can_neither_be_passed_nor_assigned(self, row: Row) -> None:
        if row.discriminant is None:
            return
        record = row.make(**row.fields)
        kept = getattr(record, row.discriminant)
        with pytest.raises(TypeError):
            row.make(**row.fields, **{row.discriminant: kept})
        with pytest.raises((AttributeError, TypeError)):
            setattr(record, row.discriminant, kept)
        assert getattr(record, row.discriminant) == kept

    @each_record
    @pytest.mark.criterion("01.43", "01.44")
    def test_is_equal_to_one_with_equal_fields_by_keyword_or_position(self, row: Row) -> None:
        one, two = row.make(**row.fields), row.make(*row.fields.values())
        assert one == two
        assert hash(one) == hash(two)
        for name, value in row.other.items():
            assert row.make(**(row.fields | {name: value})) != one

    @each_record
    @pytest.mark.criterion("01.45")
    def test_misses_and_knows_its_arguments(self, row: Row) -> None:
        required = [name for name in row.fields if name != "is_error"]
        for name in required:
            with pytest.raises(TypeError):
                row.make(**{key: value for key, value in row.fields.items() if key != name})
        with pytest.raises(TypeError):
            row.make(**row.fields, unknown=1)
        with pytest.raises(TypeError):
            row.make(*row.fields.values(), 1)

    @each_record
    @pytest.mark.criterion("01.46", "01.B1")
    def test_names_the_field_that_breaks_its_kind(self, row: Row) -> None:
        for name, (bad, path) in row.bad.items():
            assert fault(row.make, **(row.fields | {name: bad})) == path

    @each_record
    @pytest.mark.criterion("01.58")
    def test_names_the_first_of_several_faults(self, row: Row) -> None:
        names = list(row.bad)
        for at in range(len(names)):
            bad = {name: row.bad[name][0] for name in names[at:]}
            assert fault(row.make, **(row.fields | bad)) == row.bad[names[at]][1]

    @each_record
    @pytest.mark.criterion("01.64")
    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
    def test_copies_are_equal_and_as_immutable(self, row: Row, again: Callable[[object], object]) -> None:
        record = row.make(**row.fields)
        copied = again(record)
        if row.make is not ToolContext or again is copy.copy:  # its signal here has no equality of its own
            assert copied == record
        refuses_every_change(copied, list(row.fields))

    @each_record
    @pytest.mark.criterion("01.B1")
    def test_cannot_be_built_past_its_constructor(self, row: Row) -> None:
        kind: Any = row.make
        with pytest.raises(TypeError):
            object.__new__(kind)
        with pytest.raises(TypeError):
            kind.__new__(kind)


class TestKinds:
    @pytest.mark.criterion("01.47")
    @pytest.mark.parametrize("field", ["input_tokens", "output_tokens"])
    def test_a_count_is_an_exact_integer_in_range(self, field: str) -> None:
        class Number(int):
            pass

        values = (
            -1,
            1.5,
            12.0,
            float("nan"),
            float("inf"),
            2**53,
            10**5000,
            True,
            False,
            None,
            "3",
            Number(3),
        )
        for value in values:
            assert fault(Usage, **({"input_tokens": 1, "output_tokens": 1} | {field: value})) == field

    @pytest.mark.criterion("01.47")
    def test_a_count_reaches_from_zero_to_its_limit(self) -> None:
        usage = Usage(0, MAX)
        assert (usage.input_tokens, usage.output_tokens) == (0, MAX)

    @pytest.mark.criterion("01.48")
    @pytest.mark.parametrize("value", [-1, 1.0, True, None, "0", 2**53])
    def test_a_sequence_and_a_step_budget_are_counts(self, value: object) -> None:
        assert fault(MaxStepsRun, [], value) == "max_steps"
        for make, payload in (
            (MessageAccepted, USER),
            (ModelChunkReceived, DELTA),
            (ToolStarted, CALL),
            (ToolFinished, RESULT),
            (RunFinished, DONE),
        ):
            assert fault(make, value, payload) == "sequence"

    @pytest.mark.criterion("01.49")
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("message", USER),
            ("message", RESULT),
            ("message", None),
            ("message", {"role": "assistant", "id": "m", "content": []}),
            ("stop_reason", "tool_call"),
            ("stop_reason", "length"),
            ("stop_reason", ""),
            ("stop_reason", None),
            ("stop_reason", Enum("S", {"STOP": "stop"}).STOP),
            ("usage", {"input_tokens": 1, "output_tokens": 1}),
            ("usage", None),
        ],
    )
    def test_a_response_looks_at_its_parts(self, field: str, value: object) -> None:
        good: dict[str, object] = {
            "id": "i",
            "request_id": "r",
            "message": ASSISTANT,
            "stop_reason": "stop",
            "usage": Usage(1, 1),
        }
        assert fault(ModelResponse, **(good | {field: value})) == field

    @pytest.mark.criterion("01.50", "01.51")
    def test_relations_between_records_are_nobody_s_business_here(self) -> None:
        assert ModelResponse("i", "other", ASSISTANT, "stop", Usage(0, 0)).message is ASSISTANT
        assert ModelResponse("i", "r", AssistantMessage("m", []), "toolCall", Usage(0, 0)).request_id == "r"
        assert ModelRequest("r", [RESULT, RESULT]).messages == (RESULT, RESULT)
        assert ModelRequest("r", []).messages == ()

    @pytest.mark.criterion("01.52")
    @pytest.mark.parametrize(
        "entry", [{"role": "user"}, None, TextBlock("a"), CALL, "m", UserMessage], ids=repr
    )
    def test_a_request_holds_messages_only(self, entry: object) -> None:
        assert fault(ModelRequest, "r", [USER, entry]) == "messages[1]"
        assert fault(ModelRequest, "r", (USER, USER, entry)) == "messages[2]"

    @pytest.mark.criterion("01.52")
    def test_messages_are_an_exact_list_or_tuple(self) -> None:
        class Several(list[Message]):
            pass

        class Couple(NamedTuple):
            first: Message

        advanced: list[int] = []

        def generator() -> Iterator[object]:
            advanced.append(1)
            yield USER

        values: list[Any] = [generator(), iter([USER]), "", {USER}, {}, None, Several([USER]), Couple(USER)]
        for value in values:
            assert fault(ModelRequest, "r", value) == "messages"
        assert advanced == []

    @pytest.mark.criterion("01.53")
    @pytest.mark.parametrize(
        ("make", "first", "second", "path"),
        [
            (ToolFinished, 0, USER, "message"),
            (RunFinished, 0, USER, "result"),
            (ToolCallChunk, "r", TextBlock("a"), "tool_call"),
            (FailedRun, [], "broken", "error"),
            (MessageAccepted, 0, TextBlock("a"), "message"),
            (ModelChunkReceived, 0, USER, "chunk"),
            (ToolStarted, 0, CALL_CHUNK, "tool_call"),
        ],
    )
    def test_a_record_of_another_class_does_not_fit(
        self, make: Callable[..., object], first: object, second: object, path: str
    ) -> None:
        assert fault(make, first, second) == path

    @pytest.mark.criterion("01.54")
    @pytest.mark.parametrize("error", ["", " ", "\n\t", "\ufeff", "\ufeff \ufeff", None, 7, ["no"]])
    def test_a_refusal_says_why(self, error: object) -> None:
        assert fault(Invalid, error) == "error"

    @pytest.mark.criterion("01.55")
    def test_what_is_valid_is_kept_as_it_is(self) -> None:
        held: list[int] = []
        assert Valid(held).value is held
        copied = copy.deepcopy(Valid(held))
        assert copied == Valid(held)
        assert copied.value is not held

    @pytest.mark.criterion("01.57")
    def test_a_result_is_no_error_unless_it_says_so(self) -> None:
        assert RESULT.is_error is False


class TestSharing:
    @pytest.mark.criterion("01.65", "03.B5", "03.106")
    def test_a_record_inside_another_stays_the_same_object(self) -> None:
        block = TextBlock("a")
        message = AssistantMessage("m", [block, CALL])
        assert message.content[0] is block
        assert message.content[1] is CALL
        assert message.tool_calls[0] is CALL
        assert ToolCallChunk("r", CALL).tool_call is CALL
        assert ToolStarted(0, CALL).tool_call is CALL
        assert ModelRequest("r", [message]).messages[0] is message
        assert ModelResponse("i", "r", message, "stop", Usage(0, 0)).message is message
        assert MessageAccepted(0, message).message is message
        assert ModelChunkReceived(0, DELTA).chunk is DELTA
        assert ToolFinished(0, RESULT).message is RESULT
        assert RunFinished(0, DONE).result is DONE
        assert CompletedRun([message], "x").messages[0] is message

    @pytest.mark.criterion("01.66")
    def test_a_tuple_of_records_stays_the_same_tuple(self) -> None:
        blocks = (TextBlock("a"), CALL)
        assert AssistantMessage("m", blocks).content is blocks
        assert ModelRequest("r", SAMPLES).messages is SAMPLES

    @pytest.mark.criterion("01.67")
    def test_frozen_arguments_stay_the_same_object(self) -> None:
        assert ToolCall("c", "n", CALL.arguments).arguments is CALL.arguments

    @pytest.mark.criterion("01.79")
    def test_a_request_is_followed_by_one_that_shares_its_messages(self) -> None:
        first = ModelRequest("request-001", [USER])
        second = first.followed_by("request-002", ASSISTANT, RESULT)
        assert second == ModelRequest("request-002", SAMPLES)
        assert second.messages[0] is USER
        assert first.messages == (USER,)
        assert first.followed_by("request-003").messages == (USER,)

    @pytest.mark.criterion("01.79")
    def test_a_bad_follow_up_is_told_by_its_place_in_the_whole(self) -> None:
        request = ModelRequest("r", [USER] * 6)
        assert fault(request.followed_by, "s", USER, {"role": "user"}) == "messages[7]"
        assert fault(request.followed_by, " ", None) == "id"


class TestErrors:
    @pytest.mark.criterion("01.B4")
    def test_an_error_is_a_value_error_with_a_path(self) -> None:
        with pytest.raises(ValueError) as caught:
            UserMessage(id="", content="x")
        error = caught.value
        assert isinstance(error, ProtocolError)
        assert type(error.path) is str
        assert (error.path, error.reason) == ("id", "must not be blank")
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.path, str(again)) == (ProtocolError, "id", str(error))

    @pytest.mark.criterion("01.B4", "03.102")
    def test_no_refused_value_makes_a_long_error(self) -> None:
        huge = "x" * 10_000_000
        named = type(huge, (), {})
        values: list[dict[str, object]] = [
            {"content": named()},
            {"content": [huge]},
            {"id": huge + "\ud800"},
        ]
        for value in values:
            with pytest.raises(ProtocolError) as caught:
                UserMessage(**({"id": "m", "content": "x"} | value))  # type: ignore[arg-type]
            assert len(str(caught.value)) <= 2000
        for arguments in ({huge: object()}, {huge: {huge: [object()]}}, {huge + "\ud800": 1}):
            with pytest.raises(ProtocolError) as caught:
                ToolCall("c", "n", arguments)
            assert len(str(caught.value)) <= 2000
            assert len(repr(caught.value)) <= 4000

    @each_record
    @pytest.mark.criterion("01.B5", "03.102")
    def test_no_method_of_a_refused_value_runs(self, row: Row) -> None:
        hostile = make_hostile()
        for name in row.bad:
            assert fault(row.make, **(row.fields | {name: hostile})).startswith(name)

    @pytest.mark.criterion("01.12", "01.64")
    def test_a_signal_that_fits_the_port_is_enough(self) -> None:
        signal: Signal = SIGNAL
        assert ToolContext(signal, "c") == ToolContext(signal, "c")


def make_hostile() -> object:
    """Make an object all of whose special methods raise, its metaclass's included."""

    def explode(*_args: object, **_kwargs: object) -> object:
        raise AssertionError("foreign code ran")

    names = (
        "repr",
        "str",
        "eq",
        "ne",
        "hash",
        "bool",
        "len",
        "iter",
        "getitem",
        "contains",
        "getattr",
        "format",
    )
    special: dict[str, object] = {f"__{name}__": explode for name in names}
    meta = type("Meta", (type,), {**special, "__name__": property(explode), "__instancecheck__": explode})
    return meta("Hostile", (), {**special, "__getattribute__": explode, "__class__": property(explode)})()
