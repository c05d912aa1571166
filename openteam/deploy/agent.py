"""A trained policy as an agent that is asked by ids, in a loop that is somebody else's."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from openteam.compile_cache import check_precision
from openteam.core.fitting import check_acts
from openteam.core.memory import resize
from openteam.core.policy import AbstractPolicy
from openteam.core.types import NO_ACTION
from openteam.deploy.explain import by_id
from openteam.deploy.given import Team, read_action, read_legal, read_numbers, read_team
from openteam.deploy.interface import Interface, interface_of
from openteam.deploy.opening import open_run
from openteam.deploy.roster import Roster, Seen
from openteam.deploy.step import Arrays, Draws, Inputs, Step, draws_of
from openteam.deploy.targets import MOST_AGENTS
from openteam.errors import UserError, check_seed, check_whole
from openteam.host.task import HostTask
from openteam.task import Task


@dataclass(frozen=True)
class State:
    """Everything about an agent that a decision changes. It is replaced whole, or not at all."""

    roster: Roster
    memory: Arrays
    draws: Draws
    previous_action: int = NO_ACTION
    starts: bool = True


@dataclass(frozen=True)
class Last:
    """A decision that can be explained: what it was made from, and whose slots were whose."""

    before: Arrays
    draws: Draws
    inputs: Inputs
    roster: Roster
    action: int


class Agent:
    """A frozen policy, whom it remembers in which slot, and its memory of them.

    Agents are independent of each other, and each may be used from several threads. All of one algorithm share their
    compiled code, which is made when a team size is first met and for every doubling of it.
    """

    def __init__(
        self,
        policy: AbstractPolicy,
        task: Task | HostTask | Interface,
        *,
        learner: Hashable = "me",
        seed: int = 0,
        agents: int | None = None,
    ):
        """For a policy that was trained on ``task``. ``learner`` is the id under which the agent itself is given.

        ``agents`` is how many there is room for at first, the learner included; by default as many as in training.
        """
        check_precision()
        check_seed(seed)
        self.interface = task if isinstance(task, Interface) else interface_of(task)
        if isinstance(task, Task):
            check_acts(policy, self.interface.spec, f"This {type(policy).__name__}", f"'{task.name}',")
        self.policy, self.learner = policy, learner
        self._slots = self.interface.slots if agents is None else agents
        check_whole("agents", self._slots, 1, MOST_AGENTS)
        self._step, self._lock = Step(policy), threading.RLock()
        self._check_size(self._slots)
        self._last: Last | None = None
        self._state = self._blank(draws_of(seed))

    @classmethod
    def load(
        cls, run: os.PathLike[str] | str, *, learner: Hashable = "me", seed: int = 0, agents: int | None = None
    ) -> Agent:
        """The policy of a run folder (its last checkpoint), of one of its checkpoint files, or of a packed run."""
        with open_run(run) as opened:
            return cls(opened.policy, opened.interface, learner=learner, seed=seed, agents=agents)

    @property
    def actions(self) -> tuple[str, ...]:
        """What the numbers that ``act`` returns stand for."""
        return self.interface.actions

    @property
    def remembered(self) -> tuple[Hashable, ...]:
        """The teammates that it has a memory of, in sight or not."""
        return tuple(self._state.roster.slot_of)

    @property
    def capacity(self) -> int:
        """How many agents there is room for without compiling again."""
        return self._state.roster.capacity

    def act(
        self,
        team: Team,
        shared: Any = None,
        legal: Collection[Any] | None = None,
        *,
        previous_action: int | str | None = None,
    ) -> int:
        """The next action, given the features of everybody in sight by id.

        ``legal`` is a truth value per action, or the names of those that have an effect; by default, all have. Only
        policies that were trained with ``mask_illegal`` keep to it, as in their evaluation.
        ``previous_action`` is what was carried out if that was not what the last call returned.
        """
        with self._lock:
            before = self._state
            ids, rows = read_team(team, self.learner, self.interface.spec.agent_features)
            shared = read_numbers("the team (shared=...)", shared, self.interface.spec.shared_features)
            carried_out = before.previous_action
            if previous_action is not None:
                carried_out = read_action(previous_action, self.interface)
            legal = read_legal(legal, self.interface)
            roomy = self._with_room(before, len(rows))
            roster, seen = roomy.roster.see(ids)
            inputs = self._inputs(rows, seen, shared, legal, roomy.starts, carried_out)
            chosen, memory = self._step.act(self._step.parameters, roomy.memory, roomy.draws, inputs)
            action = int(chosen)
            self._last = Last(roomy.memory, roomy.draws, inputs, roster, action)
            self._state = State(roster, memory, roomy.draws.next, action, starts=False)
        return action

    def explain(self) -> dict[str, Any]:
        """Why it chose its last action, as far as the policy can tell: by id and by name of action."""
        with self._lock:
            last = self._last
        if last is None:
            raise UserError("There is no decision to explain yet. Call act first.")
        why = self._step.explain(self._step.parameters, last.before, last.draws, last.inputs)
        return by_id(jax.device_get(why), last.action, last.inputs.visible, {self.learner: 0} | last.roster.slot_of,
                     self.actions)  # fmt: skip

    def reset(self, seed: int | None = None) -> None:
        """A new episode: nobody is remembered. Random numbers go on, or begin anew from a seed."""
        with self._lock:
            if seed is not None:
                check_seed(seed)
            self._state = self._blank(self._state.draws if seed is None else draws_of(seed))
            self._last = None

    def forget(self, who: Hashable) -> None:
        """Somebody has left who was perhaps out of sight: his slot is free, and blank as at an episode's start."""
        with self._lock:
            state = self._state
            if who == self.learner:
                raise UserError(f"{who!r} is the learner itself, which cannot leave. For a new episode use reset().")
            slot = state.roster.slot_of.get(who)
            if slot is None:
                return
            blank, memory = (self._step.memory(part) for part in (self._step.start(self.capacity), state.memory))
            slots = jax.tree.map(lambda old, new: old.at[slot].set(new[slot]), memory.slots, blank.slots)
            arrays = tuple(jax.tree.leaves(type(memory)(memory.team, slots)))
            self._state = replace(state, roster=state.roster.without(who), memory=arrays)

    def warm_up(self, agents: int | None = None) -> None:
        """Compile for teams of up to so many agents now, instead of when such a team is first met."""
        with self._lock:
            state = self._with_room(self._state, self.capacity if agents is None else agents)
            _, seen = state.roster.see(())
            rows, shared = self.interface.absent_row[None], np.zeros(self.interface.spec.shared_features, np.float32)
            inputs = self._inputs(rows, seen, shared, read_legal(None, self.interface), True, NO_ACTION)
            jax.block_until_ready(self._step.act(self._step.parameters, state.memory, state.draws, inputs))
            self._state = state

    def _blank(self, draws: Draws) -> State:
        return State(Roster(self._slots, self.interface.keeps_unseen), self._step.start(self._slots), draws)

    def _inputs(self, rows: Any, seen: Seen, shared: Any, legal: Any, starts: bool, previous_action: int) -> Inputs:
        agents = np.tile(self.interface.absent_row, (len(seen.visible), 1))
        agents[[0, *seen.slots]] = rows
        new = seen.new
        new[0] = starts
        return Inputs(agents, shared, seen.visible, legal, np.bool_(starts), new, np.int32(previous_action))

    def _with_room(self, state: State, agents: int) -> State:
        """The same with slots for so many, at least doubled if there are too few."""
        slots = state.roster.capacity
        if agents <= slots:
            return state
        while slots < agents:
            slots *= 2
        try:
            self._check_size(slots)
        except UserError:  # of limited size: it may still take exactly as many
            self._check_size(slots := agents)
        memory = resize(self._step.memory(state.memory), self.policy.start(slots))
        roster = replace(state.roster, capacity=slots)
        return replace(state, roster=roster, memory=tuple(jax.tree.leaves(memory)))

    def _check_size(self, slots: int) -> None:
        """Raise unless the policy can act in a team of so many."""
        _, seen = Roster(slots, False).see(())
        spec = self.interface.spec
        rows, shared = self.interface.absent_row[None], np.zeros(spec.shared_features, np.float32)
        inputs = self._inputs(rows, seen, shared, np.ones(spec.actions, bool), True, NO_ACTION)
        self._step.act.eval_shape(self._step.parameters, self._step.start(slots), draws_of(0), inputs)
