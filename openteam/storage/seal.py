"""Digests over JSON: what was written carries a fingerprint of itself, and is believed only if that still fits."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from openteam.errors import UserError

SEAL = "sha256"


def fingerprint(content: Any) -> str:
    """The same for a value and for what its JSON is read back as. The order of keys counts, as it does to readers."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """With its own fingerprint as the last entry."""
    return content | {SEAL: fingerprint(content)}


def unsealed(text: str | bytes, path: Path) -> dict[str, Any]:
    """What ``sealed`` was given, out of the JSON in a file; raises unless it is intact."""
    content = parse_json(text, path)
    if not isinstance(content, dict):
        raise UserError(f"{path} is damaged: it should hold a JSON object.")
    if SEAL not in content:
        raise UserError(f"{path} is damaged, or an earlier version of openteam wrote it: it has no {SEAL} of itself.")
    inner = {name: value for name, value in content.items() if name != SEAL}
    if content[SEAL] != fingerprint(inner):
        raise UserError(
            f"{path} is damaged or was edited: it does not match its own {SEAL}. Put the file back as it was written."
        )
    return inner


def parse_json(text: str | bytes, path: Path) -> Any:
    """JSON, or a sentence about the file that it should have been."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # no JSON, no UTF-8, numbers of thousands of digits, endless nesting
        raise UserError(f"{path} is damaged: {error}.") from None


def read_bytes(path: Path) -> bytes:
    """A file's content, or a sentence."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}.") from None
