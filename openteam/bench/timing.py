"""Stopwatches for compiled programs."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from openteam.compile_cache import giving_memory_back


@dataclass(frozen=True)
class Program:
    """A compiled function with what it cost to compile."""

    call: Callable[..., Any]
    cold_seconds: float
    cached_seconds: float
    megabytes: float


def compile_twice(function: Callable[..., Any], *args: Any) -> Program:
    """Compile with an empty cache, then again from it."""
    with tempfile.TemporaryDirectory() as folder:
        before = jax.config.values["jax_compilation_cache_dir"]
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        reset_cache()
        try:
            with giving_memory_back():  # as a run does
                _, cold = _compile(function, *args)
            jax.clear_caches()
            call, cached = _compile(function, *args)
            kept = any(Path(folder).iterdir())
        finally:
            jax.config.update("jax_compilation_cache_dir", before)
            reset_cache()
    return Program(call, cold, cached if kept else float("nan"), megabytes_of(call))


def megabytes_of(compiled: Any) -> float:
    """What a compiled program holds while it runs: arguments, results and what is in between."""
    memory = compiled.compiled.memory_analysis()
    return (memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes) / 1e6


def peak_megabytes() -> float:
    """The most memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def _compile(function: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    compiled = lowered(function, *args).compile()
    return compiled, time.perf_counter() - began


def lowered(function: Callable[..., Any], *args: Any) -> Any:
    """Traced, not yet compiled."""
    jitted: Any = eqx.filter_jit(function)
    return jitted.lower(*args)


def seconds_per_call(call: Callable[[], Any], budget: float) -> float:
    """The fastest of at least three calls, after one to warm up; the rest of the machine only ever slows one down."""
    jax.block_until_ready(call())
    best, spent, calls = float("inf"), 0.0, 0
    while spent < budget or calls < 3:
        began = time.perf_counter()
        jax.block_until_ready(call())
        taken = time.perf_counter() - began
        best, spent, calls = min(best, taken), spent + taken, calls + 1
    return best
