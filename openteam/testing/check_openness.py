"""A conformance test for open processes.

Put ``check_openness(MyOpenness())`` into a test of your own. A process that looks at its world needs that, too:
``check_openness(MyOpenness(), MyWorld())``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Key

from openteam.core.openness import AbstractOpenness
from openteam.core.world import AbstractWorld, AbstractWorldState
from openteam.testing.reporting import GAMES, QUICK, describe, equal, report, same_structure

RULES = {
    "learner": "the learner, slot 0, is not there at the start, or leaves, or joins. It stays for the whole episode: "
    "keep entry 0 of `present` True and of `leaving` and `joining` False",
    "leaves": "somebody leaves who is not there. Mask it: leaving & present",
    "joins": "somebody joins a slot that is taken. A slot must be empty, or be left in the same step: joining & "
    "(~present | leaving)",
    "repeats": "the same key and state gave two different results. Everything random must come from the key: use "
    "jax.random, not numpy.random or random, and change nothing outside",
}


class Bodies(AbstractWorldState):
    """A world in which there is nothing but who is present."""

    present: Bool[Array, "slots"]


def check_openness(
    openness: AbstractOpenness, world: AbstractWorld[Any] | None = None, steps: int = 400, seed: int = 0
) -> None:
    """Raise an ``AssertionError`` at the first rule of ``AbstractOpenness`` that ``openness`` breaks."""
    where, slots = type(openness).__name__, openness.slots
    if not isinstance(slots, int) or slots < 1:
        raise AssertionError(
            f"{where}: slots is {slots!r}; expected how many agents there can be, the learner included."
        )
    key = jax.random.key(0)
    state, present = jax.eval_shape(openness.start, key)
    bodies = jax.eval_shape(lambda: first_bodies(world, jax.random.key(0), jnp.ones(slots, bool)))
    after, leaving, joining = jax.eval_shape(openness.step, key, state, bodies)
    for what, found in {"who is present at the start": present, "leaving": leaving, "joining": joining}.items():
        if found.shape != (slots,) or found.dtype != bool:
            raise AssertionError(f"{where}: {what} is {describe(found)}; expected bool[{slots}], an entry per slot.")
    same_structure(f"{where}: step", state, after)
    k_start, k_play = jax.random.split(jax.random.key(seed))
    play = jax.jit(partial(play_all, openness, world), compiler_options=QUICK)
    at_start, later = play(
        jax.random.split(k_start, (GAMES, 2)), jax.random.split(k_play, (-(-steps // GAMES), GAMES, 4))
    )
    report(at_start, RULES, where)
    report(later, RULES, where)


def play_all(
    openness: AbstractOpenness,
    world: AbstractWorld[Any] | None,
    first_keys: Key[Array, "games 2"],
    keys: Key[Array, "time games 4"],
) -> Any:
    """Games at random; which rules were kept at the start and in every step."""
    carry, first = jax.vmap(partial(begin, openness, world))(first_keys)
    step = jax.vmap(partial(go_on, openness, world))
    return first, jax.lax.scan(lambda carry, keys: step(carry, keys), carry, keys)[1]


def first_bodies(world: AbstractWorld[Any] | None, key: Key[Array, ""], present: Bool[Array, "slots"]) -> Any:
    """What the process may look at."""
    return Bodies(present) if world is None else world.start(key, present)


Carry = tuple[Any, Any]  # the state of the process, and what it may look at


def begin(
    openness: AbstractOpenness, world: AbstractWorld[Any] | None, keys: Key[Array, "2"]
) -> tuple[Carry, dict[str, Bool[Array, ""]]]:
    """The start of a game."""
    k_start, k_world = keys
    (state, present), again = (openness.start(jax.random.clone(k_start)) for _ in range(2))
    kept = {"learner": present[0], "repeats": equal((state, present), again)}
    return (state, first_bodies(world, k_world, present)), kept


def go_on(
    openness: AbstractOpenness, world: AbstractWorld[Any] | None, carry: Carry, keys: Key[Array, "4"]
) -> tuple[Carry, dict[str, Bool[Array, ""]]]:
    """A step of a game, in which everybody acts at random."""
    (state, bodies), (k_step, k_world, k_act, k_admit) = carry, keys
    if world is not None:
        actions = jax.random.randint(k_act, bodies.present.shape, 0, world.actions)
        bodies, _, _ = world.step(k_world, bodies, actions)
    present = bodies.present
    (after, leaving, joining), again = (openness.step(jax.random.clone(k_step), state, bodies) for _ in range(2))
    kept = {
        "learner": ~leaving[0] & ~joining[0],
        "leaves": ~(leaving & ~present).any(),
        "joins": ~(joining & present & ~leaving).any(),
        "repeats": equal((after, leaving, joining), again),
    }
    if world is None:
        return (after, Bodies((present & ~leaving) | joining)), kept
    return (after, world.admit(k_admit, world.dismiss(bodies, leaving), joining)), kept
