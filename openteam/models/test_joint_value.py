"""The joint value and its marginal against sums over every joint action, in double precision."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.errors import UserError
from openteam.models.joint_value import (
    AbstractPairwise,
    Factored,
    JointValueModel,
    PerEdge,
    Signed,
    Star,
    joint_value,
    marginalise,
)
from openteam.models.utilities import AgentFactors, EdgeFactors

SLOTS, ACTIONS, RANK, TYPE = 6, 3, 2, 4
FACTORED, PER_EDGE = Factored(RANK), PerEdge(RANK)
# Teams of one to four, absent slots among them.
TEAMS = ((0,), (0, 1), (0, 4), (0, 2, 5), (0, 1, 3, 4), (0, 2, 3, 5))

forms = pytest.mark.parametrize("form", [FACTORED, PER_EDGE], ids=("factored", "per-edge"))
value = eqx.filter_jit(joint_value)
marginal = eqx.filter_jit(marginalise)


def utilities(form: AbstractPairwise, seed: int = 0) -> AgentFactors | EdgeFactors:
    rng = np.random.default_rng(seed)
    singular = jnp.asarray(rng.normal(size=(SLOTS, ACTIONS)), jnp.float32)
    ends = (SLOTS,) if form == FACTORED else (SLOTS, SLOTS)
    factors = jnp.asarray(rng.normal(size=(*ends, RANK, ACTIONS)), jnp.float32)
    return AgentFactors(singular, factors) if form == FACTORED else EdgeFactors(singular, factors)


def model(form: AbstractPairwise, seed: int = 0) -> JointValueModel:
    """A model with random weights that cost no compilation."""
    rng = np.random.default_rng(seed)
    shapes = eqx.filter_eval_shape(JointValueModel, jax.random.key(0), TYPE, ACTIONS, width=5, pairwise=form)
    return jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.normal(size=leaf.shape), jnp.float32), shapes)


def team_of(members: tuple[int, ...], slots: int = SLOTS) -> np.ndarray:
    return np.isin(np.arange(slots), members)


def random_types(slots: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(slots, TYPE)).astype(np.float32)


def random_policies(slots: int, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(ACTIONS), size=slots).astype(np.float32)


def pair_by_hand(factors: np.ndarray, j: int, k: int, a_j: int, a_k: int) -> float:
    """Q_jk(a_j, a_k) as each form defines it."""
    if factors.ndim == 3:
        return factors[j, :, a_j] @ factors[k, :, a_k]
    return factors[j, k, :, a_j] @ factors[k, j, :, a_k]


def value_by_hand(q: AgentFactors | EdgeFactors, actions: dict[int, int]) -> float:
    """Sum over agents plus sum over unordered pairs, for the actions of those who exist."""
    singular, factors = np.asarray(q.singular, np.float64), np.asarray(q.factors, np.float64)
    alone = sum(singular[j, a] for j, a in actions.items())
    return alone + sum(
        pair_by_hand(factors, j, k, actions[j], actions[k]) for j, k in itertools.combinations(actions, 2)
    )


def marginal_by_hand(q, probabilities: np.ndarray, members: tuple[int, ...]) -> np.ndarray:
    """The expectation over every joint action of the teammates."""
    total = np.zeros(ACTIONS)
    for joint in itertools.product(range(ACTIONS), repeat=len(members)):
        chance = np.prod([np.float64(probabilities[j, a]) for j, a in zip(members[1:], joint[1:], strict=True)])
        total[joint[0]] += chance * value_by_hand(q, dict(zip(members, joint, strict=True)))
    return total


@pytest.mark.parametrize("members", TEAMS)
@forms
def test_the_marginal_equals_the_expectation_over_all_joint_actions(form, members):
    q, probabilities = utilities(form), random_policies(SLOTS)
    np.testing.assert_allclose(
        marginal(q, probabilities, team_of(members)), marginal_by_hand(q, probabilities, members), atol=1e-5
    )


@pytest.mark.parametrize("members", TEAMS)
@forms
def test_the_joint_value_sums_agents_and_unordered_pairs(form, members):
    q, rng = utilities(form), np.random.default_rng(3)
    for _ in range(5):
        actions = rng.integers(ACTIONS, size=SLOTS).astype(np.int32)
        expected = value_by_hand(q, {j: int(actions[j]) for j in members})
        np.testing.assert_allclose(value(q, actions, team_of(members)), expected, atol=1e-5)


@forms
def test_teammates_who_are_certain_turn_the_marginal_into_the_joint_value(form):
    q, actions, team = utilities(form), np.array([0, 2, 1, 0, 1, 2], np.int32), team_of((0, 1, 3, 5))
    values = marginal(q, np.eye(ACTIONS, dtype=np.float32)[actions], team)
    for own in range(ACTIONS):
        joint = np.where(np.arange(SLOTS) == 0, own, actions).astype(np.int32)
        np.testing.assert_allclose(values[own], value(q, joint, team), atol=1e-5)


@forms
def test_the_learners_own_probabilities_do_not_matter(form):
    q, probabilities, team = utilities(form), random_policies(SLOTS), team_of((0, 1, 3))
    other = probabilities.copy()
    other[0] = [0, 0, 1]
    np.testing.assert_array_equal(marginal(q, probabilities, team), marginal(q, other, team))


@eqx.filter_jit
def both_values(model, types, actions, probabilities, team):
    """The joint value and the marginal, from types on."""
    q = model(types)
    return jnp.append(marginalise(q, probabilities, team), joint_value(q, actions, team))


@forms
def test_the_order_of_teammates_changes_nothing(form):
    types, probabilities, team = random_types(SLOTS), random_policies(SLOTS), team_of((0, 1, 2, 4))
    actions = np.array([0, 2, 1, 0, 1, 2], np.int32)
    before = both_values(model(form), types, actions, probabilities, team)
    for order in ([0, 2, 1, 3, 4, 5], [0, 5, 4, 3, 2, 1], [0, 3, 5, 1, 2, 4]):
        after = both_values(model(form), types[order], actions[order], probabilities[order], team[order])
        np.testing.assert_allclose(after, before, atol=1e-5)


@forms
def test_absent_slots_change_nothing_whatever_they_hold(form):
    types, probabilities, actions = random_types(3), random_policies(3), np.array([1, 2, 0], np.int32)
    before = both_values(model(form), types, actions, probabilities, np.ones(3, bool))
    at = np.array([0, 2, 5])
    for garbage in (0.0, -1.0, 1e6, -1e12):
        wide_types = np.full((SLOTS, TYPE), garbage, np.float32)
        wide_policies = np.full((SLOTS, ACTIONS), 1 / ACTIONS, np.float32)
        wide_actions = np.full(SLOTS, ACTIONS - 1, np.int32)
        wide_types[at], wide_policies[at], wide_actions[at] = types, probabilities, actions
        after = both_values(model(form), wide_types, wide_actions, wide_policies, team_of((0, 2, 5)))
        np.testing.assert_allclose(after, before, atol=1e-5)


@forms
def test_a_lonely_learner_has_finite_gradients_and_only_its_own_utility(form):
    types, actions, team = random_types(SLOTS), np.zeros(SLOTS, np.int32), team_of((0,))

    @eqx.filter_jit
    @eqx.filter_grad
    def gradient(model):
        return both_values(model, types, actions, random_policies(SLOTS), team).sum()

    network = model(form)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient(network)))
    values = both_values(network, types, actions, random_policies(SLOTS), team)
    np.testing.assert_allclose(values[:-1], network(jnp.asarray(types)).singular[0], atol=1e-6)


def test_a_thousand_slots_cost_no_table_of_pairs():
    slots = 1000
    types, probabilities, team = random_types(slots), random_policies(slots), np.ones(slots, bool)
    actions = np.random.default_rng(4).integers(ACTIONS, size=slots).astype(np.int32)
    arguments = model(FACTORED), types, actions, probabilities, team
    assert f"{slots}x{slots}" not in both_values.lower(*arguments).as_text()

    q = model(FACTORED)(jnp.asarray(types))
    singular, factors = np.asarray(q.singular, np.float64), np.asarray(q.factors, np.float64)
    chosen = factors[np.arange(slots), :, actions]
    pairs = chosen @ chosen.T
    expected = singular[np.arange(slots), actions].sum() + (pairs.sum() - np.trace(pairs)) / 2
    np.testing.assert_allclose(both_values(*arguments)[-1], expected, rtol=1e-4)


VARIANTS = {
    "positive": Signed(FACTORED),
    "negative-pairs-alone": Signed(PER_EDGE, singular_sign=0, pair_sign=-1),
    "star-of-opposites": Signed(Star(FACTORED), singular_sign=-1),
    "star-per-edge": Star(PER_EDGE),
    "positive-singular": Signed(FACTORED, pair_sign=None),
    "factored": FACTORED,
    "per-edge": PER_EDGE,
}
variants = pytest.mark.parametrize("form", VARIANTS.values(), ids=VARIANTS)


def parts_of(form: AbstractPairwise) -> tuple[bool, AbstractPairwise, int | None, int | None]:
    """Whether it is a star, the factors it is made of, and its signs."""
    signs = (form.singular_sign, form.pair_sign) if isinstance(form, Signed) else (None, None)
    form = form.pairwise if isinstance(form, Signed) else form
    return isinstance(form, Star), form.factors if isinstance(form, Star) else form, *signs


def signed(utility: float, sign: int | None) -> float:
    return utility if sign is None else sign * abs(utility)


def any_value_by_hand(form: AbstractPairwise, free: AgentFactors | EdgeFactors, actions: dict[int, int]) -> float:
    """The sum over agents and over those pairs that are edges, each with its sign."""
    star, _, singular_sign, pair_sign = parts_of(form)
    alone = sum(signed(float(free.singular[j, a]), singular_sign) for j, a in actions.items())
    edges = [(j, k) for j, k in itertools.combinations(actions, 2) if not star or j == 0]
    factors = np.asarray(free.factors, np.float64)
    pairs = [pair_by_hand(factors, j, k, actions[j], actions[k]) for j, k in edges]
    return alone + sum(signed(pair, pair_sign) for pair in pairs)


@variants
def test_signed_utilities_and_stars_equal_sums_over_every_joint_action(form):
    network, types, policies = model(form, seed=5), random_types(SLOTS), random_policies(SLOTS)
    free = parts_of(form)[1](network.singular, network.pairwise, jnp.asarray(types))
    actions = np.array([0, 2, 1, 0, 1, 2], np.int32)
    for members in ((0,), (0, 4), (0, 1, 3, 4)):
        expected = np.zeros(ACTIONS + 1)
        for joint in itertools.product(range(ACTIONS), repeat=len(members)):
            chance = np.prod([np.float64(policies[j, a]) for j, a in zip(members[1:], joint[1:], strict=True)])
            worth = any_value_by_hand(form, free, dict(zip(members, joint, strict=True)))
            expected[joint[0]] += chance * worth
        expected[-1] = any_value_by_hand(form, free, {j: int(actions[j]) for j in members})
        found = both_values(network, types, actions, policies, team_of(members))
        np.testing.assert_allclose(found, expected, atol=1e-5)


@variants
def test_the_table_of_pairs_is_symmetric_and_sums_to_the_joint_value(form):
    q, actions, members = model(form, seed=5)(jnp.asarray(random_types(SLOTS))), [0, 2, 1, 0, 1, 2], (0, 1, 3, 4)
    table = np.asarray(q.pairs())
    np.testing.assert_allclose(table, table.transpose(1, 0, 3, 2), atol=1e-6)
    assert not table[np.arange(SLOTS), np.arange(SLOTS)].any()
    alone = sum(float(q.singular[j, actions[j]]) for j in members)
    pairs = sum(table[j, k, actions[j], actions[k]] for j, k in itertools.combinations(members, 2))
    np.testing.assert_allclose(value(q, np.array(actions, np.int32), team_of(members)), alone + pairs, atol=1e-5)


def test_utilities_of_any_sign_on_the_complete_graph_stay_factors():
    for form, kind in ((FACTORED, AgentFactors), (PER_EDGE, EdgeFactors)):
        assert isinstance(model(Signed(form, pair_sign=None))(jnp.asarray(random_types(2))), kind)


def test_only_positive_utilities_rule_out_negative_returns():
    assert Signed(FACTORED).nonnegative
    assert Signed(Star(FACTORED), singular_sign=0).nonnegative
    for form in (FACTORED, Star(PER_EDGE), Signed(FACTORED, singular_sign=None), Signed(FACTORED, pair_sign=-1)):
        assert not form.nonnegative


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(UserError, match="rank must be positive; got 0"):
        Factored(0)
    with pytest.raises(UserError, match="singular_sign must be 1, -1, 0 or None"):
        Signed(singular_sign=2)
