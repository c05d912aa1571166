"""Durations on the command line: 90s, 50m, 1.5h."""

from __future__ import annotations

import re
from typing import Annotated

import tyro

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


Duration = Annotated[
    float,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="TIME",
        instance_from_str=lambda words: seconds_in(words[0]),
        is_instance=lambda value: isinstance(value, float),
        str_from_instance=lambda value: [shown(value)],
    ),
]
"""Seconds, given as 90s, 50m, 1.5h."""
