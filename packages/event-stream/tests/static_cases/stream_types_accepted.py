"""Passes a strict type checker without an ignore."""

from typing import assert_type

from kickwheel_event_stream import AbortController, EventStream, race_abort


async def use(stream: EventStream[int, str]) -> None:
    stream.push(1)
    await stream.send(2)
    stream.finish("done")
    async for event in stream:
        assert_type(event, int)
    iterator = aiter(stream)
    assert_type(await anext(iterator), int)
    assert_type(await race_abort(anext(iterator), AbortController().signal), int)
    assert_type(await race_abort(stream.result, None), str)
    assert_type(await stream.result, str)
    async with stream as same:
        assert_type(same, EventStream[int, str])
