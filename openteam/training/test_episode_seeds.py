"""Which episodes are played at a checkpoint."""

import dataclasses

import numpy as np
import pytest

import openteam
from openteam.rollout.episodes import Episodes
from openteam.teammates.uniform import UniformRandom
from openteam.training import evaluator
from openteam.training.settings import Settings
from openteam.training.spec import RunSpec

SETTINGS = Settings(steps=100_000, checkpoint_every=10_000, evaluation_episodes=7)
UNPAIRED = dataclasses.replace(SETTINGS, paired_evaluation=False)


def checkpoints(spec):
    """The updates of all checkpoints."""
    updates = [0]
    while updates[-1] < spec.updates:
        updates.append(spec.next_checkpoint(updates[-1]))
    return updates


@pytest.fixture
def seeds_of(monkeypatch):
    """The seeds of the episodes of all splits at all checkpoints of a run."""

    def run(algorithm, seed=0, settings=SETTINGS):
        played = []

        def evaluate(policy, task, *, episodes, seed):
            played.append(seed)
            return Episodes(np.zeros(episodes), np.ones(episodes, int))

        monkeypatch.setattr(evaluator, "evaluate", evaluate)
        spec = RunSpec(openteam.make("lbf"), openteam.make_algorithm(algorithm), settings, seed)
        for updates in checkpoints(spec):
            evaluator.evaluate_checkpoint(spec, UniformRandom(), updates)
        return spec, played

    return run


def test_algorithms_with_other_chunks_meet_the_same_episodes(seeds_of):
    (one, ours), (other, theirs) = seeds_of("gpl-q"), seeds_of("maddpg")
    assert one.chunk != other.chunk
    assert checkpoints(one) != checkpoints(other)
    assert ours == theirs


def test_every_checkpoint_split_and_seed_has_episodes_of_its_own(seeds_of):
    played = [seed for number in (0, 1) for seed in seeds_of("gpl-q", number)[1]]
    assert len(played) == 2 * 11 * 3
    assert len(set(played)) == len(played)
    assert all(0 <= seed < 2**31 for seed in played)


def test_a_run_from_before_there_was_a_choice_goes_on_with_the_episodes_it_began_with(seeds_of):
    spec, _ = seeds_of("gpl-q", 3)
    config = spec.config
    del config["settings"]["paired_evaluation"]
    old = RunSpec.from_config(config)
    assert old.settings == UNPAIRED
    played = seeds_of("gpl-q", 3, old.settings)[1]
    rule = [(3 * 1_000_003 + updates) * 16 + number for updates in checkpoints(spec) for number in range(3)]
    assert played == [seed % 2**31 for seed in rule]
    assert old.episode_seeds.of_beliefs(156) == 156


def test_both_kinds_of_run_say_which_they_are():
    for settings in (SETTINGS, UNPAIRED):
        spec = RunSpec(openteam.make("lbf"), openteam.make_algorithm("gpl-q"), settings, 0)
        assert RunSpec.from_config(spec.config).settings == settings


@pytest.mark.parametrize("chunk", [64, 100, 1024])
def test_a_checkpoint_is_planned_for_a_multiple_of_the_interval_and_the_last_for_the_end(chunk):
    planned = [SETTINGS.planned_step(chunk, number * SETTINGS.interval(chunk)) for number in (0, 1, 2, 9)]
    assert planned == [0, 10_000, 20_000, 90_000]
    assert SETTINGS.planned_step(chunk, SETTINGS.updates(chunk)) == 100_000


def test_seeds_do_not_change_with_the_version():
    """Old runs can be paired with new ones only as long as these numbers stay."""
    spec = RunSpec(openteam.make("lbf"), openteam.make_algorithm("gpl-q"), SETTINGS, 5)
    found = [spec.episode_seeds.at(updates, "train") for updates in (0, 156)]
    assert [*found, spec.episode_seeds.of_beliefs(156)] == [569817813, 875199981, 1802895961]
