"""A task as a Gymnasium environment for the learner; its teammates are those of the pool."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from openteam.core.types import View
from openteam.errors import UserError
from openteam.interop.chosen_task import choose_task
from openteam.interop.playing import Playing, begin_one, proceed_one, root_of
from openteam.interop.rendering import FRAMES_PER_SECOND, RENDER_MODES, check_render_mode, draw, metadata_of
from openteam.interop.spaces import AgentSpaces
from openteam.task import Task


class LearnerEnv(gymnasium.Env[Any, Any]):
    """One learner in an open team.

    ``task`` is a name or a value. ``flat`` makes one vector of an observation. ``max_agents`` is the number of rows in
    it, by default as many as the largest team of all splits has.
    """

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES, "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012

    def __init__(
        self,
        task: Task | str,
        split: str = "train",
        *,
        flat: bool = False,
        max_agents: int | None = None,
        render_mode: str | None = None,
    ):
        whole, self.task = choose_task(task, split)
        check_render_mode(self.task, render_mode)
        self.spaces = AgentSpaces(whole, self.task.slots, max_agents, flat)
        self.observation_space, self.action_space = self.spaces.observation, self.spaces.action
        self.metadata = metadata_of(self.task)
        self.render_mode = render_mode
        self._playing: Playing | None = None
        self._over = True
        self._legal = np.ones(self.task.world.actions, bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A seed begins a sequence of episodes; without one the next of them begins. There are no options."""
        super().reset(seed=seed, options=options)
        if self._playing is None or seed is not None:
            self._playing, timestep = begin_one(self.task, root_of(self.np_random), jnp.int32(0))
        else:
            self._playing, timestep = begin_one(self.task, self._playing.root, self._playing.episode + 1)
        self._over = False
        return self._observe(jax.device_get(timestep.view))

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._playing is None or self._over:
            raise UserError("No episode is going on: call reset() before the first step and after the last.")
        check_actions(action, self.task.world.actions)
        self._playing, timestep = proceed_one(self.task, self._playing, jnp.int32(action))
        timestep = jax.device_get(timestep)
        self._over, terminated = bool(timestep.ends), bool(timestep.discount == 0)
        obs, info = self._observe(timestep.final_view)
        return obs, float(timestep.reward), terminated, self._over and not terminated, info

    def action_masks(self) -> np.ndarray:
        """Which actions have an effect now, as sb3-contrib's MaskablePPO asks for them."""
        return self._legal.copy()

    def render(self) -> Any:
        return None if self._playing is None else draw(self.task, self.render_mode, self._playing.env.world, fog=True)

    def _observe(self, view: View) -> tuple[Any, dict[str, Any]]:
        self._legal = np.array(view.obs.legal)
        return self.spaces.encode(view.obs), info_of(self.spaces, view.new, view.obs.legal)


def info_of(spaces: AgentSpaces, new: Any, legal: Any) -> dict[str, Any]:
    """What an agent may know besides its observation: who is new, and, also if that is flat, the legal actions."""
    return {"new": spaces.pad(np.asarray(new)), "action_mask": np.array(legal, np.int8)}


def check_actions(actions: Any, count: int) -> None:
    """Raise unless they are whole numbers from 0 to below ``count``."""
    given = np.asarray(actions)
    if not np.issubdtype(given.dtype, np.integer) or ((given < 0) | (given >= count)).any():
        raise UserError(f"An action is a whole number from 0 to {count - 1}; got {actions!r}.")
