"""Every rule of a step on a hand-drawn grid, then what must hold however everybody plays."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.worlds.lbf import ACTION_NAMES, Foraging
from openteam.worlds.lbf.draw import from_text, to_text
from openteam.worlds.lbf.state import LOAD

WORLD = Foraging(size=4, foods=2)
STEP = eqx.filter_jit(WORLD.step)
LEGAL = eqx.filter_jit(WORLD.legal)


def draw(text, absent=()):
    """One shape for all grids, so that everything compiles once."""
    return WORLD.dismiss(from_text(text, slots=3, foods=2), jnp.isin(jnp.arange(3), jnp.array(absent)))


def step(state, *names):
    """The next grid, the rewards, and whether the task is over; who is not named does nothing."""
    if isinstance(state, str):
        state = draw(state)
    actions = [ACTION_NAMES.index(name) for name in names] + [0] * (3 - len(names))
    state, reward, over = STEP(jax.random.key(0), state, jnp.array(actions))
    return to_text(state, 4), reward.tolist(), bool(over)


def grid(text):
    return to_text(draw(text), 4)


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("none", ". . . . \n . A1 . . \n . . . . \n . . . 1"),
        ("north", ". A1 . . \n . . . . \n . . . . \n . . . 1"),
        ("south", ". . . . \n . . . . \n . A1 . . \n . . . 1"),
        ("west", ". . . . \n A1 . . . \n . . . . \n . . . 1"),
        ("east", ". . . . \n . . A1 . \n . . . . \n . . . 1"),
    ],
)
def test_a_move_goes_one_cell(name, after):
    before = ". . . . \n . A1 . . \n . . . . \n . . . 1"
    assert step(before, name) == (grid(after), [0, 0, 0], False)


@pytest.mark.parametrize(("learner", "teammate"), [("north", "south"), ("west", "east")])
def test_a_move_off_the_grid_counts_as_none(learner, teammate):
    before = "A1 . . . \n . 1 . . \n . . . . \n . . . b1"
    assert step(before, learner, teammate)[0] == grid(before)


@pytest.mark.parametrize(("learner", "teammate"), [("east", "south"), ("none", "none")])
def test_a_move_into_food_counts_as_none(learner, teammate):
    before = ". b1 . . \n A1 3 . . \n . . . . \n . . . ."
    assert step(before, learner, teammate)[0] == grid(before)


def test_a_cell_whose_food_was_eaten_can_be_entered():
    state = draw("A1 1 . . \n . . . . \n . . . . \n . . . 1")
    state, _, _ = STEP(jax.random.key(0), state, jnp.array([LOAD, 0, 0]))
    assert step(state, "east")[0] == grid(". A1 . . \n . . . . \n . . . . \n . . . 1")


def test_food_blocks_moves_in_the_very_step_in_which_it_is_eaten():
    before = "A1 1 b1 . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "load", "west")[0] == grid("A1 . b1 . \n . . . . \n . . . . \n . . . 1")


def test_two_movers_into_one_cell_both_stay():
    before = "A1 . b1 . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "west")[0] == grid(before)


def test_three_movers_into_one_cell_all_stay():
    before = "A1 . b1 . \n . c1 . . \n . . . . \n . . . 1"
    assert step(before, "east", "west", "north")[0] == grid(before)


def test_whoever_stays_keeps_its_cell():
    before = "A1 b1 . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "none")[0] == grid(before)


def test_whoever_loads_keeps_its_cell():
    before = "A1 b1 . . \n . 3 . . \n . . . . \n . . . ."
    assert step(before, "east", "load")[0] == grid(before)


def test_whose_move_counts_as_none_keeps_its_cell():
    before = "A1 b1 . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "north")[0] == grid(before)


def test_a_cell_that_is_being_left_can_be_entered():
    before = "A1 b1 . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "east")[0] == grid(". A1 b1 . \n . . . . \n . . . . \n . . . 1")


def test_two_agents_may_swap():
    before = "A1 b1 . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "west")[0] == grid("b1 A1 . . \n . . . . \n . . . . \n . . . 1")


def test_no_cascade_so_an_agent_enters_the_cell_that_another_failed_to_leave():
    before = "A1 b1 . c1 \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "east", "west")[0] == grid(". A1b1 . c1 \n . . . . \n . . . . \n . . . 1")


def test_agents_on_one_cell_part_when_one_of_them_moves():
    before = "A1b1 . . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "none")[0] == grid("b1 A1 . . \n . . . . \n . . . . \n . . . 1")
    assert step(before, "east", "south")[0] == grid(". A1 . . \n b1 . . . \n . . . . \n . . . 1")
    assert step(before, "east", "east")[0] == grid(before)


def test_absent_agents_do_not_block():
    before = draw("A1 b1 . c1 \n . . . . \n . . . . \n . . . 1", absent=(1, 2))
    assert step(before, "east", "none", "west")[0] == grid(". A1 . . \n . . . . \n . . . . \n . . . 1")


def test_food_is_taken_by_one_whose_level_reaches_its_level():
    before = "A2 2 . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "load") == (grid("A2 . . . \n . . . . \n . . . . \n . . . 1"), [2, 0, 0], False)


def test_food_stays_when_the_levels_of_the_loading_do_not_reach_its_level():
    before = "A2 4 b1 . \n . . . . \n . . . . \n . . . ."
    assert step(before, "load", "load") == (grid(before), [0, 0, 0], False)


def test_all_who_load_together_get_the_full_level_of_the_food():
    before = "A2 4 b1 . \n . c1 . . \n . . . . \n . . . 1"
    after = "A2 . b1 . \n . c1 . . \n . . . . \n . . . 1"
    assert step(before, "load", "load", "load") == (grid(after), [4, 4, 4], False)


def test_more_hands_than_needed_are_rewarded_too():
    before = "A2 1 b2 . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "load", "load")[1] == [1, 1, 0]


def test_a_bystander_who_does_not_load_gets_nothing_and_does_not_help():
    enough, short = "A2 2 b1 . \n . . . . \n . . . . \n . . . 1", "A2 3 b1 . \n . . . . \n . . . . \n . . . 1"
    assert step(enough, "load", "none")[1] == [2, 0, 0]
    assert step(short, "load", "none") == (grid(short), [0, 0, 0], False)


def test_one_who_leaves_in_the_same_step_does_not_help():
    before = "A2 3 b1 . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "load", "east")[1] == [0, 0, 0]


def test_food_across_a_corner_is_not_beside():
    before = "A2 . . . \n . 1 . . \n . . . . \n . . . ."
    assert step(before, "load") == (grid(before), [0, 0, 0], False)


def test_a_load_with_no_food_beside_counts_as_none():
    before = "A2 b1 . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "load", "west") == (grid(before), [0, 0, 0], False)


def test_absent_agents_neither_load_nor_get_a_reward():
    before = draw("A2 3 b1 . \n . . . . \n . . . . \n . . . 1", absent=(1,))
    assert step(before, "load", "load") == (grid("A2 3 . . \n . . . . \n . . . . \n . . . 1"), [0, 0, 0], False)


def test_two_foods_are_taken_in_one_step_by_their_own_loaders():
    before = "A1 1 . . \n . . . . \n . . c2 2 \n . . . ."
    after = "A1 . . . \n . . . . \n . . c2 . \n . . . ."
    assert step(before, "load", "none", "load") == (grid(after), [1, 0, 2], True)


def test_the_task_is_over_when_no_food_is_left_and_not_before():
    assert not step("A1 1 . . \n . . . . \n . . . . \n . . . 1", "load")[2]
    assert step("A1 1 . . \n . . . . \n . . . . \n . . . .", "load")[2]


def test_legal_are_exactly_the_actions_that_have_an_effect():
    state = draw("A1 . . . \n . 1 b1 . \n . . . . \n . . . c1")
    names = [[ACTION_NAMES[a] for a in np.flatnonzero(row)] for row in np.asarray(LEGAL(state))]
    assert names[0] == ["none", "south", "east"]  # food across the corner: no load
    assert names[1] == ["none", "north", "south", "east", "load"]  # food to the west
    assert names[2] == ["none", "north", "west"]


def test_agents_are_no_obstacle_to_a_legal_move_because_they_may_step_aside():
    assert LEGAL(draw("A1 b1 . . \n . . . . \n . . . . \n . . . 1"))[0, ACTION_NAMES.index("east")]


def test_eaten_food_makes_neither_load_legal_nor_a_move_illegal():
    state = draw("A1 1 . . \n . . . . \n . . . . \n . . . 1")
    eaten, _, _ = STEP(jax.random.key(0), state, jnp.array([LOAD, 0, 0]))
    assert [ACTION_NAMES[a] for a in np.flatnonzero(LEGAL(eaten)[0])] == ["none", "south", "east"]


def test_an_absent_agent_can_only_do_what_does_nothing():
    state = draw("A1 1 b2 . \n . . . . \n . . . . \n . . . .", absent=(1,))
    legal = LEGAL(state)[1]
    assert legal[0]
    assert not legal[LOAD]


OPEN = Foraging(size=6)
SLOTS, STEPS, ENVS = 4, 60, 512
OPENING = """
    .  .  .  c1 .  .
    A1 1  .  .  .  .
    .  .  .  .  2  .
    .  .  .  .  .  .
    .  3  .  .  .  .
    .  b2 .  .  .  ."""


def turn(state, key):
    """Everybody acts at random, then some leave and some come: all that can be seen of it."""
    k_action, k_open, k_world, k_admit = jax.random.split(key, 4)
    u = jax.random.uniform(k_action, (SLOTS,))
    actions = jnp.where(u < 0.4, LOAD, jnp.floor((u - 0.4) / 0.6 * 5).astype(jnp.int32))
    after, reward, over = OPEN.step(k_world, state, actions)
    events = (jax.random.uniform(k_open, (SLOTS,)) < 0.1).at[0].set(False)
    joining = events & ~after.present
    opened = OPEN.admit(k_admit, OPEN.dismiss(after, events & after.present), joining)
    return opened, (state, actions, after, reward, over, joining, opened, OPEN.legal(state))


@jax.jit
def open_play(key):
    state = from_text(OPENING, slots=SLOTS)
    start = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (ENVS, *leaf.shape)), state)
    return jax.lax.scan(jax.vmap(turn), start, jax.random.split(key, (STEPS, ENVS)))[1]


@pytest.fixture(scope="module")
def played():
    return jax.tree.map(np.asarray, open_play(jax.random.key(7)))


def beside(state):
    gap = np.abs(state.position[..., :, None, :] - state.food_position[..., None, :, :]).sum(-1)
    return (gap == 1) & state.present[..., :, None]


def test_nobody_is_ever_outside(played):
    for state in (played[2], played[6]):
        assert (state.position >= 0).all()
        assert (state.position < OPEN.size).all()


def test_nobody_ever_stands_on_food(played):
    for state in (played[2], played[6]):
        same = (state.position[..., :, None, :] == state.food_position[..., None, :, :]).all(-1)
        assert not (same & state.present[..., :, None] & (state.food_level[..., None, :] > 0)).any()


def test_nobody_moves_more_than_one_cell_and_only_where_it_wanted(played):
    before, actions, after = played[:3]
    gap = after.position - before.position
    wanted = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1], [0, 0]])[actions]
    moved = gap.any(-1)
    assert (gap[moved] == wanted[moved]).all()
    assert moved.mean() > 0.2


def test_a_newcomer_arrives_on_a_cell_of_its_own(played):
    _, _, after, _, _, joining, opened, _ = played
    same = (opened.position[..., :, None, :] == opened.position[..., None, :, :]).all(-1)
    others = same & opened.present[..., None, :] & ~np.eye(SLOTS, dtype=bool)
    assert joining.sum() > 1000
    assert not (others & joining[..., None]).any()
    assert (opened.position == after.position)[~joining].all()


def test_levels_of_those_who_stay_never_change(played):
    before, _, after, _, _, joining, opened, _ = played
    assert (after.level == before.level).all()
    assert (opened.level == after.level)[~joining].all()


def test_eaten_food_never_returns_and_the_rest_keeps_its_level_and_cell(played):
    before, _, after, _, _, _, opened, _ = played
    assert ((after.food_level == before.food_level) | (after.food_level == 0)).all()
    assert (opened.food_level == after.food_level).all()
    assert (opened.food_position == before.food_position).all()


def test_food_is_eaten_exactly_when_those_who_load_are_strong_enough(played):
    before, actions, after = played[:3]
    helping = beside(before) & (actions == LOAD)[..., None]
    strength = (helping * before.level[..., None]).sum(-2)
    there = before.food_level > 0
    eaten = there & (after.food_level == 0)
    assert eaten.sum() > 300
    assert (eaten == (there & (strength >= before.food_level))).all()


def test_every_reward_is_the_level_of_the_food_that_was_helped(played):
    before, actions, after, reward = played[:4]
    eaten = (before.food_level > 0) & (after.food_level == 0)
    helped = beside(before) & (actions == LOAD)[..., None] & eaten[..., None, :]
    assert (reward == (helped * before.food_level[..., None, :]).sum(-1)).all()


def test_the_task_is_over_exactly_when_nothing_is_left(played):
    after, over = played[2], played[4]
    assert (over == (after.food_level == 0).all(-1)).all()
    assert over.any()


def test_an_illegal_action_never_does_anything(played):
    before, actions, after, reward, *_, legal = played
    illegal = ~np.take_along_axis(legal, actions[..., None], -1)[..., 0]
    assert illegal.any()
    assert (after.position == before.position)[illegal].all()
    assert (reward == 0)[illegal].all()


def test_only_coming_and_going_change_who_is_present(played):
    before, _, after, _, _, joining, opened, _ = played
    assert (after.present == before.present).all()
    assert opened.present[joining].all()
    assert opened.present[..., 0].all()
