"""FortAttack's types against each other: each guards the fort against each."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from openteam.core.random import key as make_key
from openteam.errors import UserError
from openteam.openness import Casualties
from openteam.rollout.episodes import play
from openteam.task import Task
from openteam.teammates import Pool
from openteam.worlds.fortattack import FortAttack


class TwoSides(Pool):
    """Guards and attackers whose types are given."""

    guards: Int[Array, ""] = eqx.field(kw_only=True)
    attackers: Int[Array, ""] = eqx.field(kw_only=True)

    def draw(self, key: Key[Array, ""], slots: int) -> Int[Array, "slots"]:
        del key
        return jnp.where(jnp.arange(slots) < slots // 2, self.guards, self.attackers)


def duels(task: Task, *, episodes: int = 256, seed: int = 0) -> Float[np.ndarray, "guards attackers"]:
    """How often the fort is held until time is up, for every pair of the pool's types. No hit ends an episode."""
    if not isinstance(task.world, FortAttack) or not isinstance(task.openness, Casualties):
        raise UserError(f"Duels are fought in FortAttack; '{task.name}' is another task.")
    (family,) = task.pool.families
    arena = dataclasses.replace(
        task,
        world=dataclasses.replace(task.world, learner_hit_ends=False),
        openness=dataclasses.replace(task.openness, learner_stays=False),
        splits={},
    )
    held = np.zeros((family.size, family.size))
    for guards, attackers in np.ndindex(held.shape):
        sides = TwoSides((family,), redraw=False, guards=jnp.asarray(guards), attackers=jnp.asarray(attackers))
        policy = family.member(jnp.asarray(guards))
        played = play(dataclasses.replace(arena, pool=sides), policy, make_key(seed), episodes)
        held[guards, attackers] = np.mean(np.asarray(played.lengths) >= task.horizon)
    return held
