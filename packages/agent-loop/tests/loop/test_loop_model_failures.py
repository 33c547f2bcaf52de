"""A model that fails, and a model that breaks the contract of its stream."""

import asyncio
import contextlib
import gc
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import cast

import pytest
from loop_doubles import (
    USAGE,
    USER,
    Answer,
    FakeModel,
    FakeStream,
    Gate,
    Step,
    answers,
    call,
    chunks_of,
    collect,
    response_of,
    start,
    steps,
    told,
    tools,
    turns,
)

from kickwheel_event_stream import AbortController, EventStream
from kickwheel_protocol import (
    AssistantMessage,
    FailedRun,
    JsonObject,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Signal,
    TextBlock,
    TextDeltaChunk,
    ToolCall,
    ToolCallChunk,
    ToolContext,
    ToolStarted,
    to_wire,
)

ADD = call()


async def failed(model: FakeModel, events: str, code: str) -> FailedRun:
    seen, result = await collect(start(model))
    assert told(seen) == events
    assert type(result) is FailedRun
    assert result.error.code == code
    assert result.error.message.strip()
    assert result.messages == (USER,)
    assert not [event for event in seen if isinstance(event, ToolStarted)]
    await turns()
    return result


async def broken(answer: Answer, events: str = "a0 R1") -> None:
    """The model is asked once, and never again."""
    model = FakeModel(answer, answers("never asked"))
    await failed(model, events, "MODEL_PROTOCOL_ERROR")
    assert model.calls == 1


async def offline(answer: Answer, text: str, events: str = "a0 R1") -> None:
    model = FakeModel(answer)
    result = await failed(model, events, "MODEL_STREAM_FAILED")
    assert result.error.message == text


# The stream fails


@pytest.mark.criterion("07.44", "07.45")
async def test_a_read_that_fails_gives_the_text_of_its_error() -> None:
    await offline(steps(RuntimeError("provider offline")), "provider offline")


@pytest.mark.criterion("07.44")
async def test_an_event_stream_that_fails_gives_the_text_of_its_error() -> None:
    def answer(_request: ModelRequest, _signal: Signal) -> object:
        stream: EventStream[ModelChunk, ModelResponse] = EventStream()
        stream.fail(RuntimeError("provider offline"))
        return stream

    await offline(answer, "provider offline")


@pytest.mark.criterion("07.45")
async def test_a_model_that_raises_in_the_call_gives_the_text_of_its_error() -> None:
    def answer(_request: ModelRequest, _signal: Signal) -> object:
        raise ValueError("no key")

    await offline(answer, "no key")


@pytest.mark.criterion("07.45")
async def test_a_read_that_raises_without_being_awaited_gives_the_text_of_its_error() -> None:
    class Stream(FakeStream):
        def __anext__(self) -> Awaitable[object]:  # pyright: ignore[reportIncompatibleMethodOverride] - loose on purpose
            raise ValueError("no read")

    await offline(lambda _request, _signal: Stream([], []), "no read")


@pytest.mark.criterion("07.45", "07.46")
async def test_a_result_that_fails_after_the_chunks_gives_the_text_of_its_error() -> None:
    await offline(steps("hi", ending=[RuntimeError("cut off")]), "cut off", "a0 c1 R2")


@pytest.mark.criterion("07.45")
async def test_entering_a_stream_that_fails_gives_the_text_of_its_error() -> None:
    class Stream(FakeStream):
        async def __aenter__(self) -> object:
            raise RuntimeError("no line")

    stream = Stream([], [])
    await offline(lambda _request, _signal: stream, "no line")
    assert (stream.closed, stream.left) == (0, 0)


