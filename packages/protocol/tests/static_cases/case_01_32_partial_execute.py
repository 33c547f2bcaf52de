"""01.32: what is validated can be executed"""

from kickwheel_protocol import Invalid, Tool, ToolContext, ToolValidation


class Partial:
    name = "add"
    description = "Add."

    def validate(self, value: object, /) -> ToolValidation[int | str]:
        return Invalid("no")

    async def execute(self, value: int, context: ToolContext, /) -> int:
        return value


t: Tool[int | str, int] = Partial()  # !
