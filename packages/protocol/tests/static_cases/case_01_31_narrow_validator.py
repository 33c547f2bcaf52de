"""01.31: a validator takes anything"""

from dataclasses import dataclass

from kickwheel_protocol import Invalid, Tool, ToolContext, ToolValidation


@dataclass(frozen=True)
class Pair:
    left: int
    right: int


class Narrow:
    name = "add"
    description = "Add."

    def validate(self, value: dict[str, int], /) -> ToolValidation[Pair]:
        return Invalid("no")

    async def execute(self, value: Pair, context: ToolContext, /) -> int:
        return value.left + value.right


t: Tool[Pair, int] = Narrow()  # !
