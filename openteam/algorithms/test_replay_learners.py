"""What learners with a replay buffer have in common: when they learn, from whom, and how the target follows."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.dgn import DGN
from openteam.algorithms.maddpg import MADDPG
from openteam.algorithms.replay import ReplayBuffer, Transition
from openteam.algorithms.test_replay import ENVS, SLOTS, SPEC, TIME, chunk_of, some_teams
from openteam.core import random
from openteam.errors import UserError

REPLAY = ReplayBuffer(size=18, batch=40, warm_up=12)
LEARNERS = {
    "dgn": DGN(envs=ENVS, update_every=TIME, replay=REPLAY, discount=0.9, width=8, heads=2, head_size=4),
    "maddpg": MADDPG(max_agents=2, envs=ENVS, update_every=TIME, replay=REPLAY, discount=0.9, width=8),
}
METRICS = {
    "dgn": {"value_loss", "relation_loss", "action_value", "gradient_norm"},
    "maddpg": {"value_loss", "policy_loss", "action_value", "entropy", "actor_gradient_norm", "gradient_norm"},
}


def random_model(name: str, seed: int):
    """Networks that respond to what they see, made without compiling anything."""
    rng, scale = np.random.default_rng(seed), {"dgn": 1.0, "maddpg": 0.5}[name]
    shapes = eqx.filter_eval_shape(LEARNERS[name].init, jax.random.key(0), SPEC).model
    return jax.tree.map(lambda leaf: jnp.asarray(scale * rng.normal(size=leaf.shape), jnp.float32), shapes)


def slope_of(name: str, target):
    """Losses, metrics and the gradient of one batch, as a function of model and batch."""
    loss = {
        "dgn": LEARNERS["dgn"].loss,
        "maddpg": lambda *of: LEARNERS["maddpg"].loss(random.key(5), *of),
    }[name]
    slope = jax.jit(jax.value_and_grad(loss, has_aux=True))
    return lambda model, batch: slope(model, target, batch)


def equal(one, two) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True)
    return all(np.allclose(a, b, rtol=1e-4, atol=1e-3) for a, b in pairs)


def in_absence(batch: Transition, other: Transition, absent: bool) -> Transition:
    """The batch with the rows of the absent, or of the present, taken from another one; who is there stays known."""
    who = batch.before.exists != absent

    def mix(one: jax.Array, two: jax.Array) -> jax.Array:
        return jnp.where(who.reshape(*who.shape, *[1] * (one.ndim - 2)), two, one)

    def parts(one: Transition) -> tuple:
        return one.before.own, one.before.shared, one.action, one.reward, one.discount

    return eqx.tree_at(parts, batch, tuple(map(mix, parts(batch), parts(other))))


@pytest.mark.parametrize("name", LEARNERS)
def test_absent_agents_do_not_count(name):
    losses, model = slope_of(name, random_model(name, 1)), random_model(name, 2)
    batch, other = some_teams(batch=40), some_teams(1, batch=40)
    assert 0 < batch.before.exists.mean() < 1
    plain, of_absent, of_present = (
        losses(model, b)[1] for b in (batch, in_absence(batch, other, True), in_absence(batch, other, False))
    )
    assert equal(plain, of_absent)
    assert not equal(plain, of_present)


@pytest.mark.parametrize("name", LEARNERS)
def test_nothing_is_learned_before_the_warm_up_is_over_then_from_a_sample_of_the_keys(name):
    learner = LEARNERS[name]

    def start(key):
        state = learner.init(key, SPEC)
        context = learner.context(state, SLOTS)
        return state, jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (ENVS * SLOTS, *leaf.shape)), context)

    before, context = jax.jit(start)(random.key(0))
    update = jax.jit(learner.update)
    still, context, _ = update(random.key(1), before, context, chunk_of(0), 0.0)
    assert eqx.tree_equal(still.model, before.model)
    (learned, _, metrics), (again, _, _), (other, _, _) = (
        update(random.key(seed), still, context, chunk_of(1), 0.0) for seed in (2, 2, 3)
    )
    for old, new, follows in zip(*map(jax.tree.leaves, (still.target, learned.model, learned.target)), strict=True):
        assert (old != new).any()
        np.testing.assert_allclose(follows, 0.99 * old + 0.01 * new, atol=1e-6)
    assert eqx.tree_equal(learned, again)
    assert not eqx.tree_equal(learned.model, other.model)
    assert learned.updates == 2
    assert set(metrics) == METRICS[name]


@pytest.mark.parametrize("learner", [DGN, MADDPG])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"envs": 0}, "envs must be positive"),
        ({"discount": 1.5}, "discount must lie between 0.0 and 1.0; got 1.5"),
        ({"target_rate": 0.0}, "target_rate must be positive; got 0.0"),
        ({"replay": ReplayBuffer(10, 1, 0), "update_every": 5}, "at least one chunk, envs times update_every = 80"),
    ],
)
def test_settings_that_cannot_work_are_refused(learner, wrong, message):
    with pytest.raises(UserError, match=message):
        learner(**wrong)
