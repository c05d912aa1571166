"""Many environments of a task as one of Gymnasium's vector environments, stepped by one compiled program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from openteam.core.types import View
from openteam.errors import UserError, check_whole
from openteam.interop.chosen_task import choose_task
from openteam.interop.gymnasium_env import check_actions, info_of
from openteam.interop.playing import Playing, begin_many, proceed_many, root_of
from openteam.interop.rendering import check_render_mode, draw, metadata_of
from openteam.interop.spaces import AgentSpaces
from openteam.task import Task

MOST_ENVS = 2**20


class LearnerVectorEnv(VectorEnv[Any, Any, Any]):
    """``num_envs`` times ``LearnerEnv``: environment i plays as one alone would that was reset with seed + i.

    An episode that ends is followed by the next in the same step; what was observed last is in ``final_obs``.
    """

    def __init__(
        self,
        task: Task | str,
        split: str = "train",
        *,
        num_envs: int = 1,
        flat: bool = False,
        max_agents: int | None = None,
        render_mode: str | None = None,
    ):
        check_whole("num_envs", num_envs, 1, MOST_ENVS)
        whole, self.task = choose_task(task, split)
        check_render_mode(self.task, render_mode)
        self.spaces = AgentSpaces(whole, self.task.slots, max_agents, flat)
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = self.spaces.observation, self.spaces.action
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = metadata_of(self.task) | {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = render_mode
        self._playing: Playing | None = None
        self._legal = np.ones((num_envs, self.task.world.actions), bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """One seed for the first environment, the next for the second and so on, or a list with one for each."""
        if options and "reset_mask" in options:
            raise UserError("Environments that end go on by themselves, so a 'reset_mask' is not known. Leave it out.")
        if self._playing is None or seed is not None:
            roots, episodes = self._roots(seed), jnp.zeros(self.num_envs, jnp.int32)
        else:
            roots, episodes = self._playing.root, self._playing.episode + 1
        self._playing, timestep = begin_many(self.task, roots, episodes)
        return self._observe(jax.device_get(timestep.view))

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        if self._playing is None:
            raise UserError("No episode is going on: call reset() before the first step.")
        check_actions(actions, self.task.world.actions)
        if np.shape(actions) != (self.num_envs,):
            raise UserError(f"There are {self.num_envs} environments: give as many actions; got {actions!r}.")
        self._playing, timestep = proceed_many(self.task, self._playing, jnp.asarray(actions, jnp.int32))
        timestep = jax.device_get(timestep)
        obs, info = self._observe(timestep.view)
        terminated = timestep.discount == 0
        if timestep.ends.any():
            info |= self._final(timestep.final_view, timestep.ends)
        return obs, timestep.reward.astype(float), terminated, timestep.ends & ~terminated, info

    def action_masks(self) -> np.ndarray:
        """Which actions have an effect now, one row per environment."""
        return self._legal.copy()

    def render(self) -> tuple[Any, ...] | None:
        if self._playing is None or self.render_mode is None:
            return None
        worlds = jax.device_get(self._playing.env.world)
        each = (jax.tree.map(lambda leaf, n=n: leaf[n], worlds) for n in range(self.num_envs))
        return tuple(draw(self.task, self.render_mode, world, fog=True) for world in each)

    def _roots(self, seed: int | Sequence[int | None] | None) -> jax.Array:
        count = range(self.num_envs)
        if seed is None:
            seeds = [None for _ in count]
        else:
            seeds = [seed + n for n in count] if isinstance(seed, int) else list(seed)
        if len(seeds) != self.num_envs:
            raise UserError(f"There are {self.num_envs} environments: give as many seeds; got {len(seeds)}.")
        return jnp.stack([root_of(np_random(one)[0]) for one in seeds])

    def _observe(self, view: View) -> tuple[Any, dict[str, Any]]:
        self._legal = np.array(view.obs.legal)
        return self.spaces.encode(view.obs), masked(
            info_of(self.spaces, view.new, view.obs.legal), np.ones(self.num_envs, bool)
        )

    def _final(self, view: View, ends: np.ndarray) -> dict[str, Any]:
        """The last observations and infos of episodes that ended, as Gymnasium hands them over: one object each."""
        final = np.full(self.num_envs, None, object)
        for number in np.flatnonzero(ends):
            final[number] = self.spaces.encode(jax.tree.map(lambda leaf, n=number: leaf[n], view.obs))
        info = {name: entry * ends[:, None] for name, entry in info_of(self.spaces, view.new, view.obs.legal).items()}
        return masked({"final_obs": final, "final_info": masked(info, ends)}, ends)


def masked(info: dict[str, Any], there: np.ndarray) -> dict[str, Any]:
    """Every entry with a mask of the environments that have it, as Gymnasium's vector environments do."""
    return {key: value for name, entry in info.items() for key, value in ((name, entry), (f"_{name}", there.copy()))}
