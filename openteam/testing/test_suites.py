"""The suites pass parts that keep their contracts and say of others what they break."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import openteam
from openteam.core.memory import Memory
from openteam.core.policy import AbstractPolicy, Decision, Explanation
from openteam.core.types import Spec
from openteam.probes import PROBES
from openteam.testing import check_learner, check_openness, check_policy, check_view

SPEC = Spec(agent_features=3, shared_features=2, actions=4)


def test_our_open_processes_keep_the_contract():
    check_openness(openteam.Lifetimes(lifetime=(1, 4), wait=(1, 4)))


class Deserter(openteam.Closed):
    """The learner leaves."""

    def step(self, key, state, world):
        leaving = jnp.arange(self.team) == 0
        return state, leaving, jnp.zeros(self.team, bool)


class Ghosts(openteam.Closed):
    """Somebody joins a slot that is taken."""

    def step(self, key, state, world):
        return state, jnp.zeros(self.team, bool), jnp.arange(self.team) == 1


class Numbers(openteam.Closed):
    """Slots instead of a mask."""

    def step(self, key, state, world):
        return state, jnp.zeros(self.team, jnp.int32), jnp.zeros(self.team, bool)


@pytest.mark.parametrize(
    ("openness", "message"),
    [
        (Deserter(), r"Deserter: the learner, slot 0.* First seen at step 0 of game 0"),
        (Ghosts(), r"somebody joins a slot that is taken"),
        (Numbers(), r"leaving is int32\[2\]; expected bool\[2\]"),
    ],
)
def test_an_open_process_that_breaks_a_rule_is_told_which(openness, message):
    with pytest.raises(AssertionError, match=message):
        check_openness(openness, steps=16)


WORLD = openteam.Foraging(size=5, foods=2)


class Seer(openteam.FullView):
    """Shows the absent."""

    def __call__(self, key, world, state, viewer):
        obs = super().__call__(key, world, state, viewer)
        return eqx.tree_at(lambda o: o.visible, obs, jnp.ones_like(obs.visible))


class Leak(openteam.FullView):
    """Hides everybody, but not their rows."""

    def __call__(self, key, world, state, viewer):
        obs = super().__call__(key, world, state, viewer)
        return eqx.tree_at(lambda o: o.visible, obs, jnp.arange(len(obs.visible)) == 0)


def test_our_views_keep_the_contract():
    check_view(openteam.Window(), WORLD, steps=64)


@pytest.mark.parametrize(
    ("view", "message"), [(Seer(), "somebody is visible who is not there"), (Leak(), "rows that are not visible vary")]
)
def test_a_view_that_breaks_a_rule_is_told_which(view, message):
    with pytest.raises(AssertionError, match=f"{type(view).__name__} of Foraging: {message}"):
        check_view(view, WORLD, steps=32)


class Counting(AbstractPolicy):
    """Sums what it saw of each slot and takes the action that the sum says."""

    forgets: bool = eqx.field(static=True, default=True)
    masks: bool = eqx.field(static=True, default=True)
    most: int = eqx.field(static=True, default=4)

    def start(self, slots):
        return Memory((), jnp.zeros(slots))

    def decide(self, key, memory, view):
        before = jnp.where(view.fresh, 0, memory.slots) if self.forgets else memory.slots
        sums = before + view.obs.agents.sum(1)
        total = (sums * view.obs.visible).sum() if self.masks else sums.sum()
        action = jnp.abs(total * 100).astype(jnp.int32) % self.most
        return Decision(action, Memory((), sums), Explanation())


class Shared(Counting):
    """One number for all slots, in the wrong place."""

    def start(self, slots):
        return Memory((), jnp.zeros(()))


def test_a_policy_that_keeps_the_contract_passes():
    check_policy(Counting(), SPEC)
    check_policy(openteam.UniformRandom(), SPEC, slots=(3,))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Counting(forgets=False), "what was remembered of an earlier episode"),
        (Counting(masks=False), "the row of somebody out of sight changed a decision"),
        (Counting(most=9), "an action is none of the task's"),
        (Shared(), r"memory.slots has shape \[\]; the first axis must be that of the 3 slots"),
    ],
)
def test_a_policy_that_breaks_a_rule_is_told_which(policy, message):
    with pytest.raises(AssertionError, match=message):
        check_policy(policy, SPEC, slots=(3,))


class Lazy(openteam.GPL):
    """Learns nothing."""

    def update(self, key, state, context, chunk, progress):
        after = eqx.tree_at(lambda s: s.updates, state, state.updates + 1)
        return after, context, {"loss": jnp.zeros(())}


class Uncounted(Lazy):
    """Does not count, which would make a loop of updates endless."""

    def update(self, key, state, context, chunk, progress):
        return eqx.tree_at(lambda s: s.updates, state, state.updates + 2), context, {"loss": jnp.zeros(())}


class Undefined(Lazy):
    """Divides by zero."""

    def update(self, key, state, context, chunk, progress):
        return *super().update(key, state, context, chunk, progress)[:2], {"loss": jnp.zeros(()) / 0}


SMALL = {"envs": 2, "update_every": 2, "encoder_width": 2, "hidden": 2, "type_size": 2, "agent_model": None}


def test_a_learner_that_keeps_the_contract_passes():
    check_learner(openteam.GPL(**SMALL, head=openteam.AttentionHead()), PROBES["constant"]())


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Lazy, "after 3 updates the model is as it was"),
        (Uncounted, r"TrainState.updates went \[0, 2, 4, 6\]"),
        (Undefined, "the metric 'loss' is nan"),
    ],
)
def test_a_learner_that_breaks_a_rule_is_told_which(learner, message):
    with pytest.raises(AssertionError, match=f"{learner.__name__}: {message}"):
        check_learner(learner(**SMALL, head=openteam.AttentionHead()), PROBES["constant"]())


def test_keys_are_not_reused():
    assert jax.config.jax_debug_key_reuse
