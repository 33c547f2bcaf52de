"""A state machine drives a stream beside a list model: no event is lost, doubled or out of order."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kickwheel_event_stream import EventStream, StreamBusyError, StreamClosedError

T = TypeVar("T")

EXAMPLES = 60
STEPS = 50
"""Together at most 3,000 steps; the test counts that at least 2,000 were made."""


class StreamMachine(RuleBasedStateMachine):
    """The model: what was pushed and received, and which reads wait. Each rule ends with a settled loop."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.noise: list[object] = []
        self.loop.set_exception_handler(lambda _loop, context: self.noise.append(context))
        self.stream: EventStream[int, str] = EventStream()
        self.error = ValueError("broken")
        self.iterator = aiter(self.stream)
        self.open = True
        self.failed = False
        self.active = True
        self.pushed = 0
        self.buffer: list[int] = []
        self.received: list[int] = []
        self.expected: list[int] = []
        self.waiting: list[asyncio.Task[None]] = []
        self.ends = 0
        self.failures = 0
        self.expected_ends = 0
        self.expected_failures = 0
        self.results: list[asyncio.Task[object]] = []

    def teardown(self) -> None:
        for task in (*self.waiting, *self.results):
            task.cancel()
        self.settle()
        assert not asyncio.all_tasks(self.loop)
        self.loop.close()
        assert self.noise == []

    def run(self, work: Coroutine[object, object, T]) -> T:
        return self.loop.run_until_complete(work)

    def settle(self) -> None:
        async def turns() -> None:
            for _ in range(6):
                await asyncio.sleep(0)

        self.run(turns())

    async def read(self) -> None:
        try:
            self.received.append(await anext(self.iterator))
        except StopAsyncIteration:
            self.ends += 1
        except ValueError as error:
            self.failures += error is self.error

    def end_waiting(self, *, failing: bool = False) -> None:
        if failing:
            self.expected_failures += len(self.waiting)
        else:
            self.expected_ends += len(self.waiting)
        self.waiting.clear()

    @rule(count=st.integers(1, 4))
    def push(self, count: int) -> None:
        for _ in range(count):
            try:
                self.stream.push(self.pushed)
            except StreamClosedError:
                assert not self.open
                return
            assert self.open
            self.buffer.append(self.pushed)
            self.pushed += 1
        self.deliver()

    @rule(count=st.integers(1, 4), cancelled=st.integers(0, 3))
    def push_and_cancel_in_one_turn(self, count: int, cancelled: int) -> None:
        if not self.open:
            return
        for _ in range(count):
            self.stream.push(self.pushed)
            self.buffer.append(self.pushed)
            self.pushed += 1
        if cancelled < len(self.waiting):
            self.waiting.pop(cancelled).cancel()
        self.deliver()

    def deliver(self) -> None:
        """Let the model's waiting reads have the model's events, oldest to oldest."""
        for _ in range(min(len(self.waiting), len(self.buffer))):
            self.waiting.pop(0)
            self.expected.append(self.buffer.pop(0))
        self.settle()

    @rule(failing=st.booleans())
    def end(self, failing: bool) -> None:
        try:
            if failing:
                self.stream.fail(self.error)
            else:
                self.stream.finish("result")
        except StreamClosedError:
            assert not self.open
            return
        assert self.open
        self.open, self.failed = False, failing
        if self.waiting:
            self.end_waiting(failing=failing)
            self.active = False
        elif not failing and not self.buffer:
            self.active = False
        self.settle()

    @precondition(lambda self: len(self.waiting) < 5)
    @rule()
    def start_read(self) -> None:
        task = self.loop.create_task(self.read())
        if not self.active:
            self.expected_ends += 1
        elif self.buffer:
            self.expected.append(self.buffer.pop(0))
        elif self.open:
            self.waiting.append(task)
        else:
            self.active = False
            if self.failed:
                self.expected_failures += 1
            else:
                self.expected_ends += 1
        self.settle()

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def cancel_read(self, data: st.DataObject) -> None:
        self.waiting.pop(data.draw(st.integers(0, len(self.waiting) - 1))).cancel()
        self.settle()

    @rule()
    def close_iterator(self) -> None:
        self.run(self.iterator.aclose())
        self.end_waiting()
        self.active = False
        self.settle()

    @rule()
    def replace_iterator(self) -> None:
        old = self.iterator
        try:
            self.iterator = aiter(self.stream)
        except StreamBusyError:
            assert self.active
            return
        assert not self.active
        self.active = True
        self.run(old.aclose())  # must leave the newer one alone

    @rule()
    def await_result(self) -> None:
        async def result() -> object:
            try:
                return await self.stream.result
            except ValueError as error:
                return error

        self.results.append(self.loop.create_task(result()))
        self.settle()

    @precondition(lambda self: self.results)
    @rule()
    def cancel_result(self) -> None:
        self.results.pop().cancel()
        self.settle()

    @invariant()
    def the_stream_agrees_with_the_model(self) -> None:
        type(self).steps += 1
        assert self.received == self.expected
        assert self.received + self.buffer == list(range(self.pushed))
        assert (self.ends, self.failures) == (self.expected_ends, self.expected_failures)
        assert self.stream.state == ("open" if self.open else "failed" if self.failed else "finished")
        assert all(not task.done() for task in self.waiting)
        outcome = self.error if self.failed else "result"
        for task in self.results:
            assert not task.done() if self.open else task.result() is outcome or task.result() == outcome


@pytest.mark.criterion("02.08")
def test_the_stream_agrees_with_a_list_over_thousands_of_steps() -> None:
    StreamMachine.steps = 0
    run_state_machine_as_test(
        StreamMachine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            derandomize=True,
            database=None,
            deadline=None,
        ),
    )
    assert StreamMachine.steps >= 2_000
