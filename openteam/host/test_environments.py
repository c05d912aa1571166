"""Environments in processes: the same results, mistakes as sentences, and nothing left behind."""

import os
import signal

import numpy as np
import pytest

from openteam.errors import UserError
from openteam.host.calling import HostError
from openteam.host.environments import Environments
from openteam.host.seen import Outcome, Seen, Sizes
from openteam.host.settings import HostSettings

SOURCE = """
import os
import numpy as np

class Walk:
    def __init__(self, broken=False):
        self.broken = broken

    def reset(self, seed=None):
        self.rng, self.clock = np.random.default_rng(seed), 0
        print("printed things go elsewhere")
        return self.observe(), {}

    @property
    def agents(self):
        return ["me", f"visitor-{self.clock // 2}"]

    def action_space(self, one):
        return 4

    def observe(self):
        return dict.fromkeys(self.agents, self.rng.normal(size=2))

    def step(self, actions):
        if self.broken and self.clock == 1:
            raise RuntimeError("no signal")
        self.clock += 1
        over = self.clock == 3
        everybody = [*actions, *self.agents]
        rewards = dict.fromkeys(everybody, float(sum(actions.values())))
        return self.observe(), rewards, dict.fromkeys(everybody, over), dict.fromkeys(everybody, False), {}
"""
SIZES = Sizes(3, 2, 0, 4)


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "walk.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))


def settings(**arguments):
    return HostSettings("walk:Walk", "me", arguments, 3)


def play(processes):
    """What four environments tell in five steps."""
    with Environments(settings(), SIZES, 4, processes) as environments:
        told = [environments.start(np.arange(4))]
        for number in range(5):
            actions = np.full((4, 3), -1, np.int32)
            actions[:, 0] = number % 4
            told.append(environments.step(actions, np.arange(4) + 10 * number))
    return told


def leaves(told):
    parts = told[:-1] if isinstance(told, Outcome) else told  # all but the time it took
    return [leaf for part in parts for leaf in (part if isinstance(part, Seen) else [part])]


def test_results_do_not_depend_on_the_number_of_processes():
    here, elsewhere = play(1), play(3)
    for one, other in zip(here, elsewhere, strict=True):
        for a, b in zip(leaves(one), leaves(other), strict=True):
            np.testing.assert_array_equal(a, b)
    assert here[3].ends.all()
    assert not here[3].discount.any()


def test_what_the_users_code_raises_elsewhere_is_a_sentence_here():
    environments = Environments(settings(broken=True), SIZES, 2, 2)
    environments.start(np.arange(2))
    actions = np.zeros((2, 3), np.int32)
    environments.step(actions, np.arange(2))
    with pytest.raises(HostError, match=r"walk:Walk: step failed with RuntimeError: no signal \(.*walk.py, line \d+"):
        environments.step(actions, np.arange(2))
    processes = [group.process for group in environments.groups]
    environments.close()
    assert all(process.poll() is not None for process in processes)


def test_a_process_that_dies_is_a_sentence_and_takes_nobody_with_it():
    with Environments(settings(), SIZES, 2, 2) as environments:
        environments.start(np.arange(2))
        first, second = [group.process for group in environments.groups]
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        with pytest.raises(HostError, match=r"process of walk:Walk \(process 1 of 2\) died with exit code -9, killed"):
            environments.step(np.zeros((2, 3), np.int32), np.arange(2))
    assert second.poll() is not None


def test_a_process_ends_with_its_parent():
    environments = Environments(settings(), SIZES, 2, 2)
    process = environments.groups[0].process
    process.stdin.close()  # as the system does when the parent is gone
    assert process.wait(10) == 0
    environments.close()


def test_an_environment_that_cannot_be_made_leaves_no_process():
    with pytest.raises(UserError, match="Making the environment, walk:Walk, failed with TypeError"):
        Environments(HostSettings("walk:Walk", "me", {"speed": 3}, 3), SIZES, 4, 2)
