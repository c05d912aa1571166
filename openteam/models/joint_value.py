"""The joint action value as a coordination graph, and the learner's own value by marginalising teammates out.

Q(H, a) = sum_j Q_j(a_j) + sum over unordered pairs Q_jk(a_j, a_k)            (paper, "Joint Action Value Model")
Qbar(H, a_i) = expectation of Q(H, a) over the agent model's a_-i              (paper, "Action Selection")

Pairwise utilities have low rank: Q_jk(a_j, a_k) = F_j[:, a_j] . F_k[:, a_k]. With one factor per agent (the paper's
section) the sum over pairs is (|sum_j f_j|^2 - sum_j |f_j|^2) / 2 with f_j = F_j e_j, e_j being a one-hot action or a
probability vector: linear in the team. With one factor per ordered pair (the appendix) it is quadratic.

CIAO (Wang et al., 2024) gives utilities a sign, and may leave only the pairs that the learner is part of: the star.
A sign is given to each entry of Q_jk, after the product, so these pairs are written out.
"""

from abc import abstractmethod
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.models.graph import Graph
from openteam.models.layers import MLP, side_by_side

Pairwise = Literal["factored", "edge"]
PairRange = Literal["free", "positive", "negative"]
IndividualRange = Literal[PairRange, "zero"]


class AbstractUtilities(eqx.Module):
    """Q_j and what gives Q_jk, for one state."""

    singular: eqx.AbstractVar[Float[Array, "slots actions"]]

    @abstractmethod
    def pair_sum(self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]) -> Float[Array, ""]:
        """Sum over unordered pairs of Q_jk, each agent's action being a one-hot row or independently distributed."""

    @abstractmethod
    def with_learner(
        self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]
    ) -> Float[Array, "actions"]:
        """For each action of the learner: sum over the others k of the expected Q_0k."""


class FactoredUtilities(AbstractUtilities):
    """One factor per agent."""

    singular: Float[Array, "slots actions"]
    factors: Float[Array, "slots rank actions"]

    def pair_sum(self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]) -> Float[Array, ""]:
        f = self.projected(choice, exists)
        return 0.5 * ((f.sum(0) ** 2).sum() - (f**2).sum())

    def with_learner(
        self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]
    ) -> Float[Array, "actions"]:
        others = self.projected(choice, exists.at[0].set(0)).sum(0)
        return (others[:, None] * self.factors[0]).sum(0)

    def projected(
        self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]
    ) -> Float[Array, "slots rank"]:
        return (self.factors * choice[:, None]).sum(-1) * exists[:, None]


class EdgeUtilities(AbstractUtilities):
    """One factor per ordered pair: Q_jk(a_j, a_k) = M_jk[:, a_j] . M_kj[:, a_k]."""

    singular: Float[Array, "slots actions"]
    factors: Float[Array, "slots slots rank actions"]

    def pair_sum(self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]) -> Float[Array, ""]:
        m = (self.factors * choice[:, None, None]).sum(-1)
        pair = (m * m.transpose(1, 0, 2)).sum(-1) * exists[:, None] * exists[None]
        return 0.5 * (pair.sum() - jnp.trace(pair))

    def with_learner(
        self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]
    ) -> Float[Array, "actions"]:
        others = (self.factors[:, 0] * choice[:, None]).sum(-1) * exists.at[0].set(0)[:, None]
        return (others[:, :, None] * self.factors[0]).sum((0, 1))


class TabledUtilities(AbstractUtilities):
    """Q_jk(a_j, a_k) written out for every ordered pair."""

    singular: Float[Array, "slots actions"]
    pairs: Float[Array, "slots slots actions actions"]

    def pair_sum(self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]) -> Float[Array, ""]:
        chosen = choice * exists[:, None]
        pair = jnp.einsum("jkab,ja,kb->jk", self.pairs, chosen, chosen)
        return 0.5 * (pair.sum() - jnp.trace(pair))

    def with_learner(
        self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]
    ) -> Float[Array, "actions"]:
        return (self.pairs[0] * (choice * exists.at[0].set(0)[:, None])[:, None]).sum((0, 2))


class StarUtilities(AbstractUtilities):
    """Q_0k(a_0, a_k) of the learner and everybody else; teammates have no pairs among themselves."""

    singular: Float[Array, "slots actions"]
    pairs: Float[Array, "slots actions actions"]

    def pair_sum(self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]) -> Float[Array, ""]:
        return (choice[0] * self.with_learner(choice, exists)).sum() * exists[0]

    def with_learner(
        self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]
    ) -> Float[Array, "actions"]:
        return (self.pairs * (choice * exists.at[0].set(0)[:, None])[:, None]).sum((0, 2))


