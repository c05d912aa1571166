"""Correspondence with ``lbforaging``, an independent implementation of Level-Based Foraging.

Moves, collisions, loading, what is legal, what is seen and who is rewarded agree. These differ, each shown below:

- the reward: there a share in proportion to one's level, of the sum of all foods; here the food's full level;
- agents appear there on every cell, here never on the last row or column (the released code of the paper);
- a food's level goes there up to the sum of the three lowest levels, here up to one less than the sum of all;
- the time limit ends an episode there as if the task were over; here a world knows no time, the task does;
- beside two foods an agent there loads the first of north, south, west, east; here both;
- food on the first row or column makes their search for it fail; here it is food.

The last two cannot arise in play: neither puts food on the border, or two foods beside one cell.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lbforaging.foraging.environment import Action, ForagingEnv

from openteam.worlds.lbf import Foraging
from openteam.worlds.lbf.draw import from_text
from openteam.worlds.lbf.state import LOAD

SIZE, SLOTS, FOODS, GRIDS, STEPS = 6, 4, 3, 900, 5
WORLD = Foraging(size=SIZE)
STEP = jax.jit(jax.vmap(WORLD.step, (None, 0, 0)))
LEGAL = jax.jit(jax.vmap(WORLD.legal))
FEATURES = jax.jit(jax.vmap(WORLD.features))
STEP_3X3 = eqx.filter_jit(Foraging(size=3).step)


def theirs(players, size=SIZE, normalize_reward=False, max_food_level=9, max_episode_steps=10**9):
    """Their environment, with everything in sight."""
    env = ForagingEnv(
        players=players,
        min_player_level=1,
        max_player_level=3,
        min_food_level=1,
        max_food_level=max_food_level,
        field_size=(size, size),
        max_num_food=FOODS,
        sight=size,
        max_episode_steps=max_episode_steps,
        force_coop=False,
        normalize_reward=normalize_reward,
    )
    env.reset(seed=0)
    return env


def put(env, state):
    """Our state in their environment. Whoever is absent here does not exist there."""
    here = np.flatnonzero(state.present)
    assert len(here) == len(env.players)
    for player, slot in zip(env.players, here, strict=True):
        row, column = np.asarray(state.position)[slot].tolist()
        player.setup((row, column), int(state.level[slot]), env.field_size)
    env.field = field(state, env.rows)
    env._food_spawned = env.field.sum()
    env._gen_valid_moves()
    return here


def field(state, size):
    grid = np.zeros((size, size), np.int32)
    left = np.asarray(state.food_level) > 0
    row, column = np.asarray(state.food_position)[left].T
    grid[row, column] = np.asarray(state.food_level)[left]
    return grid


def crowded(rng):
    """A state in which much happens: agents beside food and beside, or upon, each other; some absent."""
    food = []
    while len(food) < FOODS:
        cell = rng.integers(1, SIZE - 1, 2)
        gaps = np.abs(np.array(food).reshape(-1, 2) - cell)
        if not ((gaps <= 1).all(1) | (gaps.min(1) == 0) & (gaps.max(1) <= 2)).any():
            food.append(cell)
        elif rng.random() < 0.1:
            food = []
    food = np.array(sorted(map(tuple, food)))
    weight = rng.integers(0, 7, FOODS)
    beside = (food[:, None] + [[-1, 0], [1, 0], [0, -1], [0, 1]]).reshape(-1, 2)
    anywhere = np.array([cell for cell in np.ndindex(SIZE, SIZE) if not (food == cell).all(1).any()])
    near = rng.random(SLOTS) < 0.5
    position = np.where(near[:, None], rng.choice(beside, SLOTS), rng.choice(anywhere, SLOTS))
    present = np.r_[True, rng.random(SLOTS - 1) < 0.8]
    return present, position, rng.integers(1, 4, SLOTS), food, weight


@pytest.fixture(scope="module")
def ours():
    """A few random steps from many grids: state, legal actions, actions, next state, rewards, over, features."""
    rng = np.random.default_rng(0)
    kinds = (bool, np.int32, np.int32, np.int32, np.int32)
    columns = zip(*(crowded(rng) for _ in range(GRIDS)), strict=True)
    leaves = [jnp.asarray(np.array(column, kind)) for column, kind in zip(columns, kinds, strict=True)]
    state = jax.tree.unflatten(jax.tree.structure(from_text("A1")), leaves)
    played = []
    for _ in range(STEPS):
        actions = np.where(rng.random((GRIDS, SLOTS)) < 0.4, LOAD, rng.integers(0, 5, (GRIDS, SLOTS)))
        after, reward, over = STEP(jax.random.key(0), state, jnp.asarray(actions, jnp.int32))
        steps = (state, LEGAL(state), actions, after, reward, over, FEATURES(after))
        played.append(jax.tree.map(np.asarray, steps))
        state = after
    return played


@pytest.fixture(scope="module")
def both(ours):
    """The same actions in both, side by side, each going on from its own state."""
    pairs = []
    envs = {players: theirs(players) for players in range(1, SLOTS + 1)}
    for grid in range(GRIDS):
        mine = [jax.tree.map(lambda leaf, grid=grid: leaf[grid], step) for step in ours]
        here = put(env := envs[int(mine[0][0].present.sum())], mine[0][0])
        for step in mine:
            valid = [[action in env._valid_actions[p] for action in Action] for p in env.players]
            seen, rewards, over, _, _ = env.step(step[2][here])
            positions = [p.position for p in env.players]
            pairs.append((here, step, (valid, positions, env.field.copy(), rewards, over, seen[0])))
    return pairs


def test_thousands_of_steps_are_compared_and_all_kinds_of_things_happen_in_them(both):
    assert len(both) >= 4000
    before = np.array([step[0].position[here[0]] for here, step, _ in both])
    after = np.array([positions[0] for _, _, (_, positions, *_) in both])
    rewarded = np.array([sum(reward > 0 for reward in rewards) for *_, (_, _, _, rewards, _, _) in both])
    cells = [[tuple(cell) for cell in positions] for _, _, (_, positions, *_) in both]
    assert 500 < (before != after).any(1).sum() < 4000
    assert (rewarded == 1).sum() > 100
    assert (rewarded > 1).sum() > 50
    assert sum(len(set(row)) < len(row) for row in cells) > 50
    assert sum(over for *_, (_, _, _, _, over, _) in both) > 20


def test_everybody_ends_up_where_it_does_there(both):
    for here, (_, _, _, after, *_), (_, positions, *_) in both:
        assert after.position[here].tolist() == [list(cell) for cell in positions]


def test_the_same_food_is_left(both):
    for _, (_, _, _, after, *_), (_, _, left, *_) in both:
        assert (field(after, SIZE) == left).all()


def test_the_same_agents_are_rewarded(both):
    for here, (_, _, _, _, reward, *_), (_, _, _, rewards, *_) in both:
        assert (reward[here] > 0).tolist() == [other > 0 for other in rewards]
        assert (np.delete(reward, here) == 0).all()


def test_the_same_actions_are_legal(both):
    for here, (_, legal, *_), (valid, *_) in both:
        assert (legal[here] == valid).all()


def test_both_agree_when_no_food_is_left(both):
    for _, (_, _, _, _, _, over, _), (_, _, _, _, their_over, _) in both:
        assert over == their_over


def test_the_learner_sees_the_same_numbers(both):
    for here, (*_, (agents, shared)), (*_, seen) in both:
        assert np.concatenate([shared, agents[here].ravel()]).tolist() == seen.tolist()


def together(text, *actions, **options):
    """Everybody acts once: our next state and rewards, theirs."""
    state = from_text(text)
    size = len(text.strip().splitlines())
    env = theirs(len(actions), size, **options)
    put(env, state)
    ours, reward, _ = eqx.filter_jit(Foraging(size=size).step)(jax.random.key(0), state, jnp.array(actions))
    rewards = env.step(actions)[1]
    return ours, reward.tolist(), env, rewards


def test_differs_the_reward_is_shared_there_and_full_here():
    grid = "A1 3 b2 \n . . . \n . . 2"
    _, ours, _, rewards = together(grid, LOAD, LOAD, normalize_reward=True)
    assert ours == [3, 3]
    assert rewards == pytest.approx([1 / 3 * 3 / 5, 2 / 3 * 3 / 5])
    _, _, _, raw = together(grid, LOAD, LOAD, normalize_reward=False)
    assert raw == [1 * 3, 2 * 3]


@pytest.fixture(scope="module")
def starts():
    start = jax.jit(jax.vmap(lambda key: WORLD.start(key, jnp.ones(3, bool))))
    return start(jax.random.split(jax.random.key(0), 500))


def test_differs_agents_appear_on_the_last_row_there_and_never_here(starts):
    env, rows = theirs(3), set()
    for _ in range(50):
        env.reset()
        rows |= {player.position[0] for player in env.players}
    assert SIZE - 1 in rows
    assert starts.position.max() == SIZE - 2


def test_differs_a_food_may_need_the_whole_team_there_and_never_here(starts):
    env, whole = theirs(3, max_food_level=None), False
    for _ in range(50):
        env.reset()
        whole |= env.field.max() == sum(player.level for player in env.players)
    assert whole
    assert (starts.food_level.max(1) < starts.level.sum(1)).all()


def test_differs_the_time_limit_is_an_end_there_and_unknown_to_the_world_here():
    grid = "A1 . . \n . 2 . \n . . ."
    env = theirs(1, 3, max_episode_steps=1)
    put(env, from_text(grid))
    _, _, over, truncated, _ = env.step([0])
    assert over
    assert not truncated
    assert not STEP_3X3(jax.random.key(0), from_text(grid), jnp.array([0]))[2]


def test_differs_beside_two_foods_one_loads_the_first_there_and_both_here():
    ours, reward, env, rewards = together(". . . . \n . . 1 . \n . . A2 1 \n . . . .", LOAD)
    assert reward == [2]
    assert ours.food_level.tolist() == [0, 0]
    assert rewards == [2 * 1]
    assert env.field.sum() == 1


@pytest.mark.parametrize("grid", [". 1 . \n . A1 . \n . . .", ". . . \n 1 A1 . \n . . ."])
def test_differs_food_on_the_first_row_or_column_breaks_their_search(grid):
    with pytest.raises(TypeError):
        together(grid, LOAD)
    _, reward, _ = STEP_3X3(jax.random.key(0), from_text(grid), jnp.array([LOAD]))
    assert reward.tolist() == [1]
