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

from openteam.algorithms.gpl import GPL
from openteam.algorithms.rules import AbstractRule, QLearning, Schedule, SoftPolicyIteration
from openteam.algorithms.value_learning import Model, ValueMemory, ValuePolicy
from openteam.core import random
from openteam.core.learner import TrainState
from openteam.core.types import Chunk, Observation, Spec, TimeStep
from openteam.models.types import TypeInference
from openteam.openness import Lifetimes
from openteam.probes import Arrival, Constant, Probe, Stubborns
from openteam.rollout.acting import collect, start_actor
from openteam.task import Task
from openteam.tasks import lbf_released
from openteam.teammates import Pool

RULES = {"q": QLearning(Schedule(1.0, 0.2)), "spi": SoftPolicyIteration(Schedule(1.0, 0.2))}
OFTEN = {"xla_backend_optimization_level": 1, "xla_cpu_use_fusion_emitters": False}
TINY: dict[str, int] = {
    "encoder_width": 8, "hidden": 7, "type_size": 6, "utility_width": 8, "rank": 2,
    "message_width": 8, "embedding": 8, "readout_width": 8,
}  # fmt: skip


class EitherRule(AbstractRule):
    """One of the rules; which one may be known only at run time."""

    index: Int[Array, ""]

    def act(self, key: Key[Array, ""], values: Float[Array, "actions"], progress: Float[Array, ""]) -> Int[Array, ""]:
        keys = jax.random.split(key, len(RULES))
        chosen = [rule.act(k, values, progress) for k, rule in zip(keys, RULES.values(), strict=True)]
        return jnp.stack(chosen)[self.index]

    def next_value(self, values: Float[Array, "*batch actions"], progress: Float[Array, ""]) -> Float[Array, "*batch"]:
        return jnp.stack([rule.next_value(values, progress) for rule in RULES.values()])[self.index]


def number(index: int) -> jax.Array:
    return jnp.asarray(index, jnp.int32)


def random_state(learner: GPL, spec: Spec, seed: int = 3) -> TrainState:
    """Random networks that cost no compilation; the target differs from the model.

    Tiny networks are often dead or saturated. With the seed that is the default they respond to what they see.
    """
    rng = np.random.default_rng(seed)
    shapes = eqx.filter_eval_shape(learner.init, jax.random.key(0), spec)

    def draw(leaf: Any) -> jax.Array:
        return jnp.asarray(1.25 * rng.normal(size=leaf.shape) / leaf.shape[0] ** 0.5, leaf.dtype)

    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), (shapes.opt_state, shapes.updates))
    return TrainState(jax.tree.map(draw, shapes.model), jax.tree.map(draw, shapes.target), *blank)


def starts_of(state: TrainState, learner: GPL, slots: int) -> Any:
    """The target's memories before anything happened."""
    return jax.tree.map(lambda leaf: jnp.stack([leaf] * learner.envs), learner.context(state, slots))


# What the learner remembers ---------------------------------------------------------------------------------------

FORAGER = GPL(rule=EitherRule(number(0)), envs=4, update_every=40, mask_illegal=True, **TINY)


@pytest.fixture(scope="module")
def foraging() -> tuple[TrainState, dict[str, Chunk]]:
    """Forty steps of four short-lived games in which teammates come and go, for each rule."""
    released = lbf_released()
    openness = Lifetimes(cap=3, start_low=2, start_high=3, lifetime=(3, 6), wait=(2, 4), grace=1, company=1)
    task = Task(released.world, openness, released.pool, horizon=15, time_limit_terminates=True)
    state = random_state(FORAGER, task.spec)

    def play(rule: EitherRule) -> Chunk:
        policy = ValuePolicy(state.model, rule, jnp.zeros(()), mask_illegal=True)
        actor = start_actor(task, policy, random.key(1), FORAGER.envs)
        return collect(task, policy, actor, random.key(2), FORAGER.update_every)[1]

    played = jax.jit(play)
    return state, {name: played(EitherRule(number(index))) for index, name in enumerate(RULES)}


