"""Which learner solves which probe.

The action values of every probe follow from what can be seen, so every learner finds them. (QL and GNN are shown with
an agent model. Without one, GNN did not reliably solve all of them in this time, presumably because nothing but a late
reward teaches it to remember what its teammate did once.) What happens to a learner also depends on what its teammate
does in that very step. A joint value accounts for it; the value of the learner's own action does not, so QL and GNN are
as far off as chance is while they do not know their teammate.

CIAO is not here: its values missed the known ones, as its regulariser is bound to make them.

Compiling costs more than running here. So all probes, and both controls, are learned side by side in one program.
"""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, Int

from openteam.algorithms import GPL
from openteam.algorithms.gpl import team_of, value_of
from openteam.algorithms.test_gpl import CONTROLS, EitherControl, number
from openteam.compile_cache import QUICK_TO_COMPILE, once_jit
from openteam.core import random
from openteam.core.learner import TrainState
from openteam.models.agent import AgentModelSizes
from openteam.models.attention_head import AttentionHead
from openteam.models.coordination_graph import CoordinationGraph
from openteam.models.fixed_slot_head import FixedSlotHead
from openteam.models.joint_value import Factored
from openteam.probes import PROBES, AbstractPayoff, ProbeState
from openteam.task import Task
from openteam.training.loop import Carry, advance, start_carry

UPDATES, STEPS = 800, 24
SMALL: dict[str, Any] = {
    "envs": 8, "update_every": 6, "learning_rate": 3e-3, "discount": 0.6, "target_rate": 0.05, "encoder_width": 24,
    "hidden": 24, "type_size": 12, "agent_model": AgentModelSizes(12, 12, 12),
    "control": EitherControl(number(0)),
}  # fmt: skip
LEARNERS: dict[str, GPL] = {
    "gpl": GPL(head=CoordinationGraph(Factored(2), width=24), **SMALL),
    "ql-am": GPL(head=FixedSlotHead(max_agents=3, width=24), **SMALL),
    "gnn-am": GPL(head=AttentionHead(heads=4, head_size=8, node_width=24, width=24), **SMALL),
}
CASES = {"gpl-q": ("gpl", "q"), "gpl-spi": ("gpl", "spi"), "ql-am": ("ql-am", "q"), "gnn-am": ("gnn-am", "q")}
JOINT = ("gpl-q", "gpl-spi")
NEED_THE_TEAMMATES_ACTION = ("teammate_action", "match")


class OnePayoff(AbstractPayoff):
    """One of the probes' payoffs; which one may be known only at run time."""

    payoffs: tuple[AbstractPayoff, ...]
    index: Int[Array, ""]

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        return jnp.stack([payoff.reward(state, actions) for payoff in self.payoffs])[self.index]

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        return jnp.stack([payoff.values(state, discount) for payoff in self.payoffs])[self.index]


def one_probe(index: jax.Array) -> Task:
    """The probe with a number that may be known only at run time."""
    tasks = [make() for make in PROBES.values()]
    numbers = [(task.world.length, task.world.show_actions_once, task.openness.after) for task in tasks]
    length, show_actions_once, after = (jnp.array(column)[index] for column in zip(*numbers, strict=True))
    payoff = OnePayoff(tuple(task.world.payoff for task in tasks), index)
    return eqx.tree_at(
        lambda t: (t.world.payoff, t.world.length, t.world.show_actions_once, t.openness.after),
        tasks[0],
        (payoff, length, show_actions_once, after),
    )


class Played(eqx.Module):
    """What a learner thought and did at each step, and what was known to be right."""

    values: jax.Array
    action: jax.Array
    predicted: jax.Array  # its value of what was done
    best_values: jax.Array
    outcome: jax.Array  # what that step is worth once everybody's action is known


