"""Whether a policy can act in a task, found out without computing anything."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from openteam.core.policy import AbstractPolicy, Decision
from openteam.core.types import Observation, Spec, first_view
from openteam.errors import UserError

SLOTS = 2  # of the team in which it is tried; policies that are limited to a size say so themselves


def check_acts(policy: AbstractPolicy, spec: Spec, who: str, where: str = "a world") -> None:
    """Raise a ``UserError`` unless the policy decides on one of the actions after seeing such observations."""
    sizes = f"{spec.agent_features} features of an agent, {spec.shared_features} shared ones and {spec.actions} actions"
    trouble = None
    try:
        decision = jax.eval_shape(lambda: decide_once(policy, spec))
    except UserError:
        raise
    except Exception as error:  # whatever a network of another size, or a user's own policy, stumbles over
        cause, trouble = error, str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
    else:
        cause, trouble = None, find_trouble(decision, spec.actions)
    if trouble is not None:
        raise UserError(
            f"{who} cannot act in {where} with {sizes}: {trouble}. Choose one that was made for this world."
        ) from cause


def decide_once(policy: AbstractPolicy, spec: Spec) -> Decision:
    """The decision on an observation of zeros."""
    obs = Observation(
        jnp.zeros((SLOTS, spec.agent_features)),
        jnp.zeros(spec.shared_features),
        jnp.ones(SLOTS, bool),
        jnp.ones(spec.actions, bool),
    )
    return policy.decide(jax.random.key(0), policy.start(SLOTS), first_view(obs))


def find_trouble(decision: Decision, actions: int) -> str | None:
    """What is wrong with the shapes of a decision."""
    if decision.action.shape != () or not jnp.issubdtype(decision.action.dtype, jnp.integer):
        return f"its action is {decision.action.dtype}{list(decision.action.shape)} instead of a single integer"
    for numbers in (decision.explanation.action_values, decision.explanation.probabilities):
        if numbers is not None and numbers.shape[-1] != actions:
            return f"it knows {numbers.shape[-1]} actions"
    return None
