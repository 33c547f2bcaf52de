"""The one consumer slot, and readers that are cancelled, time out or are replaced."""

import asyncio
import contextlib

import pytest

from kickwheel_event_stream import EventStream, StreamBusyError


async def turn() -> None:
    await asyncio.sleep(0)


def opened() -> EventStream[str, int]:
    return EventStream()


async def ends(read: "asyncio.Future[str]") -> bool:
    (outcome,) = await asyncio.gather(read, return_exceptions=True)
    return isinstance(outcome, StopAsyncIteration)


@pytest.mark.criterion("02.30")
async def test_a_second_iterator_is_refused_at_once() -> None:
    stream = opened()
    first = aiter(stream)
    with pytest.raises(StreamBusyError, match="single consumer") as caught:
        aiter(stream)
    assert isinstance(caught.value, RuntimeError)
    stream.push("A")
    assert await anext(first) == "A"


@pytest.mark.criterion("02.31")
async def test_a_second_iterator_receives_the_later_events() -> None:
    stream = opened()
    first = aiter(stream)
    stream.push("A")
    assert await anext(first) == "A"
    await first.aclose()
    second = aiter(stream)
    stream.push("B")
    assert await anext(second) == "B"


@pytest.mark.criterion("02.32", "02.55")
async def test_closing_an_iterator_ends_its_waiting_reads_and_frees_the_slot() -> None:
    stream = opened()
    iterator = aiter(stream)
    reads = [asyncio.ensure_future(anext(iterator)) for _ in range(3)]
    await turn()
    await iterator.aclose()
    aiter(stream)
    assert [await ends(read) for read in reads] == [True, True, True]


@pytest.mark.criterion("02.33")
async def test_unread_events_stay_for_the_next_iterator() -> None:
    stream = opened()
    first = aiter(stream)
    for event in "ABC":
        stream.push(event)
    assert await anext(first) == "A"
    await first.aclose()
    assert stream.state == "open"
    second = aiter(stream)
    assert [await anext(second), await anext(second)] == ["B", "C"]


@pytest.mark.criterion("02.34", "02.64")
async def test_a_closed_iterator_is_at_its_end_although_the_stream_has_events() -> None:
    stream = opened()
    iterator = aiter(stream)
    stream.push("A")
    await iterator.aclose()
    await iterator.aclose()
    for _ in range(2):
        with pytest.raises(StopAsyncIteration):
            await anext(iterator)
    assert await anext(aiter(stream)) == "A"


@pytest.mark.criterion("02.35")
async def test_closing_an_old_iterator_again_leaves_the_newer_one_its_slot() -> None:
    stream = opened()
    old = aiter(stream)
    await old.aclose()
    new = aiter(stream)
    read = asyncio.ensure_future(anext(new))
    await turn()
    await old.aclose()
    with pytest.raises(StreamBusyError):
        aiter(stream)
    stream.push("A")
    assert await read == "A"


@pytest.mark.criterion("02.36")
async def test_an_iterator_at_its_end_has_freed_the_slot() -> None:
    stream = opened()
    stream.push("A")
    stream.finish(1)
    iterator = aiter(stream)
    assert await anext(iterator) == "A"
    with pytest.raises(StreamBusyError):
        aiter(stream)
    with pytest.raises(StopAsyncIteration):
        await anext(iterator)
    aiter(stream)


@pytest.mark.criterion("02.37")
async def test_an_iterator_is_its_own_iterator() -> None:
    iterator = aiter(opened())
    assert aiter(iterator) is iterator


@pytest.mark.criterion("02.38")
async def test_closing_the_iterator_neither_stops_nor_tells_the_producer() -> None:
    told: list[str] = []
    stream: EventStream[str, int] = EventStream(on_close=lambda: told.append("closed"))
    await aiter(stream).aclose()
    stream.push("A")
    stream.push("B")
    assert (stream.state, told) == ("open", [])
    second = aiter(stream)
    assert [await anext(second), await anext(second)] == ["A", "B"]


@pytest.mark.criterion("02.39")
async def test_contextlib_aclosing_frees_the_slot_after_a_break() -> None:
    stream = opened()
    stream.push("A")
    stream.push("B")
    async with contextlib.aclosing(aiter(stream)) as iterator:
        async for event in iterator:
            assert event == "A"
            break
    assert await anext(aiter(stream)) == "B"


@pytest.mark.criterion("02.50")
async def test_the_event_of_a_cancelled_read_goes_to_the_next_read_or_to_the_buffer() -> None:
    stream = opened()
    iterator = aiter(stream)
    first, second, third = [asyncio.ensure_future(anext(iterator)) for _ in range(3)]
    await turn()
    first.cancel()
    stream.push("A")  # the cancelled task has not run yet
    assert await second == "A"
    third.cancel()
    await turn()
    stream.push("B")
    assert first.cancelled()
    assert third.cancelled()
    assert await anext(iterator) == "B"


@pytest.mark.criterion("02.51")
async def test_an_event_pushed_in_the_turn_of_the_cancellation_comes_before_newer_ones() -> None:
    stream = opened()
    iterator = aiter(stream)
    read = asyncio.ensure_future(anext(iterator))
    await turn()
    stream.push("A")
    read.cancel()
    stream.push("B")
    await turn()
    await turn()
    assert read.cancelled()
    assert [await anext(iterator), await anext(iterator)] == ["A", "B"]


@pytest.mark.criterion("02.51")
async def test_an_event_taken_back_goes_to_the_read_that_waits_behind() -> None:
    stream = opened()
    iterator = aiter(stream)
    first, second, third = [asyncio.ensure_future(anext(iterator)) for _ in range(3)]
    await turn()
    stream.push("A")
    stream.push("B")
    first.cancel()
    assert await second == "A"
    assert await third == "B"
    assert first.cancelled()


