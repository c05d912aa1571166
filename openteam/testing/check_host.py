"""A conformance test for environments in plain Python.

Put ``check_host(HostTask("my_env:make", learner="agent_0"))`` into a test of your own. It plays at random and stops at
the first violation with an ``AssertionError`` that says what was found, what is expected and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from openteam.errors import UserError
from openteam.host.environment import NO_ACTION, Environment
from openteam.host.seen import Outcome, Seen
from openteam.host.task import HostTask

SEED = 1234


def check_host(task: HostTask, steps: int = 300) -> None:
    """Raise an ``AssertionError`` at the first thing that an environment does and a learner cannot live with."""
    try:
        first, again = (play(task, SEED, steps) for _ in range(2))
        given, otherwise = (play(task, seed, steps, given=True) for seed in (SEED, SEED + 1))
    except UserError as error:
        raise AssertionError(str(error)) from error
    where = task.env
    check_repeats(first, again, where)
    if same(given, otherwise):
        raise AssertionError(
            f"{where}: two seeds gave the same {steps} steps. If something in it is random, reset(seed) must use the "
            "seed: self.rng = np.random.default_rng(seed)."
        )
    if not same(first, beside_another(task, steps)):
        raise AssertionError(
            f"{where}: it plays otherwise while another one plays in the same process. It keeps something in a module "
            "or a class, such as a counter or np.random: keep it in the object, as self.rng = "
            "np.random.default_rng(seed)."
        )
    check_ends(first, where, task.horizon)
    check_flags(task, steps)


def play(task: HostTask, seed: int, steps: int, *, given: bool = False) -> list[Any]:
    """A game at random: what was seen first, and every step. ``given`` has teammates act by numbers from here."""
    return list(playing(task, seed, steps, given))


def beside_another(task: HostTask, steps: int) -> list[Any]:
    """The same game while one with another seed is played in turn with it."""
    return [told for told, _ in zip(playing(task, SEED, steps), playing(task, SEED + 1, steps), strict=True)]


def playing(task: HostTask, seed: int, steps: int, given: bool = False) -> Iterator[Any]:
    """A game, step by step."""
    environment, rng = Environment(task.settings, task.sizes), np.random.default_rng(SEED)
    try:
        seen = environment.start(seed)
        yield seen
        for number in range(steps):
            drawn = np.array([rng.choice(np.flatnonzero(legal)) for legal in seen.legal], np.int32)
            joint_action = np.where((np.arange(task.slots) == 0) | given, drawn, NO_ACTION)
            outcome = environment.step(joint_action, seed + 10_000 + number)
            yield outcome
            seen = outcome.now
    finally:
        environment.close()


def numbers(told: Seen | Outcome) -> list[np.ndarray]:
    """All arrays but the time that it took."""
    parts = told[:-1] if isinstance(told, Outcome) else told
    return [leaf for part in parts for leaf in (numbers(part) if isinstance(part, Seen) else [np.asarray(part)])]


def same(one: list[Any], other: list[Any]) -> bool:
    """Whether two games were the same."""
    return all(all(map(np.array_equal, numbers(a), numbers(b))) for a, b in zip(one, other, strict=True))


def check_repeats(first: list[Any], again: list[Any], where: str) -> None:
    """The same seed gives the same game."""
    for step, (one, other) in enumerate(zip(first, again, strict=True)):
        if not all(map(np.array_equal, numbers(one), numbers(other))):
            raise AssertionError(
                f"{where}: the same seed and actions gave two different games, first seen "
                f"{f'at step {step}' if step else 'right after reset'}. Everything random must come from the seed that "
                "reset gets: use np.random.default_rng(seed), not np.random or random, and begin every episode anew."
            )


def check_ends(told: list[Any], where: str, horizon: int) -> None:
    """Episodes are longer than a step, and change something."""
    outcomes = told[1:]
    if all(outcome.ends for outcome in outcomes):
        raise AssertionError(
            f"{where}: every episode ended after one step. Is the learner in `agents` after step, and its termination "
            "and truncation False while it goes on?"
        )
    rows = np.stack([outcome.now.agents[0] for outcome in outcomes])
    if len(outcomes) > 10 and horizon > 1 and (rows == rows[0]).all() and rows.size:
        raise AssertionError(
            f"{where}: the learner's features never changed in {len(outcomes)} steps. Does step change the array that "
            "it returned before? Return a copy."
        )


def check_flags(task: HostTask, steps: int) -> None:
    """What the dictionaries say of those who come and go."""
    environment, rng = Environment(task.settings, task.sizes), np.random.default_rng(SEED)
    where, env = task.env, environment.env
    environment.start(SEED)
    try:
        for _ in range(steps):
            before = list(env.agents)
            actions = {one: int(rng.integers(environment.actions_of(one)[0])) for one in before}
            asked = {task.learner: actions[task.learner]} if task.taken else actions
            _, rewards, terminations, truncations, _ = env.step(
                {one: action + environment.actions_of(one)[1] for one, action in asked.items()}
            )
            for what, part in (("reward", rewards), ("termination", terminations), ("truncation", truncations)):
                if task.learner not in part:
                    raise AssertionError(
                        f"{where}: step gave the learner, {task.learner}, no {what}. Everybody who acted gets one, "
                        "also in its last step."
                    )
            if not env.agents or task.learner not in env.agents:
                environment.start(SEED)
    finally:
        environment.close()
