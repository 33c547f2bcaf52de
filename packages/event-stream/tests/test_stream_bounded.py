"""The bounded form: capacity, room, and sends that wait."""

import asyncio

import pytest

from kickwheel_event_stream import EventStream, StreamClosedError


async def turn() -> None:
    await asyncio.sleep(0)


def bounded(capacity: int = 2, *events: str) -> EventStream[str, int]:
    stream: EventStream[str, int] = EventStream(capacity=capacity)
    for event in events:
        stream.push(event)
    return stream


async def start(stream: EventStream[str, int], *events: str) -> list[asyncio.Task[None]]:
    sends = [asyncio.create_task(stream.send(event)) for event in events]
    await turn()
    return sends


@pytest.mark.criterion("02.B1")
@pytest.mark.parametrize(
    ("capacity", "error"),
    [
        (0, ValueError),
        (-1, ValueError),
        (True, TypeError),
        (False, TypeError),
        (1.0, TypeError),
        ("1", TypeError),
    ],
)
def test_a_capacity_is_a_positive_integer(capacity: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="capacity"):
        EventStream[str, int](capacity=capacity)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.criterion("02.B2")
def test_the_capacity_can_be_read_and_not_assigned() -> None:
    stream = bounded(3)
    assert (stream.capacity, EventStream[str, int]().capacity) == (3, None)
    with pytest.raises(AttributeError):
        stream.capacity = 5  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.criterion("02.B3")
async def test_as_many_sends_as_there_is_room_do_not_wait() -> None:
    stream = bounded(2)
    await stream.send("A")
    await stream.send("B")
    (blocked,) = await start(stream, "C")
    assert not blocked.done()
    iterator = aiter(stream)
    assert [await anext(iterator) for _ in range(3)] == ["A", "B", "C"]
    await blocked


@pytest.mark.criterion("02.B4")
async def test_one_read_lets_one_waiting_send_complete() -> None:
    stream = bounded(1, "A")
    first, second = await start(stream, "B", "C")
    iterator = aiter(stream)
    assert await anext(iterator) == "A"
    await first
    assert not second.done()
    assert [await anext(iterator), await anext(iterator)] == ["B", "C"]
    await second


@pytest.mark.criterion("02.B5")
async def test_waiting_sends_complete_in_the_order_they_were_called() -> None:
    stream = bounded(1, "A")
    done: list[str] = []

    async def send(event: str) -> None:
        await stream.send(event)
        done.append(event)

    sends = [asyncio.ensure_future(send(event)) for event in "BCD"]
    await turn()
    iterator = aiter(stream)
    received = [await anext(iterator) for _ in range(4)]
    await asyncio.gather(*sends)
    assert (received, done) == (list("ABCD"), list("BCD"))


@pytest.mark.criterion("02.B6")
async def test_a_send_to_a_waiting_read_does_not_wait() -> None:
    stream = bounded(1)
    read = asyncio.ensure_future(anext(aiter(stream)))
    await turn()
    (send,) = await start(stream, "A")
    assert send.done()
    assert await read == "A"


@pytest.mark.criterion("02.B7")
async def test_push_neither_finds_room_in_a_full_stream_nor_overtakes_a_send() -> None:
    stream = bounded(1, "A")
    with pytest.raises(asyncio.QueueFull):
        stream.push("lost")
    (send,) = await start(stream, "B")
    iterator = aiter(stream)
    assert await anext(iterator) == "A"  # B has taken the room
    with pytest.raises(asyncio.QueueFull):
        stream.push("lost")
    await send
    assert await anext(iterator) == "B"
    stream.push("C")
    assert await anext(iterator) == "C"


@pytest.mark.criterion("02.B8")
async def test_a_cancelled_send_is_never_delivered_and_the_others_keep_their_order() -> None:
    stream = bounded(1, "A")
    first, second, third, fourth = await start(stream, "B", "C", "D", "E")
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    first.cancel()  # it has not run yet when room appears
    iterator = aiter(stream)
    assert await anext(iterator) == "A"
    await third
    assert [await anext(iterator), await anext(iterator)] == ["D", "E"]
    await fourth
    assert first.cancelled()


