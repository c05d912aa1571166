"""Whole numbers on the command line, also as 6.4e6."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import tyro

from openteam.errors import UserError


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
    raise ValueError(f"'{text[:40]}' is no whole number, such as 5000 or 6.4e6")


def one_word(
    metavar: str, kind: type, read: Callable[[str], Any], shown: Callable[[Any], str]
) -> tyro.constructors.PrimitiveConstructorSpec[Any]:
    """How tyro reads and shows a flag that takes one word. A wrong one gets a sentence; tyro's own shows its types."""

    def read_first(words: Sequence[str]) -> Any:
        try:
            return read(words[0])
        except ValueError as error:
            raise UserError(f"{error}.") from None

    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=read_first,
        is_instance=lambda value: isinstance(value, kind),
        str_from_instance=lambda value: [shown(value)],
    )


Count = Annotated[int, one_word("INT", int, whole_number, str)]
