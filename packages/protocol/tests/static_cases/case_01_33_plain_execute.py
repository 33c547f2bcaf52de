"""01.33: an execution is awaited"""

from dataclasses import dataclass

from kickwheel_protocol import Invalid, Tool, ToolContext, ToolValidation


@dataclass(frozen=True)
class Pair:
    left: int
    right: int


class Sync:
    name = "add"
    description = "Add."

    def validate(self, value: object, /) -> ToolValidation[Pair]:
        return Invalid("no")

    def execute(self, value: Pair, context: ToolContext, /) -> int:
        return value.left + value.right


t: Tool[Pair, int] = Sync()  # !
