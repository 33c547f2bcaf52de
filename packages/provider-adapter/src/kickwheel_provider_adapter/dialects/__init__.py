r"""Wire formats of real providers: from the bytes of a response body to version-1 transport records.

Each decoder is sans-IO: it takes bytes in reads of any size and gives plain records, without a loop, a clock
or a network, and the same bytes always give the same records. Beyond the course; `spec/05-dialects.md` is the
contract.

    >>> from kickwheel_provider_adapter import dialects
    >>> body = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    >>> [record["type"] for record in dialects.decode("openai-chat", body)]
    ['response_start', 'text_delta', 'response_end']
"""

from ._decoder import MAX_FRAME_BYTES, Decoder, decode, decoder, detect, names, to_fixture
from ._response import MAX_CALLS

__all__ = ["MAX_CALLS", "MAX_FRAME_BYTES", "Decoder", "decode", "decoder", "detect", "names", "to_fixture"]
