"""What one agent observes and does as Gymnasium's spaces, and observations as elements of them."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary
from gymnasium.spaces.utils import flatten_space
from jaxtyping import Bool, Float

from openteam.core.layout import Documented, Entry, Layout
from openteam.core.types import Observation
from openteam.errors import UserError
from openteam.task import Task

TOLERANCE = 1e-4  # computed features, such as places in FortAttack, may be beyond their bounds by rounding


class AgentSpaces:
    """The spaces of an agent in a team of ``slots``, in observations with room for ``max_agents``.

    That is by default the largest team of the task and all its splits, so that their spaces are equal. Rows beyond
    those of the task look like absent agents. ``flat`` makes one vector of an observation, as Gymnasium's
    ``flatten`` does.
    """

    def __init__(self, task: Task, slots: int, max_agents: int | None, flat: bool):
        self.max_agents = max(task.max_agents, slots) if max_agents is None else max_agents
        if self.max_agents < slots:
            raise UserError(
                f"Teams here have up to {slots} agents; got max_agents {self.max_agents}. Give at least {slots}, or "
                "nothing for the largest team of all splits."
            )
        layout = layout_of(task, self.max_agents)
        self.absent_agent, self.absent_shared = column(layout.agents, "absent"), column(layout.shared, "absent")
        self.parts = Dict(
            {
                "action_mask": MultiBinary(task.world.actions),
                "agents": box(layout.agents, (self.max_agents, 1)),
                "shared": box(layout.shared, (1,)),
                "visible": MultiBinary(self.max_agents),
            }
        )
        self.nothing = nothing(self.absent_agent, self.absent_shared, self.max_agents, task.world.actions)
        self.flat = flat
        self.observation = flatten_space(self.parts) if flat else self.parts
        self.action = Discrete(task.world.actions)

    def encode(self, obs: Observation) -> Any:
        """Observations with any leading axes as new arrays."""
        batch, unseen = obs.visible.shape[:-1], self.max_agents - obs.visible.shape[-1]
        nobody = np.broadcast_to(self.absent_agent, (*batch, unseen, len(self.absent_agent)))
        parts = {
            "action_mask": np.array(obs.legal, np.int8),
            "agents": np.concatenate([obs.agents, nobody], -2),
            "shared": np.array(obs.shared),
            "visible": self.pad(np.asarray(obs.visible)).astype(np.int8),
        }
        if not self.flat:
            return parts
        parts["agents"] = parts["agents"].reshape(*batch, -1)
        return np.concatenate([part.astype(np.float32) for part in parts.values()], -1)

    def pad(self, mask: Bool[np.ndarray, "*batch slots"]) -> Bool[np.ndarray, "*batch max_agents"]:
        """A mask of slots for all rows, as a new array."""
        return np.concatenate([mask, np.zeros((*mask.shape[:-1], self.max_agents - mask.shape[-1]), bool)], -1)


def nothing(agent: np.ndarray, shared: np.ndarray, max_agents: int, actions: int) -> Observation:
    """What somebody observes who is not there: nobody, nothing, and one action, which will be ignored."""
    return jax.device_get(
        Observation(
            agents=jnp.asarray(np.tile(agent, (max_agents, 1))),
            shared=jnp.asarray(shared),
            visible=jnp.asarray(np.zeros(max_agents, bool)),
            legal=jnp.asarray(np.arange(actions) == 0),
        )
    )


def layout_of(task: Task, slots: int) -> Layout:
    """What the task's world declares; without bounds if it declares nothing."""
    if isinstance(task.world, Documented):
        return task.world.layout(slots)
    anything = Entry("", -math.inf, math.inf, 0)
    spec = task.spec
    return Layout((anything,) * spec.agent_features, (anything,) * spec.shared_features, (), "")


def box(entries: tuple[Entry, ...], repeats: tuple[int, ...]) -> Box:
    """All values that entries can have, also those of somebody absent."""
    low = np.minimum(column(entries, "low"), column(entries, "absent"))
    high = np.maximum(column(entries, "high"), column(entries, "absent"))
    slack = np.array([0 if whole(entry) else TOLERANCE for entry in entries], np.float32)
    return Box(np.tile(low - slack, repeats), np.tile(high + slack, repeats), dtype=np.float32)


def whole(entry: Entry) -> bool:
    """Whether its bounds are whole numbers, as those of whatever is counted."""
    return all(float(bound).is_integer() for bound in (entry.low, entry.high))


def column(entries: tuple[Entry, ...], part: str) -> Float[np.ndarray, "entries"]:
    """One property of all entries."""
    return np.array([getattr(entry, part) for entry in entries], np.float32)
