"""Mistakes that are the user's to mend, told in one sentence."""


class UserError(Exception):
    """Shown without a traceback by the command line, which then exits with code 2.

    The message says what was given, what was expected, and what to do.
    """


def check_positive(config: object, *names: str) -> None:
    """Raise unless these settings are positive."""
    for name in names:
        if not getattr(config, name) > 0:
            raise UserError(f"{type(config).__name__}'s {name} must be positive; got {getattr(config, name)}.")
