"""Trained runs as teammates: a learner is as good a member of a pool as any script."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from openteam.core.policy import AbstractPolicy
from openteam.errors import UserError
from openteam.storage.checkpoint import tree_digest
from openteam.storage.config import AbstractFromFiles
from openteam.storage.packing import short_name
from openteam.storage.policies import checkpoint_of, load
from openteam.teammates.pool import AbstractFamily


class Trained(AbstractFamily, AbstractFromFiles):
    """The policies of a run, or of several with networks of the same sizes; their numbers are stacked."""

    runs: tuple[str, ...] = eqx.field(static=True)
    """Run folders, of which the last checkpoint counts, or checkpoint files."""
    names: tuple[str, ...] = eqx.field(static=True)
    stacked: AbstractPolicy
    names_files: ClassVar[str] = "runs"

    def __init__(self, runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]):
        runs = [os.fspath(run) for run in ([runs] if isinstance(runs, (str, os.PathLike)) else runs)]
        if not runs:
            raise UserError("A family of trained teammates needs at least one run.")
        policies = [load(run) for run in runs]
        kinds = {(jax.tree.structure(p), tuple(leaf.shape for leaf in jax.tree.leaves(p))) for p in policies}
        if len(kinds) > 1:
            raise UserError(f"{', '.join(runs)} have networks of different sizes. Make a family of each kind.")
        self.runs = tuple(runs)
        self.names = tuple(map(short_name, runs))
        self.stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *policies)

    @classmethod
    def file_of(cls, name: str) -> Path:
        return checkpoint_of(Path(name))

    @property
    def digest(self) -> str:
        """Another one as soon as a run that is named here has trained on."""
        return tree_digest(self.stacked)

    def member(self, index: Int[Array, ""]) -> AbstractPolicy:
        return jax.tree.map(lambda leaf: leaf[index], self.stacked)
