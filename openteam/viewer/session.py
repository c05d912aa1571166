"""One page's episodes, and the answers to what it asks. Pages share compiled programs and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax

from openteam.errors import LAST_SEED, UserError
from openteam.viewer.episode import Episode
from openteam.viewer.export import as_html, recording_of
from openteam.viewer.messages import Message, changes_of, whole
from openteam.viewer.moments import episode_keys, look
from openteam.viewer.scoring import summary
from openteam.viewer.stage import Player, Stage
from openteam.viewer.what_if import read_changes

KEPT = 24  # episodes of a page; older ones are forgotten
MOST_FRAMES = 64  # of one answer
Answers = Iterator[dict[str, Any]]


class Session:
    """What one page has played."""

    def __init__(self, stage: Stage):
        self.stage = stage
        self.episodes: dict[int, Episode] = {}
        self.played: list[Episode] = []
        self.count = 0

    def answer(self, message: Message) -> Answers:
        """Everything that a message brings about, as it comes. Raises a ``UserError`` at one that makes no sense."""
        answers = {
            "new": self.new, "more": self.more, "act": self.act, "ask": self.ask, "branch": self.branch,
            "compare": self.compare, "score": self.score, "save": self.save,
        }  # fmt: skip
        what = message.get("do")
        if not isinstance(what, str) or what not in answers:
            raise UserError(f"A message says what to 'do': one of {', '.join(answers)}.")
        yield from answers[what](message)

    def new(self, message: Message) -> Answers:
        """A new episode, with a person in a seat or without."""
        seed = whole(message, "seed", 0, LAST_SEED)
        last = self.stage.task.slots - 1
        seat = None if message.get("seat") is None else whole(message, "seat", 0, last)
        yield self.opened(Episode.start(self.stage.task, self.stage.player, seed, seat))

    def opened(self, episode: Episode, origin: int | None = None) -> dict[str, Any]:
        """Keep an episode and tell about it; of one that goes on from another, what is new."""
        number = self.count
        self.episodes[number], self.count = episode, number + 1
        for old in list(self.episodes)[:-KEPT]:
            del self.episodes[old]
        about = {"id": number, "seed": episode.seed, "seat": episode.seat, "origin": origin}
        return {"opened": about, "frames": episode.frames[origin or 0 :], "first": origin or 0}

    def find(self, message: Message) -> Episode:
        """The episode that a message is about."""
        number = whole(message, "episode", 0, max(self.count - 1, 0))
        if number not in self.episodes:
            raise UserError(f"Episode {number} is not kept any more. Start another.")
        return self.episodes[number]

    def more(self, message: Message) -> Answers:
        """More frames, each as soon as it is there."""
        episode, count = self.find(message), whole(message, "count", 1, MOST_FRAMES)
        if episode.seat is not None:
            raise UserError("A person plays in this episode: it goes on with 'act'.")
        for frame in episode.play(count):
            yield {"frames": [frame], "first": len(episode.frames) - 1}

    def act(self, message: Message) -> Answers:
        """A step with a person's action in its seat; without one where nobody is in it."""
        episode = self.find(message)
        if episode.seat is None:
            raise UserError("Nobody plays in this episode: start one with a 'seat'.")
        action = whole(message, "action", 0, self.stage.task.world.actions - 1)
        present = episode.seat in episode.frames[-1]["present"]
        episode.step({episode.seat: action} if present else {})
        if episode.over:
            self.played.append(episode)
        yield {"frames": episode.frames[-2:], "first": len(episode.frames) - 2}

    def ask(self, message: Message) -> Answers:
        """What the learner would make of a moment if it were other."""
        episode, number = self.find(message), whole(message, "frame", 0, self.stage.task.horizon)
        asked = read_changes(self.stage.task, episode.at(number), changes_of(message))
        yield {"asked": episode.ask(number, asked)}

    def branch(self, message: Message) -> Answers:
        """Another episode that goes on from there."""
        episode, number = self.find(message), whole(message, "frame", 0, self.stage.task.horizon)
        asked = read_changes(self.stage.task, episode.at(number), changes_of(message))
        yield self.opened(episode.branch(number, asked), origin=number)

    def compare(self, message: Message) -> Answers:
        """The same seed played by both, each to its end, and what the other would have done in the first's place."""
        stage, seed = self.stage, whole(message, "seed", 0, LAST_SEED)
        if stage.rival is None:
            raise UserError("There is nobody to compare with. Start with: openteam watch RUN --against OTHER_RUN.")
        watching = watch_along(stage.rival)
        for side, player in enumerate((stage.player, stage.rival)):
            episode = Episode.start(stage.task, player, seed)
            yield {"side": side, "frames": episode.frames[:1], "first": 0}
            while not episode.over:
                told = {"other": watching(episode)} if side == 0 else {}
                episode.step()
                last = len(episode.frames) - 1
                yield {"side": side, "frames": episode.frames[-2:], "first": last - 1} | told

    def score(self, message: Message) -> Answers:
        """The person beside the learner and the types, over all finished episodes in the seat of the last."""
        del message
        if not self.played:
            raise UserError("No episode has been played to its end yet. Take a seat and play one.")
        seat = self.played[-1].seat
        yield {"score": summary([episode for episode in self.played if episode.seat == seat])}

    def save(self, message: Message) -> Answers:
        """An episode so far as a file that shows itself."""
        yield {"saved": as_html(recording_of(self.stage, [self.find(message)]))}


def watch_along(player: Player) -> Any:
    """What a policy would do at each moment of an episode that another one plays; it sees every moment once."""
    memory = None

    def decide(episode: Episode) -> int:
        nonlocal memory
        if memory is None:
            memory = player.policy.start(episode.task.slots)
        moment = eqx.tree_at(lambda m: m.memory, episode.moments[-1], memory)
        key, _ = episode_keys(episode.seed, int(moment.env.clock))
        seen = look(episode.task, player.policy, key, moment)
        memory = seen.decision.memory
        return int(jax.device_get(seen.decision.action))

    return decide
