"""What scripted prey do on hand-drawn grids, and that a stacked policy acts for each prey on what that prey sees."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.worlds.wolfpack import PREY_ACTION_NAMES, CautiousPrey, FleeingPrey, RandomPrey
from openteam.worlds.wolfpack.draw import from_text

SIZE, SLOTS = 5, 3
FLEE = eqx.filter_jit(lambda state: FleeingPrey().act(jax.random.key(0), state, SIZE))


def flees(text):
    """What prey 0 does; the other sits at the bottom right."""
    action = FLEE(from_text(text + "\n . . . . ^", slots=SLOTS))[0]
    return PREY_ACTION_NAMES[int(action)]


def test_a_prey_leaves_the_hunter_beside_it_for_the_cell_with_fewest_walls():
    # Three cells are as far from the hunter; only one is not beside a wall.
    assert flees(". . . . . \n A ^ . . . \n . . . . . \n . . . . .") == "step right"
    assert flees(". . . A . \n . . . ^ . \n . . . . . \n . . . . .") == "back"


def test_of_cells_that_are_equal_the_first_counts():
    assert flees(". . . . . \n . . . . . \n . A ^ . . \n . . . . .") == "forward"


def test_a_step_is_told_as_seen_from_where_the_prey_faces():
    assert flees(". . . . . \n A < . . . \n . . . . . \n . . . . .") == "back"
    assert flees(". . . . . \n A v . . . \n . . . . . \n . . . . .") == "step left"


def test_a_prey_does_not_run_from_one_hunter_to_another():
    assert flees(". . . . . \n . . . . . \n . A ^ . . \n . . . . .") == "forward"
    assert flees(". . b . . \n . . . . . \n . A ^ . . \n . . . . .") == "step right"


def test_hunters_on_two_sides_are_left_sideways():
    assert flees(". . . . . \n . A ^ b . \n . . . . . \n . . . . .") == "back"


def test_a_prey_does_not_step_where_a_body_is():
    # The best cell would be below, where c stands; the other prey is no way out either.
    assert flees(". A . . . \n . ^ b . . \n . c . . . \n . . . . .") == "step left"
    state = from_text(". . A . . \n . b ^ . . \n . . ^ . . \n . . . . . \n . . . . .", slots=SLOTS)
    assert PREY_ACTION_NAMES[int(FLEE(state)[0])] == "step right"


def test_a_surrounded_prey_stays():
    assert flees("A ^ b . . \n . c . . . \n . . . . . \n . . . . .") == "stay"


def test_hunters_out_of_the_alert_distance_are_not_minded():
    assert flees(". ^ . . . \n . . . . . \n . . . A . \n . . . . .") == "stay"
    assert flees(". . . . . \n . ^ . A . \n . . . . . \n . . . . .") != "stay"


def test_absent_hunters_are_not_minded():
    state = from_text(". . . . . \n . A ^ . . \n . . . . . \n . . . . . \n . . . . ^", slots=SLOTS)
    gone = eqx.tree_at(lambda s: s.present, state, jnp.zeros(SLOTS, bool))
    assert PREY_ACTION_NAMES[int(FLEE(gone)[0])] == "stay"


@pytest.mark.parametrize(
    ("text", "share"),
    [
        (". . . . . \n . A . ^ . \n . . . . . \n . . . . .", 0),  # near, but nobody is beside it
        (". . . . . \n . . A ^ . \n . . . . . \n b . . . .", 0.3),
        (". . . . . \n . . A ^ . \n . . . . . \n . . . b .", 0.9),
    ],
)
def test_cautious_prey_flee_from_a_hunter_beside_them_and_more_likely_from_several(text, share):
    state = from_text(text + "\n . . . . ^", slots=SLOTS)
    prey = CautiousPrey(alone=0.3, together=0.9)
    actions = np.asarray(jax.vmap(lambda key: prey.act(key, state, SIZE))(jax.random.split(jax.random.key(0), 1000)))
    stay = PREY_ACTION_NAMES.index("stay")
    assert (actions[:, 0] != stay).mean() == pytest.approx(share, abs=0.05)
    assert set(actions[:, 0]) <= {stay, int(FLEE(state)[0])}


def test_random_prey_take_every_action_alike():
    state = from_text(". . . . . \n . A ^ . . \n . . . . . \n . . . . . \n . . . . ^", slots=SLOTS)
    act = jax.jit(jax.vmap(lambda key: RandomPrey().act(key, state, SIZE)))
    actions = np.asarray(act(jax.random.split(jax.random.key(0), 7000)))
    for column in actions.T:
        assert np.bincount(column, minlength=7) / 7000 == pytest.approx([1 / 7] * 7, abs=0.02)
    assert (actions[:, 0] != actions[:, 1]).mean() > 0.8
