"""A task: world, openness, pool, view and horizon, stepped as one environment."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.compile_cache import check_precision, traced_once
from openteam.core.checked import AbstractChecked
from openteam.core.openness import AbstractOpenness
from openteam.core.parts import Parts
from openteam.core.splits import split_parts
from openteam.core.types import NO_ACTION, Observation, Spec, TimeStep, Truth, View
from openteam.core.view import AbstractView, meet, teammates_views
from openteam.core.world import AbstractWorld
from openteam.errors import UserError
from openteam.teammates.pool import Pool
from openteam.views.full import FullView


@traced_once
def first_features(
    world: AbstractWorld[Any], key: Key[Array, ""], present: Bool[Array, "slots"]
) -> tuple[Float[Array, "slots features"], Float[Array, "shared"]]:
    """What a new episode shows to those who see everything."""
    return world.features(world.start(key, present))


@traced_once
def first_observation(task: Task, key: Key[Array, ""]) -> Observation:
    """What a new episode shows to the learner."""
    return task.reset(key)[1].view.obs


class EnvState(eqx.Module):
    """Everything about one environment between two steps."""

    world: Any
    openness: PyTree[Any]
    type_ids: Int[Array, "slots"]
    memory: PyTree[Any]  # the teammates'
    previous_actions: Int[Array, "slots"]  # NO_ACTION of those who have not acted yet
    arrived: Bool[Array, "slots"]  # the occupant is new to everybody
    visits: Int[Array, "slots"]  # a number per occupant: another one when the slot changes hands
    last_seen: Int[Array, "*viewers slots"]  # the visit that the learner last saw in each slot; 0 for none
    clock: Int[Array, ""]


class Split(AbstractChecked):
    """What a split changes of its task; None keeps what training has."""

    openness: AbstractOpenness | None = None
    pool: Pool | None = None


class Task(AbstractChecked):
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
        check_precision()
        if self.horizon < 1:
            raise UserError(f"A task needs a horizon of at least 1 step; got {self.horizon}.")
        conditions = [(s.openness or self.openness, s.pool or self.pool) for s in (Split(), *self.splits.values())]
        for openness, _ in conditions:
            self.world.check(openness.slots)
        everyone = jnp.ones(self.slots, bool)
        agents, shared = eqx.filter_eval_shape(first_features, self.world, jax.random.key(0), everyone)
        spec = Spec(agents.shape[-1], shared.shape[-1], self.world.actions)
        for openness, pool in conditions:
            for family in pool.families:
                family.check(spec)
            Parts(self.world, openness, pool, self.view, self.horizon).check()

    @property
    def slots(self) -> int:
        return self.openness.slots

    @property
    def max_agents(self) -> int:
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
        for change in split_parts(self.name, self.splits, name):
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
        obs = eqx.filter_eval_shape(first_observation, self, jax.random.key(0))
        features = obs.agents.shape[-1], obs.shared.shape[-1]
        return Spec(*features, self.world.actions, self.time_limit_terminates, self.max_agents)

    def reset(self, key: Key[Array, ""]) -> tuple[EnvState, TimeStep]:
        """A new episode."""
        k_open, k_world, k_types, k_view = jax.random.split(key, 4)
        openness, present = self.openness.start(k_open)
        world = self.world.start(k_world, present)
        obs = self.observe(k_view, world)
        visits = jnp.ones(self.slots, jnp.int32)
        new, last_seen = meet(visits, jnp.zeros_like(visits), obs.visible)
        state = EnvState(
            world=world,
            openness=openness,
            type_ids=self.pool.draw(k_types, self.slots),
            memory=self.pool.start(self.slots),
            previous_actions=jnp.full(self.slots, NO_ACTION, jnp.int32),
            arrived=jnp.ones(self.slots, bool),
            visits=visits,
            last_seen=last_seen,
            clock=jnp.zeros((), jnp.int32),
        )
        view = View(obs, jnp.ones((), bool), new, state.previous_actions[0])
        return state, TimeStep(view, jnp.zeros(()), jnp.ones(()), jnp.zeros((), bool), view)

    def step(self, key: Key[Array, ""], state: EnvState, action: Int[Array, ""]) -> tuple[EnvState, TimeStep, Truth]:
        """One step of everybody, with the learner's action given; a closed episode is followed by a new one."""
        k_step, k_reset = jax.random.split(key)
        after, timestep, truth = self.step_within(k_step, state, action)
        return *self.restart(k_reset, after, timestep), truth

    def restart(self, key: Key[Array, ""], state: EnvState, timestep: TimeStep) -> tuple[EnvState, TimeStep]:
        """The same after a step that did not end its episode; else a new one, the true successor kept."""
        restarted, opening = self.reset(key)
        after, view = jax.tree.map(
            lambda new, old: jnp.where(timestep.ends, new, old), (restarted, opening.view), (state, timestep.view)
        )
        return after, eqx.tree_at(lambda t: t.view, timestep, view)

    def step_within(
        self, key: Key[Array, ""], state: EnvState, action: Int[Array, ""]
    ) -> tuple[EnvState, TimeStep, Truth]:
        """One step of everybody that stays in its episode, also where that ends."""
        k_team, *keys = jax.random.split(key, 6)
        actions, state = self.teammates_act(k_team, state)
        return self._transition(keys, state, actions.at[0].set(action))

    def teammates_act(self, key: Key[Array, ""], state: EnvState) -> tuple[Int[Array, "slots"], EnvState]:
        """What every slot's type does now, seeing everything, and the state with their memories; entry 0 is unused."""
        k_act, k_view = jax.random.split(key)
        slots = jnp.arange(self.slots)
        obs = jax.vmap(lambda viewer: FullView()(k_view, self.world, state.world, viewer))(slots)
        views = teammates_views(obs, state.arrived, state.previous_actions)
        actions, memory = self.pool.act(k_act, state.type_ids, state.memory, views)
        return actions, eqx.tree_at(lambda s: s.memory, state, memory)

    def transition(
        self, key: Key[Array, ""], state: EnvState, joint_action: Int[Array, "slots"]
    ) -> tuple[EnvState, TimeStep, Truth]:
        """Where everybody's actions lead, within the episode. They may come from the pool, a person or a program."""
        return self._transition(jax.random.split(key, 5), state, joint_action)

    def _transition(self, keys: Any, state: EnvState, actions: Int[Array, "slots"]) -> tuple[EnvState, TimeStep, Truth]:
        *keys, k_view = keys
        after, _, rewards, over, ends = self.advance_world(keys, state, actions)
        obs = self.observe(k_view, after.world)
        new, last_seen = meet(after.visits, state.last_seen, obs.visible)
        view = View(obs, jnp.zeros((), bool), new, after.previous_actions[0])
        timestep = TimeStep(view, rewards[0], 1.0 - over.astype(jnp.float32), ends, view)
        after = eqx.tree_at(lambda s: s.last_seen, after, last_seen)
        return after, timestep, self.truth(state, actions, rewards)

    def advance_world(
        self, keys: Any, state: EnvState, actions: Int[Array, "slots"]
    ) -> tuple[EnvState, Any, Float[Array, "slots"], Bool[Array, ""], Bool[Array, ""]]:
        """World and open process one step on, rewards, whether the game is over, and whether the episode ends.

        The second value is the world before anybody left or joined, as those who leave last see it.
        """
        k_world, k_open, k_admit, k_types = keys
        moved, rewards, terminal = self.world.step(k_world, state.world, actions)
        rewards = rewards.astype(jnp.float32)  # a weakly typed one would have everything compiled twice
        openness, leaving, joining = self.openness.step(k_open, state.openness, moved)
        world = self.world.admit(k_admit, self.world.dismiss(moved, leaving), joining)
        clock = state.clock + 1
        timeout = clock >= self.horizon
        after = EnvState(
            world=world,
            openness=openness,
            type_ids=self.pool.renew(k_types, state.type_ids, joining),
            memory=state.memory,
            previous_actions=jnp.where(joining, NO_ACTION, actions),
            arrived=joining,
            visits=state.visits + joining,
            last_seen=state.last_seen,
            clock=clock,
        )
        over = terminal | timeout if self.time_limit_terminates else terminal
        return after, moved, rewards, over, terminal | timeout

    def observe(self, key: Key[Array, ""], world: Any) -> Observation:
        """What the learner, slot 0, sees."""
        return self.view(key, self.world, world, jnp.zeros((), jnp.int32))

    def truth(self, state: EnvState, actions: Int[Array, "slots"], rewards: Array) -> Truth:
        """What happened in this step, for losses and metrics."""
        agents, shared = self.world.features(state.world)
        return Truth(actions, state.world.present, state.type_ids, rewards, agents, shared)
