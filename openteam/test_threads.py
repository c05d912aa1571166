"""The number of threads is one wherever the command runs."""

import os
import subprocess
import sys

import pytest

from openteam import threads
from openteam.storage.run_folder import RunFolder
from openteam.training.resuming import warn_of_threads

SUMS = """
from openteam.threads import use_one_thread
use_one_thread()
import jax, jax.numpy as jnp
numbers = jax.random.normal(jax.random.key(0), (3_000_000,))
square = jax.jit(lambda x: (x @ x.T).sum())
print(jnp.sum(jnp.sin(numbers) * numbers).tobytes().hex(), square(numbers.reshape(1000, -1)).tobytes().hex())
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs a system that can keep a process to a core")
def test_sums_are_the_same_on_one_core_and_on_all():
    env = os.environ | {"XLA_FLAGS": ""}
    core = min(os.sched_getaffinity(0))
    kept_to_one = f"import os; os.sched_setaffinity(0, {{{core}}})\n" + SUMS
    ours, theirs = (
        subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True).stdout
        for code in (SUMS, kept_to_one)
    )
    assert ours
    assert ours == theirs


def test_a_run_that_goes_on_with_other_threads_is_warned_of(monkeypatch, tmp_path):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    monkeypatch.setenv("NPROC", "")
    assert threads.threads() == 3
    with pytest.warns(UserWarning, match="trained with 1 threads of XLA and goes on with 3"):
        warn_of_threads(RunFolder(tmp_path), 1)
    monkeypatch.setenv("XLA_FLAGS", "")
    threads.use_one_thread()
    assert threads.threads() == 1
    warn_of_threads(RunFolder(tmp_path), 1)
