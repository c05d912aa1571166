"""Compiling: programs are kept between runs, in the user's cache folder, and what runs briefly compiles quickly."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import equinox as eqx
import jax

QUICK_TO_COMPILE = {"xla_backend_optimization_level": 1, "xla_cpu_use_fusion_emitters": False}
QUICKEST_TO_COMPILE = QUICK_TO_COMPILE | {"xla_backend_optimization_level": 0}
Function = TypeVar("Function")


def quick_jit(function: Function) -> Function:
    """``eqx.filter_jit`` for what runs a second at a time: half the time to compile, and on a CPU no slower."""
    return cast(Any, eqx.filter_jit)(function, compiler_options=QUICK_TO_COMPILE)


def once_jit(function: Function) -> Function:
    """``eqx.filter_jit`` for what runs once, such as the beginning of a run: half the time to compile."""
    return cast(Any, eqx.filter_jit)(function, compiler_options=QUICKEST_TO_COMPILE)


def use_compile_cache() -> None:
    """Turn the cache on, unless the user chose a place of his own or has none we can write to."""
    if jax.config.values["jax_compilation_cache_dir"] is not None or os.environ.get("OPENTEAM_COMPILE_CACHE") == "off":
        return
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openteam" / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def give_memory_back() -> None:
    """What a compiler has freed goes back to the system; the C library would keep it, a gigabyte of a large program."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


@contextmanager
def giving_memory_back(every: float = 0.5) -> Iterator[None]:
    """The same every few seconds while something compiles, and at its end: the compiler's peak is lower."""
    compiled = threading.Event()

    def keep_giving() -> None:
        while not compiled.wait(every):
            give_memory_back()

    thread = threading.Thread(target=keep_giving, daemon=True)
    thread.start()
    try:
        yield
    finally:
        compiled.set()
        thread.join()
        give_memory_back()
