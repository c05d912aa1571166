"""Every rule of a step on a hand-drawn grid, then what must hold however everybody plays."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openteam.testing import check_world
from openteam.worlds.wolfpack import ACTION_NAMES, PREY_ACTION_NAMES, AbstractPrey, RandomPrey, Wolfpack
from openteam.worlds.wolfpack.draw import from_text, to_text
from openteam.worlds.wolfpack.rules import move

SIZE, SLOTS = 5, 4


class Obedient(AbstractPrey):
    orders: jax.Array

    def act(self, key, state, size):
        return self.orders


STEP = eqx.filter_jit(lambda world, key, state, actions: world.step(key, state, actions))


def draw(text, absent=()):
    """One shape for all grids, so that everything compiles once. Prey that are not drawn sit at the bottom right."""
    state = from_text(text, slots=SLOTS)
    gone = jnp.isin(jnp.arange(SLOTS), jnp.array(absent))
    return eqx.tree_at(lambda s: s.present, state, state.present & ~gone)


def step(state, *names, prey=("stay", "stay"), shaping=0.0, seed=0):
    """The next grid and the rewards; who is not named stays."""
    state = draw(state) if isinstance(state, str) else state
    actions = [ACTION_NAMES.index(name) for name in names] + [4] * (SLOTS - len(names))
    orders = jnp.array([PREY_ACTION_NAMES.index(name) for name in prey])
    world = Wolfpack(size=SIZE, behaviour=Obedient(orders), shaping=shaping)
    after, reward, over = STEP(world, jax.random.key(seed), state, jnp.array(actions))
    assert not over
    return to_text(after, SIZE), [round(r, 4) for r in reward.tolist()]


def grid(text):
    return to_text(draw(text), SIZE)


FAR = "\n . . . . . \n . . . . . \n . . . . . \n . . . ^ ^"


@pytest.mark.parametrize(
    ("name", "after"),
    [("stay", ". A . \n . . ."), ("right", ". . A \n . . ."), ("left", "A . . \n . . ."), ("down", ". . . \n . A .")],
)
def test_a_move_goes_one_cell(name, after):
    top, bottom = after.split("\n")
    rest = "\n . . . . . \n . . . . . \n . . . ^ ^"
    before = ". A . . . \n . . . . ." + rest
    assert step(before, name) == (grid(f"{top} . . \n {bottom} . .{rest}"), [0, 0, 0, 0])
    assert step(f". . . . . \n . A . . .{rest}", "up")[0] == grid(before)


@pytest.mark.parametrize(("learner", "teammate"), [("up", "right"), ("left", "up")])
def test_a_move_off_the_grid_counts_as_none(learner, teammate):
    before = "A . . . b" + FAR
    assert step(before, learner, teammate)[0] == grid(before)


def test_two_movers_into_one_cell_both_stay():
    before = "A . b . ." + FAR
    assert step(before, "right", "left")[0] == grid(before)


def test_a_hunter_and_a_prey_into_one_cell_both_stay():
    before = "A . > . . \n . . . . . \n . . . . . \n . . . . . \n . . . . ^"
    assert step(before, "right", prey=("back", "stay"))[0] == grid(before)


def test_whoever_stays_keeps_its_cell_prey_too():
    before = "A b . d > \n . . . . . \n . . . . . \n . . . . . \n . . . . ^"
    assert step(before, "right", "stay", "stay", "right")[0] == grid(before)


def test_one_who_fails_to_leave_holds_up_all_who_follow():
    # d aims at the cell of the prey, which stays; c, b and A queue behind it.
    before = "A b c d > \n . . . . . \n . . . . . \n . . . . . \n . . . . ^"
    assert step(before, "right", "right", "right", "right")[0] == grid(before)


def test_all_move_on_when_the_first_makes_room():
    before = "A b c d > \n . . . . . \n . . . . . \n . . . . . \n . . . . ^"
    after = ". A b c d \n . . . . > \n . . . . . \n . . . . . \n . . . . ^"
    assert step(before, "right", "right", "right", "right", prey=("step right", "stay"))[0] == grid(after)


def test_two_bodies_may_swap_hunters_and_prey_alike():
    before = "A b . c > \n . . . . . \n . . . . . \n . . . . . \n . . . . ^"
    after = "b A . > c \n . . . . . \n . . . . . \n . . . . . \n . . . . ^"
    assert step(before, "right", "left", "right", prey=("back", "stay"))[0] == grid(after)


def test_four_bodies_may_go_round():
    before = "A b . . . \n d c . . . \n . . . . . \n . . . . . \n . . . ^ ^"
    after = "d A . . . \n c b . . . \n . . . . . \n . . . . . \n . . . ^ ^"
    assert step(before, "right", "down", "left", "up")[0] == grid(after)


def test_absent_hunters_do_not_block():
    before = draw("A b . . ." + FAR, absent=(1,))
    assert step(before, "right", "stay")[0] == grid(". A . . ." + FAR)


@pytest.mark.parametrize(
    ("facing", "turned"), [("^", ("<", ">")), (">", ("^", "v")), ("v", (">", "<")), ("<", ("v", "^"))]
)
def test_a_turning_prey_stays_and_faces_elsewhere(facing, turned):
    for name, expected in zip(("turn left", "turn right"), turned, strict=True):
        before, after = (
            f". . . . . \n . . {arrow} . . \n . . . . . \n A . . . . \n . . . . ^" for arrow in (facing, expected)
        )
        assert step(before, prey=(name, "stay"))[0] == grid(after)


@pytest.mark.parametrize(
    ("facing", "name", "cell"),
    [
        ("^", "forward", (1, 2)), ("^", "step right", (2, 3)), ("^", "back", (3, 2)), ("^", "step left", (2, 1)),
        (">", "forward", (2, 3)), (">", "step right", (3, 2)), ("v", "forward", (3, 2)), ("v", "step left", (2, 3)),
        ("<", "back", (2, 3)), ("<", "step right", (1, 2)), ("<", "stay", (2, 2)),
    ],
)  # fmt: skip
def test_a_prey_steps_as_seen_from_where_it_faces(facing, name, cell):
    before, after = np.full((2, 5, 5), ".", object)
    before[2, 2] = after[cell] = facing
    before[0, 0] = after[0, 0] = "A"
    before[4, 4] = after[4, 4] = "^"
    texts = ["\n".join(" ".join(row) for row in cells) for cells in (before, after)]
    assert step(texts[0], prey=(name, "stay"))[0] == grid(texts[1])


def test_two_hunters_beside_a_prey_capture_it_and_get_four_each():
    before = "A . b . . \n . ^ . . c \n . . . . . \n . . . . . \n . . . . ^"
    after = ". . . . . \n A ^! b . c \n . . . . . \n . . . . . \n . . . . ^"
    assert step(before, "down", "down") == (grid(after), [4, 4, 0, 0])


def test_three_hunters_beside_a_prey_get_six_each():
    before = ". A . . . \n b ^ c . . \n . . . . . \n . . . . . \n . . . . ^"
    assert step(before)[1] == [6, 6, 6, 0]


def test_a_hunter_across_a_corner_is_not_beside():
    before = "A . . . . \n b ^ . . . \n . . . . . \n . . . . . \n . . . . ^"
    assert step(before) == (grid(before), [0, -0.5, 0, 0])


def test_alone_beside_a_prey_costs_half_in_every_step():
    state = "A ^ . . . \n . . . . . \n . . . . . \n . . . . . \n b . . . ^"
    assert step(state)[1] == [-0.5, 0, 0, 0]


def test_rewards_add_up_over_the_prey():
    alone = ". ^ A ^ . \n . . . . . \n . . . . . \n . . . . . \n b . . . ."
    once = "b ^ A ^ . \n . . . . . \n . . . . . \n . . . . . \n . . . . ."
    twice = "b ^ A ^ c \n . . . . . \n . . . . . \n . . . . . \n . . . . ."
    assert step(alone)[1] == [-1, 0, 0, 0]
    assert step(once)[1] == [3.5, 4, 0, 0]
    assert step(twice)[1] == [8, 4, 4, 0]


def test_where_everybody_is_after_the_move_decides():
    # b walks off as A arrives.
    before = ". A . . . \n . . ^ b . \n . . . . . \n . . . . . \n . . . . ^"
    assert step(before, "down", "right")[1] == [-0.5, 0, 0, 0]


def test_absent_hunters_neither_help_nor_pay_nor_are_paid():
    before = draw("A ^ b . . \n . . . . . \n . . . . . \n . . . . . \n . . . . ^", absent=(1,))
    assert step(before)[1] == [-0.5, 0, 0, 0]


CAUGHT = "A ^! b . . \n . . . . . \n . . . . . \n . . . . . \n . . . . ^"


def test_a_captured_prey_comes_back_on_a_free_cell_in_the_next_step():
    places = set()
    for seed in range(60):
        text, _ = step(CAUGHT, seed=seed)
        cells = np.array([line.split() for line in text.splitlines()])
        assert cells[0, 0] == "A"
        assert cells[0, 2] == "b"
        prey = np.argwhere(np.char.startswith(cells, "^"))
        assert len(prey) == 2
        places |= {tuple(cell) for cell in prey.tolist()}
    assert len(places) > 15


def test_the_cell_of_a_captured_prey_is_free_in_the_next_step():
    # Seeds for which the prey comes back out of the way.
    texts = [step(CAUGHT, "right", seed=seed)[0] for seed in range(10)]
    assert sum(text.splitlines()[0].startswith(". A") for text in texts) >= 8


def test_shaping_pays_for_every_cell_nearer_to_the_nearest_prey():
    before = "A . . . b \n . . . . . \n . . > . . \n . . . . . \n d . . . ^"
    assert step(before, "down", "up", shaping=0.01)[1] == [0.01, 0, 0, 0]
    assert step(before, "down", "left", "stay", "up", prey=("forward", "stay"), shaping=0.01)[1] == [0, 0.02, 0, 0]


def test_shaping_does_not_see_a_captured_prey_come_back():
    for seed in range(10):
        before = draw("A ^! b . . \n . . . . . \n . . . . . \n . . . . . \n . . . . ^")
        paid = step(before, shaping=0.01, seed=seed)[1][0]
        assert paid in (0, -0.5, 4)  # nobody moves, so nothing for coming nearer


def restated(cells, targets):
    """Send back all who aim at one cell, again and again, as the rule says."""
    targets = list(targets)
    while True:
        clash = [i for i, target in enumerate(targets) if targets.count(target) > 1]
        if not clash:
            return targets
        for i in clash:
            targets[i] = cells[i]


BODIES = 7
MOVE = jax.jit(partial(move, size=4))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.permutations(range(16)), st.lists(st.integers(0, 4), min_size=BODIES, max_size=BODIES), st.integers(1, BODIES)
)
def test_moves_are_settled_as_if_clashes_were_sent_back_again_and_again(cells, directions, count):
    cells = [divmod(cell, 4) for cell in cells[:BODIES]]
    there = np.arange(BODIES) < count
    found = MOVE(jnp.array(cells), jnp.array(directions), jnp.asarray(there))
    deltas = [(-1, 0), (0, 1), (1, 0), (0, -1), (0, 0)]
    targets = []
    for (row, column), direction in zip(cells, directions, strict=True):
        target = (row + deltas[direction][0], column + deltas[direction][1])
        targets.append(target if all(0 <= each < 4 for each in target) else (row, column))
    assert [tuple(cell) for cell in found[:count].tolist()] == restated(cells[:count], targets[:count])


def test_wolfpack_keeps_the_contract():
    check_world(Wolfpack(size=5, behaviour=RandomPrey(), shaping=0.01), slots=(4,), steps=800)


OPEN = Wolfpack(size=5, behaviour=RandomPrey())
ENVS, STEPS = 256, 60


def turn(state, key):
    """Everybody acts at random, then some leave and some come: all that can be seen of it."""
    k_action, k_open, k_world, k_admit = jax.random.split(key, 4)
    actions = jax.random.randint(k_action, (SLOTS,), 0, 5)
    after, reward, over = OPEN.step(k_world, state, actions)
    events = (jax.random.uniform(k_open, (SLOTS,)) < 0.1).at[0].set(False)
    joining = events & ~after.present
    opened = OPEN.admit(k_admit, OPEN.dismiss(after, events & after.present), joining)
    return opened, (state, actions, after, reward, over, joining, opened)


@jax.jit
def open_play(key):
    k_start, k_play = jax.random.split(key)
    start = jax.vmap(OPEN.start, (0, None))(jax.random.split(k_start, ENVS), jnp.array([True, True, True, False]))
    return jax.lax.scan(jax.vmap(turn), start, jax.random.split(k_play, (STEPS, ENVS)))[1]


@pytest.fixture(scope="module")
def played():
    return jax.tree.map(np.asarray, open_play(jax.random.key(7)))


def bodies(state):
    where = np.concatenate([state.position, state.prey_position], -2)
    there = np.concatenate([state.present, np.ones_like(state.captured)], -1)
    return where, there


def test_nobody_is_ever_outside(played):
    for state in (played[2], played[6]):
        where, there = bodies(state)
        assert where[there].min() == 0
        assert where[there].max() == OPEN.size - 1


def test_nobody_is_ever_where_another_is(played):
    for state in (played[2], played[6]):
        where, there = bodies(state)
        cell = np.where(there, where[..., 0] * OPEN.size + where[..., 1], -1 - np.arange(there.shape[-1]))
        assert (np.diff(np.sort(cell, -1), axis=-1) > 0).all()


def test_nobody_moves_more_than_one_cell_and_only_where_it_wanted(played):
    before, actions, after = played[:3]
    gap = after.position - before.position
    wanted = np.array([[-1, 0], [0, 1], [1, 0], [0, -1], [0, 0]])[actions]
    moved = gap.any(-1)
    assert (gap[moved] == wanted[moved]).all()
    assert moved.mean() > 0.2
    steps = np.abs(after.prey_position - before.prey_position).sum(-1)
    assert steps[~before.captured].max() == 1
    assert steps[before.captured].max() > 3


def beside(state):
    gap = np.abs(state.position[..., :, None, :] - state.prey_position[..., None, :, :]).sum(-1)
    return (gap == 1) & state.present[..., :, None]


def test_a_prey_is_captured_exactly_when_two_hunters_are_beside_it(played):
    after = played[2]
    assert (after.captured == (beside(after).sum(-2) >= 2)).all()
    assert after.captured.sum() > 500


def test_every_reward_follows_from_who_is_beside_which_prey(played):
    after, reward = played[2:4]
    count = beside(after).sum(-2, keepdims=True)
    assert np.allclose(reward, (beside(after) * np.where(count >= 2, 2 * count, -0.5)).sum(-1))


def test_coming_and_going_touches_nobody_else(played):
    _, _, after, _, _, joining, opened = played
    assert joining.sum() > 500
    assert (opened.position == after.position)[~joining].all()
    assert (opened.prey_position == after.prey_position).all()
    assert (opened.captured == after.captured).all()


def test_it_is_never_over(played):
    assert not played[4].any()
