"""One decision as a compiled function of plain arrays, shared by all agents whose policies are built alike."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from openteam.core.memory import Memory
from openteam.core.policy import AbstractPolicy, Decision, Explanation
from openteam.core.random import key
from openteam.core.types import Observation, View

Arrays = tuple[Any, ...]
PARAMETER = "an array"


class Inputs(NamedTuple):
    """All that a decision is made from, besides memory and randomness: a ``View`` as a plain tuple, of numpy's or JAX's
    arrays."""

    agents: Any  # [slots feat]
    shared: Any  # [shared]
    visible: Any  # [slots]
    legal: Any  # [actions]
    starts: Any
    new: Any  # [slots]
    previous_action: Any

    @property
    def view(self) -> View:
        return View(Observation(self.agents, self.shared, self.visible, self.legal), *self[4:])


class Draws(NamedTuple):
    """Where the randomness of a decision comes from: a key's two numbers, and how many decisions it has served."""

    key: Any
    served: Any

    @property
    def next(self) -> Draws:
        return Draws(self.key, np.int32(self.served + 1))


def draws_of(seed: int) -> Draws:
    """The randomness of an agent's first decision."""
    return Draws(np.asarray(jax.random.key_data(key(seed))), np.int32(0))


class Step:
    """A policy taken apart into arrays, and the compiled functions that put it together again."""

    def __init__(self, policy: AbstractPolicy):
        self.policy = policy
        leaves, structure = jax.tree.flatten(policy)
        self.parameters = tuple(leaf for leaf in leaves if eqx.is_array(leaf))
        self.memory_structure = jax.tree.structure(jax.eval_shape(lambda: policy.start(1)))
        settings = tuple(PARAMETER if eqx.is_array(leaf) else leaf for leaf in leaves)
        self.shape = Shape(structure, settings, self.memory_structure, jax.random.key_impl(key(0)))
        self.act, self.explain = compiled(self.shape)

    def start(self, slots: int) -> Arrays:
        """The memory of an agent who has seen nothing."""
        return tuple(jax.tree.leaves(self.policy.start(slots)))

    def memory(self, arrays: Arrays) -> Memory[Any, Any]:
        """Arrays as the policy knows them."""
        return jax.tree.unflatten(self.memory_structure, arrays)


class Shape(NamedTuple):
    """Everything about a policy and its memory but numbers. Policies that have it in common share compiled code."""

    policy: Any
    settings: tuple[Any, ...]  # the policy's leaves, with ``PARAMETER`` where there is an array
    memory: Any
    keys: Any  # their kind

    def decide(self, parameters: Arrays, memory: Arrays, draws: Draws, inputs: Inputs) -> Decision:
        """The decision of a policy that is given as arrays."""
        numbers = iter(parameters)
        leaves = [next(numbers) if leaf is PARAMETER else leaf for leaf in self.settings]
        policy: AbstractPolicy = jax.tree.unflatten(self.policy, leaves)
        root = jax.random.wrap_key_data(draws.key, impl=self.keys)
        past = jax.tree.unflatten(self.memory, memory)
        return policy.decide(jax.random.fold_in(root, draws.served), past, inputs.view)


@functools.lru_cache(maxsize=64)
def compiled(shape: Shape) -> tuple[Any, Any]:
    """``act``, which gives an action and the next memory, and ``explain``, which gives the reasons of the same."""

    @jax.jit
    def act(parameters: Arrays, memory: Arrays, draws: Draws, inputs: Inputs) -> tuple[Array, Arrays]:
        decision = shape.decide(parameters, memory, draws, inputs)
        return decision.action, tuple(jax.tree.leaves(decision.memory))

    @jax.jit
    def explain(parameters: Arrays, memory: Arrays, draws: Draws, inputs: Inputs) -> Explanation:
        return shape.decide(parameters, memory, draws, inputs).explanation

    return act, explain