def acted_on(chunk: Chunk) -> TimeStep:
    return jax.tree.map(lambda leaf: leaf[:-1], chunk.timesteps)


@pytest.fixture(scope="module")
def replayed(foraging) -> Any:
    """Memories that follow from a chunk's observations and the given flags."""
    state, chunks = foraging
    chunk = chunks["q"]
    look = jax.vmap(FORAGER.frozen(state.model).action_values)

    @eqx.filter_jit
    def replay(fresh: jax.Array) -> ValueMemory:
        def step(memory: ValueMemory, now: tuple) -> tuple:
            _, _, memory = look(memory, *now)
            return memory, memory

        return jax.lax.scan(step, chunk.before, (acted_on(chunk).obs, fresh))[1]

    return replay


def test_replaying_a_chunk_gives_the_memories_of_the_rollout_bit_for_bit(foraging, replayed):
    chunk = foraging[1]["q"]
    acted = acted_on(chunk)
    assert acted.ends[1:].any()
    assert (acted.joined & ~acted.ends[..., None])[1:].any()
    memory = replayed(acted.starts[..., None] | acted.joined)
    for rollout, replay in zip(jax.tree.leaves(chunk.memory), jax.tree.leaves(memory), strict=True):
        np.testing.assert_array_equal(rollout, replay)


def test_unrolling_the_recurrence_alone_gives_them_up_to_rounding(foraging):
    state, chunks = foraging
    chunk = chunks["q"]
    unroll = jax.jit(TypeInference.unroll)
    for model, before, memory in (
        (state.model.value, chunk.before.value, chunk.memory.value),
        (state.model.agent, chunk.before.agent, chunk.memory.agent),
    ):
        unrolled = unroll(model.types, before, acted_on(chunk).obs, acted_on(chunk).fresh)
        np.testing.assert_allclose(unrolled.hidden, memory.hidden, atol=1e-5)


@pytest.mark.parametrize("shift", [-1, 1], ids=["too-early", "too-late"])
def test_forgetting_a_step_too_early_or_too_late_gives_other_memories(foraging, replayed, shift):
    chunk = foraging[1]["q"]
    memory = replayed(jnp.roll(acted_on(chunk).fresh, shift, 0))
    assert not np.allclose(memory.value.hidden, chunk.memory.value.hidden, atol=1e-2)
    assert not np.allclose(memory.agent.hidden, chunk.memory.agent.hidden, atol=1e-2)


@pytest.mark.parametrize("rule", RULES)
def test_a_masked_action_is_never_taken(foraging, rule):
    chunk = foraging[1][rule]
    legal = acted_on(chunk).obs.legal
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
    seen = jax.tree.map(lambda leaf: leaf[0, 0], chunks["q"].timesteps.obs)
    alone = eqx.tree_at(lambda o: o.visible, seen, jnp.arange(3) == 0)
    single = Observation(seen.agents[:1], seen.shared, jnp.ones(1, bool), seen.legal)

    @eqx.filter_jit
    def decide(obs: Observation) -> tuple:
        slots = len(obs.visible)
        memory, fresh = policy.start(slots), jnp.ones(slots, bool)
        return policy.action_values(memory, obs, fresh)[0], policy.act(random.key(0), memory, obs, fresh)[0]

    for small, large in ((seen, spread(seen, [0, 17, 900], 1000)), (alone, single)):
        (values, action), (other_values, other_action) = decide(small), decide(large)
        np.testing.assert_allclose(other_values, values, atol=1e-4)
        assert action == other_action


# What it learns towards -------------------------------------------------------------------------------------------

CUT = GPL(
    rule=EitherRule(number(0)), envs=3, update_every=5, discount=0.7, target_rate=0.1, learning_rate=0.01,
    mask_illegal=True, **TINY,
)  # fmt: skip


def cut_task() -> Task:
    """A game of five steps that a teammate joins after two and whose episodes are cut after three."""
    world, openness = Probe(Constant(), length=5), Arrival(2)
    return Task(world, openness, Pool((Stubborns(),)), horizon=3, time_limit_terminates=False)


