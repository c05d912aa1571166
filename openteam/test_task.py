import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import openteam
from openteam.core.random import key
from openteam.errors import UserError
from openteam.storage.config import from_json, to_json

STEPS = 80


@pytest.fixture(scope="module", params=[False, True], ids=["limit", "end"])
def played(request):
    """A random learner's steps in short episodes with a lively team; the time limit is a mere limit, or an end."""
    task = dataclasses.replace(
        openteam.make("lbf"),
        horizon=7,
        time_limit_terminates=request.param,
        openness=openteam.Lifetimes(lifetime=(2, 4), wait=(1, 3)),
        world=openteam.Foraging(size=5, foods=1),
        pool=openteam.Pool((openteam.Foragers(),)),
    )

    @jax.jit
    def play(root):
        state, first = task.reset(root)

        def step(state, number):
            k_act, k_step = jax.random.split(jax.random.fold_in(root, number))
            action = jax.random.randint(k_act, (), 0, 6)
            after, timestep, truth = task.step(k_step, state, action)
            plain, stayed, _ = task.advance(jax.random.split(k_step)[0], state, action)
            return after, (state, timestep, truth, plain, stayed)

        return first, *jax.lax.scan(step, state, jnp.arange(STEPS))[1]

    with jax.debug_key_reuse(False):  # the step is taken twice, on purpose, with the same randomness
        batch = jax.vmap(play)(jax.random.split(key(0), 64))
    return task, jax.device_get(batch)


def test_an_episode_ends_by_termination_or_by_the_time_limit_and_the_two_are_told_apart(played):
    task, (_, before, timestep, _, plain, _) = played
    limit = before.clock + 1 == task.horizon
    terminal = (plain.world.food_level == 0).all(-1)
    np.testing.assert_array_equal(timestep.ends, terminal | limit)
    over = terminal | limit if task.time_limit_terminates else terminal
    np.testing.assert_array_equal(timestep.discount, 1.0 - over)
    assert (terminal & ~limit).any()
    assert (limit & ~terminal).any()


def test_the_last_observation_survives_the_reset_and_the_next_one_opens_an_episode(played):
    _, (_, before, timestep, _, _, stayed) = played
    ends = timestep.ends
    for seen, successor, true in zip(
        jax.tree.leaves(timestep.obs),
        jax.tree.leaves(timestep.final_obs),
        jax.tree.leaves(stayed.final_obs),
        strict=True,
    ):
        np.testing.assert_array_equal(successor, true)
        np.testing.assert_array_equal(seen[~ends], successor[~ends])
    assert (timestep.obs.agents[ends] != timestep.final_obs.agents[ends]).any()
    np.testing.assert_array_equal(timestep.starts, ends)
    np.testing.assert_array_equal(before.clock[:, 1:] == 0, ends[:, :-1])


def test_a_slot_is_fresh_exactly_when_its_occupant_is_new(played):
    _, (first, before, timestep, truth, plain, _) = played
    assert first.starts.all()
    fresh = jax.tree.map(jnp.asarray, timestep).fresh
    np.testing.assert_array_equal(fresh, timestep.starts[..., None] | timestep.joined)
    absent_before = ~truth.exists
    there_now = plain.world.present
    assert (timestep.joined | ~(absent_before & there_now)).all()  # whoever was not there and is now, has joined
    assert not timestep.joined[..., 0].any()
    assert there_now[..., 0].all()
    changed = plain.types != before.types
    assert (timestep.joined | ~changed).all()  # a type never changes without a new occupant
    assert changed.any()
    handed_over = timestep.joined & truth.exists
    assert handed_over.any()  # a slot that changed hands within one step counts as new


def test_truth_tells_the_joint_action_with_the_learners_own_and_who_existed(played):
    _, (_, before, _, truth, _, _) = played
    np.testing.assert_array_equal(truth.exists, before.world.present)
    assert ((truth.actions >= 0) & (truth.actions < 6)).all()
    assert len(np.unique(truth.actions[..., 0])) == 6


def test_a_split_changes_only_what_it_names():
    task = openteam.make("lbf-released")
    larger = task.split("larger")
    assert (task.slots, larger.slots) == (3, 5)
    assert larger.world == task.world
    assert larger.spec == task.spec
    assert task.split("train") is task
    with pytest.raises(UserError, match=r"no split 'huge'\. It has: train, larger, five"):
        task.split("huge")


def test_splits_can_be_joined():
    task = openteam.make("lbf-partial")
    both = task.split("larger+unseen")
    assert both.openness == task.split("larger").openness != task.openness
    assert both.pool == task.split("unseen").pool != task.pool
    with pytest.raises(UserError, match="no split 'huge'"):
        task.split("larger+huge")


@pytest.mark.parametrize("name", ["lbf", "lbf-released", "probe-match", "probe-company"])
def test_a_task_and_a_learner_come_back_from_their_configuration(name):
    for value in (openteam.make(name), openteam.make_algorithm("gpl-spi")):
        back = from_json(json.loads(json.dumps(to_json(value))))
        assert eqx.tree_equal(back, value)
        assert jax.tree.structure(back) == jax.tree.structure(value)


def test_a_configuration_of_an_unknown_class_is_refused():
    with pytest.raises(UserError, match="names 'Nothing', which is not known here"):
        from_json({"class": "Nothing"})


def test_the_paper_and_its_code_are_two_values():
    paper, released = openteam.make("lbf"), openteam.make("lbf-released")
    assert (paper.openness.lifetime, paper.openness.wait) == ((15, 25), (10, 20))
    assert (released.openness.lifetime, released.openness.wait, released.openness.grace) == ((11, 20), (16, 25), 1)
    assert paper.splits["larger"].openness.cap == 5
    assert released.splits["larger"].openness.cap_is_start
    assert type(paper.world) is type(released.world)
