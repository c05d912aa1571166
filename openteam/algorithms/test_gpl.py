"""GPL as a whole: what it remembers and what it learns towards.

Compiling costs more than running here. So what runs only once is compiled without optimisation.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, Int, Key

from openteam.algorithms.control import AbstractControl, QLearning, Schedule, SoftPolicyIteration
from openteam.algorithms.gpl import GPL, GPLPolicy, Model, forgotten
from openteam.core import random
from openteam.core.learner import AbstractLearner, TrainState
from openteam.core.memory import Memory
from openteam.core.types import Chunk, Observation, Spec, TimeStep, View
from openteam.models.agent import AgentModelSizes
from openteam.models.coordination_graph import CoordinationGraph
from openteam.models.joint_value import Factored
from openteam.models.types import TypeInference
from openteam.openness import Lifetimes
from openteam.probes import Arrival, Constant, ConstantPolicies, Probe
from openteam.rollout.acting import collect, start_actor
from openteam.task import Task
from openteam.tasks import lbf_released
from openteam.teammates import Pool

CONTROLS = {"q": QLearning(Schedule(1.0, 0.2)), "spi": SoftPolicyIteration(Schedule(1.0, 0.2))}
TINY: dict[str, Any] = {
    "encoder_width": 8, "hidden": 7, "type_size": 6, "head": CoordinationGraph(Factored(2), width=8),
    "agent_model": AgentModelSizes(8, 8, 8),
}  # fmt: skip


class EitherControl(AbstractControl):
    """One of two controls; which one may be known only at run time."""

    index: Int[Array, ""]

    def act(self, key: Key[Array, ""], values: Float[Array, "actions"], progress: Float[Array, ""]) -> Int[Array, ""]:
        keys = jax.random.split(key, len(CONTROLS))
        chosen = [control.act(k, values, progress) for k, control in zip(keys, CONTROLS.values(), strict=True)]
        return jnp.stack(chosen)[self.index]

    def probabilities(self, values: Float[Array, "actions"], progress: Float[Array, ""]) -> Float[Array, "actions"]:
        return jnp.stack([control.probabilities(values, progress) for control in CONTROLS.values()])[self.index]

    def target(
        self,
        reward: Float[Array, "*batch"],
        discount: Float[Array, "*batch"],
        next_values: Float[Array, "*batch actions"],
        progress: Float[Array, ""],
    ) -> Float[Array, "*batch"]:
        targets = [control.target(reward, discount, next_values, progress) for control in CONTROLS.values()]
        return jnp.stack(targets)[self.index]


def number(index: int) -> jax.Array:
    return jnp.asarray(index, jnp.int32)


def random_state(learner: AbstractLearner, spec: Spec, seed: int = 3) -> TrainState:
    """Random networks that cost no compilation; the target differs from the model.

    Tiny networks are often dead or saturated. With the seed that is the default they respond to what they see.
    """
    rng = np.random.default_rng(seed)
    shapes = eqx.filter_eval_shape(learner.init, jax.random.key(0), spec)

    def draw(leaf: Any) -> jax.Array:
        return jnp.asarray(1.25 * rng.normal(size=leaf.shape) / leaf.shape[0] ** 0.5, leaf.dtype)

    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), (shapes.opt_state, shapes.updates))
    return TrainState(jax.tree.map(draw, shapes.model), jax.tree.map(draw, shapes.target), *blank)


def update(learner: AbstractLearner, state: TrainState, chunk: Chunk) -> tuple:
    """An update whose target remembers nothing."""
    context = learner.context(state, chunk.truth.exists.shape[-1])
    context = jax.tree.map(lambda leaf: jnp.stack([leaf] * learner.envs), context)
    return learner.update(random.key(0), state, context, chunk, jnp.zeros(()))


learn_once = eqx.filter_jit(update)


# What the learner remembers ---------------------------------------------------------------------------------------

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


# A team of any size -----------------------------------------------------------------------------------------------


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


# What it learns towards -------------------------------------------------------------------------------------------

CUT = GPL(
    control=EitherControl(number(0)), envs=3, update_every=5, discount=0.7, target_rate=0.1, learning_rate=0.01,
    mask_illegal=True, **TINY,
)  # fmt: skip


def cut_task() -> Task:
    """A game of five steps that a teammate joins after two and whose episodes are cut after three."""
    world, openness = Probe(Constant(), length=5), Arrival(2)
    return Task(world, openness, Pool((ConstantPolicies(),)), horizon=3, time_limit_terminates=False)


@pytest.fixture(scope="module")
def cut() -> tuple[TrainState, Chunk]:
    """A model whose joint values are all zero, its random target, and five steps; the third meets the time limit."""
    task = cut_task()
    state = random_state(CUT, task.spec)
    state = eqx.tree_at(lambda s: s.model.value, state, jax.tree.map(jnp.zeros_like, state.model.value))

    def play() -> Chunk:
        policy = CUT.policy(state.model, jnp.zeros(()))
        actor = start_actor(task, policy, random.key(1), CUT.envs)
        return collect(task, policy, actor, random.key(2), CUT.update_every)[1]

    chunk = jax.jit(play)()
    assert (chunk.sequence.discount == 1).all()
    assert chunk.sequence.ends[:, 0].tolist() == [False, False, False, True, False, False]
    assert chunk.sequence.view.new[:, 0, 1].tolist() == [False, False, True, False, False, True]
    return state, chunk


def terminal(chunk: Chunk) -> Chunk:
    """The same experience, had each of its ends been a true one."""
    return eqx.tree_at(lambda c: c.sequence.discount, chunk, chunk.sequence.discount * ~chunk.sequence.ends)


@eqx.filter_jit
def targets_by_hand(state: TrainState, chunk: Chunk) -> tuple:
    """y of every step, from the true successor, from its first action, from what is seen next; the target's memory."""
    model = Model(state.target, state.model.agent, state.model.spec)

    @jax.vmap
    def decide(memory: Memory, view: View) -> tuple[jax.Array, Memory]:
        decision = CUT.frozen(model).decide(random.key(0), memory, view)
        return decision.explanation.action_values, decision.memory

    def one(memory: Memory, steps: tuple[TimeStep, TimeStep]) -> tuple:
        now, after = steps
        _, memory = decide(memory, now.view)
        successor, _ = decide(memory, after.final_view)
        following, _ = decide(memory, after.view)
        worth = jnp.stack([successor.max(-1), successor[:, 0], following.max(-1)])
        return memory, after.reward + CUT.discount * after.discount * worth

    blank = jax.tree.map(jnp.zeros_like, chunk.before)
    memory, y = jax.lax.scan(one, blank, (chunk.timesteps, chunk.next_timesteps))
    return y[:, 0], y[:, 1], y[:, 2], memory.slots.value


