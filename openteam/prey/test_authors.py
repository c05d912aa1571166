"""The authors' prey: what they see, how far back they remember, and what their networks compute."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.errors import UserError
from openteam.prey.authors import FRAMES, PreyNetwork, PublishedPrey, frames
from openteam.worlds.wolfpack import Wolfpack
from openteam.worlds.wolfpack.draw import from_text

SIZE = 5
GRID = """
    . . . . .
    . ^ . A .
    . . . . .
    c . . . .
    . . . b <"""
COLOURS = {(0, 0, 0): ".", (255, 255, 255): "H", (255, 0, 0): "p", (0, 0, 255): "#"}
SEE = jax.jit(lambda state: frames(state, SIZE))


def drawn(frame):
    return ["".join(COLOURS[tuple(cell)] for cell in row) for row in np.asarray(frame).tolist()]


def test_a_prey_sees_what_is_ahead_and_beside_turned_its_way_and_nothing_behind():
    first, second = SEE(from_text(GRID, slots=4))
    wall = "#" * 17
    assert drawn(first) == [wall] * 7 + ["#######.....#####", "#######.p.H.#####"]
    # The second faces left from the corner: ahead is the last row, to its right is up.
    assert drawn(second)[:4] == [wall] * 4
    assert drawn(second)[4:] == [
        "########.H...####",
        "########...p.####",
        "########.....####",
        "########H..H.####",
        "########p....####",
    ]


def test_a_prey_that_was_just_captured_is_black():
    state = from_text(GRID, slots=4)
    shown = SEE(dataclasses.replace(state, captured=jnp.array([True, False])))
    assert drawn(shown[0])[8] == "#######...H.#####"
    assert drawn(shown[1])[5] == "########.....####"


@pytest.mark.usefixtures("authors_imported")
def test_a_network_on_one_frame_equals_plain_loops():
    state = {name: array.astype(float) for name, array in PublishedPrey().agents["prey-0"]["network"].items()}
    x = np.random.default_rng(0).integers(0, 256, (3, 9, 17)).astype(float)
    for number, size, pool in ((1, 4, 3), (2, 2, 2)):
        weight, rows, columns = state[f"conv{number}.weight"], x.shape[1] - size + 1, x.shape[2] - size + 1
        conv = np.array([
            [[(kernel * x[:, r : r + size, c : c + size]).sum() for c in range(columns)] for r in range(rows)]
            for kernel in weight
        ]) + state[f"conv{number}.bias"][:, None, None]  # fmt: skip
        mean, var, gain, shift = (
            state[f"bn{number}.{part}"][:, None, None] for part in ("running_mean", "running_var", "weight", "bias")
        )
        x = np.maximum((conv - mean) / np.sqrt(var + 1e-5) * gain + shift, 0)
        x = np.array([
            [x[:, r : r + pool, c : c + pool].max((1, 2)) for c in range(columns - pool + 1)]
            for r in range(rows - pool + 1)
        ]).transpose(2, 0, 1)  # fmt: skip
    expected = state["lstm.weight_ih_l0"] @ x.ravel() + state["lstm.bias_ih_l0"] + state["lstm.bias_hh_l0"]
    network = PreyNetwork.of({name: array.astype(np.float32) for name, array in state.items()})
    pixels = np.random.default_rng(0).integers(0, 256, (3, 9, 17)).astype(np.float32)
    np.testing.assert_allclose(eqx.filter_jit(network.read)(pixels), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.usefixtures("authors_imported")
def test_prey_remember_five_frames_and_begin_with_black_ones():
    world = Wolfpack(size=SIZE, behaviour=PublishedPrey())
    state = world.start(jax.random.key(0), jnp.ones(3, bool))
    assert not state.prey_memory.seen.any()
    watch = jax.jit(lambda state: world.behaviour.watch(state, SIZE))
    for step in range(FRAMES + 1):
        state = dataclasses.replace(state, prey_memory=watch(state))
        assert state.prey_memory.seen.sum(1).tolist() == [min(step + 1, FRAMES)] * 2
    np.testing.assert_array_equal(state.prey_memory.frames[:, 0], state.prey_memory.frames[:, -1])


@pytest.mark.usefixtures("authors_imported")
def test_a_step_with_the_authors_prey_keeps_the_shapes_of_the_state():
    world = Wolfpack(size=SIZE, behaviour=PublishedPrey())
    state = jax.eval_shape(lambda: world.start(jax.random.key(0), jnp.ones(3, bool)))
    after = jax.eval_shape(lambda state: world.step(jax.random.key(1), state, jnp.zeros(3, jnp.int32))[0], state)
    same = jax.tree.map(lambda a, b: (a.shape, a.dtype) == (b.shape, b.dtype), state, after)
    assert all(jax.tree.leaves(same))


def test_a_prey_without_a_network_is_refused():
    with pytest.raises(UserError, match="names 1 networks and the world has 2 prey"):
        Wolfpack(behaviour=PublishedPrey(("prey-0",)))
    with pytest.raises(UserError, match="names are of prey-0, prey-1; got distilled"):
        PublishedPrey(("distilled",))
