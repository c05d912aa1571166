"""Learned types: policy networks that are shipped with the package, all of a world in one file, stacked."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.core.types import Spec, View
from openteam.errors import UserError
from openteam.models.policy import NetworkPolicy, draw_action
from openteam.storage.checkpoint import tree_digest
from openteam.storage.config import AbstractFromFiles
from openteam.teammates.pool import AbstractFamily
from openteam.teammates.weights_file import Weights, own_file, weights_path


class Learned(AbstractFamily, AbstractFromFiles):
    """Learned types of one world, as one stacked network.

    The family itself is only names. Its numbers are constants of the programs it acts in, so it can be a default on the
    command line and costs nothing to pass around.
    """

    weights: str = eqx.field(static=True)
    """Whose file in openteam/teammates/weights; or the path of a file of your own, ending in .safetensors."""
    names: tuple[str, ...] = eqx.field(static=True, default=())
    """Which of its members; none named means all."""
    names_files: ClassVar[str] = "weights"

    def __init__(self, weights: str, names: tuple[str, ...] = ()):
        self.weights = weights
        self.names = tuple(names) or tuple(member.name for member in self.file.members)
        for name in self.names:
            self.file.place(name)

    @classmethod
    def file_of(cls, name: str) -> Path | None:
        return own_file(name)

    @property
    def file(self) -> Weights:
        path = weights_path(self.weights)
        return read(path, path.stat().st_mtime_ns if path.exists() else 0)

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(self.file.members[self.file.place(name)].sentence for name in self.names)

    @property
    def stacked(self) -> NetworkPolicy:
        places = np.array([self.file.place(name) for name in self.names])
        return jax.tree.map(lambda leaf: leaf[places], self.file.stacked)

    @property
    def digest(self) -> str:
        """Of these members only: one that is added to the file changes nothing for runs without it."""
        return tree_digest(self.stacked)

    def check(self, spec: Spec) -> None:
        sizes = self.file.sizes
        known = sizes.agent_features, sizes.shared_features, sizes.actions
        there = spec.agent_features, spec.shared_features, spec.actions
        if known != there:
            raise UserError(
                f"The learned teammates of '{self.weights}' know {known[0]} features of an agent, {known[1]} shared "
                f"ones and {known[2]} actions; this world has {there[0]}, {there[1]} and {there[2]}. Give the task a "
                "pool without them, such as Pool((Foragers(),))."
            )

    def member(self, index: Int[Array, ""]) -> OneOf:
        return OneOf(self.stacked, index)


@functools.lru_cache(maxsize=32)
def read(path: Path, changed: int) -> Weights:
    """A weights file as plain numpy arrays, read again only when it has changed."""
    del changed
    with jax.ensure_compile_time_eval():
        file = Weights.read(path)
        return dataclasses.replace(file, stacked=jax.tree.map(np.asarray, file.stacked))


class OneOf(AbstractMemoryless):
    """One of some stacked policies, its number known only at run time.

    All of them are computed and one is chosen. Picking one's weights first would copy a whole network per slot and
    environment and turn its matrix products into as many products of single rows, which is far slower with up to
    dozens of members.
    """

    stacked: NetworkPolicy
    index: Int[Array, ""]

    def decide(self, key: Key[Array, ""], memory: Any, view: View) -> Decision:
        logits = jax.vmap(lambda policy: policy.logits(view.obs))(self.stacked)
        action = draw_action(key, self.choose(logits), self.choose(self.stacked.temperature))
        return Decision(action, memory, Explanation())

    def choose(self, rows: Any) -> Any:
        """The chosen member's row."""
        mine = jnp.arange(len(rows)) == self.index
        return jnp.where(mine.reshape(-1, *[1] * (rows.ndim - 1)), rows, 0).sum(0)
