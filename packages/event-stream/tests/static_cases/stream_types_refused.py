"""Each marked line is an error to a strict type checker."""

from kickwheel_event_stream import EventStream


def misuse(stream: EventStream[int, str]) -> None:
    stream.push("x")  # refused
    stream.finish(1)  # refused
    stream.fail("x")  # refused
    stream.fail(ValueError)  # refused
    stream.state = "open"  # refused