@pytest.mark.criterion("07.46")
@pytest.mark.parametrize("delivered", [0, 2])
async def test_a_producer_that_fails_ends_the_run_and_its_chunks_keep_their_events(delivered: int) -> None:
    events = " ".join(["a0", *[f"c{number}" for number in range(1, delivered + 1)], f"R{delivered + 1}"])

    def answer(request: ModelRequest, _signal: Signal) -> object:
        stream: EventStream[ModelChunk, ModelResponse] = EventStream()

        async def produce() -> None:
            await asyncio.sleep(0)
            for chunk in chunks_of(request.id, ["a", "b"][:delivered]):
                stream.push(chunk)
                await asyncio.sleep(0)
            stream.fail(RuntimeError("the producer died"))

        stream_task = asyncio.ensure_future(produce())
        produced.append(stream_task)
        return stream

    produced: list[asyncio.Task[None]] = []
    await offline(answer, "the producer died", events)
    await produced[0]


class Silent(Exception):  # noqa: N818 - a name for a test
    """An error without a text."""


@pytest.mark.criterion("07.44", "07.45")
@pytest.mark.parametrize("error", [Silent(), Silent(" \n"), StopIteration("odd")], ids=repr)
async def test_an_error_without_a_text_still_gives_a_message(error: Exception) -> None:
    await failed(FakeModel(steps("hi", ending=[error])), "a0 c1 R2", "MODEL_STREAM_FAILED")


@pytest.mark.criterion("07.87")
@pytest.mark.parametrize("where", ["call", "enter", "read", "read-now", "result"])
async def test_a_cancellation_that_nobody_asked_for_is_a_failure_of_the_stream(where: str) -> None:
    class Stream(FakeStream):
        async def __aenter__(self) -> object:
            if where == "enter":
                raise asyncio.CancelledError
            return self

        async def __anext__(self) -> object:
            if where == "read":
                other = asyncio.ensure_future(asyncio.Event().wait())
                other.cancel()
                await other
            if where == "read-now":
                raise asyncio.CancelledError("invented")
            raise StopAsyncIteration

    def answer(_request: ModelRequest, _signal: Signal) -> FakeStream:
        if where == "call":
            raise asyncio.CancelledError
        return Stream([], [asyncio.CancelledError()])

    await failed(FakeModel(answer), "a0 R1", "MODEL_STREAM_FAILED")


@pytest.mark.criterion("07.87")
async def test_an_invented_cancellation_leaves_its_text() -> None:
    await offline(steps(asyncio.CancelledError("invented")), "invented")


# The stream is none


def no_stream(kind: str) -> object:
    """Things that a careless model might give."""

    class NoIterator:
        result: object = None

    class NoResult:
        def __aiter__(self) -> object:
            raise AssertionError("it was iterated")

    def generate() -> Generator[int, None, None]:
        yield 1

    async def agenerate() -> AsyncIterator[int]:
        yield 1

    kinds: dict[str, object] = {
        "None": None,
        "list": list[object](),
        "generator": generate(),
        "no-aiter": NoIterator(),
        "no-result": NoResult(),
        "async-generator": agenerate(),
        "class": FakeStream,
        "text": "hi",
    }
    return kinds[kind]


@pytest.mark.criterion("07.47")
@pytest.mark.parametrize(
    "kind", ["None", "list", "generator", "no-aiter", "no-result", "async-generator", "class", "text"]
)
async def test_what_is_no_stream_is_a_broken_contract(kind: str) -> None:
    await broken(lambda _request, _signal: no_stream(kind))


class PassesOn:
    """Wraps a stream and hands on what it does not have itself."""

    def __init__(self, inner: object) -> None:
        self.inner = inner

    def __aiter__(self) -> object:
        return aiter(cast("FakeStream", self.inner))

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


async def test_a_wrapper_that_passes_the_result_on_is_a_stream() -> None:
    model = FakeModel(lambda request, signal: PassesOn(answers("hi")(request, signal)))
    events, result = await collect(start(model))
    assert told(events) == "a0 c1 R2"
    assert result.status == "completed"


