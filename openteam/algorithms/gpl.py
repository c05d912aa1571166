"""Graph-based Policy Learning: GPL-Q and GPL-SPI (paper, algorithm "GPL Training"), and its successor CIAO.

The value of a joint action is learned, and an agent model says what teammates will do. The learner acts on the joint
value with teammates marginalised out.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.algorithms.value_learning import AbstractValueLearner
from openteam.core.types import Spec
from openteam.errors import UserError, check_positive
from openteam.models.graph import Graph
from openteam.models.joint_value import (
    IndividualRange,
    JointValueModel,
    PairRange,
    Pairwise,
    joint_value,
    marginalise,
)
from openteam.models.types import TypeInference
from openteam.models.value import AbstractValueModel, Team


class JointValue(AbstractValueModel):
    """alpha_Q, beta, delta: Q(H, a) is learned, Qbar(H, a_i) is acted on."""

    types: TypeInference
    joint: JointValueModel
    regulariser: float = eqx.field(static=True, default=0.0)

    @property
    def places(self) -> None:
        return None

    @property
    def scored(self) -> str:
        return "joint_value"

    @property
    def never_negative(self) -> bool:
        return self.joint.pair_range == "positive" and self.joint.individual_range in ("positive", "zero")

    def values(self, team: Team) -> Float[Array, "actions"]:
        assert team.probabilities is not None
        return marginalise(self.joint(team.types), team.probabilities, team.visible)

    def taken(self, team: Team, actions: Int[Array, "slots"]) -> tuple[Float[Array, ""], Float[Array, ""] | None]:
        utilities = self.joint(team.types)
        value = joint_value(utilities, actions, team.visible)
        if not self.regulariser:
            return value, None
        penalty = star_penalty if self.joint.graph == "star" else complete_penalty
        return value, self.regulariser * penalty(individual_values(utilities.singular, actions), team.visible)


def individual_values(singular: Float[Array, "slots actions"], actions: Int[Array, "slots"]) -> Float[Array, "slots"]:
    """Q_j(a_j) of what was done."""
    return (singular * jax.nn.one_hot(actions, singular.shape[-1])).sum(-1)


def star_penalty(values: Float[Array, "slots"], exists: Bool[Array, "slots"]) -> Float[Array, ""]:
    """(Q_i(a_i) - sum_j Q_j(a_j))^2: the learner's own utility learns to be worth those of its teammates."""
    teammates = values @ exists.at[0].set(False).astype(values.dtype)
    return (values[0] - jax.lax.stop_gradient(teammates)) ** 2


def complete_penalty(values: Float[Array, "slots"], exists: Bool[Array, "slots"]) -> Float[Array, ""]:
    """Mean over agents of (Q_j(a_j) - Q_i(a_i))^2: each teammate's utility learns to be worth the learner's."""
    return jnp.mean((values - jax.lax.stop_gradient(values[0])) ** 2, where=exists)


class GPL(AbstractValueLearner):
    """Graph-based Policy Learning: QLearning gives GPL-Q, SoftPolicyIteration gives GPL-SPI."""

    rank: int = eqx.field(static=True, default=5)
    """Rank K of the pairwise utilities."""
    pairwise: Pairwise = eqx.field(static=True, default="factored")
    """One factor per agent (the paper's section: linear in the team) or per edge (its appendix: quadratic)."""
    graph: Graph = eqx.field(static=True, default="complete")
    """Edges between all agents, or only between the learner and each teammate (star), in both models."""
    individual_range: IndividualRange = eqx.field(static=True, default="free")
    """The sign that utilities of single agents may have."""
    pair_range: PairRange = eqx.field(static=True, default="free")
    """The sign that utilities of pairs may have. If no utility can be negative, negative returns cannot be learned."""
    regulariser: float = eqx.field(static=True, default=0.0)
    """Weight of CIAO's loss that draws utilities of single agents to each other."""

    def __check_init__(self) -> None:
        check_positive(self, "rank")
        if self.regulariser < 0:
            raise UserError(f"GPL's regulariser is the weight of a loss, so at least 0; got {self.regulariser}.")

    @property
    def agent_graph(self) -> Graph:
        return self.graph

    def value_model(self, key: Key[Array, ""], types: TypeInference, spec: Spec) -> JointValue:
        joint = JointValueModel(
            key, self.type_size, spec.actions, width=self.utility_width, rank=self.rank, form=self.pairwise,
            graph=self.graph, individual_range=self.individual_range, pair_range=self.pair_range,
        )  # fmt: skip
        return JointValue(types, joint, self.regulariser)
