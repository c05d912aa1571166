"""Being asked to stop, in all the ways in which systems do that."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import NoReturn

from openteam.errors import UserError
from openteam.execution.processes import STOPPING


@contextlib.contextmanager
def stopped_by_signals(seconds: float | None = None) -> Iterator[None]:
    """SIGTERM, SIGUSR1 and, if given, the end of a time act as Ctrl-C does. Only for a program's main thread."""
    if seconds is not None and not hasattr(signal, "setitimer"):
        raise UserError("A time limit needs a system with timers, which this one does not have. Leave it out.")
    alarm = [signal.SIGALRM] if seconds is not None else []
    before = {number: signal.signal(number, _interrupt) for number in [*STOPPING, *alarm]}
    if seconds is not None:
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        if seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: object) -> NoReturn:
    """Once is enough: what is being written then is not interrupted again."""
    for one in STOPPING:
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt
