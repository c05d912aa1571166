"""A conformance test for policies: teammates, learners and frozen ones.

Put ``check_policy(MyPolicy(), Spec(...))`` into a test of your own; the spec is that of a task, ``task.spec``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Key

from openteam.core.fitting import find_trouble
from openteam.core.memory import Memory
from openteam.core.policy import AbstractPolicy, Decision
from openteam.core.types import Observation, Spec, View
from openteam.testing.reporting import GAMES, QUICK, equal, report, same_structure

RULES = {
    "actions": "an action is none of the task's. Numbers go from 0 to spec.actions - 1",
    "finite": "a number of the explanation or of the memory is not finite",
    "repeats": "the same key, memory and view gave two different decisions. Everything random must come from the key, "
    "and a policy changes nothing: what it remembers goes into the memory that it returns",
    "starts": "what was remembered of an earlier episode changed the first decision of a new one. Where view.starts is "
    "True, begin with a blank memory: jnp.where(view.starts, blank, memory)",
    "new": "what was remembered of somebody else in the same slot changed a decision. Clear the memory of slots in "
    "view.fresh, which are those with somebody new and, at the start, all",
    "hidden": "the row of somebody out of sight changed a decision. Mask rows with obs.visible before they are summed "
    "or compared",
}


def check_policy(policy: AbstractPolicy, spec: Spec, slots: Sequence[int] = (2, 5), seed: int = 0) -> None:
    """Raise an ``AssertionError`` at the first rule of ``AbstractPolicy`` that ``policy`` breaks.

    ``slots`` are the sizes of the teams in which it is tried. A policy for teams of one size only gets that one.
    """
    for team in slots:
        where = f"{type(policy).__name__} in a team of {team}"
        check_shapes(policy, spec, team, where)
        play = jax.vmap(partial(try_once, policy, spec, team))
        kept = jax.jit(play, compiler_options=QUICK)(jax.random.split(jax.random.key(seed), GAMES))
        report(kept, RULES, where)


def check_shapes(policy: AbstractPolicy, spec: Spec, slots: int, where: str) -> None:
    """Check what is remembered and returned, without running it."""
    memory = jax.eval_shape(lambda: policy.start(slots))
    if not isinstance(memory, Memory):
        raise AssertionError(
            f"{where}: start returned a {type(memory).__name__}; expected Memory(team, slots), with () for what there "
            "is nothing of. AbstractMemoryless has it."
        )
    for path, leaf in jax.tree_util.tree_leaves_with_path(memory.slots):
        if leaf.shape[:1] != (slots,):
            raise AssertionError(
                f"{where}: memory.slots{jax.tree_util.keystr(path)} has shape {list(leaf.shape)}; the first axis must "
                f"be that of the {slots} slots, so that what is remembered can follow an agent. Else put it in team."
            )
    decision = jax.eval_shape(lambda: policy.decide(jax.random.key(0), policy.start(slots), a_view(spec, slots)))
    if not isinstance(decision, Decision):
        raise AssertionError(f"{where}: decide returned a {type(decision).__name__}; expected a Decision.")
    trouble = find_trouble(decision, spec.actions)
    if trouble is not None:
        raise AssertionError(f"{where}: {trouble}.")
    same_structure(f"{where}: decide", memory, decision.memory)


def a_view(spec: Spec, slots: int, key: Key[Array, ""] | None = None) -> View:
    """A random view in the middle of an episode, in which the last slot is out of sight."""
    k_agents, k_shared = jax.random.split(jax.random.key(0) if key is None else key)
    obs = Observation(
        jax.random.normal(k_agents, (slots, spec.agent_features)),
        jax.random.normal(k_shared, (spec.shared_features,)),
        jnp.arange(slots) < max(1, slots - 1),
        jnp.ones(spec.actions, bool),
    )
    return View(obs, jnp.zeros((), bool), jnp.zeros(slots, bool), jnp.zeros((), jnp.int32))


def try_once(policy: AbstractPolicy, spec: Spec, slots: int, key: Key[Array, ""]) -> dict[str, Bool[Array, ""]]:
    """Decide in pairs of situations that must not make a difference."""
    k_one, k_other, k_before, k_now, k_noise, k_act = jax.random.split(key, 6)

    def decide(memory: Any, view: View) -> Decision:
        return policy.decide(jax.random.clone(k_act), memory, view)

    first = eqx.tree_at(lambda v: (v.starts, v.new), a_view(spec, slots, k_one), (jnp.ones((), bool), first_new(slots)))
    then = a_view(spec, slots, k_other)
    memory = policy.decide(k_now, policy.decide(k_before, policy.start(slots), first).memory, then).memory
    new = eqx.tree_at(lambda v: v.new, then, jnp.arange(slots) == min(1, slots - 1))
    elsewhere = jax.random.normal(k_noise, then.obs.agents.shape)
    hidden = eqx.tree_at(lambda v: v.obs.agents, then, jnp.where(then.obs.visible[:, None], then.obs.agents, elsewhere))
    usual = decide(memory, then)
    numbers = [
        leaf for leaf in jax.tree.leaves((usual.explanation, usual.memory)) if jnp.issubdtype(leaf, jnp.floating)
    ]
    return {
        "actions": (usual.action >= 0) & (usual.action < spec.actions),
        "finite": jnp.stack([jnp.isfinite(leaf).all() for leaf in [*numbers, jnp.zeros(())]]).all(),
        "repeats": equal(usual, decide(memory, then)),
        "starts": equal(choice(decide(memory, first)), choice(decide(policy.start(slots), first))),
        "new": equal(choice(decide(memory, new)), choice(decide(forget(memory, new.new), new))),
        "hidden": equal(choice(usual), choice(decide(memory, hidden))),
    }


def first_new(slots: int) -> Bool[Array, "slots"]:
    """At the start everybody in sight is new."""
    return jnp.arange(slots) < max(1, slots - 1)


def forget(memory: Any, new: Bool[Array, "slots"]) -> Any:
    """The same memory with other numbers about those who are new."""

    def other(leaf: Array) -> Array:
        mask = new.reshape(-1, *[1] * (leaf.ndim - 1))
        return jnp.where(mask, leaf[::-1], leaf)

    return Memory(memory.team, jax.tree.map(other, memory.slots))


def choice(decision: Decision) -> Any:
    """What a decision comes to: the action and the numbers that it was chosen by."""
    explanation = decision.explanation
    numbers = [part for part in (explanation.action_values, explanation.probabilities) if part is not None]
    return decision.action, numbers
