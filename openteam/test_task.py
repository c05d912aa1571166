import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import openteam
from openteam.core.random import key
from openteam.core.types import NO_ACTION
from openteam.core.view import meet
from openteam.errors import UserError

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
            plain, stayed, _ = task.step_within(jax.random.split(k_step)[0], state, action)
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
        jax.tree.leaves(timestep.view),
        jax.tree.leaves(timestep.final_view),
        jax.tree.leaves(stayed.final_view),
        strict=True,
    ):
        np.testing.assert_array_equal(successor, true)
        np.testing.assert_array_equal(seen[~ends], successor[~ends])
    assert (timestep.view.obs.agents[ends] != timestep.final_view.obs.agents[ends]).any()
    np.testing.assert_array_equal(timestep.view.starts, ends)
    assert not timestep.final_view.starts.any()
    np.testing.assert_array_equal(before.clock[:, 1:] == 0, ends[:, :-1])


def test_in_full_view_a_slot_is_new_exactly_when_its_occupant_is(played):
    _, (first, before, timestep, truth, plain, _) = played
    assert first.view.starts.all()
    np.testing.assert_array_equal(first.view.new, first.view.obs.visible)
    new = timestep.final_view.new
    np.testing.assert_array_equal(new, plain.arrived)
    absent_before, there_now = ~truth.exists, plain.world.present
    assert (new | ~(absent_before & there_now)).all()  # whoever was not there and is now, is new
    assert not new[..., 0].any()
    assert there_now[..., 0].all()
    changed = plain.type_ids != before.type_ids
    assert (new | ~changed).all()  # a type never changes without a new occupant
    assert changed.any()
    assert (new & truth.exists).any()  # a slot that changed hands within one step counts as new
    ends = timestep.ends
    np.testing.assert_array_equal(timestep.view.new[~ends], new[~ends])
    np.testing.assert_array_equal(timestep.view.new[ends], timestep.view.obs.visible[ends])


def test_a_view_holds_the_learners_own_last_action(played):
    _, (first, _, timestep, truth, _, _) = played
    assert (first.view.previous_action == NO_ACTION).all()
    np.testing.assert_array_equal(timestep.final_view.previous_action, truth.actions[..., 0])
    expected = np.where(timestep.ends, NO_ACTION, truth.actions[..., 0])
    np.testing.assert_array_equal(timestep.view.previous_action, expected)


def test_an_occupant_is_new_when_it_is_first_seen_not_when_it_arrives():
    visits, nobody = jnp.array([1, 1, 2]), jnp.zeros(3, jnp.int32)
    new, seen = meet(visits, nobody, jnp.array([True, True, False]))
    assert new.tolist() == [True, True, False]
    new, seen = meet(visits, seen, jnp.array([True, False, True]))
    assert new.tolist() == [False, False, True]
    new, seen = meet(jnp.array([1, 3, 2]), seen, jnp.array([True, False, True]))  # slot 1 changes hands out of sight
    assert not new.any()
    new, _ = meet(jnp.array([1, 3, 2]), seen, jnp.ones(3, bool))
    assert new.tolist() == [False, True, False]


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


def test_the_paper_and_its_code_are_two_values():
    paper, released = openteam.make("lbf"), openteam.make("lbf-released")
    assert (paper.openness.lifetime, paper.openness.wait) == ((15, 25), (10, 20))
    assert (released.openness.lifetime, released.openness.wait, released.openness.grace) == ((11, 20), (16, 25), 1)
    assert paper.splits["larger"].openness.cap == 5
    assert released.splits["larger"].openness.cap_is_start
    assert type(paper.world) is type(released.world)


def test_a_reward_has_the_type_that_a_run_starts_with_whatever_the_world_returns():
    class Generous(openteam.Foraging):
        def step(self, key, state, actions):
            return state, jnp.where(state.present, 1.0, 0.0), jnp.zeros((), bool)

    task = openteam.Task(Generous(), openteam.Closed(2), openteam.Pool((openteam.Uniform(),)))
    state, opening = jax.eval_shape(task.reset, key(0))
    _, timestep, _ = jax.eval_shape(task.step, key(0), state, jax.ShapeDtypeStruct((), jnp.int32))
    assert not opening.reward.weak_type
    assert not timestep.reward.weak_type
