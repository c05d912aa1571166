import pytest

from openteam.algorithms.gpl import GPL
from openteam.algorithms.ppo import PPO
from openteam.training.compression import compressed


@pytest.mark.parametrize(("steps", "rate"), [(6_400_000, 0.001), (1_600_000, 0.004), (12_800_000, 0.001), (100, 1.0)])
def test_a_target_network_moves_as_far_in_a_short_run_as_in_a_long_one(steps, rate):
    learner = compressed(GPL(envs=8), steps, 6_400_000)
    assert learner.target_rate == pytest.approx(rate)
    assert learner.envs == 8


def test_a_learner_without_a_target_network_stays_as_it_is():
    assert compressed(PPO(), 1_600_000, 6_400_000) == PPO()
