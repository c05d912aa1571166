"""The probe in which belief is everything: a teammate who is seen once, then hidden, and must be waited for.

In half of the episodes somebody is there. It shows in the first step only. To go (action 1) pays in the last step: 1 if
the teammate is there, -1 if not; to go earlier costs 1, to wait costs nothing. Whoever remembers gets 1/2 in the mean;
whoever does not had best never go, and gets 0.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.openness import AbstractOpenness
from openteam.core.types import Observation
from openteam.core.view import AbstractView
from openteam.core.world import AbstractWorld, AbstractWorldState
from openteam.probes.payoffs import AbstractPayoff
from openteam.probes.state import ProbeState
from openteam.probes.teammates import Stubborns
from openteam.probes.world import Probe
from openteam.task import Task
from openteam.teammates.pool import Pool
from openteam.views.full import look


class Vigil(AbstractPayoff):
    """For going: 1 in the last step in company, -1 otherwise. Q*(wait) = g^(n-1) in company, before the last step."""

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        met = (state.left == 1) & state.present[1]
        return jnp.where(actions[0] == 1, jnp.where(met, 1.0, -1.0), 0.0)

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        later = jnp.where((state.left > 1) & state.present[1], discount ** (state.left - 1.0), 0.0)
        going = jnp.where((state.left == 1) & state.present[1], 1.0, -1.0)
        return jnp.stack([later, going + later])


class Perhaps(AbstractOpenness):
    """The one teammate is there for a whole episode or not at all, each as likely."""

    @property
    def slots(self) -> int:
        return 2

    def start(self, key: Key[Array, ""]) -> tuple[tuple[()], Bool[Array, "slots"]]:
        return (), jnp.stack([jnp.ones((), bool), jax.random.uniform(key) < 0.5])

    def step(
        self, key: Key[Array, ""], state: tuple[()], world: AbstractWorldState
    ) -> tuple[tuple[()], Bool[Array, "slots"], Bool[Array, "slots"]]:
        del key, world
        nobody = jnp.zeros(2, bool)
        return state, nobody, nobody


class Glance(AbstractView):
    """Everybody shows in the first step, and nobody but oneself after that."""

    def __call__(
        self, key: Key[Array, ""], world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]
    ) -> Observation:
        del key
        assert isinstance(world, Probe)
        first = state.left == world.length
        shows = state.present & (first | (jnp.arange(len(state.present)) == viewer))
        return look(world, state, ProbeState(shows, state.lamp, jnp.where(shows, state.last, -1), state.left), viewer)

    def sees(self, world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]) -> Bool[Array, "rows columns"]:
        del world, state, viewer
        return jnp.ones((1, 1), bool)


def vigil() -> Task:
    """Three steps; remember whether a teammate was there, and go in the last if it was."""
    return Task(
        name="probe-vigil",
        world=Probe(Vigil(), length=3),
        openness=Perhaps(),
        pool=Pool((Stubborns(),)),
        view=Glance(),
    )
