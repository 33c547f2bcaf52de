"""Transcript checks: what is wrong with untrusted messages, told as indexed findings and never as an
exception.

The shape of each entry is looked at first, then how calls and results are linked. All tests are by identity
of the type; no code of a foreign object runs, and keys are seen to be exact strings before any of them is
looked up.
"""

from typing import Final, cast

from ._checks import DICT, LIST, MISSING, TUPLE, bool_fault, id_fault, not_a, text_fault
from ._errors import Refusal
from ._json import JsonObject, read_object
from ._linkage import Linkage, TranscriptIssue, TranscriptIssueCode
from ._messages import AssistantMessage, TextBlock, ToolCall, ToolResultMessage, UserMessage

WHOLE: Final = -1  # the index that stands for the transcript itself


def validate_transcript(value: object) -> tuple[TranscriptIssue, ...]:
    """Tell what is wrong with a transcript: `()` if nothing is (checkpoint 03).

    Takes anything and raises nothing. A transcript is a list or tuple of messages, each a record or in wire
    form. First come faults of shape and duplicates in transcript order, then findings on results, then
    calls without a result. That order is part of the contract; it is not the order of indices. O(size), but
    the arguments of records are not walked again.
    """
    if type(value) is not LIST and type(value) is not TUPLE:
        return (TranscriptIssue("INVALID_TRANSCRIPT", WHOLE, not_a("a list or tuple of messages", value)),)
    shape = _Shape()
    for index, entry in enumerate(value):
        shape.entry(index, entry)
    return (*shape.issues, *shape.linkage.judge_results(), *shape.linkage.judge_calls())


class _Shape:
    """Looks at one entry after the other, notes what is wrong in itself, and hands calls and results to the
    linkage.
    """

    def __init__(self) -> None:
        self.issues: list[TranscriptIssue] = []
        self.linkage = Linkage()

    def entry(self, index: int, entry: object) -> None:
        """Look at one entry of the transcript."""
        if type(entry) is UserMessage:
            return
        if type(entry) is AssistantMessage:
            for block in entry.content:
                self._block(index, 0, block)
        elif type(entry) is ToolResultMessage:
            self._note(self.linkage.result(index, entry.tool_call_id, entry.tool_name))
        elif (fields := wire_fields_or_none(entry)) is None:
            self._report("INVALID_MESSAGE", index, "", not_a("a message", entry))
        else:
            self._message(index, fields)

    def _message(self, index: int, fields: dict[str, object]) -> None:
        # [solution 03.3]
        role = fields.get("role", MISSING)
        if type(role) is not str:
            self._refuse_entry(index, fields, ".role", not_a("a string", role))
        elif fault := id_fault(fields.get("id", MISSING)):
            self._refuse_entry(index, fields, ".id", fault)
        elif role == "user":
            self._check(text_fault(fields.get("content", MISSING)), index, ".content")
        elif role == "assistant":
            self._content(index, fields.get("content", MISSING))
        elif role == "toolResult":
            self._result(index, fields)
        else:
            self._refuse_entry(index, fields, ".role", "must be user or assistant or toolResult")
        # [/solution]

    def _content(self, index: int, content: object) -> None:
        if type(content) is not LIST and type(content) is not TUPLE:
            self._report("INVALID_MESSAGE", index, ".content", not_a("a list or tuple", content))
            return
        for position, block in enumerate(content):
            self._block(index, position, block)

    def _block(self, index: int, position: int, block: object) -> None:
        if type(block) is TextBlock:
            return
        if type(block) is ToolCall:
            self._note(self.linkage.call(index, block.id, block.name))
            return
        where = f".content[{position}]"
        fields = wire_fields_or_none(block)
        if fields is None:
            self._report("INVALID_MESSAGE", index, where, not_a("a block", block))
            return
        kind = fields.get("type", MISSING)
        if type(kind) is not str:
            self._report("INVALID_MESSAGE", index, f"{where}.type", not_a("a string", kind))
        elif kind == "text":
            self._check(text_fault(fields.get("text", MISSING)), index, f"{where}.text")
        elif kind == "toolCall":
            self._call(index, where, fields)
        else:
            self._report("INVALID_MESSAGE", index, f"{where}.type", "must be text or toolCall")

    def _call(self, index: int, where: str, fields: dict[str, object]) -> None:
        # [solution 03.3]
        call_id = fields.get("id", MISSING)
        name = fields.get("name", MISSING)
        before = len(self.issues)
        self._check(id_fault(call_id), index, f"{where}.id")
        self._check(id_fault(name), index, f"{where}.name", "EMPTY_TOOL_NAME")
        self._check(
            _arguments_fault(fields.get("arguments", MISSING)),
            index,
            f"{where}.arguments",
            "INVALID_TOOL_ARGUMENTS",
        )
        if len(self.issues) == before:
            self._note(self.linkage.call(index, cast(str, call_id), cast(str, name)))
        elif not id_fault(call_id):
            self.linkage.malformed_call(cast(str, call_id))
        # [/solution]

    def _result(self, index: int, fields: dict[str, object]) -> None:
        call_id = fields.get("toolCallId", MISSING)
        name = fields.get("toolName", MISSING)
        before = len(self.issues)
        self._check(id_fault(call_id), index, ".toolCallId")
        self._check(id_fault(name), index, ".toolName", "EMPTY_TOOL_NAME")
        self._check(text_fault(fields.get("content", MISSING)), index, ".content")
        self._check(bool_fault(fields.get("isError", MISSING)), index, ".isError")
        if len(self.issues) == before:
            self._note(self.linkage.result(index, cast(str, call_id), cast(str, name)))
        elif not id_fault(call_id):
            self.linkage.malformed_result(cast(str, call_id))

    def _refuse_entry(self, index: int, fields: dict[str, object], where: str, reason: str) -> None:
        """Report an entry as a whole, and remember the call ids inside: what refers to them is not judged."""
        self._report("INVALID_MESSAGE", index, where, reason)
        if not id_fault(answered := fields.get("toolCallId", MISSING)):
            self.linkage.malformed_result(cast(str, answered))
        content = fields.get("content", MISSING)
        if type(content) is not LIST and type(content) is not TUPLE:
            return
        for block in content:
            if type(block) is ToolCall:
                self.linkage.malformed_call(block.id)
            elif (inner := wire_fields_or_none(block)) is not None:
                kind, call_id = inner.get("type", MISSING), inner.get("id", MISSING)
                if type(kind) is str and kind == "toolCall" and not id_fault(call_id):
                    self.linkage.malformed_call(cast(str, call_id))

    def _check(
        self, fault: str, index: int, where: str, code: TranscriptIssueCode = "INVALID_MESSAGE"
    ) -> None:
        if fault:
            self._report(code, index, where, fault)

    def _report(self, code: TranscriptIssueCode, index: int, where: str, reason: str) -> None:
        self.issues.append(TranscriptIssue(code, index, f"[{index}]{where}: {reason}"))

    def _note(self, issue: TranscriptIssue | None) -> None:
        if issue:
            self.issues.append(issue)


def wire_fields_or_none(value: object) -> dict[str, object] | None:
    """Return the fields of a wire object, its keys seen to be exact strings; nothing if it is anything
    else.
    """
    if type(value) is not DICT and type(value) is not JsonObject:
        return None
    for key in value:
        if type(key) is not str:
            return None
    return cast(dict[str, object], value)


def _arguments_fault(value: object) -> str:
    try:
        read_object(value)
    except Refusal as refusal:
        error = refusal.to_error()
        return f"{error.path}: {error.reason}" if error.path else error.reason
    return ""