def learn(state: TrainState, chunk: Chunk, control: str = "q") -> tuple:
    return learn_once(eqx.tree_at(lambda a: a.control.index, CUT, number(list(CONTROLS).index(control))), state, chunk)


def test_a_time_limit_bootstraps_from_the_true_successor(cut):
    state, chunk = cut
    y, _, y_following, _ = targets_by_hand(state, chunk)
    _, _, metrics = learn(state, chunk)
    np.testing.assert_allclose(metrics["value_loss"], (y**2).mean(), rtol=1e-4)
    assert abs((y_following**2).mean() / (y**2).mean() - 1) > 1e-2


@pytest.mark.parametrize("terminates", [False, True], ids=["limit-cuts", "limit-terminates"])
def test_a_termination_does_not_bootstrap(cut, terminates):
    state, chunk = cut[0], terminal(cut[1])
    y, *_ = targets_by_hand(state, chunk)
    np.testing.assert_array_equal(y[chunk.next_timesteps.ends], 1)
    spec = dataclasses.replace(state.model.spec, time_limit_terminates=terminates)
    state = eqx.tree_at(lambda s: s.model, state, Model(state.model.value, state.model.agent, spec))
    _, _, metrics = learn(state, chunk)
    np.testing.assert_allclose(metrics["value_loss"], (y**2).mean(), rtol=1e-4)


@pytest.mark.parametrize("control", CONTROLS)
def test_a_masked_action_does_not_count_in_targets_and_leaves_learning_finite(cut, control):
    state, chunk = cut
    legal = jnp.zeros_like(chunk.sequence.final_view.obs.legal).at[..., 0].set(True)
    chunk = eqx.tree_at(lambda c: c.sequence.final_view.obs.legal, chunk, legal)
    _, y_first, _, _ = targets_by_hand(state, chunk)
    learned, _, metrics = learn(state, chunk, control)
    np.testing.assert_allclose(metrics["value_loss"], (y_first**2).mean(), rtol=1e-4)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((learned, metrics)))


def test_the_target_moves_part_of_the_way_and_remembers_the_chunk(cut):
    state, chunk = cut
    learned, context, _ = learn(state, chunk)
    trees = state.target, learned.model.value, learned.target
    for old, towards, new in zip(*map(jax.tree.leaves, trees), strict=True):
        np.testing.assert_allclose(new, 0.9 * np.asarray(old) + 0.1 * np.asarray(towards), atol=1e-6)
    assert changed(state.target, learned.target)
    np.testing.assert_allclose(context.hidden, targets_by_hand(state, chunk)[3].hidden, atol=1e-6)


def learn_twice(state: TrainState, first: Chunk, second: Chunk) -> Model:
    """Adam's first step forgets how large a gradient is; its second does not."""
    return learn(learn(state, first)[0], second)[0].model


def changed(before: Any, after: Any) -> bool:
    leaves = zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True)
    return any((np.asarray(a) != np.asarray(b)).any() for a, b in leaves)


def test_the_value_loss_does_not_touch_the_agent_model(cut):
    state = random_state(CUT, cut[0].model.spec)
    chunk = cut[1]
    generous = eqx.tree_at(lambda c: c.sequence.reward, chunk, 5 * chunk.sequence.reward)
    before, after = learn_twice(state, chunk, chunk), learn_twice(state, chunk, generous)
    assert changed(before.value, after.value)
    assert not changed(before.agent, after.agent)


def test_the_agent_models_loss_does_not_touch_the_value_model(cut):
    state = random_state(CUT, cut[0].model.spec)
    # Without successors nothing but the loss itself could carry the agent model's numbers to the value model.
    chunk = eqx.tree_at(lambda c: c.sequence.discount, cut[1], jnp.zeros_like(cut[1].sequence.discount))
    other = eqx.tree_at(lambda s: s.model.agent, state, random_state(CUT, cut[0].model.spec, seed=1).model.agent)
    before, after = learn_twice(state, chunk, chunk), learn_twice(other, chunk, chunk)
    assert changed(before.agent, after.agent)
    assert not changed(before.value, after.value)
