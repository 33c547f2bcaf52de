"""The model phase: one request, its chunks, its response, and all the checks before the message is kept."""

from typing import Any, Final

from kickwheel_agent_loop._chunks import StreamedTurn
from kickwheel_agent_loop._failures import ModelProtocolError
from kickwheel_agent_loop._inspect import is_awaitable
from kickwheel_agent_loop._model_stream import OpenStream, open_stream, raised_by_model
from kickwheel_agent_loop._response import check_response
from kickwheel_agent_loop._run import Run
from kickwheel_protocol import ModelResponse

_NO_READ: Final = object()


async def model_turn(run: Run) -> ModelResponse:
    """Ask the model once. The assistant message is in the transcript when this returns, and not when it
    raises.
    """
    run.check()
    request = run.next_request()
    streamed = StreamedTurn(request.id, run.limits)
    run.reading = True  # from here on an abort cancels the run's task, which is what reads the model
    try:
        opened = open_stream(run, request)
        run.close_model = opened.close
        run.check()
        await _read(run, opened, streamed)
        answer = await opened.response()
        run.look()
        response = check_response(answer, request.id, streamed, run.call_ids, run.limits)
        opened.has_told_all()
        if response.stop_reason == "toolCall":
            await opened.leave()
            run.close_model = None
        else:  # the last stream is left after the result is told, so that its cleanup cannot hold that up
            run.leave_model = opened.leave_last
        run.look()
    finally:
        run.reading = False
    run.keep(response.message)
    return response


async def _read(run: Run, opened: OpenStream, streamed: StreamedTurn) -> None:
    """Read chunk by chunk, in the run's own task. What `async for` hides is named here."""
    step = await opened.enter()
    accept, look, tell = streamed.accept, run.look, run.tell_chunk
    while True:
        try:
            waiting: Any = step()
            chunk: object = await waiting if is_awaitable(waiting) else _NO_READ
        except StopAsyncIteration:
            look()
            return
        except BaseException as error:
            raise raised_by_model(run, error) from None
        look()
        if chunk is _NO_READ:
            raise ModelProtocolError("the model's stream gave a read that cannot be awaited")
        tell(accept(chunk))
