"""What a script is made of."""

from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

from kickwheel_protocol import ModelChunk, ModelRequest, ModelResponse, Signal

ScriptedItem: TypeAlias = ModelChunk | ModelResponse
"""One item of a scripted response: a chunk, or the terminal."""

ScriptedResponseFactory: TypeAlias = Callable[[ModelRequest, Signal], AsyncIterator[ScriptedItem]]
"""One scripted response (checkpoint 04).

A callable that gets the request and a signal and gives an async iterator of `ModelChunk`s that ends with
exactly one `ModelResponse`; an async generator function is the usual one. It is called once a response,
when the model takes it; an iterator serves one call.
"""
