"""The pool: who is drawn, who acts, what a teammate sees and what it may remember."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.memory import Memory
from openteam.core.policy import AbstractPolicy, Decision, Explanation
from openteam.core.random import key as make_key
from openteam.core.types import NO_ACTION, Observation, first_view
from openteam.errors import UserError
from openteam.openness import Closed, Lifetimes
from openteam.task import EnvState, Task
from openteam.teammates import AbstractFamily, Foragers, Pool, Uniform
from openteam.worlds.lbf import Foraging
from openteam.worlds.lbf.draw import from_text


class ConstantPolicy(AbstractPolicy):
    """Always the same action."""

    action: jax.Array

    def start(self, slots):
        return Memory((), ())

    def decide(self, key, memory, view):
        return Decision(self.action, memory, Explanation())


class ConstantPolicies(AbstractFamily):
    """Members are named after their action."""

    names: tuple[str, ...] = eqx.field(static=True)

    def member(self, index):
        return ConstantPolicy(jnp.array([int(name) for name in self.names])[index])


class Diary(AbstractPolicy):
    """Does nothing, but remembers what it saw last and for how many steps it has known everybody."""

    def start(self, slots):
        seen = Observation(jnp.zeros((slots, 3)), jnp.zeros(9), jnp.zeros(slots, bool), jnp.zeros(6, bool))
        return Memory(seen, jnp.zeros(slots, jnp.int32))

    def decide(self, key, memory, view):
        known = jnp.where(view.fresh, 0, memory.slots) + 1
        return Decision(jnp.array(0), Memory(view.obs, known), Explanation())


class Diaries(AbstractFamily):
    names: tuple[str, ...] = eqx.field(static=True, default=("diary",))

    def member(self, index):
        return Diary()


POOL = Pool((Foragers(names=("H1", "H2")), Diaries(), ConstantPolicies(names=("4", "1"))))


def assert_uniform(values, of):
    share = np.bincount(values, minlength=of) / len(values)
    assert len(share) == of
    assert np.abs(share - 1 / of).max() < 5 * np.sqrt(1 / of / len(values))


def test_a_pool_numbers_its_types_through_all_families():
    assert POOL.names == ("H1", "H2", "diary", "4", "1")
    assert POOL.size == 5


def test_a_pool_without_types_is_refused():
    with pytest.raises(UserError, match="at least one teammate type"):
        Pool(())


def test_types_are_drawn_uniformly_over_all_members_of_all_families():
    assert_uniform(np.asarray(POOL.draw(jax.random.key(0), 20000)), 5)


def test_a_team_shares_one_type_and_teams_draw_independently():
    pool = Pool(POOL.families, teams=2)
    types = np.asarray(jax.vmap(lambda key: pool.draw(key, 6))(jax.random.split(make_key(0), 5000)))
    assert (types[:, :3] == types[:, :1]).all()
    assert (types[:, 3:] == types[:, 3:4]).all()
    assert_uniform(types[:, 0] * 5 + types[:, 3], 25)


def test_a_newcomer_draws_a_type_or_keeps_that_of_its_slot():
    types, joining = jnp.array([0, 1, 2, 3]), jnp.array([False, True, False, True])

    def renewed(pool):
        keys = jax.random.split(make_key(0), 500)
        return np.asarray(jax.vmap(lambda key: pool.renew(key, types, joining))(keys))

    drawn = renewed(POOL)
    assert (drawn[:, ::2] == [0, 2]).all()
    assert (drawn[:, 1::2] != [1, 3]).mean() == pytest.approx(4 / 5, abs=0.06)
    assert (renewed(Pool(POOL.families, redraw=False)) == types).all()


def test_teams_that_cannot_be_are_refused():
    with pytest.raises(UserError, match="at least 1 team; got teams 0"):
        Pool(POOL.families, teams=0)
    with pytest.raises(UserError, match="5 slots cannot be 2 teams of equal size"):
        Pool(POOL.families, teams=2).draw(jax.random.key(0), 5)


def test_the_member_that_was_drawn_acts_whatever_family_it_is_in():
    pool = Pool((ConstantPolicies(names=("3", "1")), ConstantPolicies(names=("5", "0", "4"))))
    types = jnp.array([4, 0, 3, 2, 1])
    obs = Observation(jnp.zeros((5, 5, 3)), jnp.zeros((5, 9)), jnp.ones((5, 5), bool), jnp.ones((5, 6), bool))
    actions, _ = jax.jit(pool.act)(jax.random.key(0), types, pool.start(5), first_view(obs))
    assert actions.tolist() == [4, 3, 0, 5, 1]


def test_memories_are_kept_per_family_and_slot():
    memory = POOL.start(3)
    assert len(memory) == 3
    assert memory[1].slots.shape == (3, 3)


def lone_task(pool, slots):
    return Task(world=Foraging(size=4), openness=Closed(team=slots), pool=pool)


def state_of(grid, task, slots, types=0):
    """An environment whose world is drawn by hand."""
    return EnvState(
        world=from_text(grid, slots=slots, foods=3),
        openness=(),
        type_ids=jnp.full(slots, types),
        memory=task.pool.start(slots),
        previous_actions=jnp.full(slots, NO_ACTION, jnp.int32),
        arrived=jnp.zeros(slots, bool),
        visits=jnp.ones(slots, jnp.int32),
        last_seen=jnp.ones(slots, jnp.int32),
        clock=jnp.array(0),
    )


def test_a_teammate_sees_itself_in_row_0_and_the_learner_in_its_own():
    task = lone_task(Pool((Diaries(),)), 4)
    state = state_of("A1 . . 1 \n . b2 . . \n . . c3 . \n . 2 . .", task, 4)
    act = jax.jit(lambda key: task.teammates_act(key, state))
    _, after = act(jax.random.key(0))
    seen = after.memory[0].team
    a, b, c, nobody = [0, 0, 1], [1, 1, 2], [2, 2, 3], [-1, -1, 0]
    assert seen.agents[0].tolist() == [a, b, c, nobody]
    assert seen.agents[1].tolist() == [b, a, c, nobody]
    assert seen.agents[2].tolist() == [c, b, a, nobody]
    assert seen.visible[1].tolist() == [True, True, True, False]
    assert (seen.shared == jnp.array([0, 3, 1, 3, 1, 2, -1, -1, 0])).all()
    assert (seen.legal == task.world.legal(state.world)).all()


def test_teammates_of_one_type_draw_independently():
    task = lone_task(Pool((Uniform(),)), 3)
    state = state_of(". . . . \n . b1 c1 . \n . . . . \n . . . .", task, 3)
    act = jax.jit(jax.vmap(task.teammates_act, (0, None)))
    actions, _ = act(jax.random.split(jax.random.key(0), 2000), state)
    assert_uniform(np.asarray(actions[:, 1]), 6)
    assert (actions[:, 1] == actions[:, 2]).mean() == pytest.approx(1 / 6, abs=0.05)


ENVS, STEPS = 128, 55
TASK = Task(
    world=Foraging(size=6),
    openness=Lifetimes(cap=3, start_low=2, start_high=3, lifetime=(3, 6), wait=(2, 4)),
    pool=Pool((ConstantPolicies(names=("0", "3")), Diaries(), ConstantPolicies(names=("4", "1")))),
    horizon=25,
)


def play(key):
    def step(env, key):
        k_action, k_step = jax.random.split(key)
        after, timestep, truth = TASK.step(k_step, env, jax.random.randint(k_action, (), 0, 6))
        new = timestep.final_view.new
        seen = env.type_ids, truth.type_ids, after.type_ids, after.memory[1].slots, new, timestep.ends
        return after, seen

    k_reset, k_play = jax.random.split(key)
    env, _ = jax.vmap(TASK.reset)(jax.random.split(k_reset, ENVS))
    return jax.lax.scan(jax.vmap(step), env, jax.random.split(k_play, (STEPS, ENVS)))[1]


@pytest.fixture(scope="module")
def played():
    return jax.tree.map(np.asarray, jax.jit(play)(jax.random.key(5)))


def test_a_type_changes_only_at_entry_or_with_the_episode(played):
    before, acting, after, _, joined, ends = played
    assert (acting == before).all()
    stays = ~joined & ~ends[..., None]
    assert (after == before)[stays].all()
    assert (after != before)[joined & ~ends[..., None]].mean() == pytest.approx(4 / 5, abs=0.05)


def test_every_entry_draws_its_type_uniformly(played):
    _, _, after, _, joined, ends = played
    assert_uniform(after[joined & ~ends[..., None]], 5)
    assert_uniform(after[ends][:, 1:].ravel(), 5)


def test_nothing_is_remembered_of_or_by_a_newcomer(played):
    # Everybody is known for as long as both, the one who knows and the one who is known, are there.
    _, _, _, known, joined, ends = played
    slots = joined.shape[-1]
    row, column = np.meshgrid(np.arange(slots), np.arange(slots), indexing="ij")
    whom = np.where(column == 0, row, np.where(column == row, 0, column))  # row 0 of what one sees is oneself
    there = np.zeros((ENVS, slots), int)  # steps since everybody's entry, or since the episode's start
    for step in range(STEPS):
        expected = np.minimum(there[:, row], there[:, whom]) + 1
        going_on = ~ends[step]
        assert (known[step][going_on] == expected[going_on]).all()
        assert (known[step][ends[step]] == 0).all()
        there = np.where(joined[step] | ends[step][:, None], 0, there + 1)
    assert joined.sum() > 500
    assert ends.sum() > ENVS
