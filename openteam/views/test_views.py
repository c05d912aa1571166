"""What each view shows and hides, on hand-drawn grids, and that observations reveal nothing that is hidden.

The learner, ``A``, looks.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.random import key
from openteam.errors import UserError
from openteam.probes import PROBES
from openteam.views import FullView, Radius, Window
from openteam.worlds.lbf import Foraging
from openteam.worlds.lbf import draw as lbf
from openteam.worlds.navigation import Navigation
from openteam.worlds.navigation import draw as navigation

LEARNER = jnp.zeros((), jnp.int32)
SIZE = 8
FORAGING, NAVIGATION = Foraging(size=SIZE, foods=3), Navigation(size=SIZE)
RELEASED_LBF, RELEASED_NAVIGATION = (
    Window(coordinates="window", stretch=True),
    Window(hide_objects=False, stretch=True),
)
NOBODY, NO_FOOD, NO_DESTINATION = [-1, -1, 0], [-1, -1, 0], [-1, -1]

MIDDLE = """
    .  .  .  .  .  .  .  .
    .  2  .  .  .  .  .  .
    .  .  .  .  .  c2 .  .
    .  .  .  A1 .  .  .  .
    .  .  .  .  .  .  .  .
    .  b1 .  .  .  4  .  .
    .  .  .  3  .  .  .  .
    .  .  .  .  .  .  d1 ."""
CORNER = """
    .  .  .  .  .  .  .  .
    .  A1 .  .  .  .  .  .
    .  .  .  .  .  .  .  .
    .  3  .  .  2  .  .  .
    .  .  b1 .  c2 .  .  .
    d1 .  .  .  .  .  .  .
    .  .  .  .  .  .  .  .
    .  .  .  .  .  .  .  ."""
LAST = """
    .  .  .  .  .  .  .  .
    .  .  .  .  .  .  .  .
    .  .  .  .  .  .  .  .
    .  .  .  .  .  c2 .  .
    .  .  .  b1 .  .  .  .
    .  .  .  .  .  .  2  .
    .  .  .  3  .  .  .  A1
    .  .  .  .  .  .  .  ."""


@eqx.filter_jit
def observe(view, world, state, key):
    return view(key, world, state, LEARNER), view.sees(world, state, LEARNER)


def see(view, text):
    return observe(view, FORAGING, lbf.from_text(text, slots=5, foods=3), jax.random.key(0))[0]


def shared(obs, width=3):
    return obs.shared.reshape(-1, width).tolist()


def test_a_window_shows_the_five_by_five_cells_around_the_viewer():
    obs = see(Window(), MIDDLE)
    assert obs.visible.tolist() == [True, True, True, False, False]
    assert obs.agents.tolist() == [[3, 3, 1], [5, 1, 1], [2, 5, 2], NOBODY, NOBODY]
    assert shared(obs) == [[1, 1, 2], [5, 5, 4], NO_FOOD]


def test_a_radius_shows_what_is_within_three_steps():
    obs = see(Radius(), MIDDLE)
    assert obs.visible.tolist() == [True, False, True, False, False]
    assert obs.agents.tolist() == [[3, 3, 1], NOBODY, [2, 5, 2], NOBODY, NOBODY]
    assert shared(obs) == [[6, 3, 3], NO_FOOD, NO_FOOD]


@pytest.mark.parametrize(("view", "seen"), [(Window(radius=4), 5), (Radius(distance=7), 5), (Window(radius=1), 1)])
def test_how_far_one_sees_can_be_set(view, seen):
    text = MIDDLE.replace(".  .  .  .  .  .  .  .", "e1 .  .  .  .  .  .  .", 1)
    assert see(view, text).visible.sum() == seen


def test_what_one_may_do_is_decided_by_the_truth():
    assert see(Radius(), MIDDLE).legal.tolist() == [True, True, True, True, True, False]
    beside = MIDDLE.replace("A1 .", "A1 4").replace(".  4  .", ".  .  .")
    assert see(Radius(), beside).legal.tolist() == [True, True, True, True, False, True]


def test_a_window_ends_at_the_border():
    obs = see(Window(), CORNER)
    assert obs.visible.tolist() == [True, False, False, False, False]
    assert shared(obs) == [[3, 1, 3], NO_FOOD, NO_FOOD]


def test_a_stretched_window_grows_beyond_the_first_row_and_column_for_agents_but_not_for_objects():
    obs = see(Window(stretch=True), CORNER)
    assert obs.visible.tolist() == [True, True, True, False, False]
    assert shared(obs) == [[3, 1, 3], NO_FOOD, NO_FOOD]


def test_a_stretched_window_is_an_ordinary_one_elsewhere():
    for text in (MIDDLE, LAST):
        stretched, ordinary = see(Window(stretch=True), text), see(Window(), text)
        assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), stretched, ordinary))


def test_window_coordinates_put_the_viewer_in_the_middle():
    obs = see(Window(coordinates="window"), MIDDLE)
    assert obs.agents.tolist() == [[2, 2, 1], [4, 0, 1], [1, 4, 2], NOBODY, NOBODY]
    assert shared(obs) == [[0, 0, 2], [4, 4, 4], NO_FOOD]


def test_window_coordinates_are_absolute_where_the_first_row_and_column_cut_the_window():
    obs = see(RELEASED_LBF, CORNER)
    assert obs.agents.tolist() == [[1, 1, 1], [4, 2, 1], [4, 4, 2], NOBODY, NOBODY]
    assert shared(obs) == [[3, 1, 3], NO_FOOD, NO_FOOD]


def test_window_coordinates_keep_the_viewer_in_the_middle_at_the_last_row_and_column():
    obs = see(RELEASED_LBF, LAST)
    assert obs.agents.tolist() == [[2, 2, 1], NOBODY, NOBODY, NOBODY, NOBODY]
    assert shared(obs) == [[1, 1, 2], NO_FOOD, NO_FOOD]


HALL = """
    .  .  .  .  .  .  .  .
    .  .  .  .  .  .  *  .
    .  .  .  .  .  .  .  .
    .  .  A  .  .  .  .  .
    .  .  .  .  .  b  .  .
    .  .  *  c  .  .  .  .
    .  .  .  .  .  .  .  .
    .  .  .  .  .  .  .  ."""


def see_hall(view):
    return observe(view, NAVIGATION, navigation.from_text(HALL), jax.random.key(0))[0]


def test_a_destination_out_of_the_window_does_not_show_unless_destinations_always_do():
    assert shared(see_hall(Window()), 2) == [[5, 2], NO_DESTINATION]
    assert shared(see_hall(RELEASED_NAVIGATION), 2) == [[1, 6], [5, 2]]
    for view in (Window(), RELEASED_NAVIGATION):
        assert see_hall(view).visible.tolist() == [True, False, True]


def test_anybody_can_be_the_viewer():
    state = lbf.from_text(MIDDLE, slots=5, foods=3)
    obs = eqx.filter_jit(Window())(jax.random.key(0), FORAGING, state, jnp.array(2))
    assert obs.agents.tolist() == [[2, 5, 2], NOBODY, [3, 3, 1], NOBODY, NOBODY]
    assert shared(obs) == [NO_FOOD] * 3


def test_noise_moves_objects_in_sight_by_one_with_its_probability_and_leaves_agents_alone():
    state = lbf.from_text(MIDDLE, slots=5, foods=3)
    view = Radius(object_noise=0.2)
    keys = jax.random.split(key(3), 20_000)
    obs = jax.jit(jax.vmap(lambda key: view(key, FORAGING, state, LEARNER)))(keys)
    gap = np.asarray(obs.shared[:, :2]) - [6, 3]
    assert set(np.unique(gap)) == {-1, 0, 1}
    for shift in (-1, 1):
        np.testing.assert_allclose((gap == shift).mean(0), 0.1, atol=0.01)
    assert np.corrcoef(gap.T)[0, 1] == pytest.approx(0, abs=0.03)
    assert (obs.agents == see(Radius(), MIDDLE).agents).all()


def test_noise_never_moves_an_object_off_the_grid():
    state = lbf.from_text("1 A1 . . \n . . . . \n . . . . \n . . . .")
    view, world = Radius(object_noise=1.0), Foraging(size=4, foods=1)
    looks = jax.jit(jax.vmap(lambda key: view(key, world, state, LEARNER)))
    obs = looks(jax.random.split(key(0), 200))
    assert set(np.unique(obs.shared[:, :2])) == {0, 1}


@pytest.mark.parametrize(
    ("view", "text", "expected"),
    [
        (Window(), CORNER, "#### \n #### \n #### \n ####"),
        (Window(stretch=True), CORNER, "##### \n ##### \n ##### \n ##### \n #####"),
        (Window(), LAST, " \n \n \n \n .....### \n .....### \n .....### \n .....###"),
        (Radius(distance=2), CORNER, "###. \n #### \n ###. \n .#.."),
    ],
)
def test_a_view_tells_which_cells_are_in_sight(view, text, expected):
    mask = observe(view, FORAGING, lbf.from_text(text, slots=5, foods=3), jax.random.key(0))[1]
    rows = [line.strip().ljust(SIZE, ".") for line in expected.split("\n")]
    rows += ["." * SIZE] * (SIZE - len(rows))
    assert ["".join("#" if cell else "." for cell in row) for row in np.asarray(mask)] == rows


def test_destinations_that_always_show_are_in_sight_wherever_they_are():
    masks = [
        observe(view, NAVIGATION, navigation.from_text(HALL), jax.random.key(0))[1]
        for view in (Window(), RELEASED_NAVIGATION)
    ]
    assert np.argwhere(masks[0] != masks[1]).tolist() == [[1, 6]]


def test_a_full_view_has_everything_in_sight():
    assert observe(FullView(), FORAGING, lbf.from_text(MIDDLE), jax.random.key(0))[1].all()


@pytest.mark.parametrize("view", [Window(), Radius()])
def test_a_world_without_cells_is_refused(view):
    task = next(iter(PROBES.values()))()
    with pytest.raises(UserError, match=f"A {type(view).__name__} needs a world on a grid; Probe has no size"):
        eqx.tree_at(lambda t: t.view, task, view).spec  # noqa: B018


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Window(radius=0), "radius of at least 1; got 0"),
        (lambda: Window(coordinates="window", hide_objects=False), "no coordinates in it"),
        (lambda: Radius(distance=0), "got 0 and 0.0"),
        (lambda: Radius(object_noise=1.5), "got 3 and 1.5"),
    ],
)
def test_views_that_make_no_sense_are_refused(make, sentence):
    with pytest.raises(UserError, match=sentence):
        make()


def elsewhere(rng, visible, centres, cells):
    """The cells with hidden ones replaced by other hidden ones."""
    visible = jax.vmap(visible)
    hidden = ~np.asarray(visible(centres, cells))
    for _ in range(8):
        drawn = jnp.asarray(rng.integers(0, SIZE, cells.shape, np.int32))
        moves = hidden & ~np.asarray(visible(centres, drawn))
        cells = jnp.where(moves[..., None], drawn, cells)
    return cells


@pytest.mark.parametrize("view", [Window(), RELEASED_LBF, Radius(object_noise=0.2)])
@pytest.mark.parametrize(
    ("world", "state"), [(FORAGING, lbf.from_text(MIDDLE)), (NAVIGATION, navigation.from_text(HALL))]
)
def test_what_is_hidden_does_not_change_the_observation(world, state, view):
    many, rng = 500, np.random.default_rng(0)
    agents, objects = (
        jnp.asarray(rng.integers(0, SIZE, (many, *cells.shape), np.int32)) for cells in world.positions(state)
    )
    visible = (view.agent_visible, view.inside) if isinstance(view, Window) else (view.near, view.near)
    others = [elsewhere(rng, sees, agents[:, 0], cells) for sees, cells in zip(visible, (agents, objects), strict=True)]

    def one(agents, objects):
        return view(jax.random.key(0), world, world.relocate(state, agents, objects), LEARNER)

    observations = jax.jit(jax.vmap(one))
    seen, again = observations(agents, objects), observations(*others)
    for before, after in zip((agents, objects), others, strict=True):
        assert (before != after).any((1, 2)).mean() > 0.5
    for part in ("agents", "shared", "visible"):
        assert (getattr(seen, part) == getattr(again, part)).all(), part
