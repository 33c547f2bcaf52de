"""The fixed trace: content, order, immutability, types (checkpoint 00)."""

import asyncio
import builtins
import copy
import inspect
import json
import os
import pickle
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

import kickwheel
from kickwheel import (
    AgentEnded,
    FinalTextCompleted,
    ModelStreamOpened,
    PrologueEvent,
    PrologueResult,
    PrologueRun,
    ToolCallCompleted,
    ToolExecutionStarted,
    ToolResultAppended,
    UserMessageAccepted,
    run_prologue,
)

CALL_ID = "call-add-001"
ROWS: list[tuple[type[object], str, dict[str, object]]] = [
    (UserMessageAccepted, "user_message_accepted", {"text": "What is 20 + 22?"}),
    (ModelStreamOpened, "model_stream_opened", {"stream_id": "model-stream-001"}),
    (
        ToolCallCompleted,
        "tool_call_completed",
        {"tool_call_id": CALL_ID, "tool_name": "add", "arguments": {"left": 20, "right": 22}},
    ),
    (ToolExecutionStarted, "tool_execution_started", {"tool_call_id": CALL_ID, "tool_name": "add"}),
    (ToolResultAppended, "tool_result_appended", {"tool_call_id": CALL_ID, "result": 42}),
    (ModelStreamOpened, "model_stream_opened", {"stream_id": "model-stream-002"}),
    (FinalTextCompleted, "final_text_completed", {"text": "The sum is 42."}),
    (AgentEnded, "agent_ended", {"status": "completed"}),
]
RECORDS: list[type[object]] = [*get_args(PrologueEvent), PrologueResult, PrologueRun]

WIRE = """{"events":[
 {"type":"user_message_accepted","sequence":0,"text":"What is 20 + 22?"},
 {"type":"model_stream_opened","sequence":1,"streamId":"model-stream-001"},
 {"type":"tool_call_completed","sequence":2,"toolCallId":"call-add-001","toolName":"add",
  "arguments":{"left":20,"right":22}},
 {"type":"tool_execution_started","sequence":3,"toolCallId":"call-add-001","toolName":"add"},
 {"type":"tool_result_appended","sequence":4,"toolCallId":"call-add-001","result":42},
 {"type":"model_stream_opened","sequence":5,"streamId":"model-stream-002"},
 {"type":"final_text_completed","sequence":6,"text":"The sum is 42."},
 {"type":"agent_ended","sequence":7,"status":"completed"}],
 "result":{"status":"completed","finalText":"The sum is 42."}}"""


def fields(record: object) -> tuple[str, ...]:
    """Return the names of a record's own fields."""
    names: tuple[str, ...] = getattr(type(record), "__match_args__")  # noqa: B009 - a record of any technology has it
    return names


def event(number: int) -> Any:
    """Return one event, whatever its class."""
    return run_prologue().events[number]


def parts(run: PrologueRun) -> list[Any]:
    """Return everything of a run that a caller can get hold of."""
    call: Any = run.events[2]
    return [run, run.events, *run.events, call.arguments, run.result]


def changes(value: Any) -> list[Callable[[], object]]:
    """Return the ordinary routes of changing a value."""
    names = [name for name in dir(value) if not name.startswith("__")] + ["something_new"]
    key = "left" if value == {"left": 20, "right": 22} else 0
    return [
        *[partial(setattr, value, name, "changed") for name in names],
        *[partial(delattr, value, name) for name in names],
        lambda: value.__setitem__(key, 1),
        lambda: value.__delitem__(key),
        lambda: value.append(1),
        lambda: value.pop(),
        lambda: value.clear(),
        lambda: value.update({"left": 1}),
    ]


def refuses_every_change(run: PrologueRun) -> None:
    before = json.dumps(run.to_wire())
    for part in parts(run):
        for change in changes(part):
            with pytest.raises((AttributeError, TypeError)):
                change()
    assert json.dumps(run.to_wire()) == before


