"""How often Python looks for garbage."""

from __future__ import annotations

import gc


def collect_garbage_rarely() -> None:
    """For a process that is ours: programs stay in memory, and to search them takes a fifth of the time of tracing."""
    gc.set_threshold(50_000, 20, 50)
