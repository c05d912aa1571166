"""Presets: what depends on the task, and that baselines are as large as what they are compared with."""

import functools

import equinox as eqx
import jax
import pytest

import openteam
from openteam.algorithms.presets import ALGORITHMS, BY_TASK, LARGEST_EDGE_TEAM, preset, variant_of
from openteam.algorithms.task_kind import TaskKind, kind_of
from openteam.core.sides import Sides
from openteam.models.joint_value import Factored, PerEdge
from openteam.registry import set_for_task
from openteam.storage.config import to_json

FULL = {name: openteam.make(name) for name in ("lbf-released", "wolfpack-released", "fortattack-released")}
KINDS = (TaskKind(), TaskKind(6, 10, fortattack=True), TaskKind(partial=True), TaskKind(30, 50))


def names_of(config) -> set[str]:
    """The dotted names of all settings."""
    if not isinstance(config, dict):
        return {""}
    parts = {name: value for name, value in config.items() if name != "class"}
    return {f"{name}.{rest}" for name, value in parts.items() for rest in names_of(value)}


def classes_of(config) -> set[str]:
    inner = config.values() if isinstance(config, dict) else config if isinstance(config, list) else ()
    return {config["class"]}.union(*map(classes_of, inner)) if isinstance(config, dict) else set()


@functools.cache
def head_parameters(name: str, task: str) -> int:
    learner, spec, key = openteam.make_algorithm(name, FULL[task]), FULL[task].spec, jax.random.key(0)
    if name == "ql-released":
        head = eqx.filter_eval_shape(learner.init, key, spec).model.value.values
    else:
        predictions = learner.agent_model is not None
        head = eqx.filter_eval_shape(learner.head.build, key, learner.type_size, spec, predictions=predictions)
    return sum(leaf.size for leaf in jax.tree.leaves(head))


def test_a_kind_says_what_presets_depend_on():
    assert kind_of(FULL["fortattack-released"]) == TaskKind(6, 10, fortattack=True)
    assert kind_of(openteam.make("lbf-partial-released")) == TaskKind(3, 5, partial=True)
    assert kind_of(FULL["lbf-released"]) == TaskKind()


@pytest.mark.parametrize("task", FULL)
@pytest.mark.parametrize("name", ["ql-released", "ql-am-released", "gnn-released", "gnn-am-released"])
def test_a_baselines_head_has_as_many_parameters_as_gpls(name, task):
    assert head_parameters(name, task) == pytest.approx(head_parameters("gpl-q-released", task), rel=0.04)


def test_gpl_has_the_released_sizes_of_its_world():
    grid, fort = (preset("gpl-q-released", kind) for kind in KINDS[:2])
    assert (grid.encoder_width, grid.hidden, grid.type_size, grid.head.width) == (100, 100, 70, 60)
    assert (fort.encoder_width, fort.hidden, fort.type_size, fort.head.width) == (64, 128, 128, 128)
    assert (grid.learning_rate, grid.control.epsilon.fraction, grid.head.pairwise) == (2.5e-4, 0.75, PerEdge(5))
    assert (fort.learning_rate, fort.control.epsilon.fraction, fort.head.pairwise) == (1e-4, 0.5, PerEdge(6))
    partial = preset("gpl-q-released", TaskKind(partial=True))
    assert (partial.shared_types, partial.hidden, partial.agent_model_weight) == (True, 200, 0.05)


def test_guards_alone_are_trained_where_there_are_attackers():
    for name in ("dgn-released", "maddpg-released"):
        assert preset(name, KINDS[0]).sides == Sides()
        assert preset(name, KINDS[1]).sides == Sides(2, see_own=False)
    assert [preset("maddpg-separate", kind).separate for kind in KINDS] == [3, 6, 3, 30]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_pairs_have_factors_of_their_own_in_teams_of_up_to_ten(name):
    small, large = (
        classes_of(to_json(preset(name, TaskKind(max_agents=agents))))
        for agents in (LARGEST_EDGE_TEAM, LARGEST_EDGE_TEAM + 1)
    )
    assert "openteam:PerEdge" not in large
    graph = {"openteam:CoordinationGraph", "openteam:BeliefGPL"} & small
    assert ("openteam:PerEdge" in small) == (bool(graph) and name != "gpl-q-factored")
    assert ("openteam:Factored" in large) == bool(graph)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_has_the_same_flags_on_every_task(name):
    plain, *others = (names_of(to_json(preset(name, kind))) for kind in KINDS)
    assert all(other == plain for other in others)
    assert type(preset(name)) is type(ALGORITHMS[variant_of(name)]())


def test_only_those_listed_depend_on_more_than_the_size_of_the_team():
    changing = {name for name in ALGORITHMS if to_json(preset(name, KINDS[1])) != to_json(preset(name))}
    assert changing == set(BY_TASK)


def test_what_was_set_for_a_task_is_said_in_a_line():
    fort = FULL["fortattack-released"]
    said = set_for_task("gpl-q-released", fort)
    assert said.startswith("gpl-q-released for fortattack-released is gpl-q with control.epsilon.fraction 0.5, ")
    assert "learning_rate 0.0001" in said
    assert "sides.count 2" in set_for_task("dgn-released", fort)
    assert set_for_task("dgn-released", FULL["lbf-released"]) == "dgn-released for lbf-released is dgn."
    assert set_for_task("gpl-q", fort) is None
    assert set_for_task("openteam:GPL", fort) is None


def test_defaults_are_edges_of_rank_six():
    assert openteam.GPL().head.pairwise == openteam.BeliefGPL().pairwise == PerEdge(6)
    assert openteam.make_algorithm("gpl-q-factored").head.pairwise == Factored(5)
