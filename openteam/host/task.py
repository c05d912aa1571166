"""A task around an environment in plain Python."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any, NoReturn

import equinox as eqx

from openteam.compile_cache import check_precision
from openteam.core.checked import AbstractChecked
from openteam.core.splits import split_parts
from openteam.core.types import Spec
from openteam.errors import UserError
from openteam.host.environment import Environment
from openteam.host.seen import Sizes
from openteam.host.settings import HostSettings
from openteam.storage.classes import find_imported
from openteam.task import Task
from openteam.teammates.pool import Pool

COMPILED = (
    "world", "openness", "view", "reset", "restart", "step", "step_within", "transition", "teammates_act", "observe",
)  # fmt: skip
"""What only a compiled task has."""


class HostSplit(AbstractChecked):
    """What a split changes of its task; None keeps what training has."""

    arguments: dict[str, Any] | None = None
    """Arguments of the environment's factory that differ from those in training; all others stay."""
    cap: int | None = eqx.field(static=True, default=None)
    teammates: tuple[str, ...] | None = eqx.field(static=True, default=None)
    pool: Pool | None = None


class HostTask(AbstractChecked):
    """An environment in plain Python as a task, and one of its agents as the learner.

    Functions go by name, ``module:function``, so that a run can find them again; their modules must have been imported.
    """

    env: str = eqx.field(static=True)
    """A function or class that makes the environment: PettingZoo's parallel interface, or a class that has it."""
    learner: str = eqx.field(static=True)
    """The id of the agent that learns."""
    arguments: dict[str, Any] = eqx.field(default_factory=dict)
    """Keyword arguments for ``env``: numbers, words and lists of them."""
    cap: int | None = eqx.field(static=True, default=None)
    """The most agents that are there at once, learner included; by default all of possible_agents."""
    horizon: int = eqx.field(static=True, default=1000)
    """Steps until an episode is cut that the environment has not ended by itself."""
    features: str | None = eqx.field(static=True, default=None)
    """``features(env, observations, id)``: the numbers that describe an agent, equally many for all. By default each
    agent's own observation, so that the learner sees what everybody sees."""
    shared: str | None = eqx.field(static=True, default=None)
    """``shared(env, observations)``: the numbers that concern all agents. By default none."""
    present: str | None = eqx.field(static=True, default=None)
    """``present(env, id)``: whether an agent in ``env.agents`` is really there, if everybody stays listed."""
    sees: str | None = eqx.field(static=True, default=None)
    """``sees(env, id)``: whether the learner sees an agent that is there. By default it sees everybody."""
    teammates: tuple[str, ...] = eqx.field(static=True, default=())
    """``teammate(env, id, observation, rng)``: the action of a teammate. Everyone who arrives draws one of these; of a
    class, it gets an object of its own. By default teammates take any legal action."""
    taken: str | None = eqx.field(static=True, default=None)
    """``taken(env, id)``: the last action of a teammate that the environment moves by itself. Only the learner's action
    is then given to ``step``."""
    pool: Pool | None = None
    """Policies of openteam's as teammates, such as trained runs, instead of functions."""
    processes: int | None = eqx.field(static=True, default=None)
    """Processes that step environments; by default one per core. It changes the speed, not the results."""
    name: str = eqx.field(static=True, default="host")
    """What results are filed under."""
    splits: dict[str, HostSplit] = eqx.field(default_factory=dict)
    """Other conditions under which a policy is evaluated."""

    def __check_init__(self) -> None:
        check_precision()
        for name, value in {"cap": self.cap, "horizon": self.horizon, "processes": self.processes}.items():
            if value is not None and value < 1:
                raise UserError(f"HostTask's {name} must be at least 1; got {value}.")
        if sum(map(bool, (self.teammates, self.taken, self.pool))) > 1:
            raise UserError(
                "Teammates act by functions (teammates), by policies (pool) or by themselves (taken): choose one."
            )
        for name in self.settings.names:
            check_function(name)
        for family in self.pool.families if self.pool is not None else ():
            family.check(self.spec)

    def __getattr__(self, name: str) -> NoReturn:
        if name in COMPILED:
            raise not_compiled(self.name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def settings(self) -> HostSettings:
        """What its environments must know."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(HostSettings)}
        return HostSettings(**fields)

    @property
    def sizes(self) -> Sizes:
        """Found once, by making an environment and resetting it."""
        return measured(json.dumps(dataclasses.asdict(self.settings), sort_keys=True))

    @property
    def slots(self) -> int:
        return self.sizes.slots

    @property
    def max_agents(self) -> int:
        """The largest team of this task and its splits."""
        return max(self.slots, *(self.split(name).slots for name in self.split_names))

    @property
    def spec(self) -> Spec:
        """What models must know. Environments are made for it, of training and of every split, which must be alike."""
        _, features, shared, actions = self.sizes
        for name in self.splits:
            if self.split(name).sizes[1:] != self.sizes[1:]:
                raise UserError(
                    f"The split '{name}' of '{self.name}' must have the features and actions of training. It has "
                    f"{self.split(name).sizes}, training {self.sizes}."
                )
        return Spec(features, shared, actions, time_limit_terminates=False, max_agents=self.max_agents)

    @property
    def split_names(self) -> tuple[str, ...]:
        return ("train", *self.splits)

    def split(self, name: str) -> HostTask:
        """The same environment with other arguments or teammates; ``larger+unseen`` is under both."""
        if name == "train":
            return self
        changed: dict[str, Any] = {"arguments": self.arguments, "splits": {}}
        for split in split_parts(self.name, self.splits, name):
            changed["arguments"] = changed["arguments"] | (split.arguments or {})
            given = {"cap": split.cap, "teammates": split.teammates, "pool": split.pool}
            changed |= {field: value for field, value in given.items() if value is not None}
        if changed.get("pool") is not None:
            changed["teammates"] = ()
        elif changed.get("teammates"):
            changed["pool"] = None
        return dataclasses.replace(self, **changed)


def not_compiled(name: str) -> UserError:
    """What to say where an environment cannot stand in for a compiled task."""
    return UserError(
        f"'{name}' is an environment in plain Python, and this needs a task that openteam compiles. With such an "
        "environment you can train, resume, evaluate, plan and compare."
    )


def compiled(task: Task | HostTask) -> Task:
    """The same task, if it is a compiled one."""
    if isinstance(task, HostTask):
        raise not_compiled(task.name)
    return task


def check_function(name: str) -> None:
    """Raise unless a name stands for something that can be called, in a module that was imported."""
    if ":" not in name:
        raise UserError(f"'{name}' should be the name of a function with its module, as in my_env:make.")
    if not callable(find_imported(name)):
        raise UserError(f"{name} is no function or class.")


@functools.lru_cache(maxsize=64)
def measured(settings: str) -> Sizes:
    """The sizes of an environment with these settings."""
    given = json.loads(settings)
    environment = Environment(HostSettings(**given | {"teammates": tuple(given["teammates"])}))
    try:
        environment.start(0)  # whatever is wrong with its features is found now
        return environment.sizes
    finally:
        environment.close()