@pytest.mark.criterion("02.B9")
@pytest.mark.parametrize("end", ["finish", "fail"])
async def test_the_end_refuses_waiting_sends_and_keeps_what_was_accepted(end: str) -> None:
    stream = bounded(1, "A")
    sends = await start(stream, "B", "C")
    if end == "finish":
        stream.finish(1)
    else:
        stream.fail(ValueError("broken"))
    outcomes = await asyncio.gather(*sends, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StreamClosedError] * 2
    iterator = aiter(stream)
    assert await anext(iterator) == "A"
    with pytest.raises(StopAsyncIteration if end == "finish" else ValueError):
        await anext(iterator)


@pytest.mark.criterion("02.B9", "02.B8")
async def test_a_send_cancelled_in_the_turn_of_the_end_is_cancelled() -> None:
    stream = bounded(1, "A")
    (send,) = await start(stream, "B")
    send.cancel()
    stream.finish(1)
    with pytest.raises(asyncio.CancelledError):
        await send
    assert [event async for event in stream] == ["A"]


@pytest.mark.criterion("02.B10")
@pytest.mark.parametrize("capacity", [None, 1])
async def test_a_terminal_stream_refuses_a_send(capacity: int | None) -> None:
    stream: EventStream[str, int] = EventStream(capacity=capacity)
    stream.finish(1)
    with pytest.raises(StreamClosedError, match=r"already terminal \(finished\)"):
        await stream.send("late")


@pytest.mark.criterion("02.B11")
async def test_the_terminal_takes_no_room() -> None:
    stream = bounded(1, "A")
    stream.finish(1)
    assert await stream.result == 1
    other = bounded(1, "A")
    other.fail(ValueError("broken"))
    assert other.state == "failed"


@pytest.mark.criterion("02.B12")
async def test_a_waiting_send_outlives_the_iterator() -> None:
    stream = bounded(1, "A")
    first = aiter(stream)
    (send,) = await start(stream, "B")
    await first.aclose()
    await turn()
    assert not send.done()
    second = aiter(stream)
    assert [await anext(second), await anext(second)] == ["A", "B"]
    await send


@pytest.mark.criterion("02.B13")
async def test_without_capacity_send_is_push() -> None:
    stream: EventStream[int, None] = EventStream()
    for number in range(1000):
        await stream.send(number)
    stream.finish(None)
    assert [event async for event in stream] == list(range(1000))


@pytest.mark.criterion("02.B14")
async def test_a_slow_consumer_holds_the_producer_back() -> None:
    capacity = 4
    stream: EventStream[int, None] = EventStream(capacity=capacity)
    accepted = read = most = 0

    async def produce() -> None:
        nonlocal accepted, most
        for number in range(1000):
            await stream.send(number)
            accepted += 1
            most = max(most, accepted - read)
        stream.finish(None)

    producer = asyncio.ensure_future(produce())
    received: list[int] = []
    async for event in stream:
        read += 1
        received.append(event)
        if read % 3 == 0:
            await turn()
    await producer
    assert received == list(range(1000))
    assert most <= capacity + 1


@pytest.mark.criterion("02.B14", "02.B5")
async def test_a_read_behind_one_that_was_served_makes_room_as_well() -> None:
    stream = bounded(1)
    iterator = aiter(stream)
    older = asyncio.ensure_future(anext(iterator))
    await turn()
    stream.push("A")  # goes to the older read, which has not run yet
    stream.push("B")
    send = asyncio.ensure_future(stream.send("C"))
    younger = asyncio.ensure_future(anext(iterator))
    assert (await older, await younger) == ("A", "B")
    await send
    assert await anext(iterator) == "C"
