"""The joint action value as a coordination graph, and the learner's own value by marginalising teammates out.

Q(H, a) = sum_j Q_j(a_j) + sum over unordered pairs Q_jk(a_j, a_k)            (paper, "Joint Action Value Model")
Qbar(H, a_i) = expectation of Q(H, a) over the agent model's a_-i              (paper, "Action Selection")

How Q_jk follows from the types of j and k is a setting: the paper has two forms. PerEdge is the default, as in the
released code; Factored, linear in the team, is for teams of more than ten. CIAO (Wang et al., 2024) gives
utilities a sign and may keep only the pairs that include the learner: the star. The sign belongs to each entry of
Q_jk, after the product, so these pairs are stored as tables.
"""

import dataclasses
from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.checked import AbstractChecked
from openteam.errors import UserError, check_positive
from openteam.models.graph import AbstractGraph, CompleteGraph, StarGraph
from openteam.models.layers import MLP, side_by_side
from openteam.models.utilities import AbstractUtilities, AgentFactors, EdgeFactors, StarTable


class AbstractPairwise(AbstractChecked):
    """Which pairs of agents have a utility and how it follows from their types. Settings only, no parameters."""

    @property
    @abstractmethod
    def graph(self) -> AbstractGraph:
        """Whose pairs have a utility."""

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """No utility can be below zero, so negative returns cannot be learned."""

    @abstractmethod
    def network(self, key: Key[Array, ""], type_size: int, actions: int, width: int) -> MLP:
        """MLP_delta with new parameters."""

    @abstractmethod
    def __call__(self, singular: MLP, pairwise: MLP, types: Float[Array, "slots type"]) -> AbstractUtilities:
        """Utilities of all slots from MLP_beta, MLP_delta and the types, of which the first is the learner's."""


class AbstractLowRank(AbstractPairwise):
    """Pairs of all agents, as products of factors."""

    rank: eqx.AbstractVar[int]

    @property
    def graph(self) -> CompleteGraph:
        return CompleteGraph()

    @property
    def nonnegative(self) -> bool:
        return False

    @abstractmethod
    def learner_factors(
        self, pairwise: MLP, types: Float[Array, "slots type"], learner: Float[Array, "1 type"]
    ) -> tuple[Float[Array, "slots rank actions"], Float[Array, "slots rank actions"]]:
        """The two factors of the pair of the learner and each agent: the learner's and the other's."""


class Factored(AbstractLowRank):
    """Q_jk = F_j . F_k with a factor per agent, F_j = MLP_delta(theta_j, theta_i): the paper's section. Linear."""

    rank: int = eqx.field(static=True, default=5)
    """K, the number of rows of a factor."""

    def __check_init__(self) -> None:
        check_positive(self, "rank")

    def network(self, key: Key[Array, ""], type_size: int, actions: int, width: int) -> MLP:
        return MLP(key, (type_size,) * 2, width, width, self.rank * actions)

    def __call__(self, singular: MLP, pairwise: MLP, types: Float[Array, "slots type"]) -> AgentFactors:
        # Both networks read the same inputs: one wide product for their first layers.
        wide = side_by_side(singular.layers[0], pairwise.layers[0])
        alone, paired = jnp.split(wide(types, types[:1]), 2, -1)
        return AgentFactors(singular.rest(alone), by_rank(pairwise.rest(paired), self.rank))

    def learner_factors(
        self, pairwise: MLP, types: Float[Array, "slots type"], learner: Float[Array, "1 type"]
    ) -> tuple[Float[Array, "slots rank actions"], Float[Array, "slots rank actions"]]:
        theirs = by_rank(pairwise(types, learner), self.rank)
        return jnp.broadcast_to(theirs[0], theirs.shape), theirs


class PerEdge(AbstractLowRank):
    """Q_jk = M_jk . M_kj with a factor per edge, M_jk = MLP_delta(theta_j, theta_k, theta_i): the paper's appendix.

    A factor sees both agents of its pair, so it can know what j does to k. Quadratic in the team.
    """

    rank: int = eqx.field(static=True, default=6)
    """K, the number of rows of a factor."""

    def __check_init__(self) -> None:
        check_positive(self, "rank")

    def network(self, key: Key[Array, ""], type_size: int, actions: int, width: int) -> MLP:
        return MLP(key, (type_size,) * 3, width, width, self.rank * actions)

    def __call__(self, singular: MLP, pairwise: MLP, types: Float[Array, "slots type"]) -> EdgeFactors:
        learner = types[:1]
        alone = singular(types, learner)
        return EdgeFactors(alone, by_rank(pairwise(types[:, None], types[None], learner), self.rank))

    def learner_factors(
        self, pairwise: MLP, types: Float[Array, "slots type"], learner: Float[Array, "1 type"]
    ) -> tuple[Float[Array, "slots rank actions"], Float[Array, "slots rank actions"]]:
        mine, theirs = pairwise(learner, types, learner), pairwise(types, learner, learner)
        return by_rank(mine, self.rank), by_rank(theirs, self.rank)


