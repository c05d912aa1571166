"""How many threads XLA computes with on a CPU.

It cuts sums into as many pieces as it has threads, so the last digits of a result depend on their number, and training
amplifies them. With one thread a run is the same on any number of cores, and small networks are faster, too.
"""

from __future__ import annotations

import os

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


def use_one_thread() -> None:
    """Tell XLA, which reads it when JAX first computes something."""
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_cpu_multi_thread_eigen" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {ONE_THREAD}".strip()
    os.environ["NPROC"] = "1"  # the size of its pool of threads


def use_cpu_devices(count: int) -> None:
    """Have JAX, where it computes on the CPU, make several devices of it; before JAX computes anything."""
    if count > 1:
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={count}".strip()


def threads() -> int:
    """The number that results depend on, as far as the environment tells."""
    told = os.environ.get("NPROC") == "1" and ONE_THREAD in os.environ.get("XLA_FLAGS", "")
    return 1 if told else usable_cores()


def usable_cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
