"""What FortAttack's learners do with their shots, and what they think that shots are worth.

Paper, "Joint Action Value Analysis in GPL" and "Action Value Analysis in Single-Agent RL Baselines". Everything is
summed over the states that a frozen policy comes through in whole episodes.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from openteam.core.policy import AbstractPolicy, Decision, Explanation
from openteam.core.random import key as make_key
from openteam.errors import UserError
from openteam.rollout.belief_scores import Sums, masked, means
from openteam.rollout.episodes import BATCH, Step, play
from openteam.task import Task
from openteam.worlds.fortattack import FortAttack
from openteam.worlds.fortattack.shooting import Shooting
from openteam.worlds.fortattack.state import SHOOT, is_guard

METRICS = {
    "return": "mean return of the episodes",
    "accuracy": "hits of the learner per shot of the learner",
    "shots": "shots of the learner per step",
    "chances": "part of the learner's steps in which a shot would hit",
    "scenario_1": "pairwise utility of a guard's shot, attacker in its range",
    "scenario_2": "pairwise utility of a guard's shot, attacker out of its range",
    "scenario_3": "pairwise utility of an attacker's shot, guard in its range",
    "scenario_4": "pairwise utility of an attacker's shot, guard out of its range",
    "own_gain_1": "joint value of the learner's shot less that of its other actions, an attacker in its range",
    "own_gain_2": "the same, no attacker in its range",
    "mates_gain_1": "joint value of a fellow guard's shot less that of its other actions, an attacker in its range",
    "mates_gain_2": "the same, no attacker in its range",
    "value_1": "value of states with an attacker in any guard's range",
    "value_2": "value of states with no attacker in any guard's range",
}


def measure_shots(policy: AbstractPolicy, task: Task, *, episodes: int, seed: int = 0) -> dict[str, float]:
    """The metrics that this policy allows, over whole episodes of a FortAttack task that it plays."""
    if not isinstance(task.world, FortAttack):
        raise UserError(f"Shots are fired in FortAttack; '{task.name}' is another task.")
    keep, batch = KeepShots(task.world.shooting), min(episodes, BATCH)
    keys = [jax.random.fold_in(make_key(seed), number) for number in range(-(-episodes // batch))]
    parts = [play(task, policy, key, batch, keep) for key in keys]
    returns = np.concatenate([np.asarray(part.returns) for part in parts])[:episodes]
    sums = jax.tree.map(lambda *leaves: jnp.concatenate(leaves, 1)[:, :episodes], *(part.kept for part in parts))
    return {"return": float(returns.mean())} | means(sums)


class KeepShots(eqx.Module):
    """What is summed of each step; nothing once the episode is over."""

    shooting: Shooting

    def __call__(self, step: Step) -> Sums:
        world = step.env.world
        reach = in_reach(self.shooting, world.position, world.angle, world.present)
        sums = score_shots(step.decision, reach, world.present)
        return jax.tree.map(lambda leaf: jnp.where(step.counts, leaf, 0), sums)


def in_reach(
    shooting: Shooting, position: Float[Array, "slots 2"], angle: Float[Array, "slots"], present: Bool[Array, "slots"]
) -> Bool[Array, "slots slots"]:
    """Whom (column) each agent (row) would hit if it shot now: InShootingRange(j, k) of present opponents."""
    everybody = jnp.ones(len(present), bool)
    return shooting.hits(position, angle, everybody, present) & present[:, None]


def score_shots(decision: Decision, reach: Bool[Array, "slots slots"], present: Bool[Array, "slots"]) -> Sums:
    """One state and the decision in it: for each metric that the decision's explanation allows, sum and number."""
    always, shoots, chance = jnp.ones((), bool), decision.action == SHOOT, reach[0].any()
    sums = {
        "accuracy": masked(chance.astype(float), shoots),
        "shots": masked(shoots.astype(float), always),
        "chances": masked(chance.astype(float), always),
    }
    explanation = decision.explanation
    if explanation.action_values is not None:
        sums |= score_values(explanation.action_values, reach)
    if explanation.pairwise is not None:
        sums |= score_pairs(explanation.pairwise, reach, present)
        sums |= score_gains(explanation, decision.action, reach, present)
    return sums


def score_values(action_values: Float[Array, "actions"], reach: Bool[Array, "slots slots"]) -> Sums:
    """V(s) = max_a Q(s, a), apart for states in which any guard could hit an attacker and others."""
    value, any_guard = action_values.max(), reach[is_guard(len(reach))].any()
    return {"value_1": masked(value, any_guard), "value_2": masked(value, ~any_guard)}


def score_pairs(
    pairwise: Float[Array, "slots slots actions actions"],
    reach: Bool[Array, "slots slots"],
    present: Bool[Array, "slots"],
) -> Sums:
    """Qbar_jk(s) = mean over a_k of Q_jk(shoot, a_k), in the paper's four scenarios, over the pairs of opponents.

    The paper's equations divide the sum over all pairs by the number in range; its code, and this, averages over the
    pairs in range.
    """
    of_shots = pairwise[:, :, SHOOT].mean(-1)
    guard = is_guard(len(reach))
    both = present[:, None] & present[None]
    guards_shoot = both & (guard[:, None] & ~guard[None])
    attackers_shoot = both & (~guard[:, None] & guard[None])
    cases = (guards_shoot & reach, guards_shoot & ~reach, attackers_shoot & reach, attackers_shoot & ~reach)
    return {f"scenario_{number}": masked(of_shots, case) for number, case in enumerate(cases, 1)}


def score_gains(
    explanation: Explanation, action: Array, reach: Bool[Array, "slots slots"], present: Bool[Array, "slots"]
) -> Sums:
    """What a guard's shot adds to the expected joint value, compared with the mean of its other actions.

    Utilities of pairs are learned up to what singular ones and other pairs may take over; this is their sum:
    Q_j(a_j) + sum_k E[Q_jk(a_j, a_k)], others acting as predicted and the learner as decided.
    """
    assert explanation.singular is not None
    assert explanation.pairwise is not None
    assert explanation.predicted is not None
    choice = explanation.predicted.at[0].set(jax.nn.one_hot(action, explanation.predicted.shape[-1]))
    chosen = jnp.where(present[:, None], choice, 0)
    values = explanation.singular + jnp.einsum("jkab,kb->ja", explanation.pairwise, chosen)
    shot, actions = values[:, SHOOT], values.shape[-1]
    gain = shot - (values.sum(-1) - shot) / (actions - 1)
    can_hit, own = reach.any(-1), np.arange(len(reach)) == 0
    whose = {"own": present & own, "mates": present & (is_guard(len(reach)) & ~own)}
    return {
        f"{name}_gain_{number}": masked(gain, who & case)
        for name, who in whose.items()
        for number, case in ((1, can_hit), (2, ~can_hit))
    }