@pytest.mark.criterion("07.48")
async def test_a_wrapper_that_has_no_result_to_pass_on_is_a_broken_contract() -> None:
    class Chunks:
        def __aiter__(self) -> object:
            return self

        async def __anext__(self) -> object:
            raise StopAsyncIteration

    await broken(lambda _request, _signal: PassesOn(Chunks()))


@pytest.mark.criterion("07.47")
async def test_a_coroutine_in_place_of_a_stream_is_closed_without_a_warning() -> None:
    coroutines: list[types.CoroutineType[object, object, object]] = []

    async def asynchronous() -> object:
        raise AssertionError("it was started")

    def answer(_request: ModelRequest, _signal: Signal) -> object:
        coroutine = asynchronous()
        coroutines.append(cast("types.CoroutineType[object, object, object]", coroutine))
        return coroutine

    await broken(answer)
    assert coroutines[0].cr_frame is None
    coroutines.clear()
    gc.collect()


@pytest.mark.criterion("07.47")
@pytest.mark.parametrize("when", ["failed", "fails-later", "never"])
async def test_a_future_in_place_of_a_stream_is_observed(when: str) -> None:
    futures: list[asyncio.Future[object]] = [asyncio.get_running_loop().create_future()]
    if when == "failed":
        futures[0].set_exception(RuntimeError("unseen"))
    await broken(lambda _request, _signal: futures[0])
    if when == "fails-later":
        futures[0].set_exception(RuntimeError("unseen"))
        await turns()
    futures.clear()
    gc.collect()


@pytest.mark.criterion("07.48")
async def test_a_stream_that_has_a_consumer_already_is_a_broken_contract() -> None:
    def answer(_request: ModelRequest, _signal: Signal) -> object:
        stream: EventStream[ModelChunk, ModelResponse] = EventStream()
        taken.append(aiter(stream))
        return stream

    taken: list[object] = []
    await broken(answer)


class OddlyIterated(FakeStream):
    """Its iterator is whatever a function gives."""

    def __init__(self, give: Callable[[], object]) -> None:
        super().__init__([], [])
        self.give = give

    def __aiter__(self) -> AsyncIterator[ModelChunk]:
        return cast("AsyncIterator[ModelChunk]", self.give())


class NowIterator:
    """Its reads are no awaitables."""

    def __init__(self) -> None:
        self.closed = 0

    def __aiter__(self) -> object:
        return self

    def __anext__(self) -> object:
        return TextDeltaChunk("request-001", "now")

    async def aclose(self) -> None:
        self.closed += 1


def fails() -> object:
    raise RuntimeError("no iterator")


@pytest.mark.criterion("07.48")
@pytest.mark.parametrize("give", [fails, lambda: None, lambda: 7, lambda: iter([])])
async def test_an_iterator_that_is_none_is_a_broken_contract(give: Callable[[], object]) -> None:
    stream = OddlyIterated(give)
    await broken(lambda _request, _signal: stream)
    assert stream.left == 1


@pytest.mark.criterion("07.48", "07.63")
async def test_a_read_that_cannot_be_awaited_is_a_broken_contract() -> None:
    iterator = NowIterator()
    stream = OddlyIterated(lambda: iterator)
    await broken(lambda _request, _signal: stream)
    assert (iterator.closed, stream.left) == (1, 1)


@pytest.mark.criterion("07.48")
@pytest.mark.parametrize("kind", ["raises", "none", "value"])
async def test_a_result_that_cannot_be_read_or_awaited_is_a_broken_contract(kind: str) -> None:
    class Stream(FakeStream):
        @property
        def result(self) -> Awaitable[ModelResponse]:
            if kind == "raises":
                raise RuntimeError("no result")
            return cast(
                "Awaitable[ModelResponse]", None if kind == "none" else response_of("request-001", [])
            )

    await broken(lambda _request, _signal: Stream([], []))


