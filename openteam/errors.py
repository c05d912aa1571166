"""Mistakes that are the user's to mend, told in one sentence."""

from typing import Any

LAST_SEED = 2**32 - 1  # keys have room for 32 bits


class UserError(Exception):
    """Shown without a traceback by the command line, which then exits with code 2.

    The message says what was given, what was expected, and what to do.
    """


def check_positive(config: object, *names: str) -> None:
    """Raise unless these settings are positive, or None where that is allowed."""
    for name in names:
        value = getattr(config, name)
        if value is not None and not value > 0:
            raise UserError(f"{type(config).__name__}'s {name} must be positive; got {value}.")


def check_not_negative(config: object, *names: str) -> None:
    """Raise unless these settings are zero or positive."""
    for name in names:
        if not getattr(config, name) >= 0:
            raise UserError(f"{type(config).__name__}'s {name} must not be negative; got {getattr(config, name)}.")


def check_in(config: object, low: float, high: float, *names: str) -> None:
    """Raise unless these settings lie between two bounds, both included."""
    for name in names:
        if not low <= getattr(config, name) <= high:
            raise UserError(
                f"{type(config).__name__}'s {name} must lie between {low} and {high}; got {getattr(config, name)}."
            )


def check_seed(seed: Any, count: int = 1) -> None:
    """Raise unless this and the next seeds can start a random key."""
    check_whole("seed", seed, 0, LAST_SEED)
    check_whole("the last seed", seed + count - 1, 0, LAST_SEED)


def check_whole(name: str, value: Any, low: int, high: int) -> None:
    """Raise unless a value is a whole number between two bounds, both included."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise UserError(f"{name} must be a whole number; got {value!r}.")
    shown = value if abs(value) < 10**12 else f"{value:.3g}" if abs(value) < 10**300 else "hundreds of digits"
    if value < low:
        raise UserError(f"{name} must be at least {low:,}; got {shown}.")
    if value > high:
        raise UserError(f"{name} must be at most {high:,}; got {shown}.")
