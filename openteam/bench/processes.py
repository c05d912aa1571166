"""Measuring in processes that are pinned to cores."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from openteam.storage.imports import import_modules

Figure = TypeVar("Figure")


def pin(cores: list[int]) -> None:
    """Run on these cores only, where the system allows it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def alone(measure: Callable[..., Figure], given: tuple, cores: list[int], imports: tuple[str, ...] = ()) -> Figure:
    """What a process of its own measures on these cores: its memory is that of this measurement."""
    [figure] = _measure([cores], measure, given, imports)
    return figure


def in_parallel(
    measure: Callable[..., Figure], given: tuple, processes: int, cores: list[int], imports: tuple[str, ...] = ()
) -> list[Figure]:
    """What several pinned processes measure that start together; what goes wrong in one of them is raised here."""
    return _measure([[cores[n % len(cores)]] for n in range(processes)], measure, given, imports)


def _measure(
    pins: list[list[int]], measure: Callable[..., Figure], given: tuple, imports: tuple[str, ...]
) -> list[Figure]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(pins), context, _get_ready, (imports, context.Barrier(len(pins)))) as pool:
        return list(pool.map(_pinned, pins, itertools.repeat(measure), itertools.repeat(given)))


def _get_ready(imports: tuple[str, ...], barrier: Any) -> None:
    """Wait for the others, with all modules there."""
    import_modules(imports)
    barrier.wait()


def _pinned(cores: list[int], measure: Callable[..., Figure], given: tuple) -> Figure:
    pin(cores)
    return measure(*given)