class JointValueModel(eqx.Module):
    """MLP_beta and MLP_delta, shared by all agents and pairs."""

    singular: MLP | None  # None if utilities of single agents are zero
    pairwise: MLP
    rank: int = eqx.field(static=True)
    form: Pairwise = eqx.field(static=True)
    graph: Graph = eqx.field(static=True)
    individual_range: IndividualRange = eqx.field(static=True)
    pair_range: PairRange = eqx.field(static=True)

    def __init__(
        self,
        key: Key[Array, ""],
        type_size: int,
        actions: int,
        *,
        width: int,
        rank: int,
        form: Pairwise,
        graph: Graph = "complete",
        individual_range: IndividualRange = "free",
        pair_range: PairRange = "free",
    ):
        k_singular, k_pairwise = jax.random.split(key)
        parts = 2 if form == "factored" else 3
        individual = individual_range != "zero"
        self.singular = MLP(k_singular, (type_size,) * 2, width, width, actions) if individual else None
        self.pairwise = MLP(k_pairwise, (type_size,) * parts, width, width, rank * actions)
        self.rank, self.form, self.graph = rank, form, graph
        self.individual_range, self.pair_range = individual_range, pair_range

    def __call__(self, types: Float[Array, "slots type"]) -> AbstractUtilities:
        """Utilities of all slots, from their types and the learner's (slot 0)."""
        learner = types[:1]
        if self.graph == "star":
            mine, theirs = self.learners_factors(types, learner)
            pairs = in_range(jnp.einsum("kra,krb->kab", mine, theirs), self.pair_range)
            return StarUtilities(self.individual(types, learner), pairs)
        singular, factors = self.individual_and_factors(types, learner)
        if self.pair_range != "free":
            pairs = "jra,krb->jkab" if self.form == "factored" else "jkra,kjrb->jkab"
            return TabledUtilities(singular, in_range(jnp.einsum(pairs, factors, factors), self.pair_range))
        return FactoredUtilities(singular, factors) if self.form == "factored" else EdgeUtilities(singular, factors)

    def individual_and_factors(
        self, types: Float[Array, "slots type"], learner: Float[Array, "1 type"]
    ) -> tuple[Float[Array, "slots actions"], Float[Array, "*pair rank actions"]]:
        """Both, with one product for the first layers of both where they look at the same."""
        if self.singular is None or self.form == "edge":
            return self.individual(types, learner), self.factors(types, learner)
        wide = side_by_side(self.singular.layers[0], self.pairwise.layers[0])
        alone, paired = jnp.split(wide(types, learner), 2, -1)
        return in_range(self.singular.rest(alone), self.individual_range), self.by_rank(self.pairwise.rest(paired))

    def individual(
        self, types: Float[Array, "slots type"], learner: Float[Array, "1 type"]
    ) -> Float[Array, "slots actions"]:
        """Q_j of every agent."""
        if self.singular is None:
            return jnp.zeros((len(types), self.pairwise.layers[-1].bias.size // self.rank))
        return in_range(self.singular(types, learner), self.individual_range)

    def factors(
        self, types: Float[Array, "slots type"], learner: Float[Array, "1 type"]
    ) -> Float[Array, "*pair rank actions"]:
        """F_j of every agent, or F_jk of every ordered pair."""
        if self.form == "factored":
            return self.by_rank(self.pairwise(types, learner))
        return self.by_rank(self.pairwise(types[:, None], types[None], learner))

    def learners_factors(
        self, types: Float[Array, "slots type"], learner: Float[Array, "1 type"]
    ) -> tuple[Float[Array, "slots rank actions"], Float[Array, "slots rank actions"]]:
        """The factors of the pairs of the learner and each agent: the learner's and the other's."""
        if self.form == "factored":
            theirs = self.factors(types, learner)
            return jnp.broadcast_to(theirs[0], theirs.shape), theirs
        mine, theirs = self.pairwise(learner, types, learner), self.pairwise(types, learner, learner)
        return self.by_rank(mine), self.by_rank(theirs)

    def by_rank(self, flat: Float[Array, "*pair out"]) -> Float[Array, "*pair rank actions"]:
        return flat.reshape(*flat.shape[:-1], self.rank, -1)


def in_range(utilities: Float[Array, "*shape"], sign: PairRange | IndividualRange) -> Float[Array, "*shape"]:
    """Utilities that may have any sign, or only one."""
    return {"free": lambda x: x, "positive": jnp.abs, "negative": lambda x: -jnp.abs(x)}[sign](utilities)


def joint_value(
    utilities: AbstractUtilities, actions: Int[Array, "slots"], exists: Bool[Array, "slots"]
) -> Float[Array, ""]:
    """Q(H, a) of one joint action of the agents that exist."""
    return expected_value(utilities, jax.nn.one_hot(actions, utilities.singular.shape[-1]), exists)


def expected_value(
    utilities: AbstractUtilities,
    choice: Float[Array, "slots actions"],
    exists: Bool[Array, "slots"] | Float[Array, "slots"],
) -> Float[Array, ""]:
    """Q(H, .), everybody acting independently with these probabilities: exact, as no more than pairs interact."""
    there = exists.astype(jnp.float32)
    return (utilities.singular * choice).sum(-1) @ there + utilities.pair_sum(choice, there)


def marginalise(
    utilities: AbstractUtilities,
    probabilities: Float[Array, "slots actions"],
    exists: Bool[Array, "slots"] | Float[Array, "slots"],
) -> Float[Array, "actions"]:
    """Qbar(H, .): the learner's action values, teammates acting independently with these probabilities."""
    others = exists.astype(jnp.float32).at[0].set(0)
    constant = (utilities.singular * probabilities).sum(-1) @ others + utilities.pair_sum(probabilities, others)
    return utilities.singular[0] + utilities.with_learner(probabilities, others) + constant
