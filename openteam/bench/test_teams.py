"""Large teams: what is quadratic says so, and the world that they are measured in can be trained in."""

import jax.numpy as jnp
import pytest

from openteam.bench.crowd import crowd
from openteam.bench.teams import Quadratic, quadratic_part, variants
from openteam.core.random import key as make_key
from openteam.core.types import Spec
from openteam.registry import make_algorithm


@pytest.mark.parametrize(("algorithm", "what", "instead"), [
    ("gpl-q", "a factor for every pair", "gpl-q, Factored"),
    ("pf-gpl", "a factor for every pair", "pf-gpl, Factored"),
    ("gnn-am", "attention of all to all", "gpl-q-factored"),
    ("dgn", "attention of all to all", "gpl-q-factored"),
    ("ciao-c", "a table of utilities for every pair", "ciao-s"),
    ("maddpg", "trains in every slot, each seeing all", "gpl-q-factored"),
])  # fmt: skip
def test_what_is_quadratic_names_what_is_linear(algorithm, what, instead):
    assert quadratic_part(algorithm, make_algorithm(algorithm)) == Quadratic(what, instead)


@pytest.mark.parametrize("algorithm", ["gpl-q-factored", "ciao-s", "ql", "ppo"])
def test_what_is_linear(algorithm):
    assert quadratic_part(algorithm, make_algorithm(algorithm)) is None


def test_a_factor_per_pair_has_a_variant_without():
    named = variants("gpl-q", make_algorithm("gpl-q"))
    assert list(named) == ["gpl-q", "gpl-q, Factored"]
    assert quadratic_part("gpl-q", named["gpl-q, Factored"]) is None
    assert list(variants("gnn", make_algorithm("gnn"))) == ["gnn"]


def test_the_crowd_is_a_task_with_the_features_that_are_asked_for():
    spec = Spec(agent_features=5, shared_features=3, actions=4)
    task = crowd(spec, 7)
    assert (task.slots, task.spec.agent_features, task.spec.shared_features, task.spec.actions) == (7, 5, 3, 4)
    env, timestep = task.reset(make_key(0))
    _, timestep, truth = task.step(make_key(1), env, jnp.asarray(2))
    assert truth.actions[0] == 2
    assert timestep.view.obs.visible.all()
