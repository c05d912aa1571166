"""What an explanation's numbers say about each other: where a value comes from, and what it were if actions were known.

Qbar(a) = Q_0(a) + sum_j E Q_0j(a, a_j) + what does not depend on the learner's own action a, with expectations over
the predicted actions of those who are there (paper, "Action Selection").
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float

from openteam.core.policy import Explanation


def existence(why: Explanation, visible: Bool[np.ndarray, "slots"]) -> Float[np.ndarray, "slots"]:
    """How sure the learner is that somebody is there: 0 or 1 without a belief."""
    if why.belief is None:
        return visible.astype(np.float32)
    return np.asarray(why.belief.weight @ why.belief.exists)


def singular_share(why: Explanation) -> Float[np.ndarray, "actions"] | None:
    """Q_0(a): what an action is worth by itself."""
    return None if why.singular is None else np.asarray(why.singular)[0]


def pairwise_share(
    why: Explanation, exists: Float[np.ndarray, "slots"], choice: Float[np.ndarray, "slots actions"]
) -> Float[np.ndarray, "actions"]:
    """Sum over j of E Q_0j(a, a_j): what an action is worth because of what others do."""
    others = choice * exists[:, None]
    others[0] = 0
    return np.einsum("jab,jb->a", np.asarray(why.pairwise)[0], others)


def elsewhere(
    why: Explanation, exists: Float[np.ndarray, "slots"], choice: Float[np.ndarray, "slots actions"]
) -> float:
    """What the others do, alone and in pairs without the learner: the same for each of its actions."""
    others = choice * exists[:, None]
    others[0] = 0
    pairs = np.einsum("jkab,ja,kb->", np.asarray(why.pairwise), others, others)
    return float((np.asarray(why.singular) * others).sum() + 0.5 * pairs)


def explains_pairs(why: Explanation) -> bool:
    """Whether values are made of utilities and predictions that the policy tells."""
    return all(part is not None for part in (why.action_values, why.singular, why.pairwise, why.predicted))


def values_if(
    why: Explanation, visible: Bool[np.ndarray, "slots"], actions: Mapping[int, int]
) -> Float[np.ndarray, "actions"]:
    """The values of the learner's actions if it knew what some others do next, by slot.

    The difference to what it predicted is added to its values. Exact where utilities are one table; of a belief, whose
    tables are means over hypotheses, it is the first order.
    """
    exists, predicted = existence(why, visible), np.asarray(why.predicted)
    known = predicted.copy()
    for slot, action in actions.items():
        known[slot] = np.eye(predicted.shape[1])[action]

    def total(choice: np.ndarray) -> Float[np.ndarray, "actions"]:
        return pairwise_share(why, exists, choice) + elsewhere(why, exists, choice)

    return np.asarray(why.action_values) + total(known) - total(predicted)


def pair_means(why: Explanation, exists: Float[np.ndarray, "slots"], action: int) -> Float[np.ndarray, "slots slots"]:
    """E Q_jk of every pair: others as predicted, the learner as it decided."""
    choice = np.asarray(why.predicted).copy()
    choice[0] = np.eye(choice.shape[1])[action]
    choice *= exists[:, None]
    return np.einsum("jkab,ja,kb->jk", np.asarray(why.pairwise), choice, choice)
