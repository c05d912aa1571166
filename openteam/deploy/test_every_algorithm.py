"""Of every algorithm: a deployed agent decides as the evaluation does, and its exports decide as it does.

Networks are small. Algorithms that are then the same policy but for numbers are tried once.
"""

import random as shuffling

import jax
import numpy as np
import onnxruntime
import pytest

from openteam.algorithms.presets import ALGORITHMS
from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.deploy.agent import Agent
from openteam.deploy.conftest import FULL, PARTIAL, new_policy, small
from openteam.deploy.export import numpy_files
from openteam.deploy.graph import graph_of
from openteam.deploy.interface import interface_of
from openteam.deploy.onnx_graph import to_onnx
from openteam.deploy.pure_step import NOISE, PureStep
from openteam.deploy.shipped import numpy_step
from openteam.deploy.step import Inputs, Step, draws_of
from openteam.registry import make_algorithm

SEED = 5


SAME = {
    "gpl-spi": "gpl-q", "gpl-spi-released": "gpl-q-released", "ql-released": "ql-flat", "ql-am-released": "ql-am",
    "dgn-released": "dgn", "maddpg-separate": "maddpg", "maddpg-released": "maddpg", "ppo-large-batches": "ppo",
    "pf-gpl-5": "pf-gpl", "pf-gpl-1": "pf-gpl", "pf-gpl-5-released": "pf-gpl-released",
    "pf-gpl-1-released": "pf-gpl-released",
}  # fmt: skip
"""Algorithms that train otherwise but have the same small policy as another."""


def small_learner(name):
    return small(make_algorithm(name, PARTIAL))


def shapes(name):
    """All there is to a policy but its numbers."""
    learner = small_learner(name)
    return jax.tree.flatten(jax.eval_shape(lambda: learner.frozen(learner.init(random.key(0), PARTIAL.spec).model)))


@pytest.fixture(scope="module", params=[name for name in ALGORITHMS if name not in SAME])
def policy(request):
    return new_policy(small_learner(request.param), PARTIAL)


def test_the_others_have_policies_that_are_tried():
    for name, other in SAME.items():
        assert shapes(name) == shapes(other), name


def inputs_of(view, order):
    """A view as an agent's compiled function takes it, with slots in another order."""
    obs = view.obs
    return Inputs(obs.agents[order], obs.shared, obs.visible[order], obs.legal, view.starts, view.new[order],
                  view.previous_action)  # fmt: skip


def order_of_sighting(moments):
    """Slots in the order in which somebody is first seen there: that in which a deployed agent fills its own."""
    slots = range(len(moments[0].ids))
    first = [next((t for t, now in enumerate(moments) if now.view.obs.visible[slot]), len(moments)) for slot in slots]
    return sorted(slots, key=lambda slot: (first[slot], slot))


def decisions(step, moments, order):
    """What the evaluation decides: actions, and memory before and after."""
    memory, draws, steps = step.start(len(order)), draws_of(SEED), []
    for now in moments:
        inputs = inputs_of(now.view, order)
        action, after = step.act(step.parameters, memory, draws, inputs)
        steps.append((inputs, draws, memory, int(action), after))
        memory, draws = after, draws.next
    return steps


def deployed(agent, moments, order):
    """What an agent decides that is told ids in any order, newcomers among them in the order of their slots."""
    rng = shuffling.Random(0)
    occupant, actions = {}, []
    agent.reset(SEED)
    for now in moments:
        obs = now.view.obs
        for slot in np.flatnonzero(now.view.new):
            if slot in occupant and agent.interface.keeps_unseen:
                agent.forget(occupant[slot])  # in a partial view, to see somebody new in a slot says who has left
            occupant[slot] = now.ids[slot]
        newcomers = [slot for slot in order if obs.visible[slot] and now.view.new[slot]]
        team = [*newcomers, *(slot for slot in order if obs.visible[slot] and not now.view.new[slot])]
        shuffled = sorted(team, key=lambda _: rng.random())
        places = iter(newcomers)
        shuffled = [next(places) if slot in newcomers else slot for slot in shuffled]
        rows = {now.ids[slot]: obs.agents[slot] for slot in shuffled}
        past = None if now.view.starts else int(now.view.previous_action)
        actions.append(agent.act(rows, obs.shared, obs.legal, previous_action=past))
    return actions


@pytest.fixture(scope="module")
def interfaces():
    return {task.name: interface_of(task) for task in (FULL, PARTIAL)}


@pytest.mark.parametrize("task", [FULL, PARTIAL], ids=["full view", "partial view"])
def test_a_deployed_agent_decides_as_the_evaluation_with_ids_shuffled(policy, task, evaluations, interfaces):
    agent = Agent(policy, interfaces[task.name])
    for moments in evaluations[task.name]:
        order = list(range(task.slots)) if task is FULL else order_of_sighting(moments)
        expected = decisions(agent._step, moments, order)
        assert deployed(agent, moments, order) == [step[3] for step in expected]
        jax.tree.map(np.testing.assert_array_equal, agent._state.memory, expected[-1][-1])


def test_exports_decide_as_the_agent(policy, evaluations, interfaces, tmp_path):
    moments = evaluations[PARTIAL.name][0][:4]
    step = PureStep(policy, interfaces[PARTIAL.name], PARTIAL.slots)
    graph = graph_of(step)
    for name, content in numpy_files(graph, step).items():
        (tmp_path / name).write_bytes(content)
    by_numpy = numpy_step.Step(tmp_path)
    session = onnxruntime.InferenceSession(to_onnx(graph, step.inputs, step.outputs))
    names, noise = [port.name for port in step.outputs], once_jit(step.noise)
    for inputs, draws, before, action, after in decisions(Step(policy), moments, list(range(PARTIAL.slots))):
        given = inputs._asdict() | dict(zip(step.start, before, strict=True))
        if step.inputs[-1].name == NOISE:
            given[NOISE] = noise(draws)
        given = {name: np.asarray(array) for name, array in given.items()}
        for got in (by_numpy(given), dict(zip(names, session.run(None, given), strict=True))):
            assert got["action"] == action
            for name, array in zip(step.start, after, strict=True):
                assert got[name].dtype == array.dtype
                np.testing.assert_allclose(got[name], array, rtol=2e-4, atol=2e-4)
