"""An episode as it is played for a page: every moment is kept, so that any can be asked about and gone on from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from openteam.errors import UserError
from openteam.task import Task
from openteam.viewer.frames import Frame, frame_of, tidy
from openteam.viewer.moments import Look, Moment, advance, begin, change, episode_keys, look, values_without
from openteam.viewer.shares import explains_pairs, values_if
from openteam.viewer.stage import Player
from openteam.viewer.what_if import WhatIf


@dataclass
class Episode:
    """Moments of an episode so far, what the learner made of each, and frames of all."""

    task: Task
    player: Player
    seed: int
    seat: int | None = None
    """The slot that a person acts for."""
    moments: list[Moment] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    returns: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Everybody's reward so far, by slot."""
    over: bool = False

    @classmethod
    def start(cls, task: Task, player: Player, seed: int, seat: int | None = None) -> Episode:
        """A new one, with its first frame."""
        episode = cls(task, player, seed, seat)
        episode.open(begin(task, player.policy, episode_keys(seed, -1)[0]), np.zeros(task.slots))
        return episode

    def open(self, moment: Moment, returns: np.ndarray) -> None:
        """Begin with a moment, whatever came before it."""
        self.returns = returns
        self.add(moment, np.zeros(len(returns)))

    def add(self, moment: Moment, rewards: np.ndarray) -> None:
        """The next moment, and unless it is the last what the learner makes of it."""
        seen = None
        if not self.over:
            seen = self.look(moment)
            self.looks.append(seen)
        moment = jax.device_get(moment)
        self.moments.append(moment)
        self.returns = self.returns + rewards
        frame = frame_of(self.task.world, moment, seen)
        self.frames.append(frame | {"reward": tidy(rewards), "returns": tidy(self.returns), "over": self.over})

    def look(self, moment: Moment) -> Look:
        """What the learner makes of a moment."""
        key, _ = episode_keys(self.seed, int(moment.env.clock))
        return jax.device_get(look(self.task, self.player.policy, key, moment))

    def step(self, actions: Mapping[int, int] | None = None) -> Frame:
        """Everybody acts, some as they are told; the frame of where that leads."""
        if self.over:
            raise UserError("This episode is over. Start another.")
        seen, moment = self.looks[-1], self.moments[-1]
        joint = np.array(seen.actions)
        for slot, action in (actions or {}).items():
            joint[slot] = action
        self.frames[-1]["actions"] = joint.tolist()
        _, key = episode_keys(self.seed, int(moment.env.clock))
        after, rewards, ends = advance(self.task, key, moment.seen_before, seen, jnp.asarray(joint))
        self.over = bool(ends)
        self.add(after, np.asarray(rewards, float))
        return self.frames[-1]

    def play(self, count: int) -> Iterator[Frame]:
        """Up to ``count`` more frames, until it is over."""
        for _ in range(count):
            if self.over:
                return
            yield self.step()

    def at(self, number: int) -> Moment:
        """A moment that can be asked about."""
        if not 0 <= number < len(self.looks):
            raise UserError(
                f"Frame {number} has no decision to ask about; this episode has 0 to {len(self.looks) - 1}."
            )
        return self.moments[number]

    def changed(self, number: int, asked: WhatIf) -> Moment:
        """A moment as it would be with changes."""
        moment = self.at(number)
        if not asked.changes_world:
            return moment
        _, key = episode_keys(self.seed, int(moment.env.clock))
        return jax.device_get(change(self.task, key, moment, asked.edit))

    def ask(self, number: int, asked: WhatIf) -> Frame:
        """The frame of a moment with changes, the learner's values with them."""
        moment = self.changed(number, asked)
        seen = self.look(moment)
        before = self.frames[number]
        frame = frame_of(self.task.world, moment, seen)
        frame |= {name: before[name] for name in ("reward", "returns", "over")}
        for slot, action in asked.actions.items():
            frame["actions"][slot] = action
        why = seen.decision.explanation
        if asked.actions and explains_pairs(why):
            values = values_if(why, np.asarray(seen.visible), asked.actions)
            frame["why"] |= {"values": tidy(values), "best": int(values.argmax())}
        return frame

    def branch(self, number: int, asked: WhatIf) -> Episode:
        """Another episode: the same up to a moment, then changed. What some do next is done in its first step there."""
        moment, told = self.changed(number, asked), self.frames[number]
        earlier = self.moments[:number], self.looks[:number], self.frames[:number]
        other = Episode(self.task, self.player, self.seed, self.seat, *earlier)
        other.open(moment, np.array(told["returns"], float))
        other.frames[-1]["reward"] = told["reward"]
        if asked.actions:
            other.step(asked.actions)
        return other

    def without_each(self, number: int) -> dict[int, Any]:
        """The learner's values of its actions if one of those present were not there, by slot."""
        moment = self.at(number)
        keys = episode_keys(self.seed, int(moment.env.clock))
        values = values_without(self.task, self.player.policy, keys, moment)
        if values is None:
            return {}
        return {slot: tidy(values[slot]) for slot in self.frames[number]["present"] if slot > 0}
