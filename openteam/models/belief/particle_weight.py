"""How likely a particle is after a step (paper, "Particle Weight Update"), all for one particle.

    w = w_alpha + w_beta + w_zeta

Guesses are drawn from proposals, which know the observation. So w has the ratios of the targets to the proposals, and
how well the guess explains the observation.
"""

from __future__ import annotations

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from openteam.core.checked import AbstractChecked
from openteam.core.types import Observation
from openteam.models.belief.existence import log_bernoulli
from openteam.models.belief.gaussian import normal_divergence, normal_log_density
from openteam.models.belief.hypotheses import observed
from openteam.models.belief.latent_models import Proposal, ProposalModel, TargetModel
from openteam.models.belief.particles import Guess, WeightTerms
from openteam.models.belief.posterior import Reduction

By = Literal["all", "observation", "nothing"]


class ParticleWeights(AbstractChecked):
    """What particles are resampled by, and how much each counts. The evidence lower bound always has the whole of w."""

    by: By = eqx.field(static=True, default="all")
    """By w (the paper); by the observation's part of it alone, which is all that tells particles apart if proposals and
    targets agree; or by nothing, so that all count the same."""
    frozen_by: By | None = eqx.field(static=True, default=None)
    """The same for the frozen policy; None as in training. With "nothing", evaluation shows what weights are worth."""
    over_shared: Reduction = eqx.field(static=True, default="sum")
    """log p(u) is the sum over the shared features (the paper) or their mean (the released code). In a sum these 4 to
    12 features count as much as all agents together, if ``over_slots`` is a mean."""

    def __call__(self, terms: WeightTerms) -> Float[Array, "*batch"]:
        """The logarithm of what a particle is resampled and counted by."""
        if self.by == "all":
            return terms.total
        return terms.observation if self.by == "observation" else jnp.zeros_like(terms.total)

    @property
    def frozen(self) -> ParticleWeights:
        """The weights of the frozen policy."""
        return ParticleWeights(self.frozen_by or self.by, None, self.over_shared)


def action_weight(
    targets: TargetModel, predicted: Float[Array, "slots actions"], proposal: Proposal, after: Guess
) -> Float[Array, "slots"]:
    """w_alpha = log p(a_t-1 | s, theta) - log p(a_t-1 | s, theta, o_t), 0 of those who did not act.

    With the score function, only the target counts, and only the proposal has a gradient.
    """

    def log_chosen(logits: Float[Array, "slots actions"]) -> Float[Array, "slots"]:
        return (jax.nn.log_softmax(logits) * after.action).sum(-1)

    target, drawn = log_chosen(predicted), log_chosen(proposal.action)
    return jax.lax.stop_gradient(target - drawn) + drawn if targets.models.score_function else target - drawn


def state_weight(
    proposals: ProposalModel, targets: TargetModel, before: Guess, proposal: Proposal, after: Guess, seen: Observation
) -> tuple[Float[Array, "slots"], Float[Array, "slots"], Float[Array, "slots"]]:
    """w_beta = log q(e_t, s_t | ...) - log p(e_t, s_t | ..., o_t), the parts of existence and of states.

    Those in sight are not drawn, so no probability of drawing them is subtracted. The third is the mean of the second
    over all states that could be drawn, with the opposite sign: the divergence of the proposal from the target.
    """
    exists = after.exists
    features, mean, spread = targets.state(targets.models.history(before, after.action))
    drawn = log_bernoulli(proposals.state.existence.logits(proposal.features, exists), exists)
    drawn = jax.lax.stop_gradient(jnp.where(seen.visible, 0, drawn))
    existence = log_bernoulli(targets.state.existence.logits(features, exists), exists) - drawn
    target = normal_log_density(after.state, mean, spread)
    ratio = target - normal_log_density(after.state, proposal.mean, proposal.spread)
    divergence = normal_divergence(proposal.mean, proposal.spread, mean, spread)
    return existence, ratio.sum(-1) * exists, divergence.sum(-1) * exists


def observation_weight(
    targets: TargetModel, after: Guess, seen: Observation
) -> tuple[Float[Array, "slots"], Float[Array, "shared"]]:
    """w_zeta = log q(o_t | s_t, a_t-1), the parts of every agent's row and of each feature that all share.

    With Bernoulli visibility, log P(visible) is counted once per feature, as in the released code.
    """
    decoded = targets.observation(targets.models.explains(after), after.exists)
    rows, shared = observed(seen)
    of_rows = normal_log_density(rows, decoded.rows, decoded.rows_spread)
    if targets.models.bernoulli_visibility:
        of_rows = of_rows[:, :-1] + log_bernoulli(decoded.rows[:, -1:], rows[:, -1:])
    return of_rows.sum(-1), normal_log_density(shared, decoded.shared, decoded.shared_spread)


def weight_terms(
    proposals: ProposalModel,
    targets: TargetModel,
    before: Guess,
    predicted: Float[Array, "slots actions"],
    proposal: Proposal,
    after: Guess,
    seen: Observation,
    *,
    over_slots: Reduction,
    over_shared: Reduction,
) -> WeightTerms:
    """The parts of w, over all agents. The learner's action and existence are known, so they count nothing."""
    total = jnp.sum if over_slots == "sum" else jnp.mean
    actions = action_weight(targets, predicted, proposal, after)
    existence, states, divergence = state_weight(proposals, targets, before, proposal, after, seen)
    rows, shared = observation_weight(targets, after, seen)
    return WeightTerms(
        action=total(actions.at[0].set(0)),
        existence=total(existence.at[0].set(0)),
        state=total(states),
        rows=total(rows),
        shared=shared.sum() if over_shared == "sum" else shared.sum() / max(len(shared), 1),
        divergence=total(divergence),
    )
