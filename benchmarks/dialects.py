"""How fast are provider streams decoded? 2,000 text chunks, and 20 calls of 50 fragments, in 4 KiB reads.

Floor: `json.loads` on the same events, already cut out of the body. Peers: the stream helpers of the official
SDKs over an in-memory transport, where they are installed (`benchmarks/requirements-peers.txt`). Last case:
one call in 100,000 fragments costs twice that of 50,000.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import _harness

from kickwheel_provider_adapter import ResponseParser, dialects

TEXTS, CALLS, FRAGMENTS, READ = 2000, 20, 50, 4096
ARGUMENTS = json.dumps({"path": "src/module.py", "text": "lorem ipsum dolor sit " * 14, "n": 7})
CASES = [
    "openai-chat text",
    "openai-chat tools",
    "anthropic text",
    "anthropic tools",
    "one call, 100,000 fragments",
]
Event = dict[str, Any]


def fragments() -> list[str]:
    size = len(ARGUMENTS) / FRAGMENTS
    return [ARGUMENTS[round(n * size) : round((n + 1) * size)] for n in range(FRAGMENTS)]


def chat_events(kind: str) -> list[Event]:
    def chunk(delta: Event, finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {
            "id": "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWx",
            "object": "chat.completion.chunk",
            "created": 1700000000,
            "model": "some-model",
            "choices": [choice],
            "usage": None,
        }

    events = [chunk({"role": "assistant", "content": ""})]
    if kind == "text":
        events += [chunk({"content": f"tok{n % 1000:03d} "}) for n in range(TEXTS)]
    for n in range(CALLS if kind == "tools" else 0):
        head = {"index": n, "id": f"call_{n:024d}", "type": "function"}
        events.append(chunk({"tool_calls": [{**head, "function": {"name": "write_file", "arguments": ""}}]}))
        for piece in fragments():
            events.append(chunk({"tool_calls": [{"index": n, "function": {"arguments": piece}}]}))
    return [*events, chunk({}, "stop" if kind == "text" else "tool_calls")]


def anthropic_events(kind: str) -> list[Event]:
    message = {"id": "msg_01", "type": "message", "role": "assistant", "model": "some-model", "content": []}
    usage = {"input_tokens": 9, "output_tokens": 1}
    events: list[Event] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
    ]
    blocks: list[tuple[Event, list[Event]]] = []
    if kind == "text":
        deltas = [{"type": "text_delta", "text": f"tok{n % 1000:03d} "} for n in range(TEXTS)]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for n in range(CALLS if kind == "tools" else 0):
        block = {"type": "tool_use", "id": f"toolu_{n:024d}", "name": "write_file", "input": {}}
        blocks.append((block, [{"type": "input_json_delta", "partial_json": piece} for piece in fragments()]))
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": "end_turn" if kind == "text" else "tool_use", "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": stop, "usage": usage}, {"type": "message_stop"}]


def body_of(dialect: str, kind: str) -> tuple[list[bytes], list[bytes]]:
    """The JSON of the events, and the body in reads."""
    events = chat_events(kind) if dialect == "openai-chat" else anthropic_events(kind)
    texts = [json.dumps(event, separators=(",", ":")).encode() for event in events]
    if dialect == "openai-chat":
        body = b"".join(b"data: " + text + b"\n\n" for text in texts) + b"data: [DONE]\n\n"
    else:
        named = zip(events, texts, strict=True)
        body = b"".join(b"event: %s\ndata: %s\n\n" % (event["type"].encode(), text) for event, text in named)
    return texts, [body[start : start + READ] for start in range(0, len(body), READ)]


def long_call(pieces: int) -> list[bytes]:
    def entry(**function: str) -> bytes:
        event = {
            "choices": [
                {"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c", "function": function}]}}
            ]
        }
        return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"

    body = entry(name="f", arguments='{"a":"') + entry(arguments="x") * pieces + entry(arguments='"}')
    body += b'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\n'
    return [body[start : start + READ] for start in range(0, len(body), READ)]


def floor(case: str) -> _harness.Run | None:
    if case not in CASES[:4]:
        pieces = 50_000
        reads = long_call(pieces)
        return lambda: _harness.seconds(lambda: decode("openai-chat", reads), pieces)
    texts, _ = body_of(*case.split())
    return lambda: _harness.seconds(lambda: [json.loads(text) for text in texts], len(texts))


def decode(dialect: str, reads: list[bytes]) -> list[dict[str, object]]:
    decoder = dialects.decoder(dialect)
    records: list[dict[str, object]] = []
    for read in reads:
        records += decoder.feed(read)
    return records + decoder.close()


def ours(case: str) -> _harness.Run | None:
    if case not in CASES[:4]:
        pieces = 100_000
        reads = long_call(pieces)
        return lambda: _harness.seconds(lambda: decode("openai-chat", reads), pieces)
    dialect, kind = case.split()
    texts, reads = body_of(dialect, kind)
    return lambda: _harness.seconds(lambda: decode(dialect, reads), len(texts))


def ours_parsed(case: str) -> _harness.Run | None:
    if case not in CASES[:4]:
        return None
    dialect, kind = case.split()
    texts, reads = body_of(dialect, kind)

    def work() -> object:
        parser = ResponseParser("request-001")
        for record in decode(dialect, reads):
            parser.feed(record)
        return parser.close()

    return lambda: _harness.seconds(work, len(texts))


def transport(reads: list[bytes]) -> Any:
    """An HTTP client whose answers are the reads, without a socket."""
    try:
        import httpx2 as httpx
    except ImportError:
        import httpx

    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for read in reads:
                yield read

    def answer(_request: object) -> Any:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    return httpx.AsyncClient(transport=httpx.MockTransport(answer))


def sdk(dialect: str, make: Callable[[list[bytes]], Callable[[], Any]]) -> _harness.Contender:
    def contender(case: str) -> _harness.Run | None:
        if case not in CASES[:4] or case.split()[0] != dialect:
            return None
        texts, reads = body_of(*case.split())
        once = make(reads)
        loop = asyncio.new_event_loop()
        return lambda: _harness.seconds(lambda: loop.run_until_complete(once()), len(texts))

    return contender


def openai_stream(reads: list[bytes]) -> Callable[[], Any]:
    import openai

    client = openai.AsyncOpenAI(
        api_key="x", base_url="http://127.0.0.1/v1", http_client=transport(reads), max_retries=0
    )

    async def once() -> None:
        messages: Any = [{"role": "user", "content": "hi"}]
        async with client.chat.completions.stream(model="some-model", messages=messages) as stream:
            async for _ in stream:
                pass
            await stream.get_final_completion()

    return once


def anthropic_stream(reads: list[bytes]) -> Callable[[], Any]:
    import anthropic

    client = anthropic.AsyncAnthropic(
        api_key="x", base_url="http://127.0.0.1", http_client=transport(reads), max_retries=0
    )

    async def once() -> None:
        messages: Any = [{"role": "user", "content": "hi"}]
        async with client.messages.stream(model="some-model", max_tokens=1000, messages=messages) as stream:
            async for _ in stream:
                pass
            await stream.get_final_message()

    return once


if __name__ == "__main__":
    _harness.main(
        "Dialects: time an event",
        CASES,
        {
            "json.loads (last case: 50,000 fragments)": floor,
            "kickwheel dialects": ours,
            "kickwheel dialects + ResponseParser": ours_parsed,
            "openai .stream()": sdk("openai-chat", openai_stream),
            "anthropic .stream()": sdk("anthropic", anthropic_stream),
        },
        "json.loads (last case: 50,000 fragments)",
        targets={
            **dict.fromkeys(CASES[:4], "at most 2.0, and at least 5 times faster than the SDKs"),
            CASES[4]: "about 1.0 a fragment: linear",
        },
    )
