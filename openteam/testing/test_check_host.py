"""The suite passes an environment that can be learned in and says of others what is wrong with them."""

import random

import numpy as np
import pytest

from openteam.host.task import HostTask
from openteam.testing import check_host

ME = __name__


class Walk:
    """Two walkers; the second one comes and goes."""

    def reset(self, seed=None):
        self.rng, self.clock, self.where = np.random.default_rng(seed), 0, np.zeros(2)
        return self.observe(), {}

    @property
    def agents(self):
        return ["me", "other"] if self.clock % 4 < 2 else ["me"]

    def action_space(self, one):
        return 3

    def draw(self):
        return self.rng.normal()

    def observe(self):
        return {one: self.where.copy() for one in self.agents}

    def step(self, actions):
        before = self.agents
        self.clock += 1
        self.where += [actions["me"] - 1, self.draw()]
        over = dict.fromkeys(before, self.clock == 20)
        return self.observe(), dict.fromkeys(before, 1.0), dict.fromkeys(before, False), over, {}


class Unseeded(Walk):
    def draw(self):
        return random.random()


class Entangled(Walk):
    """One generator for all of them."""

    shared = None

    def reset(self, seed=None):
        Entangled.shared = np.random.default_rng(seed)
        return super().reset(seed)

    def draw(self):
        return Entangled.shared.normal()


class Fixed(Walk):
    def reset(self, seed=None):
        return super().reset(7)


class Unpaid(Walk):
    def step(self, actions):
        told = super().step(actions)
        return told[0], {}, *told[2:]


class Hasty(Walk):
    def step(self, actions):
        told = super().step(actions)
        return *told[:3], dict.fromkeys(told[3], True), {}


class Twice(Walk):
    @property
    def agents(self):
        return ["me", "other", "other"]


class Frozen(Walk):
    def observe(self):
        return {one: np.ones(2) * (1 if one == "me" else self.where[1]) for one in self.agents}


def task(environment):
    return HostTask(f"{ME}:{environment.__name__}", "me", cap=2)


def test_an_environment_that_can_be_learned_in_passes():
    check_host(task(Walk), steps=60)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (Unseeded, "the same seed and actions gave two different games, first seen at step 1"),
        (Unpaid, "step gave the learner, me, no reward"),
        (Hasty, "every episode ended after one step"),
        (Twice, "`agents` names somebody twice"),
        (Entangled, "it plays otherwise while another one plays in the same process"),
        (Fixed, "two seeds gave the same 60 steps"),
        (Frozen, "the learner's features never changed"),
    ],
)
def test_what_is_wrong_is_told(environment, message):
    with pytest.raises(AssertionError, match=message):
        check_host(task(environment), steps=60)
