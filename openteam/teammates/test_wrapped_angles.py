"""Types that read angles without their full turns."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import openteam
from openteam.core.types import first_view
from openteam.storage.config import from_json, to_json
from openteam.teammates.learned import Learned
from openteam.teammates.wrapped_angles import WrappedAngles
from openteam.views import FullView
from openteam.worlds.fortattack import FortAttack, situation

TYPES = Learned("fortattack", ("rank-3", "rank-6"))


def test_full_turns_change_nothing_for_who_reads_angles_without_them():
    state = situation([(0.1, 0.5, 280), (-0.2, 0.6, 200)], [(0.3, -0.5, 90), None])
    turned = eqx.tree_at(lambda s: s.angle, state, state.angle + 2 * math.pi * jnp.array([30.0, 0.0, 7.0, 1.0]))
    views = [first_view(FullView()(jax.random.key(0), FortAttack(), one, jnp.array(1))) for one in (state, turned)]

    def actions(family, view):
        member, keys = family.member(jnp.array(1)), jax.random.split(jax.random.key(1), 200)
        return np.asarray(jax.vmap(lambda key: member.act(key, member.start(4), view)[0])(keys))

    assert (actions(WrappedAngles(TYPES), views[1]) == actions(TYPES, views[0])).mean() > 0.98
    assert (actions(TYPES, views[1]) == actions(TYPES, views[0])).mean() < 0.9


def test_names_and_sentences_are_those_of_the_family():
    assert WrappedAngles(TYPES).names == TYPES.names
    assert WrappedAngles(TYPES).sentences == TYPES.sentences


def test_the_released_task_has_them_and_its_configuration_can_be_read_again():
    task = openteam.make("fortattack-released")
    assert isinstance(task.pool.families[0], WrappedAngles)
    again = from_json(to_json(task))
    assert again.pool.families[0] == task.pool.families[0]
