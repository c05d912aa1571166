"""Worlds as shapes: where the page draws agents is where the worlds' own pictures show them."""

import base64
import io
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

import openteam
from openteam.compile_cache import once_jit
from openteam.core.world import Marker
from openteam.errors import UserError
from openteam.viewer.scenes import ground_of, place_of, roles_of, scene_of
from openteam.viewer.stage import keys_of

WORLDS = (openteam.Foraging(), openteam.Wolfpack(), openteam.Navigation(), openteam.FortAttack())
PRESENT = jnp.array([True, True, False, True, True, False])


@dataclass
class Banner:
    """A world of somebody's own, with a wide picture."""

    def rgb(self, state):
        return np.arange(4 * 8 * 3, dtype=np.uint8).reshape(4, 8, 3)

    def text(self, state):
        return ""

    def markers(self, state):
        return [Marker(0, 0.5, 0.5, 0.1, "#123456")]


@pytest.fixture(scope="module", params=WORLDS, ids=lambda world: type(world).__name__)
def world_and_state(request):
    return request.param, once_jit(request.param.start)(jax.random.key(3), PRESENT)


def test_agents_are_where_the_picture_shows_them(world_and_state):
    world, state = world_and_state
    ground, scene = ground_of(world), scene_of(world, state)
    size = ground["width"], ground["height"]
    drawn = {agent["slot"]: tuple(np.divide(agent["at"], size)) for agent in scene["agents"]}
    marked = {mark.slot: (mark.x, mark.y) for mark in world.markers(state)}
    assert drawn.keys() == marked.keys() == {0, 1, 3, 4}
    for slot in drawn:
        assert drawn[slot] == pytest.approx(marked[slot], abs=0.03)  # FortAttack's picture has a margin
    assert [agent["role"] for agent in scene["agents"]] == [roles_of(world, 6)[slot] for slot in drawn]


def test_a_place_on_the_ground_is_the_position_that_it_shows(world_and_state):
    world, state = world_and_state
    for agent in scene_of(world, state)["agents"]:
        position = place_of(world, state, *agent["at"], gone=range(6))
        assert position == pytest.approx(np.asarray(state.position)[agent["slot"]].tolist(), abs=1e-3)
    with pytest.raises(UserError):
        place_of(world, state, -3.0, 1.0)


def test_a_world_of_ones_own_is_shown_by_its_picture():
    world = Banner()
    scene = scene_of(world, None)
    picture = Image.open(io.BytesIO(base64.b64decode(scene["picture"].partition(",")[2])))
    assert np.array_equal(np.asarray(picture), world.rgb(None))
    assert ground_of(world)["kind"] == "picture"
    (agent,) = scene["agents"]
    assert agent["at"] == [0.5, 0.25]  # of a ground as wide as the picture
    with pytest.raises(UserError, match="by hand"):
        place_of(world, None, 0.5, 0.5)


def test_a_world_that_cannot_be_drawn_is_told_what_it_needs():
    with pytest.raises(UserError, match="rgb"):
        ground_of(object())


def test_every_action_has_a_key_of_its_own():
    for world in WORLDS:
        keys = keys_of(list(world.layout(3).actions))
        assert len(set(keys)) == world.actions
    assert keys_of(["jump", "north"]) == ["1", "ArrowUp"]