def play(task: Task, learner: GPL, state: TrainState, key: jax.Array) -> Played:
    """A few episodes of the greedy policy."""
    model, policy = state.model, learner.frozen(state.model)
    k_reset, k_steps = jax.random.split(key)

    def step(now: tuple, keys: jax.Array) -> tuple:
        env, timestep, memory = now
        decision = policy.decide(keys[0], memory, timestep.view)
        types, prediction, _ = model.infer(memory, timestep.view)
        next_env, after, truth = task.step(keys[1], env, decision.action)
        team = team_of(types, prediction, timestep.view.obs.visible)
        predicted, _ = value_of(model.value.head, team, truth.actions)
        best, next_best = (task.world.payoff.values(e.world, learner.discount) for e in (env, next_env))
        outcome = after.reward + learner.discount * after.discount * next_best.max()
        played = Played(decision.explanation.action_values, decision.action, predicted, best, outcome)
        return (next_env, after, decision.memory), played

    begin = (*task.reset(k_reset), policy.start(task.slots))
    return jax.lax.scan(step, begin, jax.random.split(k_steps, (STEPS, 2)))[1]


@functools.cache
def solved(name: str, controls: tuple[int, ...]) -> Played:
    """Every probe, learned and then played, ``[probes, controls, steps, ...]``."""

    def case(probe: jax.Array, control: jax.Array) -> tuple[Task, GPL]:
        return one_probe(probe), eqx.tree_at(lambda a: a.control.index, LEARNERS[name], control)

    def begin(probe: jax.Array, control: jax.Array, key: jax.Array) -> Carry:
        return start_carry(*case(probe, control), key)

    def learn(probe: jax.Array, control: jax.Array, key: jax.Array, carry: Carry) -> Played:
        task, learner = case(probe, control)
        k_collect, k_update, k_play = jax.random.split(key, 3)
        keys = jnp.stack([k_collect, k_update])
        carry, _ = advance(task, learner, carry, keys, number(UPDATES), number(UPDATES))
        return play(task, learner, carry.train, k_play)

    with jax.debug_key_reuse(False):  # the check takes it for a use when vmap transposes keys
        k_begin, k_learn = (jax.random.split(random.key(n), (len(PROBES), len(controls))) for n in range(2))
        cases = jnp.arange(len(PROBES)), jnp.array(controls)
        carry = once_jit(jax.vmap(jax.vmap(begin, (None, 0, 0)), (0, None, 0)))(*cases, k_begin)
        learn_all = jax.vmap(jax.vmap(learn, (None, 0, 0, 0)), (0, None, 0, 0))
        return eqx.filter_jit(learn_all, compiler_options=QUICK_TO_COMPILE)(*cases, k_learn, carry)


@pytest.fixture(params=CASES)
def learned(request) -> tuple[str, dict[str, Played]]:
    """What one learner made of each probe."""
    name, control = CASES[request.param]
    controls = [c for n, c in CASES.values() if n == name]
    played = solved(name, tuple(list(CONTROLS).index(c) for c in controls))
    place = controls.index(control)
    return request.param, {
        probe: jax.tree.map(lambda leaf, n=n: np.asarray(leaf[n, place]), played) for n, probe in enumerate(PROBES)
    }


def test_the_greedy_action_is_the_best_one_in_every_probe(learned):
    for probe, played in learned[1].items():
        chosen = played.best_values[np.arange(STEPS), played.action]
        np.testing.assert_array_equal(chosen, played.best_values.max(-1), probe)


def test_action_values_are_the_known_ones(learned):
    name, by_probe = learned
    atol = 0.15 if name in JOINT else 0.25  # what others learn towards is noisy: a teammate's action is chance to them
    for probe, played in by_probe.items():
        np.testing.assert_allclose(played.values, played.best_values, atol=atol, err_msg=probe)


def test_only_a_joint_value_accounts_for_what_the_teammate_does_in_the_same_step(learned):
    name, by_probe = learned
    for probe, played in by_probe.items():
        wrong = np.abs(played.predicted - played.outcome).max()
        if name in JOINT or probe not in NEED_THE_TEAMMATES_ACTION:
            assert wrong < 0.2, probe
        else:
            assert wrong > 0.3, probe
