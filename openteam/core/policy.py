"""One interface for everybody who acts: scripted, learned, human, and the learner itself."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Int, Key, PyTree

from openteam.core.memory import Memory
from openteam.core.types import View


class Belief(eqx.Module):
    """Weighted hypotheses about what cannot be seen, in the terms of the world; None where there is none."""

    weight: Float[Array, "*batch samples"]  # sums to 1
    exists: Float[Array, "*batch samples slots"]  # probabilities, or 0 and 1
    actions: Float[Array, "*batch samples slots actions"] | None  # probabilities of everybody's next action
    agents: Float[Array, "*batch samples slots feat"] | None  # features of those who exist
    shared: Float[Array, "*batch samples shared"] | None
    terms: dict[str, Float[Array, "*batch samples"]] | None = None  # where the weights come from, as logarithms


class Explanation(eqx.Module):
    """Why an action was chosen, as far as the policy can tell. Compiled code that drops it does not compute it."""

    action_values: Float[Array, "*batch actions"] | None = None
    """The value of each of the policy's own actions: Qbar of the paper."""
    singular: Float[Array, "*batch slots actions"] | None = None
    """Singular utilities Q_j(a_j)."""
    pairwise: Float[Array, "*batch slots slots actions actions"] | None = None
    """Pairwise utilities Q_jk(a_j, a_k), symmetric, 0 for j = k. Quadratic in the team."""
    predicted: Float[Array, "*batch slots actions"] | None = None
    """The agent model's probabilities of everybody's next action; row 0, the policy itself, means nothing."""
    types: Float[Array, "*batch slots type"] | None = None
    """Inferred type vectors."""
    belief: Belief | None = None
    """What it believes about what it cannot see."""
    value: Float[Array, "*batch"] | None = None
    """The value of the state, by a critic."""
    probabilities: Float[Array, "*batch actions"] | None = None
    """The distribution that the action was drawn from."""


class Decision(eqx.Module):
    """An action, the memory after it, and the reasons."""

    action: Int[Array, "*batch"]
    memory: PyTree[Any]
    explanation: Explanation


class AbstractPolicy(eqx.Module):
    """One agent in one environment."""

    @abstractmethod
    def start(self, slots: int) -> Memory[Any, Any]:
        """The memory of an agent who has seen nothing, in a team of at most ``slots``."""

    @abstractmethod
    def decide(self, key: Key[Array, ""], memory: Any, view: View) -> Decision:
        """An action, the next memory, and why. What ``memory`` holds of slots in ``view.fresh`` must be ignored."""

    def act(self, key: Key[Array, ""], memory: Any, view: View) -> tuple[Int[Array, ""], Any]:
        """The decision without its reasons."""
        decision = self.decide(key, memory, view)
        return decision.action, decision.memory


class AbstractMemoryless(AbstractPolicy):
    """One agent who decides from what it sees now and remembers nothing."""

    def start(self, slots: int) -> Memory[tuple[()], tuple[()]]:
        del slots
        return Memory((), ())
