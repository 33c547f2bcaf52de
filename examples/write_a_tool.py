"""Two typed tools, and the four ways in which one call can end."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from kickwheel_agent_loop import NonRecoverableToolError, ToolRegistry, execute_tool_call, tool
from kickwheel_protocol import ToolCall, ToolContext


@dataclass
class Order:
    """What the tool answers with; it becomes JSON by itself."""

    number: int
    state: str


ORDERS = {7: Order(7, "packed"), 8: Order(8, "lost")}


@tool
def find_order(number: Annotated[int, Meta(ge=1, description="the number on the receipt")]) -> Order:
    """Find an order by its number."""
    if number not in ORDERS:
        raise LookupError(f"there is no order {number}")
    return ORDERS[number]


@tool(name="cancel_order", description="Cancels an order. Ask the user first.")
async def cancel(number: int, reason: Literal["late", "wrong"], context: ToolContext) -> str:
    """Show what an async tool with the context looks like."""
    await asyncio.sleep(0)
    context.signal.raise_if_aborted()
    if number == 8:
        raise NonRecoverableToolError("the warehouse is on fire")
    return f"order {number} cancelled: {reason}"


async def main() -> None:
    """Make one call of each kind and print what came of it."""
    tools = ToolRegistry([find_order, cancel])
    calls = [
        ToolCall("call-1", "find_order", {"number": 7}),
        ToolCall("call-2", "find_order", {"number": "7"}),
        ToolCall("call-3", "find_order", {"number": 9}),
        ToolCall("call-4", "cancel_order", {"number": 7, "reason": "late"}),
    ]
    for call in calls:
        result = await execute_tool_call(tools, call)
        print("error" if result.is_error else "ok   ", result.content)
    try:
        await execute_tool_call(tools, ToolCall("call-5", "cancel_order", {"number": 8, "reason": "late"}))
    except NonRecoverableToolError as error:
        print("stop ", error)


if __name__ == "__main__":
    asyncio.run(main())
