"""Durations on the command line: 90s, 50m, 1.5h."""

from __future__ import annotations

import re
from typing import Annotated

from openteam.commands.count import one_word

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds_in(text: str) -> float:
    """``50m`` is 3000 seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", text)
    if match is None or float(match.group(1)) == 0 or len(text) > 20:
        raise ValueError(f"'{text[:40]}' is no duration, such as 90s, 50m, 1.5h or 2d")
    return float(match.group(1)) * UNITS[match.group(2)]


def shown(seconds: float) -> str:
    """The same in the largest unit that fits."""
    unit = next((name for name in "dhm" if seconds % UNITS[name] == 0), "s")
    return f"{seconds / UNITS[unit]:g}{unit}"


Duration = Annotated[float, one_word("TIME", float, seconds_in, shown)]
"""Seconds, given as 90s, 50m, 1.5h."""
