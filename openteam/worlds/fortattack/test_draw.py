"""Drawing: everything that is there can be seen."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.world import Drawable
from openteam.worlds.fortattack import FortAttack
from openteam.worlds.fortattack.draw import ATTACKER, FORT, GOLD, GROUND, GUARD, INK
from openteam.worlds.fortattack.situation import situation

WORLD = FortAttack()


def colours(picture):
    return {"#{:02x}{:02x}{:02x}".format(*pixel) for pixel in np.unique(picture.reshape(-1, 3), axis=0)}


def at(picture, x, y):
    """The colour at a place of the arena."""
    height, width, _ = picture.shape
    pixel = picture[round(height / 2 - y * 220), round(width / 2 + x * 220)]
    return "#{:02x}{:02x}{:02x}".format(*pixel)


def fallen(state, *slots):
    """The same with these taken out for a while."""
    gone = jnp.isin(jnp.arange(len(state.present)), jnp.array(slots))
    state = eqx.tree_at(lambda s: s.out_for, state, jnp.where(gone, 9, 0))
    return WORLD.dismiss(state, gone)


def test_it_can_draw_itself():
    assert isinstance(WORLD, Drawable)


def test_a_picture_shows_the_arena_the_fort_and_both_teams():
    picture = WORLD.rgb(situation([(0.5, 0, 90), (-0.5, 0, 90)], [(0, -0.5, 90), None]))
    assert picture.dtype == np.uint8
    assert picture.shape == (418, 462, 3)
    assert {GROUND, FORT, GUARD, ATTACKER, GOLD} <= colours(picture)
    assert at(picture, 0.0, 0.85) == FORT
    assert at(picture, -0.53, 0.0) == GUARD
    assert at(picture, 0.03, -0.5) == ATTACKER


def test_only_the_learner_wears_a_ring():
    assert GOLD not in colours(WORLD.rgb(situation([None, (0, 0, 0)], [(0.5, 0, 0), None])))


@pytest.mark.parametrize(("heading", "tick"), [(0, (0.04, 0)), (90, (0, 0.04)), (180, (-0.04, 0)), (270, (0, -0.04))])
def test_a_tick_shows_the_heading(heading, tick):
    picture = WORLD.rgb(situation([None], [(0, 0, heading)]))
    assert at(picture, *tick) == "#ffffff"
    assert at(picture, *(-np.array(tick))) == ATTACKER


def test_absent_agents_are_not_drawn():
    assert {GUARD, ATTACKER, GOLD}.isdisjoint(colours(WORLD.rgb(situation([None], [None]))))


def test_a_shot_is_drawn_from_where_it_was_fired_also_when_the_shooter_drifts():
    shot, drift = jnp.array([True, False]), jnp.array([[0.0, 1.0], [0.0, 0.0]])
    state = eqx.tree_at(lambda s: (s.shot, s.velocity), situation([(0, 0.1, 0)], [(0, -0.8, 90)]), (shot, drift))
    picture = WORLD.rgb(state)
    assert at(picture, 0.78, -0.29) != GROUND  # the corners of a triangle that points east from (0, 0)
    assert at(picture, 0.78, 0.29) != GROUND
    assert at(picture, 0.80, 0.0) == GROUND
    assert at(picture, -0.2, 0.0) == GROUND


def test_a_shot_does_not_show_beyond_the_walls():
    state = eqx.tree_at(lambda s: s.shot, situation([(0.6, 0, 0)], [None]), jnp.array([True, False]))
    silent = eqx.tree_at(lambda s: s.shot, state, jnp.array([False, False]))
    shot, calm = WORLD.rgb(state), WORLD.rgb(silent)
    assert (shot[:, :440] != calm[:, :440]).any()
    assert (shot[:, 452:] == calm[:, 452:]).all()


def test_a_cross_marks_where_one_fell():
    state = fallen(situation([(0.5, 0, 0), (-0.5, 0, 0)], [None, None]), 1)
    picture = WORLD.rgb(state)
    assert at(picture, -0.5, 0.0) not in (GROUND, GUARD)
    assert at(picture, -0.46, 0.0) == GROUND


def test_a_learner_that_was_hit_is_crossed_out():
    state = eqx.tree_at(lambda s: s.out_for, situation([(0, 0, 0)], [None]), jnp.array([9, 0]))
    assert at(WORLD.rgb(state), 0.02, 0.02) == INK


def test_agents_outside_the_walls_can_be_drawn():
    state = situation([(1.03, 0.93, 0), (0, -1.3, 0)], [(-1.03, -0.93, 0), (-1.3, 0, 0)])
    assert {GOLD, ATTACKER} <= colours(WORLD.rgb(state))
    rows = WORLD.text(state).splitlines()
    assert rows[0].endswith("L→")
    assert rows[17].startswith("A→")


def test_text_is_a_map_with_headings():
    state = fallen(situation([(0.55, 0.05, 90), (-0.55, 0.05, 225)], [(0.05, -0.85, 0), (0.05, -0.45, 0)]), 3)
    rows = WORLD.text(state).splitlines()
    assert len(rows) == 18
    assert rows[0] == ". " * 9 + "F F " + ". " * 8 + "."
    assert rows[8] == ". " * 4 + "G↙" + ". " * 10 + "L↑" + ". " * 3 + "."
    assert rows[13] == ". " * 10 + "x " + ". " * 8 + "."
    assert rows[17] == ". " * 10 + "A→" + ". " * 8 + "."


def test_in_text_the_learner_stands_above_others():
    assert "L↑" in WORLD.text(situation([(0, 0, 90), (0, 0, 0)], [(0, 0, 0), None]))
