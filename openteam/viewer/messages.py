"""What a page may ask for. Whatever else arrives is answered with a sentence and changes nothing."""

from __future__ import annotations

import json
import math
from typing import Any

from openteam.errors import UserError, check_whole

Message = dict[str, Any]
LONGEST = 65536  # bytes of a message
MOST_CHANGES = 64


def read_message(text: str | bytes) -> Message:
    """A message, which is a JSON object."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, no text, or brackets without end
        raise UserError("A message is a JSON object; got something else.") from None
    if not isinstance(message, dict):
        raise UserError(f"A message is a JSON object; got a {type(message).__name__}.")
    return message


def whole(message: Message, name: str, low: int, high: int) -> int:
    """A whole number of a message, between two bounds."""
    value = message.get(name)
    check_whole(f"'{name}'", value, low, high)
    assert isinstance(value, int)
    return value


def place(message: Message) -> tuple[float, float]:
    """The place ``at`` of a message, x and y."""
    at = message.get("at")
    if not (isinstance(at, list) and len(at) == 2 and all(is_number(part) for part in at)):
        raise UserError("'at' is a place: two numbers, x and y.")
    return float(at[0]), float(at[1])


def is_number(value: Any) -> bool:
    """Whether a value is a finite number of sensible size."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) < 1e6 and math.isfinite(value)


def changes_of(message: Message) -> list[Message]:
    """The changes of a what if."""
    changes = message.get("changes", [])
    if not (isinstance(changes, list) and len(changes) <= MOST_CHANGES and all(isinstance(c, dict) for c in changes)):
        raise UserError(f"'changes' is a list of at most {MOST_CHANGES} objects such as {{'remove': 1}}.")
    return changes
