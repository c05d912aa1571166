"""Acting in plain Python with a pool of compiled teammates, and whole episodes there."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.random import key as make_key
from openteam.host.task import HostTask
from openteam.probes import ConstantPolicies
from openteam.rollout.episodes import evaluate
from openteam.rollout.host_acting import HostCollector, start_host_actor
from openteam.teammates import Pool, UniformRandom

ME, ENVS, STEPS = __name__, 3, 12


class Visits:
    """A visitor leaves after two steps and the next one comes; episodes have five steps. Actions are the reward."""

    possible_agents = ("me", "visitor")

    def reset(self, seed=None):
        self.seed, self.clock = seed, 0
        return self.observe(), {}

    @property
    def agents(self):
        return ["me", f"visitor-{self.clock // 2}"]

    def action_space(self, one):
        return 2

    def observe(self):
        return {one: np.array([self.clock, self.seed % 7], np.float32) for one in self.agents}

    def step(self, actions):
        self.clock += 1
        cut = dict.fromkeys([*actions, *self.agents], self.clock == 5)
        return self.observe(), {"me": float(sum(actions.values()))}, dict.fromkeys(cut, False), cut, {}


TASK = HostTask(f"{ME}:Visits", "me", pool=Pool((ConstantPolicies(),)), processes=1)


@pytest.fixture(scope="module")
def chunk():
    """A few steps of a learner that acts at random."""
    collector, policy = HostCollector(TASK, ENVS, seed=0), UniformRandom()
    actor = start_host_actor(TASK.pool, policy, collector.start(np.zeros(ENVS, int)), jnp.zeros(ENVS, int), make_key(0))
    _, chunk = collector.collect(policy, actor, make_key(1), STEPS)
    collector.close()
    return chunk


def test_teammates_of_a_pool_act_by_their_types_which_newcomers_draw(chunk):
    actions, types = np.asarray(chunk.truth.actions[..., 1]), np.asarray(chunk.truth.type_ids[..., 1])
    constant = [int(ConstantPolicies().member(jnp.asarray(n)).action) for n in range(TASK.pool.size)]
    np.testing.assert_array_equal(actions, np.array(constant)[types])
    assert len(np.unique(types)) == 2
    stays = ~np.asarray(chunk.next_timesteps.view.fresh[:-1, :, 1])
    assert (types[1:] == types[:-1])[stays].all()
    assert (types[1:] != types[:-1])[~stays].any()


def test_rewards_follow_from_everybodys_actions(chunk):
    np.testing.assert_array_equal(chunk.next_timesteps.reward, chunk.truth.actions.sum(-1))
    np.testing.assert_array_equal(chunk.actions, chunk.truth.actions[..., 0])
    ends = np.asarray(chunk.next_timesteps.ends)
    assert [ends[:, 0].tolist().index(True), int(ends.sum())] == [4, 2 * ENVS]
    assert (np.asarray(chunk.next_timesteps.discount) == 1).all()
    np.testing.assert_array_equal(chunk.next_timesteps.view.starts, ends)


def test_episodes_depend_on_the_seed_alone():
    few, more = (evaluate(UniformRandom(), TASK, episodes=count, seed=3) for count in (5, 5))
    np.testing.assert_array_equal(few.returns, more.returns)
    assert few.lengths.tolist() == [5] * 5
    assert len(set(evaluate(UniformRandom(), TASK, episodes=20, seed=4).returns.tolist())) > 3
    assert jax.config.jax_debug_key_reuse
