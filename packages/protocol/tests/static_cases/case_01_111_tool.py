"""01.111: a class that fits the port"""

from dataclasses import dataclass

from kickwheel_protocol import Invalid, Tool, ToolContext, ToolValidation


@dataclass(frozen=True)
class Pair:
    left: int
    right: int


class Add:
    name = "add"
    description = "Add."

    def validate(self, value: object, /) -> ToolValidation[Pair]:
        return Invalid("no")

    async def execute(self, value: Pair, context: ToolContext, /) -> int:
        context.signal.raise_if_aborted()
        return value.left + value.right


t: Tool[Pair, int] = Add()
