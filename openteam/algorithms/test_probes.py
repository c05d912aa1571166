"""Which learner solves which probe.

The action values of every probe follow from what can be seen, so every learner finds them. (QL and GNN are shown with
an agent model. Without one, GNN did not reliably solve all of them in this time, presumably because nothing but a late
reward teaches it to remember what its teammate did once.) What happens to a learner also depends on what its teammate
does in that very step. A joint value accounts for it; the value of the learner's own action does not, so QL and GNN are
as far off as chance is while they do not know their teammate.

CIAO is not here: its values missed the known ones, as its regulariser is bound to make them.

Compiling costs more than running here. So all probes, and both rules, are learned side by side in one program.
"""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, Int

from openteam.algorithms import GNN, GPL, QL
from openteam.algorithms.test_gpl import RULES, EitherRule, number
from openteam.algorithms.value_learning import AbstractValueLearner, team_of
from openteam.compile_cache import once_jit, quick_jit
from openteam.core import random
from openteam.core.learner import TrainState
from openteam.probes import PROBES, AbstractPayoff, ProbeState
from openteam.task import Task
from openteam.training.loop import Carry, advance, start_carry

UPDATES, STEPS = 800, 24
SMALL: dict[str, Any] = {
    "envs": 8, "update_every": 6, "learning_rate": 3e-3, "discount": 0.6, "target_rate": 0.05, "encoder_width": 24,
    "hidden": 24, "type_size": 12, "utility_width": 24, "message_width": 12, "embedding": 12, "readout_width": 12,
}  # fmt: skip
EITHER = EitherRule(number(0))
LEARNERS: dict[str, AbstractValueLearner] = {
    "gpl": GPL(rule=EITHER, rank=2, **SMALL),
    "ql-am": QL(rule=EITHER, agent_model=True, places=3, **SMALL),
    "gnn-am": GNN(rule=EITHER, agent_model=True, heads=4, head_size=8, node_width=24, **SMALL),
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
    numbers = [(task.world.length, task.world.glimpse, task.openness.after) for task in tasks]
    length, glimpse, after = (jnp.array(column)[index] for column in zip(*numbers, strict=True))
    payoff = OnePayoff(tuple(task.world.payoff for task in tasks), index)
    return eqx.tree_at(
        lambda t: (t.world.payoff, t.world.length, t.world.glimpse, t.openness.after),
        tasks[0],
        (payoff, length, glimpse, after),
    )


class Played(eqx.Module):
    """What a learner thought and did at each step, and what was known to be right."""

    values: jax.Array
    action: jax.Array
    taken: jax.Array  # what it holds the step that was taken to be worth
    best_values: jax.Array
    outcome: jax.Array  # what that step is worth once everybody's action is known


def play(task: Task, learner: AbstractValueLearner, state: TrainState, key: jax.Array) -> Played:
    """A few episodes of the greedy policy."""
    model, policy = state.model, learner.frozen(state.model)
    k_reset, k_steps = jax.random.split(key)

    def step(now: tuple, key: jax.Array) -> tuple:
        env, timestep, memory = now
        seen = memory, timestep.obs, timestep.fresh
        values, _, after = policy.action_values(*seen)
        action = jnp.argmax(values).astype(jnp.int32)
        types, outlook, _ = model.look(*seen)
        led, ahead, truth = task.step(key, env, action)
        taken, _ = model.value.taken(team_of(types, outlook, timestep.obs.visible), truth.actions)
        best, ahead_best = (task.world.payoff.values(e.world, learner.discount) for e in (env, led))
        outcome = ahead.reward + learner.discount * ahead.discount * ahead_best.max()
        return (led, ahead, after), Played(values, action, taken, best, outcome)

    begin = (*task.reset(k_reset), policy.start(task.slots))
    return jax.lax.scan(step, begin, jax.random.split(k_steps, STEPS))[1]


@functools.cache
def solved(name: str, rules: tuple[int, ...]) -> Played:
    """Every probe, learned and then played, ``[probes, rules, steps, ...]``."""

    def case(probe: jax.Array, rule: jax.Array) -> tuple[Task, AbstractValueLearner]:
        return one_probe(probe), eqx.tree_at(lambda a: a.rule.index, LEARNERS[name], rule)

    def begin(probe: jax.Array, rule: jax.Array, key: jax.Array) -> Carry:
        return start_carry(*case(probe, rule), key)

    def learn(probe: jax.Array, rule: jax.Array, key: jax.Array, carry: Carry) -> Played:
        task, learner = case(probe, rule)
        k_advance, k_play = jax.random.split(key)
        carry, _ = advance(task, learner, carry, k_advance, number(UPDATES), number(UPDATES))
        return play(task, learner, carry.train, k_play)

    with jax.debug_key_reuse(False):  # the check takes it for a use when vmap transposes keys
        k_begin, k_learn = (jax.random.split(random.key(n), (len(PROBES), len(rules))) for n in range(2))
        cases = jnp.arange(len(PROBES)), jnp.array(rules)
        carry = once_jit(jax.vmap(jax.vmap(begin, (None, 0, 0)), (0, None, 0)))(*cases, k_begin)
        return quick_jit(jax.vmap(jax.vmap(learn, (None, 0, 0, 0)), (0, None, 0, 0)))(*cases, k_learn, carry)


@pytest.fixture(params=CASES)
def learned(request) -> tuple[str, dict[str, Played]]:
    """What one learner made of each probe."""
    name, rule = CASES[request.param]
    rules = [r for n, r in CASES.values() if n == name]
    played = solved(name, tuple(list(RULES).index(r) for r in rules))
    place = rules.index(rule)
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
        wrong = np.abs(played.taken - played.outcome).max()
        if name in JOINT or probe not in NEED_THE_TEAMMATES_ACTION:
            assert wrong < 0.2, probe
        else:
            assert wrong > 0.3, probe
