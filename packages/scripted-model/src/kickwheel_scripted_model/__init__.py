"""A strict, deterministic model double: finite script, no invented answers."""

from ._clock import StepClock
from ._errors import ScriptedModelError, ScriptedModelErrorCode
from ._lines import call, say
from ._model import ScriptedModel
from ._types import ScriptedResponseFactory

__all__ = [
    "ScriptedModel",
    "ScriptedModelError",
    "ScriptedModelErrorCode",
    "ScriptedResponseFactory",
    "StepClock",
    "call",
    "say",
]
