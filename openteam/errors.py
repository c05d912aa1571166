"""Mistakes that are the user's to mend, told in one sentence."""


class UserError(Exception):
    """Shown without a traceback by the command line, which then exits with code 2.

    The message says what was given, what was expected, and what to do.
    """
