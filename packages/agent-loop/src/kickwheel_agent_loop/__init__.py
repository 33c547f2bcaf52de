"""Tool contract and agent loop with one total event order and results as data."""

from kickwheel_agent_loop._decorator import tool
from kickwheel_agent_loop._definition import AnyTool, ToolDefinition, define_tool
from kickwheel_agent_loop._errors import NonRecoverableToolError, ToolContractError
from kickwheel_agent_loop._execute import execute_tool_call
from kickwheel_agent_loop._limits import LoopLimits
from kickwheel_agent_loop._loop import run_agent_loop
from kickwheel_agent_loop._output import (
    TOOL_OUTPUT_CAP_CHARACTERS,
    TOOL_SERIALIZATION_MAX_COLLECTION_ENTRIES,
    TOOL_SERIALIZATION_MAX_DEPTH,
    TOOL_SERIALIZATION_MAX_INTEGER_BITS,
    TOOL_SERIALIZATION_MAX_NODES,
    TOOL_SERIALIZATION_MAX_STRING_CHARACTERS,
    TOOL_TRUNCATION_MARKER,
)
from kickwheel_agent_loop._registry import ToolRegistry
from kickwheel_agent_loop._resume import resumable_messages
from kickwheel_agent_loop._trace import RunTrace, run_to_end

__all__ = [
    "TOOL_OUTPUT_CAP_CHARACTERS",
    "TOOL_SERIALIZATION_MAX_COLLECTION_ENTRIES",
    "TOOL_SERIALIZATION_MAX_DEPTH",
    "TOOL_SERIALIZATION_MAX_INTEGER_BITS",
    "TOOL_SERIALIZATION_MAX_NODES",
    "TOOL_SERIALIZATION_MAX_STRING_CHARACTERS",
    "TOOL_TRUNCATION_MARKER",
    "AnyTool",
    "LoopLimits",
    "NonRecoverableToolError",
    "RunTrace",
    "ToolContractError",
    "ToolDefinition",
    "ToolRegistry",
    "define_tool",
    "execute_tool_call",
    "resumable_messages",
    "run_agent_loop",
    "run_to_end",
    "tool",
]
