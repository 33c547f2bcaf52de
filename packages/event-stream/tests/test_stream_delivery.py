"""Delivery: order, buffering, waiting reads, values of any kind."""

import asyncio

import pytest

from kickwheel_event_stream import EventStream


async def turn() -> None:
    await asyncio.sleep(0)


@pytest.mark.criterion("02.01")
async def test_events_arrive_in_push_order_and_then_the_result() -> None:
    stream: EventStream[str, int] = EventStream()
    stream.push("A")
    stream.push("B")
    stream.finish(42)
    assert [event async for event in stream] == ["A", "B"]
    assert await stream.result == 42


@pytest.mark.criterion("02.02")
async def test_a_read_waits_for_an_event_and_gets_it_without_a_timer() -> None:
    stream: EventStream[str, int] = EventStream()
    read = asyncio.ensure_future(anext(aiter(stream)))
    for _ in range(5):
        await turn()
    assert not read.done()
    stream.push("A")
    await turn()
    await turn()
    assert read.done()
    assert read.result() == "A"


@pytest.mark.criterion("02.03", "02.04")
async def test_waiting_reads_are_served_in_the_order_they_were_started() -> None:
    stream: EventStream[str, int] = EventStream()
    iterator = aiter(stream)
    reads = [asyncio.ensure_future(anext(iterator)) for _ in range(3)]
    await turn()
    stream.push("A")
    stream.push("B")
    stream.finish(1)
    first, second, third = await asyncio.gather(*reads, return_exceptions=True)
    assert (first, second) == ("A", "B")
    assert isinstance(third, StopAsyncIteration)
    assert await stream.result == 1


@pytest.mark.criterion("02.04")
async def test_an_event_without_a_waiting_read_is_buffered_and_order_is_push_order() -> None:
    stream: EventStream[int, None] = EventStream()
    iterator = aiter(stream)
    waiting = [asyncio.ensure_future(anext(iterator)) for _ in range(2)]
    await turn()
    for number in range(4):
        stream.push(number)
    assert await asyncio.gather(*waiting) == [0, 1]
    assert [await anext(iterator), await anext(iterator)] == [2, 3]


@pytest.mark.criterion("02.04")
async def test_a_later_read_does_not_overtake_one_that_was_woken_but_has_not_run() -> None:
    stream: EventStream[str, None] = EventStream()
    iterator = aiter(stream)
    order: list[tuple[str, str]] = []

    async def read(name: str) -> None:
        order.append((name, await anext(iterator)))

    older = asyncio.ensure_future(read("older"))
    await turn()
    stream.push("A")
    stream.push("B")
    await read("younger")  # runs in the very turn of the pushes
    await older
    assert sorted(order) == [("older", "A"), ("younger", "B")]


@pytest.mark.criterion("02.05")
async def test_a_buffered_event_comes_before_the_end() -> None:
    stream: EventStream[str, int] = EventStream()
    stream.push("A")
    stream.finish(1)
    iterator = aiter(stream)
    assert await anext(iterator) == "A"
    with pytest.raises(StopAsyncIteration):
        await anext(iterator)


@pytest.mark.criterion("02.05")
async def test_a_buffered_event_comes_before_the_failure() -> None:
    stream: EventStream[str, int] = EventStream()
    stream.push("A")
    stream.fail(ValueError("broken"))
    iterator = aiter(stream)
    assert await anext(iterator) == "A"
    with pytest.raises(ValueError, match="broken"):
        await anext(iterator)


@pytest.mark.criterion("02.06")
async def test_without_capacity_any_number_of_events_is_buffered() -> None:
    stream: EventStream[int, str] = EventStream()
    for number in range(100_000):
        stream.push(number)
    stream.finish("done")
    assert [event async for event in stream] == list(range(100_000))


def _odd_values() -> list[object]:
    return [
        None,
        False,
        ValueError("a value"),
        StopAsyncIteration(),
        StopIteration(),
        asyncio.CancelledError(),
    ]


@pytest.mark.criterion("02.07")
@pytest.mark.parametrize("value", _odd_values(), ids=lambda value: type(value).__name__)
async def test_any_value_is_an_ordinary_event_and_an_ordinary_result(value: object) -> None:
    stream: EventStream[object, object] = EventStream()
    stream.push(value)
    stream.push(stream)
    stream.finish(value)
    received = [event async for event in stream]
    assert received[0] is value
    assert received[1] is stream
    assert await stream.result is value


@pytest.mark.criterion("02.07")
async def test_the_stream_itself_may_be_its_result() -> None:
    stream: EventStream[object, object] = EventStream()
    stream.finish(stream)
    assert await stream.result is stream


class Untouchable:
    """Every look at it raises."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("an event was looked at")

    def __bool__(self) -> bool:
        raise AssertionError("an event was looked at")

    def __hash__(self) -> int:
        raise AssertionError("an event was looked at")

    def __len__(self) -> int:
        raise AssertionError("an event was looked at")


@pytest.mark.criterion("02.09")
@pytest.mark.parametrize("capacity", [None, 4])
async def test_events_arrive_untouched(capacity: int | None) -> None:
    stream: EventStream[Untouchable, Untouchable] = EventStream(capacity=capacity)
    events = [Untouchable() for _ in range(4)]
    iterator = aiter(stream)
    waiting = asyncio.ensure_future(anext(iterator))
    await turn()
    for event in events:
        stream.push(event)
    received = [await waiting, await anext(iterator), await anext(iterator)]
    stream.finish(events[0])
    received.append(await anext(iterator))
    assert all(one is other for one, other in zip(received, events, strict=True))
    assert await stream.result is events[0]


@pytest.mark.criterion("02.07")
async def test_a_stream_shows_its_state_and_its_buffer() -> None:
    stream: EventStream[int, int] = EventStream()
    stream.push(1)
    assert repr(stream) == "<EventStream open, 1 buffered>"