async def test_a_result_set_on_the_instance_and_a_generator_based_read_are_fine() -> None:
    class Stream:
        def __init__(self, request: ModelRequest) -> None:
            self.left: asyncio.Future[ModelResponse] = asyncio.get_running_loop().create_future()
            self.left.set_result(response_of(request.id, []))
            self.result = self.left

        def __aiter__(self) -> object:
            return self

        @types.coroutine
        def __anext__(self) -> Generator[None, None, object]:
            yield
            raise StopAsyncIteration

    events, result = await collect(start(FakeModel(lambda request, _signal: Stream(request))))
    assert told(events) == "a0 R1"
    assert result.status == "completed"


async def test_the_failed_result_of_a_stream_that_was_given_up_is_observed() -> None:
    class Stream(FakeStream):
        def __init__(self) -> None:
            super().__init__(["no chunk"], [])
            self.__dict__["result"] = asyncio.get_running_loop().create_future()
            self.__dict__["result"].set_exception(RuntimeError("unseen"))

    await broken(lambda _request, _signal: Stream())
    gc.collect()


# Chunks


@pytest.mark.criterion("07.49")
async def test_a_chunk_of_another_request_is_not_told() -> None:
    await broken(steps("one", TextDeltaChunk("request-002", "two")), "a0 c1 R2")
    await broken(steps(ToolCallChunk("request-002", ADD)))


class Gives(FakeStream):
    """Every read gives what a function makes."""

    def __init__(self, make: Callable[[], object]) -> None:
        super().__init__([], [])
        self.make = make

    async def __anext__(self) -> object:
        return self.make()


