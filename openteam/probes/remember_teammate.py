"""The probe of memory: a teammate is visible once, then hidden, and must be remembered.

In half of the episodes a teammate is present. It is visible in the first step only. Action 1 in the last step pays 1 if
it is present and -1 if not; action 1 earlier costs 1, action 0 nothing. A learner that remembers gets 1/2 on average;
one that does not should never take action 1, and gets 0.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.openness import AbstractOpenness
from openteam.core.parts import Parts
from openteam.core.types import Observation
from openteam.core.view import AbstractView
from openteam.core.world import AbstractWorld, AbstractWorldState
from openteam.errors import UserError
from openteam.probes.payoffs import AbstractPayoff
from openteam.probes.state import ProbeState
from openteam.probes.teammates import ConstantPolicies
from openteam.probes.world import Probe
from openteam.task import Task
from openteam.teammates.pool import Pool
from openteam.views.full import observe


class RememberTeammate(AbstractPayoff):
    """For action 1: 1 in the last step with a teammate, else -1. Q*(0) = g^(n-1) with one, before the last step."""

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        right = (state.left == 1) & state.present[1]
        return jnp.where(actions[0] == 1, jnp.where(right, 1.0, -1.0), 0.0)

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        later = jnp.where((state.left > 1) & state.present[1], discount ** (state.left - 1.0), 0.0)
        now = jnp.where((state.left == 1) & state.present[1], 1.0, -1.0)
        return jnp.stack([later, now + later])


class MaybePresent(AbstractOpenness):
    """The only teammate is there for a whole episode or not at all, with probability 1/2 each."""

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


class FirstStepOnly(AbstractView):
    """Everybody is visible in the first step, only the viewer after that."""

    def __call__(
        self, key: Key[Array, ""], world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]
    ) -> Observation:
        del key
        assert isinstance(world, Probe)
        first = state.left == world.length
        visible = state.present & (first | (jnp.arange(len(state.present)) == viewer))
        shown = ProbeState(visible, state.lamp, jnp.where(visible, state.last, -1), state.left)
        return observe(world, state, shown, viewer)

    def check_parts(self, parts: Parts) -> None:
        if not isinstance(parts.world, Probe):
            raise UserError(
                f"FirstStepOnly is a view of probes; got a {type(parts.world).__name__}. Choose another view, such as "
                "FullView."
            )

    def sees(self, world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]) -> Bool[Array, "rows columns"]:
        del world, state, viewer
        return jnp.ones((1, 1), bool)


def remember_teammate() -> Task:
    """Three steps; remember whether a teammate was there, and take action 1 in the last if it was."""
    return Task(
        name="probe-remember-teammate",
        world=Probe(RememberTeammate(), length=3),
        openness=MaybePresent(),
        pool=Pool((ConstantPolicies(),)),
        view=FirstStepOnly(),
    )