@pytest.mark.criterion("02.51", "02.08")
async def test_an_event_taken_back_as_the_stream_finishes_is_still_delivered() -> None:
    stream = opened()
    iterator = aiter(stream)
    first, second, third = [asyncio.ensure_future(anext(iterator)) for _ in range(3)]
    await turn()
    stream.push("A")
    stream.push("B")
    stream.finish(1)
    first.cancel()
    assert await second == "A"
    assert await third == "B"


@pytest.mark.criterion("02.51")
async def test_the_last_event_taken_back_as_the_stream_finishes_can_be_read_by_anybody() -> None:
    for fresh in (False, True):
        stream = opened()
        iterator = aiter(stream)
        read = asyncio.ensure_future(anext(iterator))
        await turn()
        stream.push("A")
        stream.finish(1)
        read.cancel()
        await asyncio.wait([read])
        reader = aiter(stream) if fresh else iterator
        assert await anext(reader) == "A"
        with pytest.raises(StopAsyncIteration):
            await anext(reader)
        with pytest.raises(StopAsyncIteration):
            await anext(iterator)


@pytest.mark.criterion("02.34", "02.51")
async def test_an_iterator_closed_by_hand_takes_no_event_that_came_back() -> None:
    stream = opened()
    iterator = aiter(stream)
    read = asyncio.ensure_future(anext(iterator))
    await turn()
    stream.push("A")
    stream.finish(1)
    await iterator.aclose()
    read.cancel()
    await asyncio.wait([read])
    with pytest.raises(StopAsyncIteration):
        await anext(iterator)
    assert [event async for event in stream] == ["A"]


@pytest.mark.criterion("02.50")
async def test_a_read_served_in_the_turn_of_its_closing_keeps_its_event() -> None:
    stream = opened()
    iterator = aiter(stream)
    read = asyncio.ensure_future(anext(iterator))
    await turn()
    stream.push("A")
    await iterator.aclose()
    newer = asyncio.ensure_future(anext(aiter(stream)))
    stream.push("B")
    assert (await read, await newer) == ("A", "B")


@pytest.mark.criterion("02.52")
async def test_a_timed_out_read_loses_nothing() -> None:
    stream = opened()
    iterator = aiter(stream)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(iterator), 0.001)
    stream.push("A")
    stream.push("B")
    assert [await anext(iterator), await anext(iterator)] == ["A", "B"]


@pytest.mark.criterion("02.53")
async def test_a_cancelled_result_waiter_leaves_the_others_alone() -> None:
    stream = opened()
    kept = stream.result
    waiters = [asyncio.ensure_future(kept) for _ in range(3)]
    await turn()
    waiters[1].cancel()
    stream.finish(9)
    assert await asyncio.gather(waiters[0], waiters[2]) == [9, 9]
    assert waiters[1].cancelled()
    late = asyncio.ensure_future(kept)
    late.cancel()
    await asyncio.wait([late])
    assert await kept == 9


@pytest.mark.criterion("02.53")
async def test_a_result_waiter_that_times_out_leaves_nothing_behind() -> None:
    stream = opened()
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(stream.result, 0.001)
    other = asyncio.ensure_future(stream.result)
    await turn()
    stream.fail(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        await other


@pytest.mark.criterion("02.54")
async def test_concurrent_reads_are_legal_with_and_without_events() -> None:
    stream = opened()
    iterator = aiter(stream)
    stream.push("A")
    reads = [asyncio.ensure_future(anext(iterator)) for _ in range(4)]
    await turn()
    for event in "BCD":
        stream.push(event)
    assert await asyncio.gather(*reads) == ["A", "B", "C", "D"]


@pytest.mark.criterion("02.54")
async def test_a_read_that_runs_late_takes_the_event_that_is_left() -> None:
    stream = opened()
    iterator = aiter(stream)
    by_hand = anext(iterator)
    by_hand.send(None)  # waits, and is resumed by nobody but us
    task = asyncio.ensure_future(anext(iterator))
    await turn()
    stream.push("A")
    stream.push("B")
    assert await task == "A"
    with pytest.raises(StopIteration) as caught:
        by_hand.send(None)
    assert caught.value.value == "B"


@pytest.mark.criterion("02.04", "02.54")
async def test_a_younger_read_does_not_overtake_one_that_is_woken_a_turn_later() -> None:
    stream = opened()
    iterator = aiter(stream)
    oldest = asyncio.ensure_future(anext(iterator))
    await turn()
    middle = asyncio.ensure_future(anext(iterator))  # begins while the oldest has not taken its event yet
    youngest = asyncio.ensure_future(anext(iterator))
    stream.push("A")
    stream.push("B")
    await turn()
    stream.push("C")
    assert await asyncio.gather(oldest, middle, youngest) == ["A", "B", "C"]


@pytest.mark.criterion("02.50")
async def test_a_read_thrown_away_while_it_waits_leaves_nothing() -> None:
    stream = opened()
    iterator = aiter(stream)
    read = anext(iterator)
    read.send(None)
    read.close()
    stream.push("A")
    assert await anext(iterator) == "A"


@pytest.mark.criterion("02.54", "02.04")
async def test_a_read_started_while_the_only_event_is_on_its_way_waits_for_the_next() -> None:
    stream = opened()
    iterator = aiter(stream)
    older = asyncio.ensure_future(anext(iterator))
    await turn()
    stream.push("A")
    younger = anext(iterator)
    younger.send(None)  # the older read has been woken and has not run yet
    assert await older == "A"
    stream.push("B")
    with pytest.raises(StopIteration) as caught:
        younger.send(None)
    assert caught.value.value == "B"
