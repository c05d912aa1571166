from __future__ import annotations

import threading

from openteam import compile_cache
from openteam.compile_cache import giving_memory_back


def test_memory_is_given_back_while_something_compiles_and_at_its_end(monkeypatch):
    given = threading.Semaphore(0)
    monkeypatch.setattr(compile_cache, "give_memory_back", given.release)
    threads = threading.active_count()
    with giving_memory_back(every=0.01):
        assert given.acquire(timeout=60)
        assert given.acquire(timeout=60)
    assert given.acquire(timeout=60)
    assert threading.active_count() == threads
