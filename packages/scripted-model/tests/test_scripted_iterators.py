"""Who owns an iterator, what a hostile one comes to, and that two runs of a script are equal."""

import asyncio
import gc
import os
import subprocess
import sys
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable

import pytest

from kickwheel_event_stream import AbortController, EventStream
from kickwheel_protocol import (
    AssistantMessage,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Signal,
    TextBlock,
    TextDeltaChunk,
    Usage,
    UserMessage,
    to_wire,
)
from kickwheel_scripted_model import ScriptedModel, ScriptedModelError, ScriptedResponseFactory, call, say

criterion = pytest.mark.criterion
Stream = EventStream[ModelChunk, ModelResponse]


def request(number: int = 1) -> ModelRequest:
    return ModelRequest(f"request-{number:03}", [UserMessage(f"message-{number:03}", "hi")])


def response(text: str = "ok", number: int = 1) -> ModelResponse:
    message = AssistantMessage("message-r", [TextBlock(text)])
    return ModelResponse("response-r", f"request-{number:03}", message, "stop", Usage(1, 1))


def delta(text: str) -> TextDeltaChunk:
    return TextDeltaChunk("request-001", text)


def model_of(*scripts: object) -> ScriptedModel:
    factories: list[ScriptedResponseFactory] = list(scripts)  # pyright: ignore[reportAssignmentType] - hostile ones too
    return ScriptedModel(factories)


def returning(source: object) -> Callable[[ModelRequest, Signal], object]:
    """Make a factory that gives the same source each time."""

    def factory(_asked: ModelRequest, _signal: Signal) -> object:
        return source

    return factory


async def outcome(stream: Stream) -> tuple[list[ModelChunk], ModelResponse | Exception]:
    """Read both paths; a failure is one object on both."""
    chunks: list[ModelChunk] = []
    try:
        async for chunk in stream:
            chunks.append(chunk)
    except Exception as error:
        with pytest.raises(type(error)) as caught:
            await stream.result
        assert caught.value is error  # noqa: PT017 - one object on both paths is what is asserted
        return chunks, error
    return chunks, await stream.result


def code_of(error: object) -> str:
    assert isinstance(error, ScriptedModelError)
    return error.code


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Items:
    """A hand-written iterator over the given items."""

    def __init__(self, *items: object) -> None:
        self.items = list(items)
        self.steps = 0
        self.closed = 0

    def __aiter__(self) -> "Items":
        return self

    async def __anext__(self) -> object:
        self.steps += 1
        if not self.items:
            raise StopAsyncIteration
        return self.items.pop(0)

    async def aclose(self) -> None:
        self.closed += 1