class TestContent:
    @pytest.mark.criterion("00.01", "00.04")
    def test_a_run_has_events_and_a_result_and_nothing_else(self) -> None:
        run = run_prologue()
        assert type(run) is PrologueRun
        assert fields(run) == ("events", "result")
        assert fields(run.result) == ("status", "final_text")
        assert run.result == PrologueResult("completed", "The sum is 42.")

    @pytest.mark.criterion("00.02", "00.07")
    def test_eight_events_stand_in_order(self) -> None:
        events = run_prologue().events
        assert [event.type for event in events] == [kind for _, kind, _ in ROWS]
        assert [event.sequence for event in events] == list(range(8))

    @pytest.mark.criterion("00.03", "00.11")
    def test_call_and_result_share_one_id(self) -> None:
        assert event(4).tool_call_id == event(2).tool_call_id == CALL_ID
        assert not hasattr(event(4), "tool_name")

    @pytest.mark.criterion("00.08")
    def test_the_result_says_what_the_events_said(self) -> None:
        result = run_prologue().result
        assert (event(7).status, event(6).text) == (result.status, result.final_text)

    @pytest.mark.criterion("00.09", "00.10")
    def test_later_things_stand_later(self) -> None:
        kinds = [event.type for event in run_prologue().events]
        assert kinds.index("tool_result_appended") < len(kinds) - 1 - kinds[::-1].index("model_stream_opened")
        assert event(1).stream_id != event(5).stream_id
        assert kinds.index("tool_execution_started") > kinds.index("tool_call_completed")
        assert (event(3).tool_call_id, event(3).tool_name) == (event(2).tool_call_id, event(2).tool_name)

    @pytest.mark.criterion("00.17")
    @pytest.mark.parametrize("number", range(8))
    def test_each_event_is_the_table_s(self, number: int) -> None:
        kind, discriminant, own = ROWS[number]
        found = event(number)
        assert type(event(number)) is kind
        assert event(number).type == discriminant
        assert fields(found) == ("sequence", *own)
        assert {name: getattr(found, name) for name in own} == own

    @pytest.mark.criterion("00.18", "00.19")
    def test_numbers_are_exact_integers(self) -> None:
        arguments = event(2).arguments
        assert arguments == {"left": 20, "right": 22}
        assert [type(value) for value in arguments.values()] == [int, int]
        assert (event(4).result, type(event(4).result)) == (42, int)


