"""Every rule of a step on a hand-drawn grid, then what must hold however everybody plays."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.testing import check_world
from openteam.worlds.navigation import ACTION_NAMES, Navigation
from openteam.worlds.navigation.draw import from_text, to_text

SIZE, SLOTS = 6, 3
WORLD, RELEASED = Navigation(size=SIZE), Navigation(size=SIZE, count_agents=True)
STEP = eqx.filter_jit(lambda world, key, state, actions: world.step(key, state, actions))
FREE = """
    .  .  .  .  .  .
    .  .  .  .  .  .
    .  .  A  .  .  .
    .  .  .  .  *  .
    .  .  .  .  *  .
    .  .  .  .  .  ."""


def grid(text):
    return to_text(from_text(text), SIZE)


def step(text, *names, world=WORLD, absent=()):
    """The next grid and the rewards; who is not named does nothing."""
    state = WORLD.dismiss(from_text(text, slots=SLOTS), jnp.isin(jnp.arange(SLOTS), jnp.array(absent, int)))
    actions = [ACTION_NAMES.index(name) for name in names] + [0] * (SLOTS - len(names))
    state, reward, over = STEP(world, jax.random.key(0), state, jnp.array(actions))
    assert not over
    return state, reward.tolist()


@pytest.mark.parametrize(
    ("name", "row", "column"),
    [("none", 2, 2), ("north", 1, 2), ("south", 3, 2), ("west", 2, 1), ("east", 2, 3)],
)
def test_a_move_goes_one_cell(name, row, column):
    state, reward = step(FREE, name)
    assert state.position[0].tolist() == [row, column]
    assert reward == [0, 0, 0]


@pytest.mark.parametrize(("learner", "teammate"), [("north", "south"), ("west", "east")])
def test_a_move_off_the_grid_counts_as_none(learner, teammate):
    before = "A . . . . . \n . * . . . . \n . . . . . . \n . * . . . . \n . . . . . . \n . . . . . b"
    assert to_text(step(before, learner, teammate)[0], SIZE) == grid(before)


def test_two_movers_into_one_cell_both_stay():
    before = "A . b . . . \n . . . . . . \n . * . . . . \n . * . . . . \n . . . . . . \n . . . . . ."
    assert to_text(step(before, "east", "west")[0], SIZE) == grid(before)


def test_whoever_stays_keeps_its_cell():
    before = "A b . . . . \n . . . . . . \n . * . . . . \n . * . . . . \n . . . . . . \n . . . . . ."
    assert to_text(step(before, "east")[0], SIZE) == grid(before)
    assert to_text(step(before, "east", "north")[0], SIZE) == grid(before)


def test_two_agents_may_swap_and_a_cell_that_is_left_can_be_entered():
    before = "A b . . . . \n . . . . . . \n . * . . . . \n . * . . . . \n . . . . . . \n . . . . . ."
    assert to_text(step(before, "east", "west")[0], SIZE) == grid(before.replace("A b", "b A"))
    assert to_text(step(before, "east", "east")[0], SIZE) == grid(before.replace("A b .", ". A b"))


def test_no_cascade_so_an_agent_enters_the_cell_that_another_failed_to_leave():
    before = "A b . c . . \n . . . . . . \n . * . . . . \n . * . . . . \n . . . . . . \n . . . . . ."
    assert to_text(step(before, "east", "east", "west")[0], SIZE) == grid(before.replace("A b", ". A+b"))


def test_absent_agents_neither_block_nor_arrive():
    before = "A b . . . . \n . . . . . . \n . c* . . . . \n . * . . . . \n . . . . . . \n . . . . . ."
    state, reward = step(before, "east", absent=(1, 2))
    assert state.position[0].tolist() == [0, 1]
    assert reward == [0, 0, 0]


ALONE = ". . . . . . \n . A * . . . \n . . . . . . \n . . . b * . \n . . . . . . \n . . . . . ."


def test_whoever_arrives_alone_pays_and_nobody_else():
    state, reward = step(ALONE, "east")
    assert reward == pytest.approx([-0.2, 0, 0])
    assert to_text(state, SIZE) == grid(ALONE.replace("A *", ". A*"))


def test_waiting_alone_costs_in_every_step():
    waiting = ALONE.replace("A *", ". A*")
    assert step(waiting, "none")[1] == pytest.approx([-0.2, 0, 0])


def test_the_penalty_can_be_set():
    assert step(ALONE, "east", world=Navigation(size=SIZE, penalty=0.5))[1] == [-0.5, 0, 0]


def test_leaving_a_destination_costs_nothing():
    assert step(ALONE.replace("A *", ". A*"), "east")[1] == [0, 0, 0]


@pytest.mark.parametrize("world", [WORLD, RELEASED])
def test_two_who_cover_both_destinations_get_one_each_and_a_bystander_nothing(world):
    _, reward = step(ALONE.replace("A *", "A *").replace(". . . .", "c . . .", 1), "east", "east", world=world)
    assert reward == [1, 1, 0]


def test_teammates_are_rewarded_as_the_learner_is():
    before = ". . . . . . \n . b * . . . \n . . . . . . \n . . . c * . \n . . . . . . \n . . . . A ."
    assert step(before, "none", "east", "east")[1] == [0, 1, 1]


def test_reached_destinations_are_drawn_anew_on_free_cells():
    state, _ = step(ALONE, "east", "east")
    assert state.position[:2].tolist() == [[1, 2], [3, 4]]
    cells = state.destination.tolist()
    assert [1, 2] not in cells
    assert [3, 4] not in cells


TOGETHER = ". . . . . . \n . . A+b* . . . \n . . . . . . \n . . . . * . \n . . . . . . \n . . . . . ."
CROWDED = ". . . . . . \n . . A+b* . . . \n . . . . . . \n . . . . c* . \n . . . . . . \n . . . . . ."


def test_two_on_one_destination_do_not_cover_both_unless_agents_are_counted():
    assert step(TOGETHER)[1] == pytest.approx([-0.2, -0.2, 0])
    assert step(TOGETHER, world=RELEASED)[1] == [1, 1, 0]


SPARE = Navigation(size=8, count_agents=True, most=4)
SHARED = """
    . .     . . . . . .
    . A+b*  . . . . . .
    . .     . . . . . .
    . .     . . * . . .
    . .     . . . . . .
    . .     . . . . . .
    . .     . . . . . .
    . .     . . . . . ."""


def go_on(text):
    """Nobody moves in a world with spare places."""
    state = from_text(text, slots=SLOTS, most=4)
    after, reward, _ = STEP(SPARE, jax.random.key(0), state, jnp.zeros(SLOTS, int))
    return after, reward.tolist(), [cell for cell in after.destination.tolist() if cell != [-1, -1]]


def test_with_spare_places_two_on_one_destination_clear_only_that_and_two_are_added():
    after, reward, cells = go_on(SHARED)
    assert reward == [1, 1, 0]
    assert len(cells) == 3
    assert [3, 4] in cells
    assert [1, 1] not in cells
    assert cells == sorted(cells)
    assert SPARE.features(after)[1].tolist() == [*cells[0], *cells[1]]


def test_with_spare_places_two_on_two_destinations_leave_as_many_as_before():
    three = (
        SHARED.replace("A+b*", "A*")
        .replace("* . . .", "b* . . .")
        .replace("\n    . .     . . . . . .", "\n    . . . . . . * .", 1)
    )
    after, reward, cells = go_on(three)
    assert reward == [1, 1, 0]
    assert len(cells) == 3
    assert [0, 6] in cells
    assert after.destination[3].tolist() == [-1, -1]


def test_there_are_never_more_destinations_than_places():
    four = SHARED.replace("\n    . .     . . . . . .", "\n    . . . . . * . *", 1)
    assert len(go_on(four)[2]) == 4


def test_a_view_that_moves_objects_leaves_empty_places_empty():
    state = from_text(SHARED, slots=SLOTS, most=4)
    shifted = SPARE.relocate(state, state.position, state.destination + 1)
    assert shifted.destination.tolist() == [[2, 2], [4, 5], [-1, -1], [-1, -1]]


def test_three_cover_both_destinations_unless_agents_are_counted():
    assert step(CROWDED)[1] == [1, 1, 1]
    assert step(CROWDED, world=RELEASED)[1] == pytest.approx([-0.2, -0.2, -0.2])


def test_legal_are_exactly_the_moves_that_stay_on_the_grid():
    state = from_text("A . . . . . \n . b* . . . . \n . . . . . . \n . * . . . . \n . . . . . . \n . . . . . c")
    names = [[ACTION_NAMES[a] for a in np.flatnonzero(row)] for row in np.asarray(WORLD.legal(state))]
    assert names == [["none", "south", "east"], list(ACTION_NAMES), ["none", "north", "west"]]


def test_it_keeps_the_contract_of_worlds():
    check_world(Navigation(), slots=(2, 4), steps=1000)


OPEN, ENVS, STEPS, TEAM = Navigation(size=6), 512, 60, 4


def turn(state, key):
    """Everybody walks at random but mostly to a destination, then some leave and some come."""
    k_action, k_open, k_world, k_admit = jax.random.split(key, 4)
    u = jax.random.uniform(k_action, (TEAM,))
    gap = state.destination[jnp.arange(TEAM) % 2] - state.position
    ahead = jnp.where(gap[:, 0] < 0, 1, jnp.where(gap[:, 0] > 0, 2, jnp.where(gap[:, 1] < 0, 3, 4)))
    actions = jnp.where(u < 0.5, ahead, jnp.floor((u - 0.5) * 10).astype(jnp.int32))
    after, reward, _ = OPEN.step(k_world, state, actions)
    events = (jax.random.uniform(k_open, (TEAM,)) < 0.1).at[0].set(False)
    joining = events & ~after.present
    opened = OPEN.admit(k_admit, OPEN.dismiss(after, events & after.present), joining)
    return opened, (state, actions, after, reward, joining, opened)


@jax.jit
def open_play(key):
    k_start, k_play = jax.random.split(key)
    present = jnp.array([True, True, True, False])
    start = jax.vmap(lambda k: OPEN.start(k, present))(jax.random.split(k_start, ENVS))
    return jax.lax.scan(jax.vmap(turn), start, jax.random.split(k_play, (STEPS, ENVS)))[1]


@pytest.fixture(scope="module")
def played():
    return jax.tree.map(np.asarray, open_play(jax.random.key(7)))


def covered(before, after):
    same = (after.position[..., :, None, :] == before.destination[..., None, :, :]).all(-1)
    return same & after.present[..., None]


def test_nobody_is_ever_outside(played):
    for state in (played[2], played[5]):
        assert ((state.position >= 0) & (state.position < OPEN.size)).all()


def test_nobody_moves_more_than_one_cell_and_only_where_it_wanted(played):
    before, actions, after = played[:3]
    gap = after.position - before.position
    wanted = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])[actions]
    moved = gap.any(-1)
    assert (gap[moved] == wanted[moved]).all()
    assert moved.mean() > 0.2


def test_destinations_are_always_inner_ordered_and_apart(played):
    first, second = np.moveaxis(played[5].destination, -2, 0)
    for cell in (first, second):
        assert ((cell >= 1) & (cell <= OPEN.size - 2)).all()
    assert (np.abs(first - second).max(-1) >= OPEN.apart).all()
    assert (first @ [OPEN.size, 1] < second @ [OPEN.size, 1]).all()


def test_destinations_change_exactly_when_both_are_covered(played):
    before, _, after = played[:3]
    reached = covered(before, after).any(-2).all(-1)
    changed = (after.destination != before.destination).any((-2, -1))
    assert reached.sum() > 300
    assert (changed == reached).all()


def test_new_destinations_are_not_where_somebody_stands(played):
    before, _, after = played[:3]
    reached = covered(before, after).any(-2).all(-1)
    assert not covered(after, after)[reached].any()


def test_every_reward_is_one_or_the_penalty_on_a_destination_and_nothing_elsewhere(played):
    before, _, after, reward = played[:4]
    on = covered(before, after)
    reached = on.any(-2).all(-1)
    expected = np.where(on.any(-1), np.where(reached, 1, -0.2)[..., None], 0)
    np.testing.assert_allclose(reward, expected, rtol=1e-6)


def test_a_newcomer_arrives_on_a_cell_of_its_own_that_is_no_destination(played):
    _, _, after, _, joining, opened = played
    same = (opened.position[..., :, None, :] == opened.position[..., None, :, :]).all(-1)
    others = same & opened.present[..., None, :] & ~np.eye(TEAM, dtype=bool)
    assert joining.sum() > 1000
    assert not (others & joining[..., None]).any()
    assert not (covered(opened, opened) & joining[..., None]).any()
    assert (opened.position == after.position)[~joining].all()
    assert (opened.destination == after.destination).all()
