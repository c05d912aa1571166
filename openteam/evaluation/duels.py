"""FortAttack's types against each other: each guards the fort against each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from openteam.core.random import key as make_key
from openteam.errors import UserError
from openteam.evaluation.drawing import check_picture, save_picture
from openteam.evaluation.episodes import play
from openteam.openness import Casualties
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
        _, lengths = play(dataclasses.replace(arena, pool=sides), policy, make_key(seed), episodes)
        held[guards, attackers] = np.mean(np.asarray(lengths) >= task.horizon)
    return held


def draw_duels(path: Path, held: Float[np.ndarray, "guards attackers"], names: Sequence[str]) -> None:
    """The table as a picture, dark where the fort is held."""
    check_picture(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 5.4), layout="constrained")
    axis = figure.subplots()
    axis.imshow(held, cmap="Greens", vmin=0, vmax=1)
    for (row, column), share in np.ndenumerate(held):
        colour = "white" if share > 0.6 else "black"
        axis.text(column, row, f"{share:.0%}", ha="center", va="center", color=colour, fontsize=9)
    axis.set(
        xticks=range(len(names)), yticks=range(len(names)), xticklabels=names, yticklabels=names,
        xlabel="attackers", ylabel="guards", title="How often the fort is held",
    )  # fmt: skip
    axis.tick_params(axis="x", rotation=45)
    save_picture(figure, path)
