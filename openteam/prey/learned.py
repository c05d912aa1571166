"""Prey with learned policies, which were trained in the world ``Evasion`` and are shipped."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, Int, Key

from openteam.core.policy import AbstractPolicy
from openteam.core.types import Observation, first_view
from openteam.errors import UserError
from openteam.prey.sight import FEATURES, prey_observations
from openteam.storage.config import AbstractFromFiles
from openteam.teammates.learned import Learned
from openteam.teammates.weights_file import own_file
from openteam.worlds.wolfpack.prey import AbstractPrey
from openteam.worlds.wolfpack.state import PREY_ACTION_NAMES, WolfpackState


class LearnedPrey(AbstractPrey, AbstractFromFiles):
    """Every prey follows a policy network of its own, without memory. There are as many prey as names."""

    weights: str = eqx.field(static=True, default="evasion")
    """The file of their networks, named as for ``Learned``."""
    names: tuple[str, ...] = eqx.field(static=True, default=("prey-0", "prey-1"))
    """The members of the file that the prey follow, one for each prey."""
    names_files: ClassVar[str] = "weights"

    @classmethod
    def file_of(cls, name: str) -> Path | None:
        return own_file(name)

    def check(self, prey: int) -> None:
        if prey != len(self.names):
            raise UserError(
                f"LearnedPrey names {len(self.names)} policies and the world has {prey} prey. Name one for each prey."
            )
        sizes = Learned(self.weights, self.names).file.sizes
        known = sizes.agent_features, sizes.shared_features, sizes.actions
        if known != (FEATURES, 0, len(PREY_ACTION_NAMES)):
            raise UserError(
                f"The policies of '{self.weights}' know {known[0]} features of an agent, {known[1]} shared ones and "
                f"{known[2]} actions; a prey has {FEATURES}, 0 and {len(PREY_ACTION_NAMES)}. Name a file that was "
                "trained on the task 'evasion'."
            )

    def act(self, key: Key[Array, ""], state: WolfpackState, size: int) -> Int[Array, "prey"]:
        return act_together(key, Learned(self.weights, self.names).stacked, state, size)

    @property
    def digest(self) -> str:
        return Learned(self.weights, self.names).digest


def act_together(key: Key[Array, ""], policies: AbstractPolicy, state: WolfpackState, size: int) -> Int[Array, "prey"]:
    """The actions of all prey; the arrays of ``policies`` have one entry per prey along their first axis."""
    prey = len(state.facing)

    def act(policy: AbstractPolicy, key: Array, obs: Observation) -> Array:
        return policy.act(key, policy.start(prey), first_view(obs))[0]

    return eqx.filter_vmap(act)(policies, jax.random.split(key, prey), prey_observations(state, size))
