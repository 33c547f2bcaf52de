"""Focused test of checkpoint 00: one complete agent run, read as data."""

import socket
from typing import Any, NoReturn

import pytest

from kickwheel import (
    AgentEnded,
    FinalTextCompleted,
    ModelStreamOpened,
    PrologueEvent,
    PrologueRun,
    ToolCallCompleted,
    ToolExecutionStarted,
    ToolResultAppended,
    UserMessageAccepted,
    run_prologue,
)

criterion = pytest.mark.criterion
ROWS: list[tuple[type[object], str, dict[str, object]]] = [
    (UserMessageAccepted, "user_message_accepted", {"text": "What is 20 + 22?"}),
    (ModelStreamOpened, "model_stream_opened", {"stream_id": "model-stream-001"}),
    (
        ToolCallCompleted,
        "tool_call_completed",
        {"tool_call_id": "call-add-001", "tool_name": "add", "arguments": {"left": 20, "right": 22}},
    ),
    (ToolExecutionStarted, "tool_execution_started", {"tool_call_id": "call-add-001", "tool_name": "add"}),
    (ToolResultAppended, "tool_result_appended", {"tool_call_id": "call-add-001", "result": 42}),
    (ModelStreamOpened, "model_stream_opened", {"stream_id": "model-stream-002"}),
    (FinalTextCompleted, "final_text_completed", {"text": "The sum is 42."}),
    (AgentEnded, "agent_ended", {"status": "completed"}),
]


def events() -> tuple[PrologueEvent, ...]:
    return run_prologue().events


def call() -> ToolCallCompleted:
    return next(event for event in events() if isinstance(event, ToolCallCompleted))


def result() -> ToolResultAppended:
    return next(event for event in events() if isinstance(event, ToolResultAppended))


def position(kind: type[object], number: int = 0) -> int:
    return [index for index, event in enumerate(events()) if type(event) is kind][number]


@criterion("00.02")
@pytest.mark.task(1)
def test_the_eight_types_stand_in_their_order() -> None:
    assert [event.type for event in events()] == [row[1] for row in ROWS]


@criterion("00.07")
@pytest.mark.task(1)
def test_the_sequence_of_an_event_is_its_place() -> None:
    assert [event.sequence for event in events()] == list(range(8))


@criterion("00.17", "00.18", "00.19")
@pytest.mark.task(1)
@pytest.mark.parametrize("index", range(8))
def test_each_event_has_the_class_and_the_fields_of_its_row(index: int) -> None:
    kind, _, fields = ROWS[index]
    event = events()[index]
    assert type(event) is kind
    for name, value in fields.items():
        assert getattr(event, name) == value
        assert type(getattr(event, name)) is type(value) or name == "arguments"


@criterion("00.03")
@pytest.mark.task(1)
def test_the_result_carries_the_id_of_its_call() -> None:
    assert result().tool_call_id == call().tool_call_id
    assert call().tool_call_id == "call-add-001"


@criterion("00.11")
@pytest.mark.task(1)
def test_the_result_is_linked_by_its_id_alone() -> None:
    assert not hasattr(result(), "tool_name")


@criterion("00.10")
@pytest.mark.task(1)
def test_the_tool_starts_after_its_call_and_for_it() -> None:
    started = events()[position(ToolExecutionStarted)]
    assert isinstance(started, ToolExecutionStarted)
    assert position(ToolExecutionStarted) > position(ToolCallCompleted)
    assert (started.tool_call_id, started.tool_name) == (call().tool_call_id, call().tool_name)


@criterion("00.09")
@pytest.mark.task(1)
def test_the_second_stream_opens_after_the_result_with_an_id_of_its_own() -> None:
    first, second = (event for event in events() if isinstance(event, ModelStreamOpened))
    assert position(ModelStreamOpened, 1) > position(ToolResultAppended)
    assert first.stream_id != second.stream_id


@criterion("00.04", "00.08")
@pytest.mark.task(2)
def test_the_result_of_the_run_is_what_its_events_say() -> None:
    run = run_prologue()
    ended = run.events[-1]
    answer = next(event for event in run.events if isinstance(event, FinalTextCompleted))
    assert isinstance(ended, AgentEnded)
    assert (run.result.status, run.result.final_text) == (ended.status, answer.text)
    assert (run.result.status, run.result.final_text) == ("completed", "The sum is 42.")


@criterion("00.01", "00.12", "00.20")
@pytest.mark.task(2)
def test_every_call_gives_the_same_finished_run() -> None:
    run = run_prologue()
    assert type(run) is PrologueRun
    assert run is run_prologue()
    assert run.result.final_text == "The sum is 42."


@criterion("00.05", "00.06", "00.14")
@pytest.mark.task(2)
def test_nothing_in_the_run_can_be_changed() -> None:
    run = run_prologue()
    changeable: Any = run
    for attempt in (
        lambda: setattr(changeable, "events", ()),
        lambda: changeable.events.pop(),
        lambda: changeable.events[2].arguments.__setitem__("left", 1),
        lambda: setattr(changeable.result, "final_text", "no"),
        lambda: delattr(changeable.events[0], "text"),
        lambda: setattr(changeable.events[0], "extra", 1),
    ):
        with pytest.raises((AttributeError, TypeError)):
            attempt()
    assert type(run.events) is tuple
    assert len(run.events) == 8
    assert call().arguments == {"left": 20, "right": 22}
    assert run.result.final_text == "The sum is 42."


@criterion("00.13")
@pytest.mark.task(2)
def test_the_run_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the trace opened a connection")

    monkeypatch.setattr(socket, "socket", refuse)
    assert run_prologue().result.final_text == "The sum is 42."
