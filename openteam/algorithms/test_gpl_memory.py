"""GPL as a whole: what it remembers and masks while it plays, in a team of any size."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.gpl import GPL, GPLPolicy, forgotten
from openteam.algorithms.test_gpl import CONTROLS, TINY, EitherControl, number, random_state
from openteam.core import random
from openteam.core.learner import TrainState
from openteam.core.memory import Memory
from openteam.core.types import Chunk, Observation, View
from openteam.models.types import TypeInference
from openteam.openness import Lifetimes
from openteam.rollout.acting import collect, start_actor
from openteam.task import Task
from openteam.tasks import lbf_released

FORAGER = GPL(control=EitherControl(number(0)), envs=4, update_every=40, mask_illegal=True, **TINY)


@pytest.fixture(scope="module")
def foraging() -> tuple[TrainState, dict[str, Chunk]]:
    """Forty steps of four short-lived games in which teammates come and go, for each control."""
    released = lbf_released()
    openness = Lifetimes(cap=3, start_low=2, start_high=3, lifetime=(3, 6), wait=(2, 4), grace=1, min_teammates=1)
    task = Task(released.world, openness, released.pool, horizon=15, time_limit_terminates=True)
    state = random_state(FORAGER, task.spec)

    def play(control: EitherControl) -> Chunk:
        policy = GPLPolicy(state.model, control, jnp.zeros(()), mask_illegal=True)
        actor = start_actor(task, policy, random.key(1), FORAGER.envs)
        return collect(task, policy, actor, random.key(2), FORAGER.update_every)[1]

    played = jax.jit(play)
    return state, {name: played(EitherControl(number(index))) for index, name in enumerate(CONTROLS)}


@pytest.fixture(scope="module")
def remember(foraging) -> Any:
    """Memories that follow from a chunk's observations and the given flags."""
    state, chunks = foraging
    chunk = chunks["q"]

    @eqx.filter_jit
    def again(fresh: jax.Array) -> Memory:
        def step(memory: Memory, view: View) -> tuple:
            memory = Memory(memory.team, jax.vmap(state.model.infer)(memory, view)[2])
            return memory, memory

        view = chunk.timesteps.view
        flagged = View(view.obs, jnp.zeros_like(view.starts), fresh, view.previous_action)
        return jax.lax.scan(step, chunk.before, flagged)[1]

    return again


def test_inferring_again_gives_the_memories_of_the_rollout_bit_for_bit(foraging, remember):
    chunk = foraging[1]["q"]
    view = chunk.timesteps.view
    assert view.starts[1:].any()
    assert (view.new & ~view.starts[..., None])[1:].any()
    memory = remember(view.starts[..., None] | view.new)
    for rollout, again in zip(jax.tree.leaves(chunk.memory), jax.tree.leaves(memory), strict=True):
        np.testing.assert_array_equal(rollout, again)


def test_unrolling_the_recurrence_alone_gives_them_up_to_rounding(foraging):
    state, chunks = foraging
    chunk = chunks["q"]
    unroll = jax.jit(TypeInference.unroll)
    for model, before, memory in (
        (state.model.value, chunk.before.slots.value, chunk.memory.slots.value),
        (state.model.agent, chunk.before.slots.agent, chunk.memory.slots.agent),
    ):
        unrolled = unroll(model.types, before, chunk.timesteps.view.obs, chunk.timesteps.view.fresh)
        np.testing.assert_allclose(unrolled.hidden, memory.hidden, atol=1e-5)


@pytest.mark.parametrize("shift", [-1, 1], ids=["too-early", "too-late"])
def test_forgetting_a_step_too_early_or_too_late_gives_other_memories(foraging, remember, shift):
    chunk = foraging[1]["q"]
    memory = remember(jnp.roll(chunk.timesteps.view.fresh, shift, 0))
    assert not np.allclose(memory.slots.value.hidden, chunk.memory.slots.value.hidden, atol=1e-2)
    assert not np.allclose(memory.slots.agent.hidden, chunk.memory.slots.agent.hidden, atol=1e-2)


def test_in_full_view_to_forget_who_is_out_of_sight_changes_no_memory_of_anybody_who_is_there(foraging):
    """Who was not there is new anyway."""
    view = foraging[1]["q"].timesteps.view
    visible = view.obs.visible
    seen = jnp.concatenate([jnp.zeros_like(visible[:1]), visible[:-1]])
    np.testing.assert_array_equal(forgotten(seen, view)[visible], view.fresh[visible])
    assert (forgotten(seen, view) != view.fresh).any()


@pytest.mark.parametrize("control", CONTROLS)
def test_a_masked_action_is_never_taken(foraging, control):
    chunk = foraging[1][control]
    legal = chunk.timesteps.view.obs.legal
    assert not legal.all()
    assert jnp.take_along_axis(legal, chunk.actions[..., None], -1).all()


def spread(obs: Observation, at: list[int], slots: int) -> Observation:
    """The same agents in other slots of a larger team, the rest absent."""
    agents = jnp.full((slots, obs.agents.shape[-1]), -1.0).at[jnp.array(at)].set(obs.agents)
    visible = jnp.zeros(slots, bool).at[jnp.array(at)].set(obs.visible)
    return Observation(agents, obs.shared, visible, obs.legal)


def test_a_model_of_three_slots_acts_in_teams_of_one_and_of_a_thousand(foraging):
    state, chunks = foraging
    policy = FORAGER.frozen(state.model)
    view = jax.tree.map(lambda leaf: leaf[0, 0], chunks["q"].timesteps.view)
    seen = view.obs
    alone = eqx.tree_at(lambda o: o.visible, seen, jnp.arange(3) == 0)
    single = Observation(seen.agents[:1], seen.shared, jnp.ones(1, bool), seen.legal)

    @eqx.filter_jit
    def decide(obs: Observation) -> tuple:
        slots = len(obs.visible)
        now = View(obs, jnp.ones((), bool), jnp.ones(slots, bool), view.previous_action)
        decision = policy.decide(random.key(0), policy.start(slots), now)
        return decision.explanation.action_values, decision.action

    for small, large in ((seen, spread(seen, [0, 17, 900], 1000)), (alone, single)):
        (values, action), (other_values, other_action) = decide(small), decide(large)
        np.testing.assert_allclose(other_values, values, atol=1e-4)
        assert action == other_action
