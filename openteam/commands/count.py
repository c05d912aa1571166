"""Whole numbers on the command line, also as 6.4e6."""

from __future__ import annotations

from typing import Annotated

import tyro


def whole_number(text: str) -> int:
    """6400000 and 6.4e6 alike."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):  # banana, nan; inf
        pass
    raise ValueError(f"'{text}' is no whole number, such as 5000 or 6.4e6")


Count = Annotated[
    int,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: whole_number(words[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    ),
]
