"""Shots: whom they hit, from where, and what that costs."""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.worlds.fortattack import Shooting
from openteam.worlds.fortattack.situation import situation

PAPER, RELEASED = Shooting(), Shooting(closest=0.0)
FAR = (0.9, -0.8, 0.0)


@eqx.filter_jit
def resolve(shooting, state, shot):
    hits = shooting.hits(state.position, state.angle, shot, state.present)
    return hits, shooting.time_out(state.position, hits)


def fire(guards, attackers, *shooters, shooting=PAPER):
    """Pairs (who, whom) that are hit, and everybody's steps out."""
    state = situation(guards, attackers)
    hits, out = resolve(shooting, state, jnp.isin(jnp.arange(len(state.present)), jnp.array(shooters)))
    return {tuple(pair) for pair in np.argwhere(hits).tolist()}, out.tolist()


def is_hit(x, y, heading=0.0):
    """Whether the learner in the middle, who shoots along its heading, hits an attacker there."""
    return fire([(0.0, 0.0, heading)], [(x, y, 90.0)], 0)[0] == {(0, 1)}


SIDE = math.tan(math.pi / 8)
DEPTH = 0.05 + 0.8 * math.cos(math.pi / 8)  # 0.789
HAIR = 1e-4


def test_the_cone_begins_at_the_muzzle_not_at_the_centre():
    assert is_hit(0.05 + HAIR, 0.0)
    assert not is_hit(0.05 - HAIR, 0.0)
    assert not is_hit(-0.2, 0.0)


def test_the_cone_ends_at_a_straight_far_edge():
    assert is_hit(DEPTH - HAIR, 0.0)
    assert not is_hit(DEPTH + HAIR, 0.0)
    assert is_hit(DEPTH - HAIR, 0.3)  # farther than the edge is long, yet within the triangle
    assert not is_hit(DEPTH + HAIR, 0.3)


@pytest.mark.parametrize("ahead", [0.1, 0.4, 0.7])
@pytest.mark.parametrize("side", [-1, 1])
def test_the_cone_opens_by_an_eighth_of_pi_to_each_side(ahead, side):
    assert is_hit(0.05 + ahead, side * (SIDE * ahead - HAIR))
    assert not is_hit(0.05 + ahead, side * (SIDE * ahead + HAIR))


@pytest.mark.parametrize("heading", [30.0, 90.0, 200.0, 270.0, 359.0, -45.0, 1000.0])
def test_the_cone_turns_with_the_heading(heading):
    angle = math.radians(heading)
    for turned, hit in ((0.0, True), (0.35, True), (-0.35, True), (0.45, False), (-0.45, False), (math.pi, False)):
        x, y = (0.6 * f(angle + turned) for f in (math.cos, math.sin))
        assert is_hit(x, y, heading) == hit


def test_who_does_not_shoot_hits_nobody():
    assert fire([(0, 0, 0)], [(0.3, 0, 180)]) == (set(), [0, 0])


def test_two_who_shoot_at_each_other_are_both_hit():
    hits, out = fire([(0, 0, 0)], [(0.3, 0, 180)], 0, 1)
    assert hits == {(0, 1), (1, 0)}
    assert out[0] == out[1] > 0


def test_there_is_no_friendly_fire():
    hits, _ = fire([(0, 0, 0), (0.3, 0, 180)], [(0.4, 0, 180), (0.2, 0, 0)], 0, 3)
    assert hits == {(0, 2), (0, 3), (3, 1)}


def test_one_shot_hits_everybody_in_the_cone_also_behind_others():
    hits, _ = fire([(0, 0, 0), FAR, FAR], [(0.3, 0, 0), (0.4, 0, 0), (0.3, 0.3, 0)], 0)
    assert hits == {(0, 3), (0, 4)}


def test_absent_agents_are_not_hit():
    hits, out = fire([(-0.3, 0, 0), FAR], [None, (0.2, 0, 0)], 0)  # the absent one would stand at (0, 0)
    assert hits == {(0, 3)}
    assert out[2] == 0


def time_out(distance, shooting):
    return fire([(0, 0, 0)], [(distance, 0, 180)], 0, shooting=shooting)[1][1]


def test_the_closest_hit_takes_out_for_80_steps():
    assert time_out(0.1, PAPER) == 80
    assert time_out(0.07, PAPER) == 80  # overlapping bodies: nothing is closer than touching


@pytest.mark.parametrize(("distance", "steps"), [(0.1 + 0.85 / 4, 60), (0.1 + 0.85 / 2, 40), (0.7375, 20), (0.78, 16)])
def test_time_out_falls_linearly_with_the_distance(distance, steps):
    assert time_out(distance, PAPER) == steps


@pytest.mark.parametrize(("distance", "steps"), [(0.1, 71), (0.2375, 60), (0.475, 40), (0.7125, 20)])
def test_in_the_released_code_it_would_be_80_at_distance_0(distance, steps):
    assert time_out(distance, RELEASED) == steps


def test_a_time_out_is_cut_to_whole_steps_after_the_slack_is_added():
    distance = 0.95 * (1 - 20.9995 / 80)
    assert time_out(distance, RELEASED) == 21
    assert time_out(distance, Shooting(closest=0.0, slack=0.0)) == 20


def test_every_hit_takes_out_for_some_steps():
    corner = (DEPTH - HAIR, SIDE * (DEPTH - 0.05) - HAIR)
    for shooting in (PAPER, RELEASED):
        hits, out = fire([(0, 0, 0)], [(*corner, 0)], 0, shooting=shooting)
        assert hits == {(0, 1)}
        assert out[1] in (8, 9)


def test_several_shooters_add_up():
    team = [(0, 0, 0), (0, 0, 0), (0.5, 0.4, 270)]
    alone = [fire(team, [(0.5, 0, 0), FAR, FAR], shooter)[1][3] for shooter in range(3)]
    assert alone == [42, 42, 51]
    assert fire(team, [(0.5, 0, 0), FAR, FAR], 0, 1, 2)[1][3] == pytest.approx(sum(alone), abs=2)


def test_in_range_does_not_ask_for_sides_or_shots():
    state = situation([(0, 0, 0), (0.3, 0, 90)], [(0.3, 0.2, 180), (0.3, 0.3, 0)])
    inside = np.asarray(PAPER.in_range(state.position, state.angle))
    assert {tuple(pair) for pair in np.argwhere(inside).tolist()} == {(0, 1), (1, 2), (1, 3)}
