"""What is measured. Every figure is the best of repeated calls within a time budget."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from openteam.bench.timing import seconds_per_call
from openteam.core.learner import AbstractLearner
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.core.types import Observation, Spec, View
from openteam.task import Task


def matmul_gigaflops(rows: int, inner: int, outer: int, budget: float) -> float:
    """Plain float32 products [rows, inner] @ [inner, outer], a hundred in a row."""
    a, b = jnp.ones((rows, inner)), jnp.ones((inner, outer))

    @jax.jit
    def products(a: Any, b: Any) -> Any:
        def body(_: Any, state: tuple) -> tuple:
            a, total = state
            return a + 1e-9 * total[:1, :inner], a @ b

        return jax.lax.fori_loop(0, 100, body, (a, jnp.zeros((rows, outer))))

    return 2e-9 * 100 * rows * inner * outer / seconds_per_call(lambda: products(a, b), budget)


def raw_steps_per_second(task: Task, envs: int, budget: float) -> float:
    """Stepping with all teammates and a random learner; its observations are used."""
    steps = 100

    @eqx.filter_jit
    def play(task: Task, env: Any, key: Any) -> Any:
        def step(state: tuple, number: Any) -> tuple:
            env, seen = state
            k_act, k_step = jax.random.split(jax.random.fold_in(key, number))
            actions = jax.random.randint(k_act, (envs,), 0, task.world.actions)
            env, timestep, _ = jax.vmap(task.step)(jax.random.split(k_step, envs), env, actions)
            obs = timestep.view.obs
            seen = seen + obs.agents.sum() + obs.shared.sum() + timestep.reward.sum()
            return (env, seen), None

        return jax.lax.scan(step, (env, jnp.zeros(())), jnp.arange(steps))[0]

    env, _ = jax.jit(jax.vmap(task.reset))(jax.random.split(make_key(0), envs))
    return steps * envs / seconds_per_call(lambda: play(task, env, make_key(1)), budget)


def decision_microseconds(
    learner: AbstractLearner, spec: Spec, slots: int, budget: float, *, explained: bool = False
) -> float:
    """One decision of one learner in a team of that many, its explanation dropped or computed too."""
    spec = dataclasses.replace(spec, max_agents=slots)
    policy = learner.frozen(learner.init(make_key(0), spec).model)
    k_agents, k_shared, k_act = jax.random.split(make_key(1), 3)
    obs = Observation(
        agents=jax.random.normal(k_agents, (slots, spec.agent_features)),
        shared=jax.random.normal(k_shared, (spec.shared_features,)),
        visible=jnp.ones(slots, bool),
        legal=jnp.ones(spec.actions, bool),
    )
    view = View(obs, jnp.zeros((), bool), jnp.zeros(slots, bool), jnp.zeros((), jnp.int32))
    repeats = max(1, 1000 // slots)

    @eqx.filter_jit
    def decide(policy: AbstractPolicy, memory: Any, view: View) -> Any:
        def body(_: Any, state: tuple) -> tuple:
            memory, chosen = state
            # What is seen depends on the last choice, or else a policy without memory would decide only once.
            agents = view.obs.agents + 1e-9 * chosen
            decision = policy.decide(k_act, memory, eqx.tree_at(lambda v: v.obs.agents, view, agents))
            reasons = jax.tree.leaves(decision.explanation) if explained else []
            return decision.memory, chosen + decision.action + sum(1e-9 * part.sum() for part in reasons)

        return jax.lax.fori_loop(0, repeats, body, (memory, jnp.zeros(())))

    memory = policy.start(slots)
    return 1e6 * seconds_per_call(lambda: decide(policy, memory, view), budget) / repeats