class LookAlike:
    """Has the attributes of a chunk; reading one fails the test."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(f"{name} was read")


def forged(kind: type[object]) -> list[object]:
    """A record made without its constructor, where Python permits it."""
    try:
        return [object.__new__(kind)]
    except TypeError:
        return []


@pytest.mark.criterion("07.53")
@pytest.mark.parametrize(
    "chunk",
    [
        None,
        7,
        to_wire(TextDeltaChunk("request-001", "hi")),
        response_of("request-001", []),
        TextBlock("hi"),
        ADD,
        TextDeltaChunk,
        *forged(TextDeltaChunk),
        *forged(ToolCallChunk),
        *[ToolCallChunk("request-001", cast("ToolCall", made)) for made in forged(ToolCall)],
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_is_no_chunk_record_is_not_told(chunk: object) -> None:
    await broken(lambda _request, _signal: Gives(lambda: chunk))


@pytest.mark.criterion("07.53")
@pytest.mark.parametrize("make", [LookAlike, lambda: "text"])
async def test_a_look_alike_is_refused_without_being_looked_at(make: Callable[[], object]) -> None:
    await broken(lambda _request, _signal: Gives(make))


@pytest.mark.criterion("07.56")
async def test_the_1025th_chunk_ends_the_turn() -> None:
    texts = [str(number) for number in range(1024)]
    events = " ".join(["a0", *[f"c{number}" for number in range(1, 1025)]])
    await broken(steps(*texts, ADD), f"{events} R1025")
    seen, result = await collect(start(FakeModel(answers(*texts))))
    assert told(seen) == f"{events} R1025"
    assert result.status == "completed"


@pytest.mark.criterion("07.57")
@pytest.mark.parametrize(
    ("deltas", "events"),
    [
        pytest.param(["😀" * 65537], "a0 R1", id="one-delta"),
        pytest.param(["a" * 65536, "b"], "a0 c1 R2", id="the-second-overflows"),
        pytest.param(["a" * 65535, ADD, "bc"], "a0 c1 c2 R3", id="split-by-a-call"),
    ],
)
async def test_text_over_the_limit_of_a_turn_is_not_told(deltas: list[str | ToolCall], events: str) -> None:
    await broken(steps(*deltas), events)


@pytest.mark.criterion("07.57")
@pytest.mark.parametrize("deltas", [["😀" * 65536], ["a" * 65535, ADD, "b"], ["a" * 65536, ""]])
async def test_exactly_65536_code_points_of_text_pass(deltas: list[str | ToolCall]) -> None:
    _events, result = await collect(start(FakeModel(answers(*deltas), answers("ok"))))
    assert result.status == "completed"


@pytest.mark.criterion("07.58")
async def test_1024_blocks_pass_and_one_more_does_not() -> None:
    await broken(steps("x", says=["x", *[""] * 1024]), "a0 c1 R2")
    _events, result = await collect(start(FakeModel(steps("x", says=["x", *[""] * 1023]))))
    assert result.status == "completed"


@pytest.mark.criterion("07.58")
async def test_a_final_text_over_the_limit_is_refused() -> None:
    await broken(steps("a" * 65536, says=["a" * 65536, "b"]), "a0 c1 R2")


def nested(depth: int) -> dict[str, object]:
    """`depth` single-key objects around an empty one."""
    value: dict[str, object] = {}
    for _ in range(depth):
        value = {"o": value}
    return value


OVER: dict[str, dict[str, object]] = {
    "string": {"x": "a" * 4096},
    "string-emoji": {"x": "😀" * 4096},
    "key": {"a" * 4097: ""},
    "strings-together": {"x": ["a" * 2048, "b" * 2048]},
    "array": {"x": [0] * 256},
    "object": {f"k{number}": 0 for number in range(257)},
    "arrays-together": {"x": [[0] * 127, [0] * 127]},
    "depth": nested(33),
    "depth-in-arrays": {"x": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]},
}
WITHIN: dict[str, dict[str, object]] = {
    "string": {"x": "a" * 4095},
    "string-emoji": {"x": "😀" * 4095},
    "array": {"x": [0] * 255},
    "object": {f"k{number}": 0 for number in range(256)},
    "depth": nested(32),
    "empty": {},
}


@pytest.mark.criterion("07.59")
@pytest.mark.parametrize("name", OVER)
async def test_arguments_over_a_limit_are_not_told(name: str) -> None:
    await broken(steps(call(1, "add", OVER[name])))


@pytest.mark.criterion("07.59")
@pytest.mark.parametrize("name", OVER)
async def test_arguments_over_a_limit_in_the_response_are_refused(name: str) -> None:
    await broken(steps(call(1, "add", {}), says=[call(1, "add", OVER[name])]), "a0 c1 R2")


@pytest.mark.criterion("07.59", "07.61")
@pytest.mark.parametrize("name", WITHIN)
async def test_arguments_at_a_limit_pass_on_both_sides(name: str) -> None:
    sent, said = call(1, "add", WITHIN[name]), call(1, "add", WITHIN[name])
    events, result = await collect(start(FakeModel(steps(sent, says=[said]), answers("ok"))))
    assert told(events) == "a0 c1 s2 f3 c4 R5"
    assert result.status == "completed"


@pytest.mark.criterion("07.61")
async def test_a_tool_may_return_frozen_arguments_and_parts_of_them() -> None:
    def give_back(arguments: JsonObject, _context: ToolContext) -> object:
        return {"all": arguments, "part": arguments["list"]}

    made = call(1, "give_back", {"list": [1, {"a": "b"}]})
    result = await start(FakeModel(answers(made), answers("ok")), registry=tools(give_back=give_back)).result
    assert '{"all":{"list":[1,{"a":"b"}]},"part":[1,{"a":"b"}]}' in str(result.messages[2])


# The response


def responds(*given: Step) -> Answer:
    """One chunk `hi`, then something as the result."""
    return steps("hi", ending=list(given))


def response(*, request_id: str = "request-001", stop: str = "stop", **fields: object) -> ModelResponse:
    message = AssistantMessage("assistant-001", [TextBlock("hi")])
    kinds = cast("Callable[..., ModelResponse]", ModelResponse)
    return kinds("r", request_id, fields.get("message", message), stop, USAGE)


@pytest.mark.criterion("07.50")
async def test_a_response_to_another_request_is_refused() -> None:
    await broken(responds(response(request_id="request-002")), "a0 c1 R2")


@pytest.mark.criterion("07.54")
@pytest.mark.parametrize("kind", ["none", "wire", "message", "chunk", "forged"])
async def test_a_result_that_is_no_response_record_is_refused(kind: str) -> None:
    value: object = {
        "none": None,
        "wire": to_wire(response()),
        "message": response().message,
        "chunk": TextDeltaChunk("request-001", "hi"),
        "forged": (forged(ModelResponse) or [None])[0],
    }[kind]

    class Stream(FakeStream):
        @property
        def result(self) -> Awaitable[ModelResponse]:
            async def give() -> object:
                return value

            return cast("Awaitable[ModelResponse]", give())

    await broken(lambda request, _signal: Stream(list[object](chunks_of(request.id, ["hi"])), []), "a0 c1 R2")


@pytest.mark.criterion("07.54")
async def test_a_response_whose_message_no_constructor_has_made_is_refused() -> None:
    for made in forged(AssistantMessage):
        await broken(responds(response(message=made)), "a0 c1 R2")


@pytest.mark.criterion("07.54")
async def test_stop_with_a_call_and_tool_call_without_one_are_refused() -> None:
    await broken(responds(response(stop="toolCall")), "a0 c1 R2")
    with_call = AssistantMessage("assistant-001", [ADD])
    await broken(steps(ADD, ending=[response(message=with_call)]), "a0 c1 R2")


@pytest.mark.criterion("07.55")
async def test_a_call_id_may_come_once_in_a_response_and_once_in_a_run() -> None:
    await broken(answers(ADD, call(1, "add", {"other": 1})), "a0 c1 c2 R3")
    model = FakeModel(answers(ADD), answers(ADD), answers("never asked"))
    events, result = await collect(start(model))
    assert told(events) == "a0 c1 s2 f3 c4 R5"
    assert type(result) is FailedRun
    assert result.error.code == "MODEL_PROTOCOL_ERROR"
    assert len(result.messages) == 3
    assert model.calls == 2


# What is left


class NeverEnds(FakeStream):
    """Closing and leaving it never ends, until its gate opens."""

    def __init__(self, given: list[Step], ending: list[Step]) -> None:
        super().__init__(given, ending)
        self.gate = Gate()

    async def aclose(self) -> None:
        await super().aclose()
        await self.gate.wait()

    async def __aexit__(self, *_: object) -> None:
        await super().__aexit__(None, None, None)
        await self.gate.wait()


class Raises(FakeStream):
    """Closing and leaving it fails."""

    async def aclose(self) -> None:
        await super().aclose()
        raise RuntimeError("unheard")

    async def __aexit__(self, *_: object) -> None:
        await super().__aexit__(None, None, None)
        raise asyncio.CancelledError


class Synchronous(FakeStream):
    """Closing it is no coroutine."""

    def aclose(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - loose on purpose
        self.closed += 1


@pytest.mark.criterion("07.63")
@pytest.mark.parametrize("kind", [FakeStream, NeverEnds, Raises, Synchronous])
@pytest.mark.parametrize("fault", ["chunk", "response"])
async def test_after_a_broken_contract_the_stream_is_closed_and_left_once_and_holds_up_nothing(
    kind: type[FakeStream], fault: str
) -> None:
    stream = kind(["no chunk"] if fault == "chunk" else [], [None])
    await broken(lambda _request, _signal: stream)
    assert (stream.closed, stream.left) == (1, 1)
    if isinstance(stream, NeverEnds):
        stream.gate.open()
        await turns()


class Unclosable:
    """An iterator whose `aclose` cannot even be read. Its waiting read does not let go."""

    def __init__(self, chunk: object, gate: Gate) -> None:
        self.chunk = chunk
        self.gate = gate

    async def __anext__(self) -> object:
        chunk, self.chunk = self.chunk, None
        while chunk is None:
            with contextlib.suppress(asyncio.CancelledError):
                await self.gate.wait()
                raise StopAsyncIteration
        return chunk

    @property
    def aclose(self) -> object:
        raise LookupError("no aclose")


@pytest.mark.criterion("07.63", "07.35")
@pytest.mark.parametrize("fault", ["no chunk", "abort"])
async def test_an_iterator_whose_close_cannot_be_read_does_not_keep_the_stream_from_being_left(
    fault: str,
) -> None:
    gate = Gate()
    iterator = Unclosable("no chunk" if fault == "no chunk" else None, gate)
    stream = OddlyIterated(lambda: iterator)
    try:
        if fault == "no chunk":
            await broken(lambda _request, _signal: stream)
        else:
            controller = AbortController()
            run = start(FakeModel(lambda _request, _signal: stream), controller=controller)
            await gate.reached.wait()
            controller.abort("stop")
            assert (await run.result).status == "cancelled"
            await turns()
        assert stream.left == 1
    finally:
        gate.open()
    await turns()


@pytest.mark.criterion("07.63")
async def test_a_stream_without_anything_to_close_is_a_stream() -> None:
    class Bare:
        def __aiter__(self) -> object:
            return self

        async def __anext__(self) -> object:
            return "no chunk"

        async def result(self) -> None:
            raise AssertionError("not read")

    await broken(lambda _request, _signal: Bare())


@pytest.mark.criterion("07.63")
@pytest.mark.parametrize("kind", [NeverEnds, Raises])
async def test_the_cleanup_of_a_complete_answer_holds_up_no_result_and_replaces_none(
    kind: type[FakeStream],
) -> None:
    def answer(request: ModelRequest, _signal: Signal) -> FakeStream:
        return kind(list[object](chunks_of(request.id, ["hi"])), [response_of(request.id, ["hi"])])

    model = FakeModel(answer)
    events, result = await collect(start(model))
    assert told(events) == "a0 c1 R2"
    assert result.status == "completed"
    await turns()
    stream = model.streams[0]
    assert (stream.closed, stream.left) == (0, 1)
    if isinstance(stream, NeverEnds):
        stream.gate.open()
        await turns()


async def test_a_failing_cleanup_before_the_tools_replaces_nothing() -> None:
    def answer(request: ModelRequest, _signal: Signal) -> FakeStream:
        return Raises(list[object](chunks_of(request.id, [ADD])), [response_of(request.id, [ADD])])

    events, _result = await collect(start(FakeModel(answer, answers("ok"))))
    assert told(events) == "a0 c1 s2 f3 c4 R5"


@pytest.mark.criterion("07.88")
@pytest.mark.parametrize(
    ("chunk", "code"),
    [
        pytest.param("no chunk", "chunk", id="record-before-request-id"),
        pytest.param(TextDeltaChunk("request-002", "a" * 65537), "request", id="request-id-before-limits"),
    ],
)
async def test_the_checks_of_a_chunk_come_in_their_order(chunk: object, code: str) -> None:
    model = FakeModel(lambda _request, _signal: Gives(lambda: chunk))
    result = await failed(model, "a0 R1", "MODEL_PROTOCOL_ERROR")
    assert code in result.error.message


@pytest.mark.criterion("07.88", "07.56")
async def test_the_count_of_chunks_is_looked_at_before_the_chunk() -> None:
    result = await failed(
        FakeModel(steps(*["x"] * 1024, TextDeltaChunk("request-002", "x"))),
        " ".join(["a0", *[f"c{number}" for number in range(1, 1025)], "R1025"]),
        "MODEL_PROTOCOL_ERROR",
    )
    assert "1024" in result.error.message