class TestOwnership:
    @criterion("04.70", "04.71", "04.74")
    @pytest.mark.parametrize("models", [1, 2])
    async def test_a_second_call_at_once_is_refused_and_the_first_completes_untouched(
        self, models: int
    ) -> None:
        gate = asyncio.Event()
        log: list[str] = []

        async def script() -> AsyncIterator[object]:
            try:
                yield delta("first")
                await gate.wait()
                yield response()
            finally:
                log.append("closed")

        shared = returning(script())
        first = model_of(shared, shared)
        second = first if models == 1 else model_of(shared)
        running = first.stream(request(1))
        await turns()
        chunks, error = await outcome(second.stream(request(2)))
        assert (chunks, code_of(error)) == ([], "SCRIPT_ITERATOR_REUSED")
        assert (second.call_count, second.pending_response_count) == (3 - models, 0)
        assert second.requests[-1] == request(2)
        await turns()
        assert log == []
        gate.set()
        assert await outcome(running) == ([delta("first")], response())

    @criterion("04.70", "04.72")
    async def test_a_completed_iterator_serves_no_second_call(self) -> None:
        shared = returning(Items(delta("a"), response()))
        assert await outcome(model_of(shared).stream(request())) == ([delta("a")], response())
        _chunks, error = await outcome(model_of(shared).stream(request()))
        assert code_of(error) == "SCRIPT_ITERATOR_REUSED"

    @criterion("04.71")
    async def test_the_intruder_neither_steps_nor_closes(self) -> None:
        source = Items(delta("a"), response(), delta("left"))
        await outcome(model_of(returning(source)).stream(request()))
        await turns()
        before = (source.steps, source.closed)
        await outcome(model_of(returning(source)).stream(request()))
        await turns()
        assert (source.steps, source.closed) == before

    @criterion("04.73")
    async def test_a_reusable_iterable_serves_every_call(self) -> None:
        class Reusable:
            def __aiter__(self) -> Items:
                return Items(response())

        model = model_of(*[returning(Reusable())] * 3)
        assert [await outcome(model.stream(request())) for _ in range(3)] == [([], response())] * 3

    @criterion("04.73")
    async def test_two_wrappers_of_one_iterator_are_one_iterator(self) -> None:
        inner = Items(response())

        class Wrapper:
            def __aiter__(self) -> Items:
                return inner

        model = model_of(returning(Wrapper()), returning(Wrapper()))
        assert await outcome(model.stream(request())) == ([], response())
        assert code_of((await outcome(model.stream(request())))[1]) == "SCRIPT_ITERATOR_REUSED"

    @criterion("04.75")
    async def test_equal_iterators_are_told_apart(self) -> None:
        class Equal(Items):
            def __eq__(self, other: object) -> bool:
                return True

            def __hash__(self) -> int:
                return 1

        model = model_of(returning(Equal(response())), returning(Equal(response())))
        assert [await outcome(model.stream(request())) for _ in range(2)] == [([], response())] * 2

    @criterion("04.75")
    @pytest.mark.parametrize("odd", ["unhashable", "not weakly referenced"])
    async def test_reuse_of_an_odd_iterator_is_still_detected(self, odd: str) -> None:
        class Unhashable(Items):
            __hash__ = None  # pyright: ignore[reportAssignmentType] - the point

        class Slotted:
            __slots__ = ("items",)

            def __init__(self, *items: object) -> None:
                self.items = list(items)

            def __aiter__(self) -> "Slotted":
                return self

            async def __anext__(self) -> object:
                if not self.items:
                    raise StopAsyncIteration
                return self.items.pop(0)

        source = Unhashable(response()) if odd == "unhashable" else Slotted(response())
        model = model_of(returning(source), returning(source))
        assert await outcome(model.stream(request())) == ([], response())
        assert code_of((await outcome(model.stream(request())))[1]) == "SCRIPT_ITERATOR_REUSED"

    @criterion("04.76")
    async def test_finished_iterators_die_and_their_address_may_be_used_again(self) -> None:
        def fresh(_asked: ModelRequest, _signal: Signal) -> Items:
            made = Items(response())
            alive.append(weakref.ref(made))
            return made

        alive: list[weakref.ref[Items]] = []
        model = model_of(*[fresh] * 50)
        for _ in range(50):
            assert await outcome(model.stream(request())) == ([], response())
            await turns(2)
        gc.collect()
        assert [each() for each in alive] == [None] * 50

    @criterion("04.77", "04.87")
    @pytest.mark.parametrize("how", ["exhausted", "closed"])
    async def test_a_generator_that_is_used_up_has_no_terminal(self, how: str) -> None:
        async def script() -> AsyncGenerator[object, None]:
            yield delta("a")

        source = script()
        if how == "exhausted":
            assert [item async for item in source] == [delta("a")]
        else:
            await source.aclose()
        chunks, error = await outcome(model_of(returning(source)).stream(request()))
        assert (chunks, code_of(error)) == ([], "SCRIPT_INVALID_RESPONSE")


class Raising:
    """An iterator whose `__anext__` is read with an error."""

    def __aiter__(self) -> "Raising":
        return self

    @property
    def __anext__(self) -> object:
        raise LookupError("read")


class Endless:
    """Its steps give something that cannot be awaited."""

    def __aiter__(self) -> "Endless":
        return self

    def __anext__(self) -> object:
        return 42


class Source:
    """An iterable whose `__aiter__` does what it is told."""

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make
        self.made = 0

    def __aiter__(self) -> object:
        self.made += 1
        return self.make()


def failing_aiter() -> object:
    raise LookupError("aiter")


