"""How well a belief matches the truth (paper, "Reconstruction Results").

Sums and counts rather than means, so that steps, teammates and episodes of any number can be put together.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from openteam.core.policy import AbstractPolicy, Belief, Explanation
from openteam.core.random import key as make_key
from openteam.core.types import Truth, View
from openteam.models.belief.gaussian import normal_log_density
from openteam.rollout.episodes import Step, play
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
AGAINST_TRUTH = ("seen_actions", "all_actions", "state", "hidden_state", "existence_error")
TERMS = {
    "total": "a particle's log weight",
    "action": "log p(a) / q(a)",
    "existence": "log p(e) / q(e)",
    "state": "log p(s) / q(s)",
    "rows": "log p of what is seen of the agents",
    "shared": "log p of the shared features",
}
WEIGHT_METRICS = (
    {f"uniform_{name}": f"{name.replace('_', ' ')} if all hypotheses counted the same" for name in AGAINST_TRUTH}
    | {f"spread_{name}": f"standard deviation over particles of {what}" for name, what in TERMS.items()}
    | {"divergence": "KL of the proposal of states from the target, mean over particles"}
)
"""What weights are worth, of beliefs with several hypotheses."""


def score(belief: Belief, truth: Truth, visible: Bool[Array, "slots"]) -> Sums:
    """One step: for each metric that this belief allows, the sum and over how many."""
    weight, samples = belief.weight, len(belief.weight)
    sums = against_truth(belief, weight, truth, visible) | {
        "effective_samples": (1 / (weight**2).sum(), jnp.ones(())),
        "entropy": (-(weight * jnp.log(jnp.maximum(weight, 1e-30))).sum(), jnp.ones(())),
    }
    if samples > 1:
        uniform = against_truth(belief, jnp.full(samples, 1 / samples), truth, visible)
        sums |= {f"uniform_{name}": numbers for name, numbers in uniform.items()}
    return sums if belief.terms is None else sums | score_terms(belief.terms)


def against_truth(belief: Belief, weight: Float[Array, "samples"], truth: Truth, visible: Bool[Array, "slots"]) -> Sums:
    """How well a belief matches the truth if its hypotheses have these weights."""
    there = truth.exists.at[0].set(False)
    number = weight @ belief.exists[:, 1:].sum(-1)
    sums = {"existence_error": ((number - there.sum()) ** 2, jnp.ones(()))}
    if belief.actions is not None:
        taken = jax.nn.one_hot(truth.actions, belief.actions.shape[-1])
        likelihood = jnp.einsum("k,kja,ja->j", weight, belief.actions, taken)
        log_likelihood = jnp.log(jnp.maximum(likelihood, 1e-30))
        sums |= {"seen_actions": masked(log_likelihood, there & visible), "all_actions": masked(log_likelihood, there)}
    if belief.agents is not None and belief.shared is not None:
        of_rows = jnp.einsum("k,kjf->jf", weight, normal_log_density(truth.agents, belief.agents))
        of_shared = weight @ normal_log_density(truth.shared, belief.shared)
        rows = masked(of_rows, jnp.broadcast_to(truth.exists[:, None], of_rows.shape))
        sums |= {
            "state": (rows[0] + of_shared.sum(), rows[1] + of_shared.size),
            "hidden_state": masked(of_rows, jnp.broadcast_to((there & ~visible)[:, None], of_rows.shape)),
        }
    return sums


def score_terms(terms: dict[str, Float[Array, "particles"]]) -> Sums:
    """How much each part of the log weights, and their sum, tells particles apart; and the divergence."""
    parts = {name: terms[name] for name in TERMS if name in terms}
    parts["total"] = sum(parts.values(), start=jnp.zeros(()))
    spreads = {f"spread_{name}": (part.std(), jnp.ones(())) for name, part in parts.items()}
    return spreads | {"divergence": (terms["divergence"].mean(), jnp.ones(()))}


def masked(numbers: Float[Array, "*shape"], which: Bool[Array, "*shape"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The sum of some numbers and how many there are."""
    return jnp.where(which, numbers, 0).sum(), which.sum().astype(jnp.float32)


def belief_scores(policy: AbstractPolicy, task: Task, *, episodes: int = 32, seed: int = 0) -> dict[str, float]:
    """The metrics that apply, of ``METRICS`` and ``WEIGHT_METRICS``, over whole episodes that the policy plays."""
    return means(play(task, policy, make_key(seed), episodes, keep_scores).kept)


def means(sums: Sums) -> dict[str, float]:
    """Each metric's mean; what never applied is left out."""
    totals = {name: (float(total.sum()), float(count.sum())) for name, (total, count) in sums.items()}
    return {name: total / count for name, (total, count) in totals.items() if count}


def keep_scores(step: Step) -> Sums:
    """The scores of a step, zero after the episode's end."""
    sums = score(belief_of(step.decision.explanation, step.view), step.truth, step.view.obs.visible)
    return jax.tree.map(lambda leaf: jnp.where(step.counts, leaf, 0), sums)


def belief_of(explanation: Explanation, view: View) -> Belief:
    """A policy's belief. Whoever has none believes what it sees: nobody is there but those in sight."""
    if explanation.belief is not None:
        return explanation.belief
    actions = None if explanation.predicted is None else explanation.predicted[None]
    return Belief(jnp.ones(1), view.obs.visible[None].astype(jnp.float32), actions, None, None)


def holds_belief(policy: AbstractPolicy, task: Task) -> bool:
    """Whether there is a belief to score: something is hidden, and the policy believes or predicts something."""
    if isinstance(task.view, FullView):
        return False
    explanation = explanation_shapes(policy, task)
    return explanation.belief is not None or explanation.predicted is not None


def explanation_shapes(policy: AbstractPolicy, task: Task) -> Explanation:
    """The parts of this policy's explanations, as shapes."""

    def decide() -> Explanation:
        _, timestep = task.reset(make_key(0))
        return policy.decide(make_key(1), policy.start(task.slots), timestep.view).explanation

    return eqx.filter_eval_shape(decide)
