"""The tools a run may use: names are unique, a batch is added whole or not at all (checkpoint 06)."""

from collections.abc import Sequence
from typing import cast, final

from kickwheel_agent_loop._definition import AnyTool, ToolDefinition, definition_of
from kickwheel_agent_loop._errors import ToolContractError
from kickwheel_agent_loop._inspect import class_name


@final
class ToolRegistry:
    """Tools by name, in the order they were registered (checkpoint 06).

    Takes a list or tuple of tools by the rules of `register_many`; if it raises, no registry exists. A
    lookup costs the same whatever the number of tools.
    """

    __slots__ = ("__weakref__", "_tools")

    _tools: dict[str, ToolDefinition[object, object]]

    def __init__(self, tools: Sequence[AnyTool] = ()) -> None:
        self._tools = {}
        self.register_many(tools)

    def __init_subclass__(cls) -> None:
        """Refuse descendants: what a registry answers must not depend on who made it."""
        raise TypeError("ToolRegistry is final and cannot be subclassed")

    def register(self, tool: AnyTool) -> None:
        """Add one tool. Raises `ToolContractError`: `INVALID_TOOL_DEFINITION` or `DUPLICATE_TOOL_NAME`."""
        self._add((definition_of(tool),))

    def register_many(self, tools: Sequence[AnyTool]) -> None:
        """Add all tools of an exact list or tuple, or none.

        Raises `ToolContractError`: `INVALID_TOOL_BATCH` for any other container, which is not iterated;
        `INVALID_TOOL_DEFINITION` for the first entry that is no tool; `DUPLICATE_TOOL_NAME` for a name that
        is taken or comes twice. All definitions are read before names are compared.
        """
        # [solution 06.1]
        batch: object = tools
        if type(batch) is not list and type(batch) is not tuple:
            message = f"tools must be given as a list or a tuple, not {class_name(batch)}"
            raise ToolContractError("INVALID_TOOL_BATCH", message)
        entries = tuple(cast("Sequence[object]", batch))  # a property read below may change the caller's list
        self._add(tuple([definition_of(entry) for entry in entries]))
        # [/solution]

    @property
    def names(self) -> tuple[str, ...]:
        """The names in registration order, as they are now."""
        return tuple(self._tools)

    def get(self, name: object) -> ToolDefinition[object, object] | None:
        """Return the tool of that exact name, or `None`, also for what is no string."""
        return self._tools.get(name) if type(name) is str else None

    def snapshot(self) -> "ToolRegistry":
        """Return a new registry with the same tools; later registrations on either side stay there."""
        other = ToolRegistry()
        other._tools = self._tools.copy()
        return other

    def __len__(self) -> int:
        return len(self._tools)

    def __copy__(self) -> "ToolRegistry":
        return self.snapshot()

    def __deepcopy__(self, memo: object) -> "ToolRegistry":
        return self.snapshot()

    def __repr__(self) -> str:
        return f"ToolRegistry({list(self._tools)!r})"

    def _add(self, definitions: tuple[ToolDefinition[object, object], ...]) -> None:
        """Add checked definitions in one step, after every name was found free."""
        # [solution 06.1]
        added: dict[str, ToolDefinition[object, object]] = {}
        for definition in definitions:
            if definition.name in self._tools or definition.name in added:
                raise ToolContractError("DUPLICATE_TOOL_NAME", f"there is already a tool {definition.name!r}")
            added[definition.name] = definition
        self._tools.update(added)
        # [/solution]
