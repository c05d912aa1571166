"""Mistakes that are the user's to mend, told in one sentence."""


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
