"""A teammate out of sight is forgotten by GPL as the paper has it, and remembered by the one that remembers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.gpl import GPL, recorded_inference
from openteam.algorithms.presets import ALGORITHMS
from openteam.analysis.labels import Labels
from openteam.compile_cache import once_jit, quick_jit
from openteam.core import random
from openteam.core.types import Chunk, Observation, Spec, TimeStep, Truth, View
from openteam.models.agent import AgentModelSizes
from openteam.models.coordination_graph import CoordinationGraph
from openteam.models.joint_value import Factored
from openteam.storage.config import from_json, to_json

SPEC = Spec(agent_features=2, shared_features=1, actions=3)
SEEN = jnp.array([[1, 1, 1], [1, 0, 1], [1, 1, 0], [1, 1, 0], [1, 0, 1]], bool)
"""The learner and two teammates, both of whom are out of sight for a while."""


def learner(*, forgets: bool) -> GPL:
    return GPL(
        encoder_width=5, hidden=4, type_size=3, head=CoordinationGraph(Factored(2), width=4), envs=1,
        agent_model=AgentModelSizes(4, 4, 4), forgets_unseen=forgets,
    )  # fmt: skip


def views() -> View:
    """Five steps of one episode; nobody is new after the first."""
    steps, slots = SEEN.shape
    rows = jax.random.normal(random.key(0), (steps, slots, 2))
    obs = Observation(rows, jnp.ones((steps, 1)), SEEN, jnp.ones((steps, 3), bool))
    starts = jnp.arange(steps) == 0
    return View(obs, starts, starts[:, None] & SEEN, jnp.zeros(steps, jnp.int32))


@pytest.fixture(scope="module", params=[True, False], ids=["forgets", "remembers"])
def watched(request):
    """Whether it forgets, a model, how it infers, and its memory before the first view and after each."""
    model = once_jit(learner(forgets=request.param).init)(random.key(1), SPEC).model
    infer = quick_jit(lambda memory, view: model.infer(memory, view)[2])
    memories = [model.start(3)]
    for step in range(len(SEEN)):
        now = jax.tree.map(lambda leaf, step=step: leaf[step], views())
        memories.append(eqx.tree_at(lambda m: m.slots, memories[-1], infer(memories[-1], now)))
    return request.param, model, infer, memories


def test_who_comes_back_into_sight_is_as_new_to_one_who_forgets(watched):
    forgets, _, infer, memories = watched
    now = jax.tree.map(lambda leaf: leaf[2], views())
    met_again = eqx.tree_at(lambda v: v.new, now, jnp.array([False, True, False]))
    expected = infer(memories[2], met_again)
    for known, new in ((memories[3].slots.value, expected.value), (memories[3].slots.agent, expected.agent)):
        assert np.array_equal(known.cell[1], new.cell[1]) == forgets
        np.testing.assert_array_equal(known.cell[0], new.cell[0])  # the learner always sees itself


def test_an_update_differentiates_through_the_same_memory(watched):
    """Against plain automatic differentiation, one step after the other; both teammates come back in the chunk."""
    forgets, model, _, memories = watched
    if not forgets:
        pytest.skip("plain recurrences have a test of their own")
    seen = SEEN[1:, None, :, None]
    later = jax.tree.map(lambda leaf: leaf[1:, None], views())
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves)[:, None], *memories[2:])
    before = jax.tree.map(lambda leaf: leaf[None], memories[1])
    steps, nothing = len(SEEN) - 1, jnp.zeros((len(SEEN), 1))
    end = jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf[-1:]]), later)
    zeros = jnp.zeros((steps, 1, 3))
    truth = Truth(zeros.astype(jnp.int32), zeros > 0, zeros.astype(jnp.int32), zeros, zeros[..., None], zeros)
    timesteps = TimeStep(end, nothing, nothing, nothing > 0, end)
    chunk = Chunk(timesteps, jnp.zeros((steps, 1), jnp.int32), truth, before, stacked)

    def recorded(model):
        types, prediction = recorded_inference(model, chunk)
        return jnp.where(seen, types, 0).sum() + jnp.where(seen, prediction.logits, 0).sum()

    def plain(model):
        def step(memory, view):
            types, prediction, slots = jax.vmap(model.infer)(memory, view)
            return eqx.tree_at(lambda m: m.slots, memory, slots), (types, prediction.logits)

        _, (types, logits) = jax.lax.scan(step, before, later)
        return jnp.where(seen, types, 0).sum() + jnp.where(seen, logits, 0).sum()

    found, expected = (quick_jit(jax.value_and_grad(loss))(model) for loss in (recorded, plain))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), found, expected)


def test_who_was_in_sight_before_a_chunk_is_remembered_across_it(watched):
    forgets, _, _, memories = watched
    assert isinstance(memories[1].slots.seen, tuple) != forgets
    if forgets:
        np.testing.assert_array_equal([memory.slots.seen for memory in memories[1:]], SEEN)


def test_a_configuration_from_before_there_was_a_choice_remembers():
    config = to_json(ALGORITHMS["gpl-q"]())
    assert from_json(config).forgets_unseen
    del config["forgets_unseen"]
    assert not from_json(config).forgets_unseen


def test_an_old_run_is_called_by_what_it_did_where_that_made_a_difference():
    config = to_json(ALGORITHMS["gpl-q"]())
    del config["forgets_unseen"]
    tasks = ({"name": "mine", "view": {"class": f"openteam:{view}"}} for view in ("FullView", "Window"))
    names = [str(Labels().algorithm(config, task)) for task in tasks]
    assert names == ["gpl-q", "gpl-q-remembers"]
