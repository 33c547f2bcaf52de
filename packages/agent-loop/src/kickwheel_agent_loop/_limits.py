"""The numbers of the agent loop: how much of what a model sends is let into a run (checkpoint 07)."""

from dataclasses import dataclass, fields
from typing import final


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLimits:
    """The bounds of one run. Immutable; each field is an exact `int` of at least 1 (checkpoint 07).

    A model is not trusted to stop: these keep a run that goes wrong small enough to look at. Text is counted
    in Unicode code points. The argument limits are below those of `freeze_json` on purpose: a call that a
    person can read needs far less than JSON allows.

    Raises `TypeError` for a field that is no exact `int` (`bool` included) and `ValueError` for one below 1;
    the text names the field.
    """

    max_agent_steps: int = 64
    """Bound of `max_steps`, and of `request_sequence_start + max_steps` (07.02, 07.03)."""
    max_initial_messages: int = 4096
    """Messages of the starting transcript (07.13)."""
    max_model_chunks_per_step: int = 1024
    """Chunks of one model turn (07.56)."""
    max_model_text_code_points: int = 65536
    """Streamed text of one turn, summed over all deltas; also the text of one assistant message (07.57,
    07.58).
    """
    max_model_blocks_per_step: int = 1024
    """Content blocks of one assistant message (07.58)."""
    max_tool_argument_depth: int = 32
    """Containers inside each other in the arguments of one call; the arguments object itself is depth 0
    (07.59).
    """
    max_tool_argument_nodes: int = 257
    """JSON values in the arguments of one call, the arguments object included (07.59)."""
    max_tool_argument_entries: int = 256
    """Object fields plus array slots in the arguments of one call (07.59)."""
    max_tool_argument_string_code_points: int = 4096
    """Keys plus string values in the arguments of one call (07.59)."""

    def __post_init__(self) -> None:
        """Refuse what is no positive exact integer, the first bad field in the order above."""
        for field in fields(self):
            value: object = getattr(self, field.name)
            if type(value) is not int:
                raise TypeError(f"{field.name} must be an int, not {type(value).__name__}")
            if value < 1:
                raise ValueError(f"{field.name} must be at least 1, not {value}")

    def __init_subclass__(cls) -> None:
        """Refuse descendants: the loop asks for exactly this type."""
        raise TypeError("LoopLimits is final and cannot be subclassed")
