"""The compiled program of one run, or of several that differ in their seeds only."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from openteam.compile_cache import long_jit, once_jit
from openteam.core.random import key as make_key
from openteam.host.task import compiled
from openteam.training.devices import gathered, mesh_for, spread
from openteam.training.hosts import wait_for_others
from openteam.training.loop import Carry, advance, start_carry
from openteam.training.spec import RunSpec

START, COLLECT, LEARN = range(3)  # the uses of a run's seed

start_one = once_jit(start_carry)
start_batch = once_jit(jax.vmap(start_carry, in_axes=(None, None, 0)))
advance_one = long_jit(advance)
advance_batch = long_jit(jax.vmap(advance, in_axes=(None, None, 0, 0, None, None)))


class Program:
    """Pure functions from carry to carry.

    Several seeds are batched with ``vmap``, which pays on an accelerator. A single one is not, so that nothing differs
    from a plain call, bit for bit.
    """

    def __init__(self, specs: Sequence[RunSpec], devices: int = 1):
        self.spec = specs[0]
        self.mesh = mesh_for(specs, devices)
        self.task = compiled(self.spec.task)
        self.alone = len(specs) == 1
        self.meetings = itertools.count()
        self.roots = jnp.stack([make_key(spec.seed) for spec in specs])

    def start(self) -> Carry:
        """A run that has learned nothing."""
        start = start_one if self.alone else start_batch
        return self.placed(start(self.task, self.spec.learner, self.unbatched(self.keys(START))))

    def start_shapes(self) -> Carry:
        """The shapes of one seed's carry."""
        return eqx.filter_eval_shape(start_carry, self.task, self.spec.learner, make_key(0))

    def compile(self) -> None:
        """Compile ``advance`` before there is a carry."""
        seeds = () if self.alone else (len(self.roots),)
        shapes = self.start_shapes()
        self.advance(jax.tree.map(lambda leaf: jax.device_put(np.zeros(seeds + leaf.shape, leaf.dtype)), shapes), 0)

    def resumed(self, carry: Carry) -> Carry:
        """A carry from disk, ready to go on from: a compiled task goes on exactly where it was."""
        return self.placed(carry)

    def placed(self, carry: Carry) -> Carry:
        """The same carry on the devices that it is to be computed on."""
        return carry if self.mesh is None else spread(carry, self.mesh, seeds=not self.alone)

    def close(self) -> None:
        """A compiled program holds nothing that must be given back."""

    def advance(self, carry: Carry, count: int) -> tuple[Carry, dict[str, np.ndarray]]:
        """The carry ``count`` updates on, and the sums of their metrics, ``[seeds]``."""
        wait_for_others(next(self.meetings))
        go = advance_one if self.alone else advance_batch
        keys = self.unbatched(jnp.stack([self.keys(COLLECT), self.keys(LEARN)], 1))
        carry, sums = go(self.task, self.spec.learner, carry, keys, jnp.asarray(count), jnp.asarray(self.spec.updates))
        return carry, {name: np.atleast_1d(np.asarray(value)) for name, value in sums.items()}

    def keys(self, use: int) -> Any:
        return jax.vmap(lambda root: jax.random.fold_in(root, use))(self.roots)

    def unbatched(self, batched: Any) -> Any:
        """Without the axis of seeds, if there is only one."""
        return jax.tree.map(lambda leaf: leaf[0], batched) if self.alone else batched

    def join(self, carries: Sequence[Carry]) -> Carry:
        """The carries of all seeds as one."""
        return carries[0] if self.alone else jax.tree.map(lambda *leaves: jnp.stack(leaves), *carries)

    def split(self, carry: Carry) -> list[Carry]:
        """The carry of each seed, on one device."""
        if self.mesh is not None:
            wait_for_others(next(self.meetings))
            carry = gathered(carry)
        if self.alone:
            return [carry]
        return [jax.tree.map(lambda leaf, n=n: leaf[n], carry) for n in range(len(self.roots))]
