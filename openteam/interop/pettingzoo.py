"""A task as a PettingZoo environment in which everybody in the team is an agent, the learner's slot included.

In an open team one leaves and another takes the place, and PettingZoo allows no id to come back. So there are two
modes: ``visits`` has an id per visit and cannot list them in advance, ``slots`` has an id per place, whoever is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from openteam.core.types import Observation
from openteam.errors import UserError
from openteam.interop.agent_ids import AgentIds, Row, SlotIds, VisitIds
from openteam.interop.chosen_task import choose_task
from openteam.interop.gymnasium_env import check_actions, info_of
from openteam.interop.rendering import check_render_mode, draw, metadata_of
from openteam.interop.spaces import AgentSpaces
from openteam.interop.team_playing import TeamEpisodes, Turn
from openteam.task import Task

try:
    from pettingzoo import ParallelEnv
except ImportError:
    raise UserError("openteam.interop.pettingzoo needs PettingZoo: pip install 'openteam[pettingzoo]'.") from None

Observations = dict[str, Any]
Infos = dict[str, dict[str, Any]]


def parallel_env(
    task: Task | str,
    mode: str = "visits",
    *,
    split: str = "train",
    flat: bool = False,
    max_agents: int | None = None,
    render_mode: str | None = None,
) -> TeamEnv:
    """The environment of a task, which is a name or a value.

    ``visits``: an agent is somebody from arrival to departure. Whoever leaves is truncated, whoever comes has a new id
    and appears in all dictionaries, and there are no ``possible_agents``.

    ``slots``: an agent is a place in the team and is always there. Masks say whether somebody is in it and which
    actions count. This is for libraries that demand a fixed list.
    """
    if mode not in ("visits", "slots"):
        raise UserError(f"mode must be 'visits' or 'slots'; got {mode!r}.")
    whole, chosen = choose_task(task, split)
    check_render_mode(chosen, render_mode)
    ids = VisitIds() if mode == "visits" else SlotIds(chosen.slots)
    return TeamEnv(chosen, AgentSpaces(whole, chosen.slots, max_agents, flat), ids, render_mode)


class TeamEnv(ParallelEnv[str, Any, Any]):
    """Everybody's view, reward and end. What differs between the modes is in ``ids``."""

    def __init__(self, task: Task, spaces: AgentSpaces, ids: AgentIds, render_mode: str | None):
        self.task, self.spaces, self.ids = task, spaces, ids
        self.metadata = metadata_of(task) | {"name": f"openteam_{task.name}", "is_parallelizable": True}
        self.render_mode = render_mode
        self.agents: list[str] = []
        if ids.possible is not None:
            self.possible_agents = list(ids.possible)
        self._episodes = TeamEpisodes(task)
        self._slots: dict[str, int] = {}  # of whoever may act
        self._present = np.zeros(task.slots, bool)

    def observation_space(self, agent: str) -> Any:
        """The same for everybody."""
        del agent
        return self.spaces.observation

    def action_space(self, agent: str) -> Any:
        """The same for everybody; one object, so that what newcomers sample follows from its seed, too."""
        del agent
        return self.spaces.action

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, Infos]:
        """A seed begins a sequence of episodes; without one the next of them begins. There are no options."""
        del options
        turn = self._episodes.reset(seed)
        rows = self.ids.begin(turn)
        self._keep(rows, turn)
        return self._observe(rows, turn)

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Everybody present acts at once; actions of empty slots may be left out and have no effect."""
        turn = self._episodes.step(self._joint(actions))
        rows = self.ids.proceed(turn)
        self._keep(rows, turn)
        over, cut = bool(turn.over), bool(turn.ends) and not turn.over
        obs, infos = self._observe(rows, turn)
        rewards = {row.agent: 0.0 if row.joined else float(turn.rewards[row.slot]) for row in rows}
        terminations = {row.agent: over for row in rows}
        return obs, rewards, terminations, {row.agent: cut or (row.left and not over) for row in rows}, infos

    def render(self) -> Any:
        world = self._episodes.world
        return None if world is None else draw(self.task, self.render_mode, world, fog=False)

    def _keep(self, rows: list[Row], turn: Turn) -> None:
        """Remember who may act next."""
        self._slots = {} if turn.ends else {row.agent: row.slot for row in rows if not row.left}
        self.agents, self._present = list(self._slots), turn.present

    def _observe(self, rows: list[Row], turn: Turn) -> tuple[Observations, Infos]:
        seen = {row.agent: self._seen(row, turn) for row in rows}
        infos = {}
        for row in rows:
            present = bool(turn.present[row.slot]) and not row.left
            new = turn.view.new[row.slot] & present
            infos[row.agent] = info_of(self.spaces, new, seen[row.agent].legal) | {
                "starts": bool(turn.view.starts[row.slot]) and present,
                "present": present,
            }
        return {agent: self.spaces.encode(obs) for agent, obs in seen.items()}, infos

    def _seen(self, row: Row, turn: Turn) -> Observation:
        """What an agent sees, or saw last before it left, or nothing where nobody is."""
        if row.left:
            return jax.tree.map(lambda leaf: leaf[row.slot], turn.last_obs)
        if turn.present[row.slot]:
            return jax.tree.map(lambda leaf: leaf[row.slot], turn.view.obs)
        return self.spaces.nothing

    def _joint(self, actions: Mapping[str, Any]) -> np.ndarray:
        """Everybody's actions by slot."""
        if not self.agents:
            raise UserError("No episode is going on: call reset() before the first step and after the last.")
        unknown = [str(agent) for agent in actions if agent not in self._slots]
        missing = [agent for agent, slot in self._slots.items() if self._present[slot] and agent not in actions]
        if unknown or missing:
            raise UserError(
                f"Everybody in `agents` acts and nobody else; got no action of {missing or 'nobody'} and actions of "
                f"{unknown or 'nobody'} who are not there."
            )
        joint = np.zeros(self.task.slots, np.int32)
        for agent, action in actions.items():
            check_actions(action, self.task.world.actions)
            joint[self._slots[agent]] = action
        return joint
