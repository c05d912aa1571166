"""What a policy remembers can follow agents to other slots, and into a larger team and back."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.dgn import DGN
from openteam.algorithms.dvrl import DVRL
from openteam.algorithms.flat_ql import FlatQL
from openteam.algorithms.maddpg import MADDPG
from openteam.algorithms.ppo import PPO
from openteam.core import random
from openteam.core.memory import permute, resize
from openteam.core.types import Observation, Spec, View
from openteam.models.actor_critic import FlatNetworks, SetNetworks

SLOTS, MORE = 4, 6
SPEC = Spec(agent_features=3, shared_features=2, actions=5, max_agents=MORE)
LEARNERS = {
    "ppo": PPO(network=FlatNetworks(width=8)),
    "ippo": PPO(network=SetNetworks(width=8), all_slots=True),
    "dvrl": DVRL(particles=3, observation_width=6, action_size=2, latent=3, hidden=5),
    "dgn": DGN(width=8, heads=2, head_size=4),
    "maddpg": MADDPG(width=8),
    "ql-flat": FlatQL(encoder_width=6, hidden=5, history_size=4, width=6),
}


def view_of(seed, *, starts=False, new=()):
    """A random view of a team in which slot 2 is out of sight."""
    rng = np.random.default_rng(seed)
    visible = np.array([True, True, False, True])
    rows = np.where(visible[:, None], rng.normal(size=(SLOTS, 3)), 0)
    obs = Observation(jnp.float32(rows), jnp.float32(rng.normal(size=2)), jnp.asarray(visible), jnp.ones(5, bool))
    fresh = jnp.asarray(visible if starts else np.isin(np.arange(SLOTS), new))
    return View(obs, jnp.asarray(starts), fresh, jnp.asarray(-1 if starts else 2))


def rearranged(view, order):
    """The same view with its slots in another order."""
    parts = lambda v: (v.obs.agents, v.obs.visible, v.new)  # noqa: E731
    return eqx.tree_at(parts, view, tuple(leaf[order] for leaf in parts(view)))


def padded(view):
    """The same view in a team with room for more, of whom nobody is there."""
    parts = lambda v: (v.obs.agents, v.obs.visible, v.new)  # noqa: E731
    grow = lambda leaf: jnp.pad(leaf, ((0, MORE - SLOTS), *[(0, 0)] * (leaf.ndim - 1)))  # noqa: E731
    return eqx.tree_at(parts, view, tuple(map(grow, parts(view))))


@pytest.fixture(scope="module", params=LEARNERS)
def played(request):
    """A policy, how it decides, its memory in the middle of an episode, and a view in which slot 3 is new."""
    learner = LEARNERS[request.param]
    model = jax.jit(lambda key: learner.init(key, SPEC).model)(random.key(0))
    policy = learner.policy(model, jnp.asarray(0.5))
    decide = eqx.filter_jit(policy.decide)
    memory = policy.start(SLOTS)
    for seed, view in enumerate((view_of(0, starts=True), view_of(1, new=(1,)), view_of(2))):
        memory = decide(random.key(seed), memory, view).memory
    return request.param, policy, decide, memory


def assert_same(one, two):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), one, two)


def test_every_array_of_the_slots_part_has_a_leading_slot_axis(played):
    _, policy, _, memory = played
    for slots, past in ((SLOTS, memory), (SLOTS, policy.start(SLOTS)), (MORE, policy.start(MORE))):
        assert all(len(leaf) == slots for leaf in jax.tree.leaves(past.slots))


@pytest.mark.parametrize("new", [(), (3,)])
def test_permuting_slots_permutes_memory_and_leaves_the_decision(played, new):
    name, _, decide, memory = played
    if name == "maddpg":
        pytest.skip("its list of teammates follows the order of slots, by design")
    order = jnp.array([0, 3, 1, 2])
    plain = decide(random.key(9), memory, view_of(5, new=new))
    other = decide(random.key(9), permute(memory, order), rearranged(view_of(5, new=new), order))
    assert_same(dataclasses.replace(plain, memory=permute(plain.memory, order)), other)


def test_growing_the_team_and_shrinking_it_again_changes_no_decision(played):
    _, policy, decide, memory = played
    view, blank, small = view_of(5), policy.start(MORE), policy.start(SLOTS)
    plain = decide(random.key(9), memory, view)
    grown = decide(random.key(9), resize(memory, blank), padded(view))
    assert_same(dataclasses.replace(grown, memory=resize(grown.memory, small)), plain)
    after = decide(random.key(10), resize(grown.memory, small), view_of(6, new=(1,)))
    assert_same(after, decide(random.key(10), plain.memory, view_of(6, new=(1,))))