class TestCall:
    @pytest.mark.criterion("00.12")
    def test_every_call_gives_the_same_object(self) -> None:
        seen: list[PrologueRun] = []
        threads = [threading.Thread(target=lambda: seen.append(run_prologue())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert {id(run) for run in seen} == {id(run_prologue())}

    @pytest.mark.criterion("00.13")
    def test_needs_no_network_file_clock_or_chance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_args: object, **_kwargs: object) -> object:
            raise AssertionError("reached outside")

        expected = run_prologue()
        from kickwheel import _prologue

        with monkeypatch.context() as patched:
            patched.setattr(_prologue, "_kept", {})
            for module, name in (
                (socket, "socket"),
                (builtins, "open"),
                (time, "time"),
                (time, "monotonic"),
                (random, "random"),
                (os, "urandom"),
            ):
                patched.setattr(module, name, refuse)
            built = run_prologue()
        assert built == expected

    @pytest.mark.criterion("00.20")
    def test_is_an_ordinary_function(self) -> None:
        assert inspect.isfunction(run_prologue)
        assert not inspect.iscoroutinefunction(run_prologue)
        assert list(inspect.signature(run_prologue).parameters) == []
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        assert run_prologue().result.status == "completed"

    @pytest.mark.criterion("00.B4")
    def test_starts_no_loop_thread_or_process(self) -> None:
        program = (
            "import sys, threading\n"
            "from kickwheel import run_prologue\n"
            "assert run_prologue().result.final_text == 'The sum is 42.'\n"
            "assert threading.active_count() == 1\n"
            "assert not {'asyncio', 'subprocess', 'multiprocessing'} & set(sys.modules)\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True, timeout=30)

    @pytest.mark.criterion("00.01")
    def test_the_names_are_exported(self) -> None:
        names = {kind.__name__ for kind in RECORDS} | {"PrologueEvent", "run_prologue"}
        assert names <= set(kickwheel.__all__)
        assert len(RECORDS) == 9


class TestImmutability:
    @pytest.mark.criterion("00.05", "00.14")
    def test_nothing_of_a_run_can_be_changed(self) -> None:
        run = run_prologue()
        assert type(run.events) is tuple
        refuses_every_change(run)

    @pytest.mark.criterion("00.06")
    def test_a_caller_s_attempts_leave_the_trace_as_it_is(self) -> None:
        run: Any = run_prologue()
        with pytest.raises((AttributeError, TypeError)):
            run.events.pop()
        with pytest.raises((AttributeError, TypeError)):
            event(2).arguments["left"] = 1
        with pytest.raises((AttributeError, TypeError)):
            run.result.final_text = "43"
        assert len(run.events) == 8
        assert event(2).arguments == {"left": 20, "right": 22}
        assert run.result.final_text == "The sum is 42."

    @pytest.mark.criterion("00.15")
    def test_no_record_has_a_dict(self) -> None:
        assert not any(hasattr(part, "__dict__") for part in parts(run_prologue()))

    @pytest.mark.criterion("00.16")
    @pytest.mark.parametrize("protocol", [None, -1, *range(pickle.HIGHEST_PROTOCOL + 1)])
    def test_copies_are_equal_and_as_immutable(self, protocol: int | None) -> None:
        run = run_prologue()
        copied = (copy.copy(run), copy.deepcopy(run)) if protocol is None else (repickled(run, protocol),)
        for other in copied:
            assert other == run
            refuses_every_change(other)

    @pytest.mark.criterion("00.21")
    @pytest.mark.parametrize("number", range(8))
    def test_a_deep_copy_of_an_event_is_equal_with_the_same_hash(self, number: int) -> None:
        copied = copy.deepcopy(event(number))
        assert copied == event(number)
        assert hash(copied) == hash(event(number))

    @pytest.mark.criterion("00.22")
    @pytest.mark.parametrize("kind", RECORDS)
    def test_no_record_has_descendants(self, kind: type[object]) -> None:
        with pytest.raises(TypeError):
            type("Sub", (kind,), {})

    @pytest.mark.criterion("00.23")
    @pytest.mark.parametrize("number", range(8))
    def test_a_type_can_neither_be_assigned_nor_passed(self, number: int) -> None:
        found = event(number)
        with pytest.raises((AttributeError, TypeError)):
            found.type = found.type
        values = {name: getattr(found, name) for name in fields(found)}
        assert type(found)(**values) == found
        with pytest.raises(TypeError):
            type(found)(**values, type=found.type)


def repickled(run: PrologueRun, protocol: int) -> PrologueRun:
    again: PrologueRun = pickle.loads(pickle.dumps(run, protocol))
    return again


class TestWireForm:
    @pytest.mark.criterion("00.B1")
    def test_is_plain_data_in_the_order_shown(self) -> None:
        wire = run_prologue().to_wire()
        assert json.dumps(wire) == json.dumps(json.loads(WIRE))
        events: Any = wire["events"]
        assert [type(wire), type(events), type(events[2]), type(events[2]["arguments"])] == [
            dict,
            list,
            dict,
            dict,
        ]

    @pytest.mark.criterion("00.B2")
    def test_is_fresh_at_each_call(self) -> None:
        first: Any = run_prologue().to_wire()
        first["events"][2]["arguments"].clear()
        first["events"].clear()
        first.clear()
        assert run_prologue().to_wire() == json.loads(WIRE)
        assert event(2).arguments == {"left": 20, "right": 22}

    @pytest.mark.criterion("00.B3")
    def test_its_text_does_not_depend_on_the_hash_seed(self) -> None:
        program = (
            "import json\nfrom kickwheel import run_prologue\n"
            "print(json.dumps(run_prologue().to_wire(), separators=(',', ':')), end='')"
        )
        command = [sys.executable, "-c", program]
        texts = {
            subprocess.run(
                command,
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
                timeout=30,
            ).stdout
            for seed in ("0", "4242")
        }
        assert texts == {json.dumps(json.loads(WIRE), separators=(",", ":"))}


KINDS = [
    "user_message_accepted",
    "model_stream_opened",
    "tool_call_completed",
    "tool_execution_started",
    "tool_result_appended",
    "final_text_completed",
    "agent_ended",
]
CLASSES = [kind.__name__ for kind in RECORDS[:7]]


def handles(classes: list[str], mark: str) -> str:
    """Write a function that handles these event classes and nothing else."""
    names = ", ".join(sorted({*CLASSES, "PrologueEvent"}))
    lines = ["from typing import assert_never", f"from kickwheel import {names}", ""]
    lines += ["def check(event: PrologueEvent) -> int:", "    match event:"]
    for name in classes:
        lines += [f"        case {name}(sequence=sequence):", "            return sequence"]
    used = "" if len(classes) == len(CLASSES) else f"\nprint({', '.join(set(CLASSES) - set(classes))})"
    return "\n".join([*lines, "        case _:", f"            assert_never(event){mark}"]) + used + "\n"


def expects(kinds: list[str], mark: str) -> str:
    """Write a function that expects these discriminants."""
    listed = ", ".join(f'"{kind}"' for kind in kinds)
    return (
        "from typing import Literal, assert_type\nfrom kickwheel import PrologueEvent\n\n"
        f"def check(event: PrologueEvent) -> None:\n    assert_type(event.type, Literal[{listed}]){mark}\n"
    )


CHANGES = """from kickwheel import PrologueEvent, PrologueRun, ToolCallCompleted

def check(run: PrologueRun, event: PrologueEvent, call: ToolCallCompleted) -> None:
    run.events = ()  # !
    event.sequence = 1  # !
    call.arguments["left"] = 1  # !
    run.events.append(event)  # !
"""
SNIPPETS = {
    "all_handled": handles(CLASSES, ""),
    **{
        f"without_{name}": handles([other for other in CLASSES if other != name], "  # !") for name in CLASSES
    },
    "seven_types": expects(KINDS[::-1], ""),
    "six_types": expects(KINDS[1:], "  # !"),
    "eight_types": expects([*KINDS, "run_started"], "  # !"),
    "changes": CHANGES,
}
CHECKER = shutil.which("basedpyright", path=str(Path(sys.executable).parent)) or shutil.which("basedpyright")


@pytest.mark.skipif(CHECKER is None, reason="needs basedpyright")
@pytest.mark.criterion("00.30", "00.31", "00.32", "00.33")
def test_the_checker_finds_exactly_the_marked_lines(tmp_path: Path) -> None:
    for name, text in SNIPPETS.items():
        (tmp_path / f"{name}.py").write_text(text)
    project = tmp_path / "pyrightconfig.json"
    project.write_text(json.dumps({"include": ["."], "typeCheckingMode": "strict", "pythonVersion": "3.11"}))
    assert CHECKER
    command = [CHECKER, "--project", str(project), "--pythonpath", sys.executable, "--outputjson"]
    report = json.loads(
        subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout
    )
    errors: dict[str, set[int]] = {name: set() for name in SNIPPETS}
    for found in report["generalDiagnostics"]:
        errors[Path(found["file"]).stem].add(found["range"]["start"]["line"] + 1)
    marked = {
        name: {number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# !")}
        for name, text in SNIPPETS.items()
    }
    assert errors == marked
