"""GPL as a whole: what it learns towards.

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
from openteam.algorithms.gpl import GPL, Model
from openteam.core import random
from openteam.core.learner import AbstractLearner, TrainState
from openteam.core.memory import Memory
from openteam.core.types import Chunk, Spec, TimeStep, View
from openteam.models.agent import AgentModelSizes
from openteam.models.coordination_graph import CoordinationGraph
from openteam.models.joint_value import Factored
from openteam.probes import Arrival, Constant, ConstantPolicies, Probe
from openteam.rollout.acting import collect, start_actor
from openteam.task import Task
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
