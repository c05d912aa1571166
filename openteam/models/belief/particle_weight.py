"""How likely a particle is after a step (paper, "Particle Weight Update"), all for one particle.

    w = w_alpha + w_beta + w_zeta

Guesses are drawn from proposals, which know the observation. So w has the ratios of the targets to the proposals, and
how well the guess explains the observation.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from openteam.core.types import Observation
from openteam.models.belief.existence import log_bernoulli
from openteam.models.belief.gaussian import normal_log_density
from openteam.models.belief.hypotheses import observed
from openteam.models.belief.latent_models import Proposal, ProposalModel, TargetModel, history
from openteam.models.belief.particles import Guess


def action_weight(predicted: Float[Array, "slots actions"], proposal: Proposal, after: Guess) -> Float[Array, "slots"]:
    """w_alpha = log p(a_t-1 | s, theta) - log p(a_t-1 | s, theta, o_t), 0 of those who did not act."""

    def log_chosen(logits: Float[Array, "slots actions"]) -> Float[Array, "slots"]:
        return (jax.nn.log_softmax(logits) * after.action).sum(-1)

    return log_chosen(predicted) - log_chosen(proposal.action)


def state_weight(
    proposals: ProposalModel, targets: TargetModel, before: Guess, proposal: Proposal, after: Guess, seen: Observation
) -> tuple[Float[Array, "slots"], Float[Array, "slots"]]:
    """w_beta = log q(e_t, s_t | ...) - log p(e_t, s_t | ..., o_t), the parts of existence and of states.

    Those in sight are not drawn, so no probability of drawing them is subtracted.
    """
    exists = after.exists
    features, mean, spread = targets.state(history(before, after.action))
    drawn = log_bernoulli(proposals.state.existence.logits(proposal.features, exists), exists)
    drawn = jax.lax.stop_gradient(jnp.where(seen.visible, 0, drawn))
    existence = log_bernoulli(targets.state.existence.logits(features, exists), exists) - drawn
    target = normal_log_density(after.state, mean, spread)
    ratio = target - normal_log_density(after.state, proposal.mean, proposal.spread)
    return existence, ratio.sum(-1) * exists


def observation_weight(
    targets: TargetModel, after: Guess, seen: Observation
) -> tuple[Float[Array, "slots"], Float[Array, ""]]:
    """w_zeta = log q(o_t | s_t, a_t-1), the parts of every agent's row and of what all share."""
    decoded = targets.observation(jnp.concatenate([after.state, after.action], -1), after.exists)
    rows, shared = observed(seen)
    of_rows = normal_log_density(rows, decoded.rows, decoded.rows_spread).sum(-1)
    return of_rows, normal_log_density(shared, decoded.shared, decoded.shared_spread).sum()


def slot_weights(
    proposals: ProposalModel,
    targets: TargetModel,
    before: Guess,
    predicted: Float[Array, "slots actions"],
    proposal: Proposal,
    after: Guess,
    seen: Observation,
) -> tuple[Float[Array, "slots"], Float[Array, ""]]:
    """w of every agent, and of what all share. The learner's action and existence are known, so they count nothing."""
    actions = action_weight(predicted, proposal, after)
    existence, states = state_weight(proposals, targets, before, proposal, after, seen)
    rows, shared = observation_weight(targets, after, seen)
    return (actions + existence).at[0].set(0) + states + rows, shared
