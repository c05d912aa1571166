"""How well a belief matches the truth (paper, "Reconstruction Results").

Sums and counts rather than means, so that steps, teammates and episodes of any number can be put together.
"""

from __future__ import annotations

from typing import TypeGuard

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from openteam.compile_cache import quick_jit
from openteam.core.belief import AbstractBeliever, Belief
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.core.types import Truth
from openteam.rollout.acting import Actor, start_actor
from openteam.task import Task
from openteam.views.full import FullView

Sums = dict[str, tuple[Float[Array, "*batch"], Float[Array, "*batch"]]]
METRICS = {
    "seen_actions": "log likelihood of what a teammate in sight does next",
    "all_actions": "log likelihood of what a teammate does next, in sight or not",
    "state": "log likelihood of a feature of the true state, with a spread of 1",
    "hidden_state": "the same for teammates out of sight",
    "existence_error": "squared error of the number of teammates",
    "effective_samples": "how many hypotheses count, from 1 to all of them",
    "entropy": "of the hypotheses' weights",
}


def score(belief: Belief, truth: Truth, visible: Bool[Array, "slots"]) -> Sums:
    """One step: for each metric that this belief allows, the sum and over how many."""
    there = truth.exists.at[0].set(False)
    weight = belief.weight
    number = weight @ belief.exists[:, 1:].sum(-1)
    sums = {
        "existence_error": ((number - there.sum()) ** 2, jnp.ones(())),
        "effective_samples": (1 / (weight**2).sum(), jnp.ones(())),
        "entropy": (-(weight * jnp.log(jnp.maximum(weight, 1e-30))).sum(), jnp.ones(())),
    }
    if belief.actions is not None:
        taken = jax.nn.one_hot(truth.actions, belief.actions.shape[-1])
        likelihood = jnp.einsum("k,kja,ja->j", weight, belief.actions, taken)
        log_likelihood = jnp.log(jnp.maximum(likelihood, 1e-30))
        sums |= {"seen_actions": masked(log_likelihood, there & visible), "all_actions": masked(log_likelihood, there)}
    if belief.agents is not None and belief.shared is not None:
        of_rows = jnp.einsum("k,kjf->jf", weight, unit_normal(truth.agents, belief.agents))
        of_shared = weight @ unit_normal(truth.shared, belief.shared)
        rows = masked(of_rows, jnp.broadcast_to(truth.exists[:, None], of_rows.shape))
        sums |= {
            "state": (rows[0] + of_shared.sum(), rows[1] + of_shared.size),
            "hidden_state": masked(of_rows, jnp.broadcast_to((there & ~visible)[:, None], of_rows.shape)),
        }
    return sums


def masked(numbers: Float[Array, "*shape"], which: Bool[Array, "*shape"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The sum of some numbers and how many there are."""
    return jnp.where(which, numbers, 0).sum(), which.sum().astype(jnp.float32)


def unit_normal(x: Float[Array, "*shape"], mean: Float[Array, "samples *shape"]) -> Float[Array, "samples *shape"]:
    """log N(x; mean, 1)."""
    return -0.5 * (x - mean) ** 2 - 0.5 * jnp.log(2 * jnp.pi)


def belief_scores(policy: AbstractBeliever, task: Task, *, episodes: int = 32, seed: int = 0) -> dict[str, float]:
    """The metrics of ``METRICS`` that apply, over whole episodes that the policy itself plays."""
    return means(play(task, policy, make_key(seed), episodes))


def means(sums: Sums) -> dict[str, float]:
    """Each metric's mean; what was never to be judged is left out."""
    totals = {name: (float(total.sum()), float(count.sum())) for name, (total, count) in sums.items()}
    return {name: total / count for name, (total, count) in totals.items() if count}


@quick_jit
def play(task: Task, policy: AbstractBeliever, key: Key[Array, ""], envs: int) -> Sums:
    """One episode in each environment, judged step by step."""
    k_start, k_steps = jax.random.split(key)
    actor = start_actor(task, policy, k_start, envs)

    def step(carry: tuple[Actor, Bool[Array, "envs"]], number: Array) -> tuple[tuple, Sums]:
        actor, going = carry
        k_act, k_env = jax.random.split(jax.random.fold_in(k_steps, number))
        timestep = actor.timestep
        act_keys, env_keys = jax.random.split(k_act, envs), jax.random.split(k_env, envs)
        actions, memory, belief = jax.vmap(policy.reveal)(act_keys, actor.memory, timestep.obs, timestep.fresh)
        env, after, truth = jax.vmap(task.step)(env_keys, actor.env, actions)
        sums = jax.vmap(score)(belief, truth, timestep.obs.visible)
        sums = jax.tree.map(lambda leaf: jnp.where(going, leaf, 0).sum(), sums)
        return (Actor(env, after, memory), going & ~after.ends), sums

    _, sums = jax.lax.scan(step, (actor, jnp.ones(envs, bool)), jnp.arange(task.horizon))
    return sums


def holds_belief(policy: AbstractPolicy, task: Task) -> TypeGuard[AbstractBeliever]:
    """Whether there is a belief to judge: somebody who holds one, and something that it cannot see."""
    return isinstance(policy, AbstractBeliever) and not isinstance(task.view, FullView)
