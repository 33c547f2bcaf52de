"""What a failure of a tool means: an exception not to be hidden, or a message for the model (checkpoint 06).

The table of exceptions, first matching row wins; a cancelled caller is dealt with before this:

    raised                                              outcome
    no `Exception`, and no `CancelledError`             the same object
    anything, while the signal is aborted               the abort reason
    `NonRecoverableToolError`                           the same object
    a group that holds one at any depth                 that leaf, the first in depth-first order
    any other group                                     recoverable, the leaves' messages joined with "; "
    `CancelledError` that nobody asked for              recoverable
    any other `Exception`                               recoverable, its message
"""

from asyncio import CancelledError
from collections.abc import Callable, Iterator
from typing import Final, cast

from kickwheel_agent_loop._errors import NonRecoverableToolError
from kickwheel_agent_loop._inspect import class_name, is_blank
from kickwheel_agent_loop._output import TOOL_OUTPUT_CAP_CHARACTERS
from kickwheel_protocol import Signal

_LEAVES: Final = cast(
    "Callable[[BaseException], tuple[BaseException, ...]]",
    BaseExceptionGroup.__dict__["exceptions"].__get__,  # past any property of a subclass
)


def is_fatal(error: BaseException) -> bool:
    """Tell whether an error is none of the tool's business: an exit, or whatever else is no `Exception`."""
    kind = type(error)
    if issubclass(kind, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        return True
    if issubclass(kind, BaseExceptionGroup):
        return not issubclass(kind, ExceptionGroup)
    return not issubclass(kind, (Exception, CancelledError))


def message_or_raise(error: BaseException, signal: Signal) -> str:
    """Give the message that the model may read, or raise what must not be hidden: the table above."""
    try:
        # [solution 06.3]
        if is_fatal(error):
            raise error
        signal.raise_if_aborted()
        error = _fatal_part(error)
        if issubclass(type(error), NonRecoverableToolError):
            raise error
        message = _joined(error) if issubclass(type(error), ExceptionGroup) else _message(error)
        signal.raise_if_aborted()  # the error's own `__str__` may have asked for it
        return message
        # [/solution]
    finally:
        del error  # a frame that holds the exception it raises is a reference cycle


def _fatal_part(error: BaseException) -> BaseException:
    """Give the first `NonRecoverableToolError` in a group, depth first; the error itself if there is none."""
    if issubclass(type(error), ExceptionGroup) and not issubclass(type(error), NonRecoverableToolError):
        for node in _nodes(error):
            if issubclass(type(node), NonRecoverableToolError):
                return node
    return error


def _nodes(group: BaseException, *, repeats: bool = False) -> Iterator[BaseException]:
    """Walk a group depth first, without recursion: leaves and groups. A shared part is walked once."""
    seen: set[int] = set()
    pending = [group]
    while pending:
        node = pending.pop()
        if node is not group:
            yield node
        if issubclass(type(node), BaseExceptionGroup) and (repeats or id(node) not in seen):
            seen.add(id(node))
            pending.extend(reversed(_LEAVES(node)))


def _joined(group: BaseException) -> str:
    """Join the messages of a group's leaves, as many as could ever be shown."""
    # [solution 06.3]
    messages: list[str] = []
    room = TOOL_OUTPUT_CAP_CHARACTERS
    for leaf in _nodes(group, repeats=True):
        if not issubclass(type(leaf), BaseExceptionGroup):
            messages.append(_message(leaf))
            room -= len(messages[-1])
            if room < 0:
                break
    return "; ".join(messages)
    # [/solution]


def _message(error: BaseException) -> str:
    """Give `str(error)`, or a text that names the class if there is nothing to read in it."""
    # [solution 06.3]
    try:
        text = str(error)
    except (Exception, CancelledError):
        text = ""
    message = str.__str__(text)  # exactly a `str`, whatever subclass `__str__` gave
    return f"{class_name(error)} without a message" if is_blank(message) else message
    # [/solution]
