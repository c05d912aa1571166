"""What the learner and every type would have got in a person's place, on the same seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from openteam.compile_cache import quick_jit
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.task import Task
from openteam.viewer.episode import Episode
from openteam.viewer.frames import tidy
from openteam.viewer.moments import Moment, advance_from, begin, episode_keys, look_at

AS_IT_IS = -1  # instead of a type: whoever is in the seat anyway, the learner or the types that the pool drew


@quick_jit
def returns_in_seat(
    task: Task,
    policy: AbstractPolicy,
    root: Key[Array, ""],
    first: Moment,
    seat: Int[Array, ""],
    types: Int[Array, "players"],
) -> Float[Array, "players slots"]:
    """Everybody's return in the episode that begins with this moment, for each type in the seat."""
    in_seat = jnp.arange(task.slots) == seat

    def episode(type_id: Array) -> Array:
        played = in_seat & (type_id != AS_IT_IS)

        def step(carry: tuple, number: Array) -> tuple:
            moment, returns, over = carry
            keys = jax.random.split(jax.random.fold_in(root, number + 1))
            typed = jnp.where(played, type_id, moment.env.type_ids)
            moment = eqx.tree_at(lambda m: m.env.type_ids, moment, typed)
            look = look_at(task, policy, keys[0], moment)
            actions = jnp.where(played, look.by_type, look.actions)
            after, rewards, ends = advance_from(task, keys[1], moment.seen_before, look, actions)
            return (after, returns + jnp.where(over, 0, rewards), over | ends), None

        start = (first, jnp.zeros(task.slots), jnp.zeros((), bool))
        return jax.lax.scan(step, start, jnp.arange(task.horizon))[0][1]

    return jax.vmap(episode)(types)


def summary(played: Sequence[Episode]) -> dict[str, Any]:
    """Means over a person's finished episodes from one seat: the person's, and of whoever else could have sat there.

    Each row has a name, the mean return of the seat and that of the learner.
    """
    task, player, seat = played[0].task, played[0].player, played[0].seat or 0
    types = jnp.arange(AS_IT_IS, task.pool.size)
    returns = []
    for episode in played:
        first = begin(task, player.policy, episode_keys(episode.seed, -1)[0])
        root = make_key(episode.seed)
        returns.append(returns_in_seat(task, player.policy, root, first, jnp.asarray(seat), types))
    others, own = np.mean(returns, 0), np.mean([episode.returns for episode in played], 0)
    usual = player.name if seat == 0 else "whoever would be there"
    names = ["you", usual, *task.pool.names]
    rows = [
        {"name": name, "seat": tidy(row[seat]), "learner": tidy(row[0])}
        for name, row in zip(names, [own, *others], strict=True)
    ]
    return {"seat": seat, "episodes": len(played), "rows": rows}
