"""A tool from its two halves, for arguments that annotations cannot describe."""

import asyncio

from kickwheel_agent_loop import ToolRegistry, define_tool, execute_tool_call
from kickwheel_protocol import Invalid, JsonObject, ToolCall, ToolContext, ToolValidation, Valid

BOOKED = {"b1": ["09:00"]}


def check_booking(arguments: object) -> ToolValidation[tuple[str, str]]:
    """Approve a room and a time that is free. Looks, and changes nothing."""
    if type(arguments) is not JsonObject or set(arguments) != {"room", "time"}:
        return Invalid("give a room and a time")
    room, time = arguments["room"], arguments["time"]
    if not isinstance(room, str) or not isinstance(time, str) or room not in BOOKED:
        return Invalid(f"the rooms are {', '.join(BOOKED)}")
    if time in BOOKED[room]:
        return Invalid(f"{room} is taken at {time}")
    return Valid((room, time))


async def book(booking: tuple[str, str], _context: ToolContext) -> dict[str, str]:
    """Book what was approved. Only now something changes."""
    room, time = booking
    BOOKED[room].append(time)
    return {"room": room, "time": time}


book_room = define_tool("book_room", "Books a meeting room.", check_booking, book)


async def main() -> None:
    """Book the same hour twice."""
    tools = ToolRegistry([book_room])
    for number in (1, 2):
        call = ToolCall(f"call-{number}", "book_room", {"room": "b1", "time": "10:00"})
        print((await execute_tool_call(tools, call)).content)


if __name__ == "__main__":
    asyncio.run(main())
