"""The errors of this package, one tree.

    Exception
    ├── RuntimeError
    │   ├── StreamClosedError   the stream is already terminal: the producer spoke after the end
    │   └── StreamBusyError     the stream has a consumer: a second one asked for the slot
    └── AbortError              somebody asked for a stop, and this is the reason in use when none was given

Two further things look like errors and are none of these: the stored failure of a stream is the producer's
own exception, raised as it is, and the end of iteration is `StopAsyncIteration`. A full bounded stream
answers `push` with `asyncio.QueueFull`, the name asyncio already has for it.
"""


class StreamClosedError(RuntimeError):
    """The stream is already terminal, so it takes no further event and no second outcome (checkpoint 02).

    The text contains `already terminal (finished)` or `already terminal (failed)`. The refused call has
    changed nothing.
    """

    def __init__(self, operation: str, state: str) -> None:
        super().__init__(f"{operation}: the stream is already terminal ({state})")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_closed, (str(self),))


class StreamBusyError(RuntimeError):
    """The stream has an active iterator, and it serves a single consumer (checkpoint 02).

    Close the first iterator, or read it to its end, and the slot is free again.
    """

    def __init__(self) -> None:
        super().__init__("the stream serves a single consumer, and it has one: close that iterator first")


class AbortError(Exception):
    """The default reason of an abort (checkpoint 02).

    It is an ordinary exception and not an `asyncio.CancelledError`: an abort is a piece of data that ends one
    piece of work, the cancellation of a task is control flow. `reason` is whatever was given to `abort`, or
    `None`.
    """

    def __init__(self, reason: object = None) -> None:
        super().__init__("aborted" if reason is None else f"aborted: {_text(reason)}")
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return (AbortError, (self.reason,))


def _rebuild_closed(text: str) -> StreamClosedError:
    error = StreamClosedError.__new__(StreamClosedError)
    error.args = (text,)
    return error


def _text(reason: object) -> str:
    """Describe a reason; a reason that cannot describe itself must not break the abort."""
    try:
        return reason if isinstance(reason, str) else repr(reason)
    except Exception:
        return f"a {type(reason).__name__}"
