"""The state tables are what the code does, cell by cell."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from kickwheel_event_stream import AbortError, EventStream, StreamBusyError, StreamClosedError
from kickwheel_event_stream._states import (
    HAPPENINGS,
    ITERATOR_STATES,
    OPERATIONS,
    STATES,
    iterator_diagram,
    stream_diagram,
)

RESULT = object()
ERROR = ValueError("the failure")

Stream: TypeAlias = EventStream[str, object]


async def turns() -> None:
    for _ in range(4):
        await asyncio.sleep(0)


def settle(stream: Stream, state: str) -> Stream:
    if state == "finished":
        stream.finish(RESULT)
    elif state == "failed":
        stream.fail(ERROR)
    return stream


def outcome_of_state(stream: Stream) -> str:
    return f"to {stream.state}"


async def watch(awaitable: Awaitable[object]) -> str:
    """Say how an awaitable ends: waits, end, failure, result, or the event."""
    task = asyncio.ensure_future(awaitable)
    await turns()
    if not task.done():
        task.cancel()
        await asyncio.wait([task])
        return "waits"
    if (error := task.exception()) is not None:
        if isinstance(error, StopAsyncIteration):
            return "end"
        return "failure" if error is ERROR else type(error).__name__
    return "result" if task.result() is RESULT else str(task.result())


def refusal(call: Callable[[], object], accepted: Callable[[], str]) -> str:
    try:
        call()
    except (StreamClosedError, StreamBusyError, asyncio.QueueFull) as error:
        return type(error).__name__
    return accepted()


def is_free(stream: Stream) -> bool:
    try:
        aiter(stream)
    except StreamBusyError:
        return False
    return True


# One function an operation of the first table, under the table's own name.


async def push_with_room(state: str) -> str:
    stream = settle(EventStream(), state)
    return refusal(lambda: stream.push("A"), lambda: "accepted")


async def push_when_full(state: str) -> str:
    stream: Stream = EventStream(capacity=1)
    stream.push("A")
    settle(stream, state)
    return refusal(lambda: stream.push("B"), lambda: "accepted")


async def send_with_room(state: str) -> str:
    found = await watch(settle(EventStream(capacity=1), state).send("A"))
    return "accepted" if found == "None" else found


async def send_when_full(state: str) -> str:
    stream: Stream = EventStream(capacity=1)
    stream.push("A")
    return await watch(settle(stream, state).send("B"))


async def finish(state: str) -> str:
    stream = settle(EventStream(), state)
    return refusal(lambda: stream.finish(RESULT), lambda: outcome_of_state(stream))


async def fail(state: str) -> str:
    stream = settle(EventStream(), state)
    return refusal(lambda: stream.fail(ERROR), lambda: outcome_of_state(stream))


async def aiter_slot_free(state: str) -> str:
    stream = settle(EventStream(), state)
    return refusal(lambda: aiter(stream), lambda: "iterator")


async def aiter_slot_taken(state: str) -> str:
    stream: Stream = EventStream()
    stream.push("A")
    aiter(settle(stream, state))
    return refusal(lambda: aiter(stream), lambda: "iterator")


async def read_event_buffered(state: str) -> str:
    stream: Stream = EventStream()
    stream.push("A")
    stream.push("B")
    found = await watch(anext(aiter(settle(stream, state))))
    return "oldest event" if found == "A" else found


async def read_buffer_empty(state: str) -> str:
    stream = settle(EventStream(), state)
    iterator = aiter(stream)
    found = await watch(anext(iterator))
    if not is_free(stream):
        return found
    assert await watch(anext(iterator)) == "end"
    return f"{found}, iterator closed"


async def iterator_aclose(state: str) -> str:
    stream: Stream = EventStream()
    iterator = aiter(stream)
    waiting = asyncio.ensure_future(anext(iterator)) if state == "open" else None
    if waiting is None:
        stream.push("A")
    await turns()
    settle(stream, state)
    await iterator.aclose()
    assert is_free(stream)
    if waiting is None:
        assert await watch(anext(iterator)) == "end"
    else:
        assert await watch(waiting) == "end"
    return "reads end, slot free"


async def await_result(state: str) -> str:
    return await watch(settle(EventStream(), state).result)


async def stream_aclose_no_hook(state: str) -> str:
    stream = settle(EventStream(), state)
    await stream.aclose()
    if state == "open":
        assert await watch(stream.result) == AbortError.__name__
        return outcome_of_state(stream)
    assert await watch(stream.result) == {"finished": "result", "failed": "failure"}[state]
    return f"stays {stream.state}"


async def stream_aclose_hook_settles(state: str) -> str:
    calls: list[str] = []

    def hook() -> None:
        calls.append("hook")
        if stream.state == "open":
            stream.finish(RESULT)

    stream: Stream = EventStream(on_close=hook)
    settle(stream, state)
    await stream.aclose()
    assert calls == ["hook"]
    assert await watch(stream.result) == ("failure" if state == "failed" else "result")
    return f"hook, to {stream.state}" if state == "open" else f"hook, stays {stream.state}"


OPERATION_PROBES: dict[str, Callable[[str], Awaitable[str]]] = {
    "push with room": push_with_room,
    "push when full": push_when_full,
    "send with room": send_with_room,
    "send when full": send_when_full,
    "finish": finish,
    "fail": fail,
    "aiter, slot free": aiter_slot_free,
    "aiter, slot taken": aiter_slot_taken,
    "read, event buffered": read_event_buffered,
    "read, buffer empty": read_buffer_empty,
    "iterator aclose": iterator_aclose,
    "await result": await_result,
    "stream aclose, no hook": stream_aclose_no_hook,
    "stream aclose, hook settles": stream_aclose_hook_settles,
}


@pytest.mark.criterion("02.70")
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_an_operation_does_what_the_table_says(operation: str, state: str) -> None:
    expected = OPERATIONS[operation][STATES.index(state)]
    assert await OPERATION_PROBES[operation](state) == expected


# The second table. `idle` and `closed` have an iterator without reads, `reading` one with two.


async def prepared(iterator_state: str, *events: str) -> "tuple[Stream, Reader]":
    stream: Stream = EventStream()
    reader = Reader(stream)
    if iterator_state == "reading":
        await reader.start_two()
    elif iterator_state == "closed":
        await reader.iterator.aclose()
    for event in events:
        stream.push(event)
    return stream, reader


class Reader:
    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.iterator = aiter(stream)
        self.reads: list[asyncio.Future[str]] = []

    async def start_two(self) -> None:
        self.reads = [asyncio.ensure_future(anext(self.iterator)) for _ in range(2)]
        await turns()

    async def all_reads(self) -> set[str]:
        return {await watch(read) for read in self.reads}

    async def slot(self) -> str:
        """Tell whether the iterator is closed and the slot free: both, or neither."""
        if not is_free(self.stream):
            return "idle"
        assert await watch(anext(self.iterator)) == "end"
        return "closed, slot free"


async def event_arrives(state: str) -> str:
    stream, reader = await prepared(state)
    stream.push("A")
    if state == "reading":
        assert [await watch(read) for read in reader.reads] == ["A", "waits"]
        return "oldest read gets it"
    iterator = aiter(stream) if state == "closed" else reader.iterator
    assert await watch(anext(iterator)) == "A"
    return "buffered"


async def end_with_empty_buffer(state: str, end: str) -> str:
    stream, reader = await prepared(state)
    settle(stream, end)
    slot = await reader.slot()
    if state == "reading":
        ends = {"finished": "reads end", "failed": "reads raise"}[end]
        assert await reader.all_reads() == {"end" if end == "finished" else "failure"}
        return f"{ends}, {slot}"
    if end == "failed":
        assert await watch(anext(reader.iterator)) == "failure"
        return f"{slot}, failure owed"
    return slot


async def end_with_buffer(state: str, end: str) -> str:
    stream, reader = await prepared(state, "A")
    settle(stream, end)
    slot = await reader.slot()
    assert await watch(anext(reader.iterator)) == "A"
    return slot


async def reader_cancelled(state: str) -> str:
    stream, reader = await prepared(state)
    reader.reads[0].cancel()
    stream.push("A")
    assert await watch(reader.reads[1]) == "A"
    return "one read fewer, no event lost"


async def closing(state: str) -> str:
    stream, reader = await prepared(state)
    newer = aiter(stream) if state == "closed" else None
    await reader.iterator.aclose()
    if newer is not None:
        assert not is_free(stream)
        return "nothing"
    slot = await reader.slot()
    if state == "reading":
        assert await reader.all_reads() == {"end"}
        return f"reads end, {slot}"
    return slot


async def reading(state: str) -> str:
    stream, reader = await prepared(state)
    if state == "closed":
        stream.push("A")
        return await watch(anext(reader.iterator))
    read = asyncio.ensure_future(anext(reader.iterator))
    await turns()
    for event in "ABC"[: len(reader.reads) + 1]:
        stream.push(event)
    await turns()
    assert [await watch(each) for each in (*reader.reads, read)] == list("ABC")[: len(reader.reads) + 1]
    return "queued behind the others" if reader.reads else "waits or is answered"


HAPPENING_PROBES: dict[str, Callable[[str], Awaitable[str]]] = {
    "event arrives": event_arrives,
    "finish, buffer empty": lambda state: end_with_empty_buffer(state, "finished"),
    "fail, buffer empty": lambda state: end_with_empty_buffer(state, "failed"),
    "finish, buffer not empty": lambda state: end_with_buffer(state, "finished"),
    "fail, buffer not empty": lambda state: end_with_buffer(state, "failed"),
    "reader cancelled": reader_cancelled,
    "aclose": closing,
    "read": reading,
}

FILLED = [
    pytest.param(happening, state, outcome, id=f"{happening}-{state}")
    for happening, outcomes in HAPPENINGS.items()
    for state, outcome in zip(ITERATOR_STATES, outcomes, strict=True)
    if outcome
]


@pytest.mark.criterion("02.71")
@pytest.mark.parametrize(("happening", "state", "expected"), FILLED)
async def test_a_happening_does_what_the_table_says(happening: str, state: str, expected: str) -> None:
    assert await HAPPENING_PROBES[happening](state) == expected


@pytest.mark.criterion("02.70")
def test_the_stream_diagram_is_drawn_from_the_table() -> None:
    assert stream_diagram() == (
        "stateDiagram-v2",
        "    [*] --> open",
        "    open --> finished: finish",
        "    open --> failed: fail",
        "    open --> failed: stream aclose, no hook",
        "    open --> finished: stream aclose, hook settles",
        "    finished --> finished: push, send, finish, fail raise StreamClosedError",
        "    failed --> failed: push, send, finish, fail raise StreamClosedError",
    )


@pytest.mark.criterion("02.71")
def test_the_iterator_diagram_is_drawn_from_the_table() -> None:
    lines = iterator_diagram()
    assert lines[0] == "stateDiagram-v2"
    assert {
        "    [*] --> idle: aiter(stream)",
        "    idle --> closed: finish, buffer empty",
        "    idle --> idle: fail, buffer empty",
        "    idle --> reading: read, buffer empty",
        "    reading --> closed: fail, buffer empty",
        "    reading --> idle: last read answered",
        "    closed --> [*]",
    } <= set(lines)
    assert len(set(lines)) == len(lines)
