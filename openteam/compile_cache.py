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

from openteam.errors import UserError
from openteam.threads import threads

QUICK_TO_COMPILE = {"xla_backend_optimization_level": 1, "xla_cpu_use_fusion_emitters": False}
QUICKEST_TO_COMPILE = QUICK_TO_COMPILE | {"xla_backend_optimization_level": 0}
Function = TypeVar("Function")


def chosen_options(usual: dict[str, Any]) -> dict[str, Any]:
    """``usual``, unless OPENTEAM_COMPILE=quickest: then programs compile in a third of the time and run slower.

    It is read when openteam is imported. Numbers differ in their last digits, so a run keeps to one of the two.
    """
    wanted = os.environ.get("OPENTEAM_COMPILE", "")
    if wanted not in ("", "quickest"):
        raise UserError(f"OPENTEAM_COMPILE must be 'quickest' or not set; got '{wanted}'.")
    return QUICKEST_TO_COMPILE if wanted else usual


def long_jit(function: Function) -> Function:
    """``eqx.filter_jit`` for what runs for minutes or hours: compiled with all care."""
    return cast(Any, eqx.filter_jit)(function, compiler_options=chosen_options({}))


def quick_jit(function: Function) -> Function:
    """``eqx.filter_jit`` for what runs a second at a time: half the time to compile, and on a CPU no slower."""
    return cast(Any, eqx.filter_jit)(function, compiler_options=chosen_options(QUICK_TO_COMPILE))


def once_jit(function: Function) -> Function:
    """``eqx.filter_jit`` for what runs once, such as the beginning of a run: half the time to compile."""
    return cast(Any, eqx.filter_jit)(function, compiler_options=QUICKEST_TO_COMPILE)


def traced_once(function: Function) -> Function:
    """For what is traced more than once, such as for its shapes and then as part of a program, which stays the same."""
    return cast(Any, eqx.filter_jit)(function, inline=True)


def use_compile_cache(shortest: float = 0.5) -> None:
    """Turn the cache on, unless the user chose a place of his own or has none that is his alone.

    What compiles in less than ``shortest`` seconds is not kept, unless the start of a process is what counts.

    JAX runs whatever it finds under a program's key. It notices a damaged entry, warns and compiles, but not the entry
    of another program: whoever can write to the folder decides what runs here.
    """
    if jax.config.values["jax_compilation_cache_dir"] is not None or os.environ.get("OPENTEAM_COMPILE_CACHE") == "off":
        return
    folder = private_cache_folder()
    if folder is not None:
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", shortest)


def private_cache_folder() -> Path | None:
    """A folder of the user's that no one else can write to; None if there is none, as without a home."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openteam" / f"compiled-{threads()}"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        about = folder.stat()
    except (OSError, RuntimeError):  # a user unknown to the system has no home: RuntimeError
        return None
    others_may_write = hasattr(os, "getuid") and (about.st_uid != os.getuid() or about.st_mode & 0o022)
    return None if others_may_write or not os.access(folder, os.W_OK) else folder


def check_precision() -> None:
    """Raise in JAX's mode of 64 bits: worlds and networks are written for 32, and so are stored weights."""
    if jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise UserError(
            "openteam computes with 32 bits, and jax_enable_x64 is on. Turn it off: "
            "jax.config.update('jax_enable_x64', False), and leave JAX_ENABLE_X64 unset."
        )


def give_memory_back() -> None:
    """What a compiler has freed goes back to the system; the C library would keep it, a gigabyte of a large program."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


@contextmanager
def giving_memory_back(every: float = 3.0) -> Iterator[None]:
    """The same every few seconds while something compiles, and at its end: the compiler's peak is lower.

    Not more often: the compiler waits meanwhile. Twice a second a cold start took 34 s instead of 29.
    """
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
