"""Mistakes that are the user's to mend, told in one sentence."""

from typing import Any, get_args


class UserError(Exception):
    """Shown without a traceback by the command line, which then exits with code 2.

    The message says what was given, what was expected, and what to do.
    """


def check_positive(config: object, *names: str) -> None:
    """Raise unless these settings are positive."""
    for name in names:
        if not getattr(config, name) > 0:
            raise UserError(f"{type(config).__name__}'s {name} must be positive; got {getattr(config, name)}.")


def check_in(config: object, low: float, high: float, *names: str) -> None:
    """Raise unless these settings lie between two bounds, both included."""
    for name in names:
        if not low <= getattr(config, name) <= high:
            raise UserError(
                f"{type(config).__name__}'s {name} must lie between {low} and {high}; got {getattr(config, name)}."
            )


def check_choice(config: object, name: str, choices: Any) -> None:
    """Raise unless a setting is one of the words of a ``Literal``."""
    if getattr(config, name) not in get_args(choices):
        options = " or ".join(f"'{choice}'" for choice in get_args(choices))
        raise UserError(f"{type(config).__name__}'s {name} must be {options}; got {getattr(config, name)!r}.")
