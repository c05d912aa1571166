"""What stands on and around pictures: marks where agents are, names that are right, one size for all captions."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image, ImageDraw

import openteam
from openteam.core.world import Markable
from openteam.drawing.annotations import (
    CAPTION,
    GAIN,
    LOSS,
    NARROWEST,
    Notes,
    annotate,
    draw_action,
    draw_reward,
    explain_marks,
    length,
    shorten,
    wrap,
)
from openteam.drawing.record import draw_frames
from openteam.teammates import Uniform
from openteam.views import FullView

WORLDS = (openteam.Foraging(), openteam.Wolfpack(), openteam.Navigation(), openteam.FortAttack())
TASK = openteam.Task(
    name="brief", world=openteam.Foraging(), openness=openteam.Closed(), pool=openteam.Pool((Uniform(),)), horizon=3
)


def blank():
    """A picture with a pen, and its middle and an agent's radius."""
    image = Image.new("RGBA", (400, 400))
    return image, ImageDraw.Draw(image), (200, 200, 60)


def drawn(image):
    """Mean row and column of what was drawn, from the middle."""
    return np.argwhere(np.asarray(image)[..., 3] > 0).mean(0) - 199.5


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: type(world).__name__)
def test_markers_are_where_the_picture_shows_agents_in_their_colour(world):
    present = jnp.array([True, True, False, True, True, False])
    state = world.start(jax.random.key(3), present)
    picture = world.rgb(state)
    assert isinstance(world, Markable)
    assert {one.slot for one in world.markers(state)} == {0, 1, 3, 4}
    alone = jnp.arange(6) == 0
    state = world.start(jax.random.key(3), alone | (jnp.arange(6) == 3))
    for one in world.markers(state):
        picture = world.rgb(world.dismiss(state, jnp.arange(6) != one.slot))
        height, width, _ = picture.shape
        colour = [int(one.colour[at : at + 2], 16) for at in (1, 3, 5)]
        near = np.abs(picture.astype(int) - colour).max(-1) < 12
        down, right = np.argwhere(near).mean(0) / (height, width)
        assert (right, down) == pytest.approx((one.x, one.y), abs=0.5 * one.radius)


@pytest.mark.parametrize(
    ("name", "way"),
    [("north", (-1, 0)), ("up", (-1, 0)), ("south", (1, 0)), ("west", (0, -1)), ("right", (0, 1)), ("east", (0, 1))],
)
def test_an_arrow_stands_beside_an_agent_where_it_steps(name, way):
    image, pen, place = blank()
    draw_action(pen, *place, name)
    down, right = drawn(image)
    assert np.sign(np.round([down, right])).tolist() == list(way)
    assert max(abs(down), abs(right)) > 60


def test_staying_is_a_dot_and_anything_else_a_larger_ring():
    sizes = []
    for name in ("none", "load"):
        image, pen, place = blank()
        draw_action(pen, *place, name)
        sizes.append((np.asarray(image)[..., 3] > 0).sum())
        assert drawn(image)[0] > 60
    assert sizes[1] > 1.5 * sizes[0]


@pytest.mark.parametrize(("reward", "colour"), [(2.0, GAIN), (-0.5, LOSS)])
def test_a_gain_flashes_green_and_a_loss_red(reward, colour):
    image, pen, place = blank()
    draw_reward(pen, *place, reward, 400)
    seen = {tuple(pixel) for pixel in np.asarray(image)[..., :3].reshape(-1, 3).tolist()}
    assert tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5)) in seen


def test_frames_have_one_size_whoever_is_there_and_marks_are_on_all_but_the_last():
    episode = openteam.record(openteam.UniformRandom(), TASK, seed=1)
    assert [len(part) for part in (episode.states, episode.actions, episode.type_ids)] == [4, 3, 4]
    marked = draw_frames(TASK, episode)
    assert len({frame.size for frame in marked}) == 1
    for state, frame in zip(episode.states, marked, strict=True):
        plain = np.asarray(Image.fromarray(TASK.world.rgb(state)))
        differs = (np.asarray(frame)[CAPTION : CAPTION + len(plain), : plain.shape[1]] != plain).any()
        assert differs == (state is not episode.states[-1])


def test_a_narrow_picture_gets_room_for_words():
    frame = annotate(Image.new("RGB", (40, 40)), TASK, Notes("somebody", "step 0"))
    assert frame.size == (NARROWEST, 40 + CAPTION)


def test_words_never_leave_the_picture():
    assert length(shorten("results/a-very-long-name/of-a-run/gpl-q/seed-0", 120)) <= 120
    assert shorten("a/gpl-q/seed-0" * 4, 120).endswith("seed-0")
    assert shorten("short", 120) == "short"
    lines = wrap("one thing, another thing, a third thing", 120)
    assert ", ".join(lines) == "one thing, another thing, a third thing"
    assert all(length(line) <= 120 for line in lines)


def test_marks_are_explained_as_far_as_there_are_any():
    assert explain_marks(TASK, hidden=False, believed=False).endswith("ring: load, flash: reward")
    assert explain_marks(dataclasses.replace(TASK, view=FullView()), hidden=True, believed=True).endswith(
        "grey: out of sight, pink: believed"
    )
