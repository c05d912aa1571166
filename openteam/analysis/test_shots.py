"""Shots counted by hand: a learner, a fellow guard and two attackers, of whom one stands in a guard's range."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from openteam.analysis.compare import Comparison
from openteam.analysis.shot_rows import correlations, fort_groups, halfway, pearson, rises
from openteam.analysis.shots import in_reach, score_shots
from openteam.compile_cache import once_jit
from openteam.core.policy import Decision, Explanation
from openteam.errors import UserError
from openteam.rollout.belief_scores import means
from openteam.worlds.fortattack import Shooting
from openteam.worlds.fortattack.situation import situation
from openteam.worlds.fortattack.state import NONE, SHOOT

LEARNER, MATE, NEAR, FAR = range(4)
GUARDS = [(0.0, 0.0, 0.0), (0.0, -0.6, 180.0)]  # the learner looks east at the near attacker, its mate west at nobody
ATTACKERS = [(0.4, 0.0, 180.0), (0.9, -0.7, 90.0)]  # the near one looks back at the learner
ACTIONS = 8


@once_jit
def score(state, decision):
    present = state.present
    return score_shots(decision, in_reach(Shooting(), state.position, state.angle, present), present)


def pair_utilities():
    """Q_jk(shoot, .) is 10 j + k in the mean over a_k, and 0 for other actions."""
    pairs = np.zeros((4, 4, ACTIONS, ACTIONS), np.float32)
    for j, k in np.ndindex(4, 4):
        if j != k:
            pairs[j, k, SHOOT] = 10 * j + k + np.linspace(-1, 1, ACTIONS)
    return jnp.asarray(pairs)


def decide(action=SHOOT, *, joint=True):
    values = jnp.arange(ACTIONS) / 2
    if not joint:
        return Decision(jnp.asarray(action), (), Explanation(action_values=values))
    predicted = jnp.full((4, ACTIONS), 1 / ACTIONS)
    singular = jnp.zeros((4, ACTIONS)).at[LEARNER, SHOOT].set(7.0)
    return Decision(jnp.asarray(action), (), Explanation(values, singular, pair_utilities(), predicted))


def measured(action=SHOOT, present=(True,) * 4, *, joint=True):
    poses = [pose if there else None for pose, there in zip([*GUARDS, *ATTACKERS], present, strict=True)]
    return means(score(situation(poses[:2], poses[2:]), decide(action, joint=joint)))


@pytest.fixture(scope="module")
def full():
    return measured()


def test_a_shot_at_somebody_in_range_is_a_hit_and_one_at_nobody_is_not(full):
    assert full["accuracy"] == full["shots"] == full["chances"] == 1
    gone = measured(present=(True, True, False, True))
    assert (gone["accuracy"], gone["shots"], gone["chances"]) == (0, 1, 0)


def test_who_does_not_shoot_has_no_accuracy():
    waiting = measured(NONE)
    assert "accuracy" not in waiting
    assert (waiting["shots"], waiting["chances"]) == (0, 1)


def test_the_four_scenarios_average_pairs_of_opponents_by_the_shooters_range(full):
    """j's shot at k is worth 10 j + k: one guard's and one attacker's pair is in range, three each are not."""
    assert full["scenario_1"] == pytest.approx(10 * LEARNER + NEAR)
    assert full["scenario_2"] == pytest.approx(np.mean([3, 12, 13]))
    assert full["scenario_3"] == pytest.approx(10 * NEAR + LEARNER)
    assert full["scenario_4"] == pytest.approx(np.mean([21, 30, 31]))


def test_whoever_is_out_is_in_no_pair():
    gone = measured(present=(True, False, True, True))
    assert gone["scenario_2"] == pytest.approx(3)
    assert gone["scenario_4"] == pytest.approx(np.mean([30]))
    assert not {"mates_gain_1", "mates_gain_2"} & gone.keys()


def test_the_gain_of_a_shot_is_its_part_of_the_joint_value_less_that_of_other_actions(full):
    """Others are predicted to do anything; so the learner's shot is worth 7 + 1 + 2 + 3, its other actions 0.

    The learner itself was decided to shoot, so with it the fellow guard's shot has Q(shoot, shoot) = 10 + 0 + 1.
    """
    assert full["own_gain_1"] == pytest.approx(7 + 1 + 2 + 3)
    assert full["mates_gain_2"] == pytest.approx(11 + 12 + 13)
    assert not {"own_gain_2", "mates_gain_1"} & full.keys()


def test_values_are_of_the_best_action_apart_by_whether_any_guard_could_hit():
    single = measured(joint=False)
    assert single["value_1"] == pytest.approx(3.5)
    assert not {"value_2", "scenario_1", "own_gain_1"} & single.keys()
    assert "value_1" not in measured(present=(True, True, False, True), joint=False)


def test_the_correlation_is_scipys():
    one, other = np.random.default_rng(0).normal(size=(2, 20))
    assert pearson(one, other) == pytest.approx(stats.pearsonr(one, other).statistic)
    assert np.isnan(pearson(np.ones(4), np.arange(4.0)))


def rows(seed, near, returns, accuracy=None):
    for number, values in enumerate(zip(near, returns, accuracy or near, strict=True)):
        row = dict(zip(("scenario_1", "return", "accuracy"), values, strict=True))
        yield {"seed": seed, "step": 100 * number, "scenario_2": 0.0} | row


def test_correlations_are_of_each_seed_over_its_checkpoints():
    found = correlations([*rows(0, [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]), *rows(1, [1.0, 2.0, 3.0], [3.0, 2.0, 1.0])])
    assert found.tolist() == pytest.approx([1, -1])
    assert len(correlations(rows(0, [1.0, 2.0], [1.0, 2.0]))) == 0


@pytest.mark.parametrize(
    ("values", "step"), [([0.0, 1.0, 9.0, 10.0], 200), ([0.0, 9.0, 1.0, 10.0], 300), ([3.0, 2.0, 1.0, 0.0], None)]
)
def test_half_way_is_where_a_series_stays_above_the_middle(values, step):
    assert halfway(np.arange(0, 400, 100), np.array(values)) == step


def test_a_series_that_falls_back_at_the_end_has_not_risen():
    assert halfway(np.arange(0, 300, 100), np.array([0.0, 10.0, 0.0])) is None


def test_utilities_that_part_before_the_learner_shoots_well_are_seen_to():
    assert rises(rows(0, [0.0, 5.0, 6.0, 7.0], [0.0] * 4, [0.1, 0.1, 0.2, 0.6])) == [(100, 300)]


def test_runs_of_other_worlds_have_no_shots():
    with pytest.raises(UserError, match="none of these runs is of it"):
        fort_groups(Comparison((), ()))
