"""Every rule of a step on a hand-drawn grid."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.worlds.wolfpack import ACTION_NAMES, PREY_ACTION_NAMES, AbstractPrey, Wolfpack
from openteam.worlds.wolfpack.draw import from_text, to_text

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
