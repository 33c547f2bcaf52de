"""Single key presses on a terminal; an interrupt stays an interrupt."""

import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

if sys.platform == "win32":
    import msvcrt

    @contextmanager
    def raw_keys() -> Generator[None]:
        """Keys are always single on this platform."""
        yield

    def read_key(timeout: float) -> str | None:
        """The key pressed within the time, or `None`."""
        end = time.monotonic() + timeout
        while True:
            if msvcrt.kbhit():
                key = msvcrt.getwch()
                if key == "\x03":
                    raise KeyboardInterrupt
                return key
            if time.monotonic() >= end:
                return None
            time.sleep(0.02)

else:
    import select
    import termios
    import tty

    @contextmanager
    def raw_keys() -> Generator[None]:
        """Hand over keys one by one, without echo; the terminal is put back however the block is left."""
        handle = sys.stdin.fileno()
        before = termios.tcgetattr(handle)
        try:
            tty.setcbreak(handle)
            yield
        finally:
            termios.tcsetattr(handle, termios.TCSADRAIN, before)

    def read_key(timeout: float) -> str | None:
        """The key pressed within the time, or `None`; the end of the input counts as `q`."""
        ready, _, _ = select.select([sys.stdin], [], [], timeout)
        if not ready:
            return None
        return os.read(sys.stdin.fileno(), 1).decode("ascii", "replace") or "q"


def wait_for_key(announce: Callable[[], None]) -> str:
    """Announce it, then wait for any key; a key pressed right at the announcement counts."""
    with raw_keys():
        announce()
        while (key := read_key(60.0)) is None:
            pass
        return key
