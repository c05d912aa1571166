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
        raise AssertionError(f"{where}: slots is {slots!r}; expected how many agents there can be, the learner included.")
    key = jax.random.key(0)
    state, present = jax.eval_shape(openness.start, key)
    bodies = jax.eval_shape(lambda: first_bodies(world, jax.random.key(0), jnp.ones(slots, bool)))
    after, leaving, joining = jax.eval_shape(openness.step, key, state, bodies)
    for what, found in {"who is present at the start": present, "leaving": leaving, "joining": joining}.items():
        if found.shape != (slots,) or found.dtype != bool:
            raise AssertionError(f"{where}: {what} is {describe(found)}; expected bool[{slots}], an entry per slot.")
    same_structure(f"{where}: step", state, after)
    play = jax.vmap(partial(play_one, openness, world, -(-steps // GAMES)))
    keys = jax.random.split(jax.random.key(seed), GAMES)
    kept = jax.jit(play, compiler_options=QUICK)(keys)
    report({rule: jnp.moveaxis(each, 0, -1) for rule, each in kept.items()}, RULES, where)


def first_bodies(world: AbstractWorld[Any] | None, key: Key[Array, ""], present: Bool[Array, "slots"]) -> Any:
    """What the process may look at."""
    return Bodies(present) if world is None else world.start(key, present)


def play_one(openness: AbstractOpenness, world: AbstractWorld[Any] | None, steps: int, key: Key[Array, ""]) -> Any:
    """One game at random; which rules were kept, the start first."""
    k_start, k_world, k_play = jax.random.split(key, 3)
    state, present = openness.start(jax.random.clone(k_start))
    again = openness.start(k_start)
    bodies = first_bodies(world, k_world, present)
    true = jnp.ones((), bool)
    first = {"learner": present[0], "leaves": true, "joins": true, "repeats": equal((state, present), again)}

    def step(carry: tuple[Any, Any], key: Array) -> tuple[tuple[Any, Any], dict[str, Array]]:
        state, bodies = carry
        k_step, k_world, k_act, k_admit = jax.random.split(key, 4)
        if world is not None:
            actions = jax.random.randint(k_act, bodies.present.shape, 0, world.actions)
            bodies, _, _ = world.step(k_world, bodies, actions)
        present = bodies.present
        after, leaving, joining = openness.step(jax.random.clone(k_step), state, bodies)
        kept = {
            "learner": ~leaving[0] & ~joining[0],
            "leaves": ~(leaving & ~present).any(),
            "joins": ~(joining & present & ~leaving).any(),
            "repeats": equal((after, leaving, joining), openness.step(k_step, state, bodies)),
        }
        if world is None:
            bodies = Bodies((present & ~leaving) | joining)
        else:
            bodies = world.admit(k_admit, world.dismiss(bodies, leaving), joining)
        return (after, bodies), kept

    kept = jax.lax.scan(step, (state, bodies), jax.random.split(k_play, steps))[1]
    return {rule: jnp.concatenate([first[rule][None], kept[rule]]) for rule in RULES}
