"""How tool calls and tool results of a transcript belong together, and the findings that name what does
not.
"""

from typing import Final, Literal, TypeAlias, final

from ._record import Record

TranscriptIssueCode: TypeAlias = Literal[
    "INVALID_TRANSCRIPT",
    "INVALID_MESSAGE",
    "DUPLICATE_TOOL_CALL_ID",
    "DUPLICATE_TOOL_RESULT",
    "ORPHAN_TOOL_RESULT",
    "TOOL_RESULT_BEFORE_CALL",
    "MISSING_TOOL_RESULT",
    "TOOL_NAME_MISMATCH",
    "EMPTY_TOOL_NAME",
    "INVALID_TOOL_ARGUMENTS",
]
"""What can be wrong with a transcript (checkpoint 03)."""

SHOWN: Final = 200  # characters of an id or a name in a text; those of up to 100 stand there whole (03.69)


@final
class TranscriptIssue(Record, frozen=True):
    """One finding: what, at which message (-1 for the whole transcript), and a text for people (checkpoint
    03).

    Branch on `code` and `message_index`, never on the text. The constructor checks nothing.
    """

    code: TranscriptIssueCode
    message_index: int
    message: str


Place: TypeAlias = tuple[int, str]
"""Where a call or result stands, and the tool name it carries."""


class Linkage:
    """Gathers the calls and results of a transcript by call id, then finds what does not match.

    Only well-formed ones are linked. Of a malformed one the id is remembered, when it can be read: whatever
    else carries that id would be judged by a record that is known to be wrong, so it is not judged at all.
    """

    def __init__(self) -> None:
        self._calls: dict[str, list[Place]] = {}
        self._results: dict[str, list[Place]] = {}
        self._malformed_calls: set[str] = set()
        self._malformed_results: set[str] = set()

    def malformed_call(self, call_id: str) -> None:
        """Remember the id of a call that is wrong in itself."""
        self._malformed_calls.add(call_id)

    def malformed_result(self, call_id: str) -> None:
        """Remember the id of a result that is wrong in itself."""
        self._malformed_results.add(call_id)

    def call(self, index: int, call_id: str, name: str) -> TranscriptIssue | None:
        """Take a well-formed call; the second and each later one of an id is a finding."""
        places = self._calls.setdefault(call_id, [])
        places.append((index, name))
        if len(places) == 1:
            return None
        text = f"call id {_shown(call_id)} is used by an earlier call, at message {places[0][0]}"
        return TranscriptIssue("DUPLICATE_TOOL_CALL_ID", index, text)

    def result(self, index: int, call_id: str, name: str) -> TranscriptIssue | None:
        """Take a well-formed result; the second and each later one of an id is a finding."""
        places = self._results.setdefault(call_id, [])
        places.append((index, name))
        if len(places) == 1:
            return None
        text = f"call id {_shown(call_id)} has an earlier result, at message {places[0][0]}"
        return TranscriptIssue("DUPLICATE_TOOL_RESULT", index, text)

    def judge_results(self) -> list[TranscriptIssue]:
        """Find results without their call, before it, or under another name: by id, in order of first
        results.
        """
        issues: list[TranscriptIssue] = []
        for call_id, places in self._results.items():
            if call_id in self._malformed_calls:
                continue
            calls = self._calls.get(call_id, [])
            for place in places:
                # [solution 03.4]
                if not calls:
                    issues.append(_orphan(call_id, place))
                elif len(calls) == 1 and (issue := _mismatch(call_id, calls[0], place)):
                    issues.append(issue)
                # [starter]
                # pass
                # [/solution]
        return issues

    def judge_calls(self) -> list[TranscriptIssue]:
        """Find calls that no later result answers: by id, in order of first calls."""
        issues: list[TranscriptIssue] = []
        for call_id, places in self._calls.items():
            if len(places) > 1 or call_id in self._malformed_calls or call_id in self._malformed_results:
                continue
            index, name = places[0]
            if not any(at > index for at, _ in self._results.get(call_id, [])):
                text = f"call {_shown(call_id)} of tool {_shown(name)} has no later result"
                issues.append(TranscriptIssue("MISSING_TOOL_RESULT", index, text))
        return issues


def _orphan(call_id: str, result: Place) -> TranscriptIssue:
    return TranscriptIssue("ORPHAN_TOOL_RESULT", result[0], f"no call has the id {_shown(call_id)}")


def _mismatch(call_id: str, call: Place, result: Place) -> TranscriptIssue | None:
    """Say how a result disagrees with the one call of its id."""
    (called_at, called), (index, answered) = call, result
    if index <= called_at:
        text = f"the call {_shown(call_id)} follows only at message {called_at}"
        return TranscriptIssue("TOOL_RESULT_BEFORE_CALL", index, text)
    if answered != called:
        text = f"call {_shown(call_id)} names tool {_shown(called)}, its result names {_shown(answered)}"
        return TranscriptIssue("TOOL_NAME_MISMATCH", index, text)
    return None


def _shown(text: str) -> str:
    return f'"{text if len(text) <= SHOWN else text[:SHOWN] + "…"}"'
