"""Find what is wrong with a conversation that came from outside, without an exception."""

import json

from kickwheel_protocol import parse_messages, validate_transcript

STORED = """[
 {"role": "user", "id": "m1", "content": "What is 20 + 22?"},
 {"role": "assistant", "id": "m2", "content": [
   {"type": "toolCall", "id": "call-1", "name": "add", "arguments": {"left": 20, "right": 22}}]},
 {"role": "toolResult", "id": "m3", "toolCallId": "call-2", "toolName": "add",
  "content": "42", "isError": false}
]"""


def main() -> None:
    """Judge the conversation as it was stored, mend the link, and judge it again."""
    stored = json.loads(STORED)
    for issue in validate_transcript(stored):
        print(f"message {issue.message_index}: {issue.code}")
    stored[2]["toolCallId"] = "call-1"
    print("after the repair:", validate_transcript(stored))
    messages = parse_messages(stored)
    print(len(messages), "records,", messages[1].role)


if __name__ == "__main__":
    main()
