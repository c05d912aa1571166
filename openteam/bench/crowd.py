"""A task of any number of agents that costs next to nothing, so that what is measured is the learner."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.types import Spec
from openteam.core.world import AbstractWorld, AbstractWorldState
from openteam.openness.closed import Closed
from openteam.task import Task
from openteam.teammates.pool import Pool
from openteam.teammates.uniform import Uniform


class CrowdState(AbstractWorldState):
    """Who is there, and everybody's last action."""

    present: Bool[Array, "slots"]
    last: Int[Array, "slots"]


class Crowd(AbstractWorld[CrowdState]):
    """Everybody sees what everybody did last; whoever does as the learner did is rewarded."""

    choices: int = eqx.field(static=True)
    agent_features: int = eqx.field(static=True)
    shared_features: int = eqx.field(static=True)

    @property
    def actions(self) -> int:
        return self.choices

    def start(self, key: Key[Array, ""], present: Bool[Array, "slots"]) -> CrowdState:
        return CrowdState(present, jax.random.randint(key, present.shape, 0, self.choices))

    def step(
        self, key: Key[Array, ""], state: CrowdState, actions: Int[Array, "slots"]
    ) -> tuple[CrowdState, Float[Array, "slots"], Bool[Array, ""]]:
        del key
        return CrowdState(state.present, actions), (actions == actions[0]).astype(jnp.float32), jnp.zeros((), bool)

    def dismiss(self, state: CrowdState, leaving: Bool[Array, "slots"]) -> CrowdState:
        return CrowdState(state.present & ~leaving, state.last)

    def admit(self, key: Key[Array, ""], state: CrowdState, joining: Bool[Array, "slots"]) -> CrowdState:
        del key
        return CrowdState(state.present | joining, state.last)

    def legal(self, state: CrowdState) -> Bool[Array, "slots actions"]:
        return jnp.ones((len(state.present), self.choices), bool)

    def features(self, state: CrowdState) -> tuple[Float[Array, "slots feat"], Float[Array, "shared"]]:
        waves = jnp.sin(state.last[:, None] + jnp.arange(1.0, self.agent_features + 1))
        return waves, jnp.full(self.shared_features, state.last[0] / self.choices)

    def check(self, slots: int) -> None:
        del slots  # there is room for all


def crowd(spec: Spec, agents: int) -> Task:
    """A team of that many that never changes, with as many features and actions as ``spec`` has."""
    world = Crowd(spec.actions, spec.agent_features, spec.shared_features)
    return Task(
        name=f"crowd-{agents}", world=world, openness=Closed(agents), pool=Pool((Uniform(),)),
        time_limit_terminates=spec.time_limit_terminates,
    )  # fmt: skip