@eqx.filter_jit
def update(learner: GPL, state: TrainState, context: Any, chunk: Chunk) -> tuple:
    return learner.update(state, context, chunk, jnp.zeros(()))


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
    assert (chunk.timesteps.discount == 1).all()
    assert chunk.timesteps.ends[:, 0].tolist() == [False, False, False, True, False, False]
    assert chunk.timesteps.joined[:, 0, 1].tolist() == [False, False, True, False, False, True]
    return state, chunk


def terminal(chunk: Chunk) -> Chunk:
    """The same experience, had each of its ends been a true one."""
    return eqx.tree_at(lambda c: c.timesteps.discount, chunk, chunk.timesteps.discount * ~chunk.timesteps.ends)


@eqx.filter_jit
def targets_by_hand(state: TrainState, chunk: Chunk) -> tuple:
    """y of every step, from the true successor, from its first action, from what is seen next; the target's memory."""
    model = Model(state.target, state.model.agent, state.model.spec)
    look = jax.vmap(CUT.frozen(model).action_values)

    def one(memory: ValueMemory, now: tuple[TimeStep, TimeStep]) -> tuple:
        acted, led = now
        _, _, memory = look(memory, acted.obs, acted.fresh)
        successor, *_ = look(memory, led.final_obs, led.joined)
        following, *_ = look(memory, led.obs, led.fresh)
        worth = jnp.stack([successor.max(-1), successor[:, 0], following.max(-1)])
        return memory, led.reward + CUT.discount * led.discount * worth

    led = jax.tree.map(lambda leaf: leaf[1:], chunk.timesteps)
    blank = jax.tree.map(jnp.zeros_like, chunk.before)
    memory, y = jax.lax.scan(one, blank, (acted_on(chunk), led))
    return y[:, 0], y[:, 1], y[:, 2], memory.value


def learn(state: TrainState, chunk: Chunk, rule: str = "q") -> tuple:
    learner = eqx.tree_at(lambda a: a.rule.index, CUT, number(list(RULES).index(rule)))
    return update(learner, state, starts_of(state, CUT, 2), chunk)


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
    np.testing.assert_array_equal(y[chunk.timesteps.ends[1:]], 1)
    spec = dataclasses.replace(state.model.spec, time_limit_terminates=terminates)
    state = eqx.tree_at(lambda s: s.model, state, Model(state.model.value, state.model.agent, spec))
    _, _, metrics = learn(state, chunk)
    np.testing.assert_allclose(metrics["value_loss"], (y**2).mean(), rtol=1e-4)


@pytest.mark.parametrize("rule", RULES)
def test_a_masked_action_is_not_looked_forward_to_and_leaves_learning_finite(cut, rule):
    state, chunk = cut
    legal = jnp.zeros_like(chunk.timesteps.final_obs.legal).at[..., 0].set(True)
    chunk = eqx.tree_at(lambda c: c.timesteps.final_obs.legal, chunk, legal)
    _, y_first, _, _ = targets_by_hand(state, chunk)
    learned, _, metrics = learn(state, chunk, rule)
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
    generous = eqx.tree_at(lambda c: c.timesteps.reward, chunk, 5 * chunk.timesteps.reward)
    before, after = learn_twice(state, chunk, chunk), learn_twice(state, chunk, generous)
    assert changed(before.value, after.value)
    assert not changed(before.agent, after.agent)


def test_the_agent_models_loss_does_not_touch_the_value_model(cut):
    state = random_state(CUT, cut[0].model.spec)
    # Without successors nothing but the loss itself could carry the agent model's numbers to the value model.
    chunk = eqx.tree_at(lambda c: c.timesteps.discount, cut[1], jnp.zeros_like(cut[1].timesteps.discount))
    other = eqx.tree_at(lambda s: s.model.agent, state, random_state(CUT, cut[0].model.spec, seed=1).model.agent)
    before, after = learn_twice(state, chunk, chunk), learn_twice(other, chunk, chunk)
    assert changed(before.agent, after.agent)
    assert not changed(before.value, after.value)
