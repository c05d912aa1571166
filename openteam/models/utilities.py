"""Utilities of single agents and of pairs, stored in the form in which their sums are cheapest.

Pairwise utilities have low rank: Q_jk(a_j, a_k) = F_j[:, a_j] . F_k[:, a_k]. With one factor per agent (the paper's
section) the sum over pairs is (|sum_j f_j|^2 - sum_j |f_j|^2) / 2 with f_j = F_j e_j, e_j being a one-hot action or a
probability vector: linear in the team. With one factor per ordered pair (the appendix) it is quadratic.
"""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


@jax.custom_vjp
def over_actions(weighted: Float[Array, "*rest actions"]) -> Float[Array, "*rest"]:
    """The sum over actions, term by term: as a reduction of so few numbers it takes several times as long."""
    terms = [weighted[..., action] for action in range(weighted.shape[-1])]
    return sum(terms[1:], start=terms[0])


def _over_actions(weighted: Array) -> tuple[Array, Array]:
    return over_actions(weighted), weighted


def _to_each_action(weighted: Array, gradient: Array) -> tuple[Array]:
    return (jnp.broadcast_to(gradient[..., None], weighted.shape),)


over_actions.defvjp(_over_actions, _to_each_action)


class AbstractUtilities(eqx.Module):
    """Q_j, and whatever Q_jk is computed from, for one state."""

    singular: eqx.AbstractVar[Float[Array, "slots actions"]]

    @abstractmethod
    def pair_sum(self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]) -> Float[Array, ""]:
        """Sum over unordered pairs of Q_jk, each agent's action being a one-hot row or independently distributed."""

    @abstractmethod
    def with_learner(
        self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]
    ) -> Float[Array, "actions"]:
        """For each action of the learner: sum over the others k of the expected Q_0k."""

    @abstractmethod
    def tabled(self) -> "PairTable | StarTable":
        """The same utilities with every Q_jk(a_j, a_k) as a number of its own."""

    @abstractmethod
    def pairs(self) -> Float[Array, "slots slots actions actions"]:
        """Q_jk(a_j, a_k) of every ordered pair: symmetric, 0 for j = k. For explanations; quadratic in the team."""


class AgentFactors(AbstractUtilities):
    """One factor per agent: Q_jk(a_j, a_k) = F_j[:, a_j] . F_k[:, a_k]."""

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
        return over_actions(self.factors * choice[:, None]) * exists[:, None]

    def tabled(self) -> "PairTable":
        return PairTable(self.singular, jnp.einsum("jra,krb->jkab", self.factors, self.factors))

    def pairs(self) -> Float[Array, "slots slots actions actions"]:
        return self.tabled().pairs()


class EdgeFactors(AbstractUtilities):
    """One factor per ordered pair: Q_jk(a_j, a_k) = M_jk[:, a_j] . M_kj[:, a_k]."""

    singular: Float[Array, "slots actions"]
    factors: Float[Array, "slots slots rank actions"]

    def pair_sum(self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]) -> Float[Array, ""]:
        m = over_actions(self.factors * choice[:, None, None])
        pair = (m * m.transpose(1, 0, 2)).sum(-1) * exists[:, None] * exists[None]
        return 0.5 * (pair.sum() - jnp.trace(pair))

    def with_learner(
        self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]
    ) -> Float[Array, "actions"]:
        others = over_actions(self.factors[:, 0] * choice[:, None]) * exists.at[0].set(0)[:, None]
        return (others[:, :, None] * self.factors[0]).sum((0, 1))

    def tabled(self) -> "PairTable":
        return PairTable(self.singular, jnp.einsum("jkra,kjrb->jkab", self.factors, self.factors))

    def pairs(self) -> Float[Array, "slots slots actions actions"]:
        return self.tabled().pairs()


class PairTable(AbstractUtilities):
    """Q_jk(a_j, a_k) of every ordered pair; entries with j = k mean nothing."""

    singular: Float[Array, "slots actions"]
    table: Float[Array, "slots slots actions actions"]

    def pair_sum(self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]) -> Float[Array, ""]:
        chosen = choice * exists[:, None]
        pair = jnp.einsum("jkab,ja,kb->jk", self.table, chosen, chosen)
        return 0.5 * (pair.sum() - jnp.trace(pair))

    def with_learner(
        self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]
    ) -> Float[Array, "actions"]:
        return (self.table[0] * (choice * exists.at[0].set(0)[:, None])[:, None]).sum((0, 2))

    def tabled(self) -> "PairTable":
        return self

    def pairs(self) -> Float[Array, "slots slots actions actions"]:
        return jnp.where(jnp.eye(len(self.table), dtype=bool)[:, :, None, None], 0, self.table)


class StarTable(AbstractUtilities):
    """Q_0k(a_0, a_k) of the learner and every teammate k; entry 0 means nothing. Teammates have no pairs."""

    singular: Float[Array, "slots actions"]
    table: Float[Array, "slots actions actions"]

    def pair_sum(self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]) -> Float[Array, ""]:
        return (choice[0] * self.with_learner(choice, exists)).sum() * exists[0]

    def with_learner(
        self, choice: Float[Array, "slots actions"], exists: Float[Array, "slots"]
    ) -> Float[Array, "actions"]:
        return (self.table * (choice * exists.at[0].set(0)[:, None])[:, None]).sum((0, 2))

    def tabled(self) -> "StarTable":
        return self

    def pairs(self) -> Float[Array, "slots slots actions actions"]:
        mine = self.table.at[0].set(0)
        blank = jnp.zeros((len(mine), *mine.shape))
        return blank.at[:, 0].set(mine.transpose(0, 2, 1)).at[0].set(mine)
