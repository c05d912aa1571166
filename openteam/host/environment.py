"""One environment in plain Python, seen as arrays: ids become slots, dictionaries become rows."""

from __future__ import annotations

import contextlib
import inspect
import time
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from openteam.errors import UserError
from openteam.host.calling import calling, find, find_optional
from openteam.host.interface import check_interface, check_reset, check_step
from openteam.host.seen import Outcome, Seen, Sizes
from openteam.host.settings import HostSettings
from openteam.host.slots import Id, Slots
from openteam.host.spaces import actions_of, flatten, mask_of, without_mask

NO_ACTION = -1  # as in core.types, which needs JAX


class Environment:
    """Steps the user's environment and tells what happened. A closed episode is followed by a new one.

    If the learner ends, by its death or otherwise, its episode ends and the environment is reset: what happens without
    it is nothing that it could learn from.
    """

    def __init__(self, settings: HostSettings, sizes: Sizes | None = None):
        self.settings = settings
        self.features, self.shared, self.present, self.sees, self.taken = map(
            find_optional, (settings.features, settings.shared, settings.present, settings.sees, settings.taken)
        )
        self.teammates = [find(name) for name in settings.teammates]
        self.seconds = 0.0
        with calling(f"Making the environment, {settings.env},"):
            self.env = find(settings.env)(**settings.arguments)
        check_interface(self.env, settings.env)
        self.sizes = sizes or self.measure()

    def measure(self) -> Sizes:
        """The sizes, found in a first episode."""
        self.sizes = Sizes(self.count_slots(), 0, 0, 0)
        self.begin(seed=0)
        actions = self.actions_of(self.learner)[0]
        most = max((self.actions_of(one)[0], str(one)) for one in self.env.agents)
        if most[0] > actions:
            raise UserError(
                f"The learner, {self.learner}, has {actions} actions and {most[1]} has {most[0]}. Nobody may have more "
                "than the learner: choose another learner, or wrap the environment so that all have equally many."
            )
        self.sizes = Sizes(self.sizes.slots, len(self.row(self.learner)), len(self.shared_row()), actions)
        return self.sizes

    def count_slots(self) -> int:
        """As many as declared, or as many as there can be agents."""
        if self.settings.cap is not None:
            return self.settings.cap
        possible = getattr(self.env, "possible_agents", None)
        if not possible:
            raise UserError(
                f"{self.settings.env} has no possible_agents, so it is unknown how many agents there can be at once. "
                "Say so: --task.cap 5, or cap=5 in Python."
            )
        return len(possible)

    @property
    def learner(self) -> Id:
        return self.settings.learner

    def start(self, seed: int) -> Seen:
        """A new episode."""
        self.begin(seed)
        return self.see(starts=True)

    def begin(self, seed: int) -> None:
        """Reset, and seat everybody."""
        with self.timing("reset"):
            told = self.env.reset(seed=seed)
        self.observations, self.infos = check_reset(told, self.settings.env)
        if self.learner not in self.env.agents:
            raise UserError(
                f"{self.settings.env} has no agent '{self.learner}' when an episode begins. It has: "
                f"{', '.join(map(str, self.env.agents))}. Choose the learner among them: --learner ID."
            )
        self.clock = 0
        self.counts: dict[Id, tuple[int, int]] = {}
        self.rng = np.random.default_rng(seed)
        self.slots = Slots(self.sizes.slots, self.learner)
        self.slots.seat(self.present_ids(), first=True)
        self.previous_actions = np.full(self.sizes.slots, NO_ACTION, np.int32)
        self.types = np.zeros(self.sizes.slots, np.int32)
        self.policies: list[Any] = [None] * self.sizes.slots
        self.recruit(self.slots.present)

    def step(self, joint_action: Int[np.ndarray, "slots"], next_seed: int) -> Outcome:
        """Everybody acts: the learner in slot 0, and whoever else has an action there; the rest as the task says."""
        self.seconds = 0.0
        before = self.slots.seated
        actions = self.actions(joint_action)
        with self.timing("step"):
            told = self.env.step(self.named(actions))
        self.observations, rewards, terminations, truncations, self.infos = check_step(told, self.settings.env)
        for slot, one in before if self.taken is not None else []:
            actions[slot] = actions[0] if slot == 0 else self.call("taken", self.settings.taken, self.taken, one)
        everybodys = self.rewards(before, rewards)
        self.clock += 1
        over, ends = self.closes(terminations, truncations)
        after = (
            self.last_view(actions) if over else self.proceed(actions, self.cut_off(terminations, truncations, ends))
        )
        now = self.start(next_seed) if ends else after
        return Outcome(
            np.float32(everybodys[0]), np.float32(not over), np.bool_(ends), actions, everybodys, after, now,
            np.float32(self.seconds),
        )  # fmt: skip

    def proceed(self, actions: Int[np.ndarray, "slots"], cut: list[Id]) -> Seen:
        """Where a step led, with those who were cut together with the episode."""
        here = self.present_ids()
        self.slots.seat(here + [one for one in cut if one not in here])
        self.previous_actions = np.where(self.slots.arrived, NO_ACTION, actions)
        self.recruit(self.slots.arrived)
        return self.see(starts=False)

    def last_view(self, actions: Int[np.ndarray, "slots"]) -> Seen:
        """After the game is over nothing is expected, and the user's functions may have nobody left to describe: what
        was seen last stands for it."""
        nobody = np.zeros(self.sizes.slots, bool)
        return self.seen._replace(new=nobody, arrived=nobody, starts=np.bool_(False), previous_actions=actions)

    def closes(self, terminations: Any, truncations: Any) -> tuple[bool, bool]:
        """Whether the game is over for the learner, and whether its episode ends."""
        terminated, truncated = bool(terminations.get(self.learner)), bool(truncations.get(self.learner))
        gone = self.learner not in self.env.agents or self.learner not in self.present_ids()
        over = terminated or (gone and not truncated)
        return over, over or truncated or self.clock >= self.settings.horizon

    def cut_off(self, terminations: Any, truncations: Any, ends: bool) -> list[Id]:
        """Teammates whose observation came with the end of the episode: they are part of where it led.

        Who left in the same step is truncated, too; an environment may say so with ``present`` in its info.
        """
        cut = [one for one in self.observations if ends and truncations.get(one) and not terminations.get(one)]
        return [one for one in cut if one != self.learner and self.infos.get(one, {}).get("present", True)]

    def present_ids(self) -> list[Id]:
        """Those who are there, in the environment's order."""
        ids = list(self.env.agents)
        if self.present is None:
            return ids
        return [one for one in ids if self.call("present", self.settings.present, self.present, one)]

    def recruit(self, joining: Bool[np.ndarray, "slots"]) -> None:
        """Newcomers draw one of the user's teammates; of a class, everyone gets an object."""
        for slot in np.flatnonzero(joining)[np.flatnonzero(joining) > 0] if self.teammates else ():
            self.types[slot] = number = int(self.rng.integers(len(self.teammates)))
            found = self.teammates[number]
            with calling(f"Making the teammate {self.settings.teammates[number]}"):
                self.policies[slot] = found() if inspect.isclass(found) else found

    def actions(self, joint_action: Int[np.ndarray, "slots"]) -> Int[np.ndarray, "slots"]:
        """What everybody does, by slot; NO_ACTION where nobody is, and for now where the environment decides."""
        actions = np.full(self.sizes.slots, NO_ACTION, np.int32)
        for slot, one in self.slots.seated:
            if slot == 0 or joint_action[slot] != NO_ACTION:
                actions[slot] = joint_action[slot]
            elif self.taken is None:
                actions[slot] = self.teammates_action(slot, one)
        return actions

    def teammates_action(self, slot: int, one: Id) -> int:
        """By the user's teammate in this slot, or any legal action."""
        if not self.teammates:
            return int(self.rng.choice(np.flatnonzero(self.legal(one))))
        name = self.settings.teammates[self.types[slot]]
        with self.timing(f"teammate {name} ({one})"):
            action = self.policies[slot](self.env, one, self.observations.get(one), self.rng)
            action = int(action) - self.actions_of(one)[1]
        if not 0 <= action < self.actions_of(one)[0]:
            raise UserError(
                f"The teammate {name} chose action {action} for {one}, which has {self.actions_of(one)[0]}."
            )
        return action

    def named(self, actions: Int[np.ndarray, "slots"]) -> dict[Id, int]:
        """The same by id, as the environment numbers its actions. Who is listed but not present does the first."""
        if self.taken is not None:
            return {self.learner: int(actions[0]) + self.actions_of(self.learner)[1]}
        chosen = {one: int(actions[slot]) for slot, one in self.slots.seated}
        idle = {one: int(np.flatnonzero(self.legal(one))[0]) for one in self.env.agents if one not in chosen}
        return {one: (chosen | idle)[one] + self.actions_of(one)[1] for one in self.env.agents}

    def rewards(self, before: list[tuple[int, Id]], rewards: Any) -> Float[np.ndarray, "slots"]:
        """Everybody's reward for the step, in the slots that they acted from."""
        everybodys = np.zeros(self.sizes.slots, np.float32)
        for slot, one in before:
            everybodys[slot] = rewards.get(one, 0.0)
        if not np.isfinite(everybodys).all():
            raise UserError(f"A reward of {self.settings.env} is not finite: {dict(rewards)}.")
        return everybodys

    def see(self, *, starts: bool) -> Seen:
        """The state as arrays."""
        sizes, slots = self.sizes, self.slots
        agents, legal = np.zeros((sizes.slots, sizes.features), np.float32), np.ones((sizes.slots, sizes.actions), bool)
        visible = slots.present
        for slot, one in slots.seated:
            agents[slot], legal[slot] = self.checked("features", self.row(one), sizes.features), self.legal(one)
            if slot and self.sees is not None:
                visible[slot] = bool(self.call("sees", self.settings.sees, self.sees, one))
        shared = self.checked("shared", self.shared_row(), sizes.shared)
        new = slots.meet(visible)
        self.seen = Seen(
            agents, shared, slots.present, visible, new, slots.arrived, legal, self.types.copy(), np.bool_(starts),
            self.previous_actions.astype(np.int32),
        )  # fmt: skip
        return self.seen

    def row(self, one: Id) -> Float[np.ndarray, "feat"]:
        """An agent's features, by the user's function or its own observation."""
        if self.features is not None:
            return self.call("features", self.settings.features, self.features, self.observations, one, numbers=True)
        if one not in self.observations:
            raise UserError(
                f"{one} is one of {self.settings.env}'s agents and has no observation. Return one, or name a function "
                "that gives everybody's features: --task.features MODULE:FUNCTION."
            )
        space = self.env.observation_space(one) if hasattr(self.env, "observation_space") else None
        return flatten(*without_mask(self.observations[one], space), one)

    def shared_row(self) -> Float[np.ndarray, "shared"]:
        """What concerns all agents; nothing unless the user names a function."""
        if self.shared is None:
            return np.zeros(0, np.float32)
        return self.call("shared", self.settings.shared, self.shared, self.observations, numbers=True)

    def checked(self, what: str, row: Float[np.ndarray, "n"], size: int) -> Float[np.ndarray, "n"]:
        """The same row, which must be as long as all others and finite."""
        if len(row) != size:
            hint = "" if what == "shared" or self.features is not None else (
                " Name a function that gives equally many for everybody: --task.features MODULE:FUNCTION, called with "
                "the environment, all observations and an id."
            )  # fmt: skip
            raise UserError(
                f"{self.settings.env}: {what} are {len(row)} numbers here and {size} of the learner in its first "
                f"episode.{hint}"
            )
        if not np.isfinite(row).all():
            raise UserError(f"{self.settings.env}: {what} have a number that is not finite: {row.tolist()}.")
        return row

    def legal(self, one: Id) -> Bool[np.ndarray, "actions"]:
        """The actions that the environment's mask allows; without one, all that the agent has."""
        count = self.actions_of(one)[0]
        mask = mask_of(self.observations.get(one), self.infos.get(one))
        legal = np.zeros(max(self.sizes.actions, count), bool)
        legal[:count] = True if mask is None else np.asarray(mask, bool)
        if not legal.any():
            legal[:count] = True  # of one who is out of the game: whatever it does has no effect
        return legal

    def actions_of(self, one: Id) -> tuple[int, int]:
        """How many actions an agent has and the number of the first: the same for all of its episode."""
        if one not in self.counts:
            self.counts[one] = actions_of(self.env.action_space(one), one)
        return self.counts[one]

    def call(self, what: str, name: str | None, function: Any, *arguments: Any, numbers: bool = False) -> Any:
        """One of the user's functions, with the environment first."""
        with self.timing(f"{what}, {name},"):
            value = function(self.env, *arguments)
            return np.asarray(value, np.float32).ravel() if numbers else value

    @contextlib.contextmanager
    def timing(self, what: str) -> Any:
        """Measure the user's code, and say where it fails."""
        began = time.perf_counter()
        with calling(f"{self.settings.env}: {what}"):
            yield
        self.seconds += time.perf_counter() - began

    def close(self) -> None:
        """Give back whatever the environment holds."""
        with contextlib.suppress(Exception, SystemExit):  # some end the program with themselves
            getattr(self.env, "close", lambda: None)()