class TestHostileIterators:
    @pytest.mark.parametrize(
        ("source", "kinds"),
        [
            pytest.param(Endless, (TypeError,), marks=criterion("04.80"), id="step cannot be awaited"),
            pytest.param(lambda: Source(object), (TypeError,), marks=criterion("04.81"), id="no step"),
            pytest.param(Raising, (LookupError, TypeError), marks=criterion("04.81"), id="step read raises"),
            pytest.param(
                lambda: Source(failing_aiter), (LookupError,), marks=criterion("04.83"), id="aiter raises"
            ),
            pytest.param(
                lambda: Source(lambda: 42), (TypeError,), marks=criterion("04.83"), id="no iterator"
            ),
            pytest.param(lambda: Items(None), (TypeError,), marks=criterion("04.84"), id="item None"),
            pytest.param(lambda: Items(7), (TypeError,), marks=criterion("04.84"), id="item number"),
            pytest.param(lambda: Items("x"), (TypeError,), marks=criterion("04.84"), id="item string"),
            pytest.param(
                lambda: Items({"type": "textDelta", "requestId": "request-001", "delta": "x"}),
                (TypeError,),
                marks=criterion("04.84"),
                id="item wire form",
            ),
            pytest.param(
                lambda: Items(UserMessage("m", "x")), (TypeError,), marks=criterion("04.84"), id="item record"
            ),
            pytest.param(lambda: Items(), (ScriptedModelError,), marks=criterion("04.87"), id="nothing"),
            pytest.param(
                lambda: Items(delta("x")), (ScriptedModelError,), marks=criterion("04.87"), id="no terminal"
            ),
        ],
    )
    async def test_both_paths_fail_with_one_error_and_the_next_call_works(
        self, source: Callable[[], object], kinds: tuple[type[Exception], ...]
    ) -> None:
        model = model_of(returning(source()), say("next"))
        _chunks, error = await outcome(model.stream(request()))
        assert isinstance(error, kinds)
        assert (await model.stream(request()).result).message.text == "next"
        await turns()

    @criterion("04.83")
    async def test_the_object_that_is_stepped_is_the_one_that_is_owned(self) -> None:
        iterators: list[Items] = []

        def fresh() -> object:
            iterators.append(Items(response()))
            return iterators[-1]

        source = Source(fresh)
        model = model_of(returning(source), returning(source), *map(returning, (0, 0)))
        assert await outcome(model.stream(request())) == ([], response())
        assert (source.made, iterators[0].steps) == (1, 2)
        model.set_responses([lambda _asked, _signal: iterators[0]])  # pyright: ignore[reportArgumentType]
        assert code_of((await outcome(model.stream(request())))[1]) == "SCRIPT_ITERATOR_REUSED"

    @criterion("04.88")
    @pytest.mark.parametrize("extra", [delta("x"), response(), None], ids=["chunk", "response", "other"])
    async def test_nothing_may_follow_the_terminal(self, extra: object) -> None:
        source = Items(delta("a"), response(), extra, delta("never"))
        chunks, error = await outcome(model_of(returning(source)).stream(request()))
        assert (chunks, code_of(error)) == ([delta("a")], "SCRIPT_INVALID_RESPONSE")
        await turns()
        assert (source.closed, source.items) == (1, [delta("never")])

    @criterion("04.89")
    async def test_the_script_ends_before_the_call_succeeds(self) -> None:
        gate = asyncio.Event()
        log: list[str] = []

        async def script(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            try:
                yield response()
            finally:
                await gate.wait()
                log.append("finally")

        stream = model_of(script).stream(request())
        await turns()
        assert (stream.state, log) == ("open", [])
        gate.set()
        assert await stream.result == response()
        assert log == ["finally"]

    @criterion("04.89")
    @pytest.mark.parametrize("aborted", [False, True])
    async def test_an_error_after_the_terminal_fails_the_call_unless_an_abort_was_first(
        self, aborted: bool
    ) -> None:
        controller = AbortController()
        late, stop = LookupError("late"), LookupError("stop")

        async def script(_asked: ModelRequest, _signal: Signal) -> AsyncIterator[object]:
            yield response()
            if aborted:
                controller.abort(stop)
            raise late

        chunks, error = await outcome(model_of(script).stream(request(), controller.signal))
        assert chunks == []
        assert error is (stop if aborted else late)


PROGRAM = """
import asyncio
from kickwheel_protocol import ModelRequest, UserMessage, dump_json
from kickwheel_scripted_model import ScriptedModel, ScriptedModelError, call, say

async def main():
    adding = say("Let me ", "add.") + call("add", {"left": 20, "right": 22, "note": "x"})
    model = ScriptedModel([adding, say("42")])
    for number in range(3):
        stream = model.stream(ModelRequest(f"request-{number}", [UserMessage("m", "hi")]))
        try:
            async for chunk in stream:
                print(dump_json(chunk))
            print(dump_json(await stream.result))
        except ScriptedModelError as error:
            print(error.code, error)

asyncio.run(main())
"""


class TestDeterminism:
    @criterion("04.90", "04.B24")
    async def test_the_same_script_run_twice_gives_the_same(self) -> None:
        async def run() -> list[object]:
            model = ScriptedModel([say("a", "b"), say("c") + call("add", {"left": 20}), say("d")])
            seen: list[object] = []
            for number in range(4):
                chunks, ended = await outcome(model.stream(request(number)))
                seen += [to_wire(chunk) for chunk in chunks]
                seen.append(code_of(ended) if isinstance(ended, Exception) else to_wire(ended))
            return [*seen, model.requests]

        assert await run() == await run()

    @criterion("04.91")
    def test_the_hash_seed_does_not_matter(self) -> None:
        outputs = {
            subprocess.run(
                [sys.executable, "-c", PROGRAM],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                check=True,
                timeout=60,
            ).stdout
            for seed in ("0", "1", "4242")
        }
        (output,) = outputs
        assert b"SCRIPT_EXHAUSTED" in output

    @criterion("04.90")
    def test_nothing_here_knows_a_clock_a_random_number_or_a_network(self) -> None:
        program = (
            "import sys, asyncio, msgspec; before = set(sys.modules); import kickwheel_scripted_model;"
            "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
        )
        ran = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=60
        )
        loaded = set(ran.stdout.split())
        assert not loaded & {"random", "secrets", "urllib", "http", "httpx", "requests", "pytest"}
        assert {name for name in loaded if name.startswith("kickwheel")} == {
            "kickwheel_event_stream",
            "kickwheel_protocol",
            "kickwheel_scripted_model",
        }