class Star(AbstractPairwise):
    """Only the pairs that include the learner: CIAO-S."""

    factors: AbstractLowRank = PerEdge()
    """How a pair's utility is made."""

    @property
    def graph(self) -> StarGraph:
        return StarGraph()

    @property
    def nonnegative(self) -> bool:
        return False

    def network(self, key: Key[Array, ""], type_size: int, actions: int, width: int) -> MLP:
        return self.factors.network(key, type_size, actions, width)

    def __call__(self, singular: MLP, pairwise: MLP, types: Float[Array, "slots type"]) -> StarTable:
        learner = types[:1]
        mine, theirs = self.factors.learner_factors(pairwise, types, learner)
        return StarTable(singular(types, learner), jnp.einsum("kra,krb->kab", mine, theirs))


class Signed(AbstractPairwise):
    """Utilities s |Q_j(a_j)| and s |Q_jk(a_j, a_k)|: CIAO's are positive."""

    pairwise: AbstractPairwise = PerEdge()
    """Which pairs, and how a pair's utility is made."""
    singular_sign: int | None = eqx.field(static=True, default=1)
    """s of singular utilities: 1, -1, 0 to leave them out, or None to leave their sign free."""
    pair_sign: int | None = eqx.field(static=True, default=1)
    """s of pairwise utilities: 1, -1, or None to leave their sign free."""

    def __check_init__(self) -> None:
        if self.singular_sign not in (1, -1, 0, None) or self.pair_sign not in (1, -1, None):
            raise UserError(
                "Signed's singular_sign must be 1, -1, 0 or None, and its pair_sign 1, -1 or None; got "
                f"{self.singular_sign} and {self.pair_sign}."
            )

    @property
    def graph(self) -> AbstractGraph:
        return self.pairwise.graph

    @property
    def nonnegative(self) -> bool:
        return self.pair_sign == 1 and self.singular_sign in (0, 1)

    def network(self, key: Key[Array, ""], type_size: int, actions: int, width: int) -> MLP:
        return self.pairwise.network(key, type_size, actions, width)

    def __call__(self, singular: MLP, pairwise: MLP, types: Float[Array, "slots type"]) -> AbstractUtilities:
        utilities = self.pairwise(singular, pairwise, types)
        if self.pair_sign is not None:
            utilities = utilities.tabled()
            utilities = dataclasses.replace(utilities, table=self.pair_sign * jnp.abs(utilities.table))
        if self.singular_sign is not None:
            utilities = dataclasses.replace(utilities, singular=self.singular_sign * jnp.abs(utilities.singular))
        return utilities


def by_rank(flat: Float[Array, "*pair out"], rank: int) -> Float[Array, "*pair rank actions"]:
    """A network's outputs as factors."""
    return flat.reshape(*flat.shape[:-1], rank, -1)


class JointValueModel(eqx.Module):
    """MLP_beta and MLP_delta, shared by all agents and pairs."""

    singular: MLP
    pairwise: MLP
    form: AbstractPairwise

    def __init__(
        self, key: Key[Array, ""], type_size: int, actions: int, *, width: int, pairwise: AbstractPairwise = PerEdge()
    ):
        k_singular, k_pairwise = jax.random.split(key)
        self.singular = MLP(k_singular, (type_size,) * 2, width, width, actions)
        self.pairwise = pairwise.network(k_pairwise, type_size, actions, width)
        self.form = pairwise

    def __call__(self, types: Float[Array, "slots type"]) -> AbstractUtilities:
        """Utilities of all slots, from their types and the learner's (slot 0)."""
        return self.form(self.singular, self.pairwise, types)


def joint_value(
    utilities: AbstractUtilities, actions: Int[Array, "slots"], exists: Bool[Array, "slots"]
) -> Float[Array, ""]:
    """Q(H, a) = sum_j Q_j(a_j) + sum_{j<k} Q_jk(a_j, a_k), over the agents that exist."""
    return expected_value(utilities, jax.nn.one_hot(actions, utilities.singular.shape[-1]), exists)


def expected_value(
    utilities: AbstractUtilities,
    choice: Float[Array, "slots actions"],
    exists: Bool[Array, "slots"] | Float[Array, "slots"],
) -> Float[Array, ""]:
    """E[Q(H, a)], a_j ~ choice_j independently: exact, as no more than pairs interact."""
    there = exists.astype(jnp.float32)
    return (utilities.singular * choice).sum(-1) @ there + utilities.pair_sum(choice, there)


def marginalise(
    utilities: AbstractUtilities,
    probabilities: Float[Array, "slots actions"],
    exists: Bool[Array, "slots"] | Float[Array, "slots"],
) -> Float[Array, "actions"]:
    """Qbar(H, a_i) = Q_i(a_i) + sum_j E[Q_j(a_j) + Q_ij(a_i, a_j)] + sum_{j<k} E[Q_jk(a_j, a_k)].

    Sums are over teammates j, k; expectations over their actions, independent with these probabilities.
    """
    others = exists.astype(jnp.float32).at[0].set(0)
    constant = (utilities.singular * probabilities).sum(-1) @ others + utilities.pair_sum(probabilities, others)
    return utilities.singular[0] + utilities.with_learner(probabilities, others) + constant
