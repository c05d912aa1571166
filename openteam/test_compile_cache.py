from __future__ import annotations

import pwd
import threading

import jax
import pytest

from openteam import compile_cache
from openteam.compile_cache import check_precision, giving_memory_back, private_cache_folder
from openteam.errors import UserError


def test_memory_is_given_back_while_something_compiles_and_at_its_end(monkeypatch):
    given = threading.Semaphore(0)
    monkeypatch.setattr(compile_cache, "give_memory_back", given.release)
    threads = threading.active_count()
    with giving_memory_back(every=0.01):
        assert given.acquire(timeout=60)
        assert given.acquire(timeout=60)
    assert given.acquire(timeout=60)
    assert threading.active_count() == threads


def test_a_user_without_a_home_goes_without_a_cache(monkeypatch):
    def unknown(uid):
        raise KeyError(uid)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert private_cache_folder() is None


def test_programs_are_kept_only_where_nobody_else_can_put_others(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = private_cache_folder()
    assert folder == tmp_path / "openteam" / "compiled"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    assert private_cache_folder() is None


def test_64_bits_are_refused_with_a_sentence():
    check_precision()
    with jax.enable_x64(True), pytest.raises(UserError, match="computes with 32 bits, and jax_enable_x64 is on"):
        check_precision()
