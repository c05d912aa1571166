"""A task: world, openness, pool, view and horizon, stepped as one environment."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, PyTree

from openteam.core.openness import AbstractOpenness
from openteam.core.types import Spec, TimeStep, Truth
from openteam.core.view import AbstractView, viewer_first
from openteam.core.world import AbstractWorld
from openteam.errors import UserError
from openteam.teammates.pool import Pool
from openteam.views.full import FullView


class EnvState(eqx.Module):
    """Everything about one environment between two steps."""

    world: Any
    openness: PyTree[Any]
    types: Int[Array, "slots"]
    memory: PyTree[Any]  # the teammates'
    fresh: Bool[Array, "slots"]  # slots whose occupant is new to everybody
    clock: Int[Array, ""]


class Split(eqx.Module):
    """What a split changes of its task; None keeps what training has."""

    openness: AbstractOpenness | None = None
    pool: Pool | None = None


class Task(eqx.Module):
    """An open stochastic Bayesian game around a world. Training happens on the split ``train``, the task itself."""

    world: AbstractWorld[Any]
    openness: AbstractOpenness
    pool: Pool
    view: AbstractView = FullView()
    horizon: int = eqx.field(static=True, default=50)
    """Steps until an episode is cut."""
    time_limit_terminates: bool = eqx.field(static=True, default=False)
    """Treat the horizon as the end of the game, so that nothing is expected beyond it."""
    name: str = eqx.field(static=True, default="task")
    """What results are filed under."""
    splits: dict[str, Split] = eqx.field(default_factory=dict)
    """Other conditions under which a policy is evaluated."""

    def __check_init__(self) -> None:
        if self.horizon < 1:
            raise UserError(f"A task needs a horizon of at least 1 step; got {self.horizon}.")
        self.world.check(self.openness.slots)
        everyone = jnp.ones(self.slots, bool)
        agents, shared = jax.eval_shape(lambda k: self.world.features(self.world.start(k, everyone)), jax.random.key(0))
        for family in self.pool.families:
            family.check(Spec(agents.shape[-1], shared.shape[-1], self.world.actions))

    @property
    def slots(self) -> int:
        return self.openness.slots

    @property
    def most_agents(self) -> int:
        """The largest team of this task and its splits."""
        changed = (split.openness for split in self.splits.values() if split.openness is not None)
        return max(openness.slots for openness in (self.openness, *changed))

    @property
    def split_names(self) -> tuple[str, ...]:
        return ("train", *self.splits)

    def split(self, name: str) -> Task:
        """The same task under another open process or with other teammates; ``larger+unseen`` is under both."""
        if name == "train":
            return self
        openness, pool = self.openness, self.pool
        for part in name.split("+"):
            if part not in self.split_names:
                raise UserError(f"Task '{self.name}' has no split '{part}'. It has: {', '.join(self.split_names)}.")
            change = self.splits.get(part, Split())
            openness, pool = change.openness or openness, change.pool or pool
        return Task(
            world=self.world,
            openness=openness,
            pool=pool,
            view=self.view,
            horizon=self.horizon,
            time_limit_terminates=self.time_limit_terminates,
            name=self.name,
        )

    @property
    def spec(self) -> Spec:
        obs = jax.eval_shape(self.reset, jax.random.key(0))[1].obs
        features = obs.agents.shape[-1], obs.shared.shape[-1]
        return Spec(*features, self.world.actions, self.time_limit_terminates, self.most_agents)

    def reset(self, key: Key[Array, ""]) -> tuple[EnvState, TimeStep]:
        """A new episode."""
        k_open, k_world, k_types, k_view = jax.random.split(key, 4)
        openness, present = self.openness.start(k_open)
        world = self.world.start(k_world, present)
        everyone = jnp.ones(self.slots, bool)
        state = EnvState(
            world=world,
            openness=openness,
            types=self.pool.draw(k_types, self.slots),
            memory=self.pool.start(self.slots),
            fresh=everyone,
            clock=jnp.zeros((), jnp.int32),
        )
        obs = self.view(k_view, self.world, world, jnp.zeros((), jnp.int32))
        return state, TimeStep(
            obs=obs,
            reward=jnp.zeros(()),
            discount=jnp.ones(()),
            starts=jnp.ones((), bool),
            ends=jnp.zeros((), bool),
            joined=~everyone,
            final_obs=obs,
        )

    def step(self, key: Key[Array, ""], state: EnvState, action: Int[Array, ""]) -> tuple[EnvState, TimeStep, Truth]:
        """One step of everybody, with the learner's action given; a closed episode is followed by a new one."""
        k_advance, k_reset = jax.random.split(key)
        after, timestep, truth = self.advance(k_advance, state, action)
        restarted, opening = self.reset(k_reset)
        after, obs = jax.tree.map(
            lambda new, old: jnp.where(timestep.ends, new, old), (restarted, opening.obs), (after, timestep.final_obs)
        )
        return after, eqx.tree_at(lambda t: (t.obs, t.starts), timestep, (obs, timestep.ends)), truth

    def advance(self, key: Key[Array, ""], state: EnvState, action: Int[Array, ""]) -> tuple[EnvState, TimeStep, Truth]:
        """One step that stays in its episode, also where that ends."""
        k_team, k_world, k_open, k_admit, k_types, k_view = jax.random.split(key, 6)
        actions, memory = self.teammates_act(k_team, state)
        actions = actions.at[0].set(action)
        world, rewards, terminal = self.world.step(k_world, state.world, actions)
        truth = self.truth(state, actions, rewards)

        openness, leaving, joining = self.openness.step(k_open, state.openness, world)
        world = self.world.admit(k_admit, self.world.dismiss(world, leaving), joining)
        types = self.pool.renew(k_types, state.types, joining)
        clock = state.clock + 1

        timeout = clock >= self.horizon
        over = terminal | timeout if self.time_limit_terminates else terminal
        obs = self.view(k_view, self.world, world, jnp.zeros((), jnp.int32))
        timestep = TimeStep(
            obs=obs,
            reward=rewards[0],
            discount=1.0 - over.astype(jnp.float32),
            starts=jnp.zeros((), bool),
            ends=terminal | timeout,
            joined=joining,
            final_obs=obs,
        )
        return EnvState(world, openness, types, memory, joining, clock), timestep, truth

    def teammates_act(self, key: Key[Array, ""], state: EnvState) -> tuple[Int[Array, "slots"], PyTree[Any]]:
        """What every slot's type would do now, seeing everything; entry 0 is unused."""
        k_act, k_view = jax.random.split(key)
        look = jax.vmap(lambda viewer: FullView()(k_view, self.world, state.world, viewer))
        slots = jnp.arange(self.slots)
        # A newcomer is new to all and all are new to it.
        fresh = state.fresh[None, :] | state.fresh[:, None]
        fresh = jax.vmap(viewer_first)(fresh, slots)
        return self.pool.act(k_act, state.types, state.memory, look(slots), fresh)

    def truth(self, state: EnvState, actions: Int[Array, "slots"], rewards: Array) -> Truth:
        """What happened in this step, for losses and metrics."""
        agents, shared = self.world.features(state.world)
        return Truth(actions, state.world.present, state.types, rewards, agents, shared)
