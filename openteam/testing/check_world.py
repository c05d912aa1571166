"""A conformance test for worlds.

Put ``check_world(MyWorld())`` into a test of your own. It checks shapes first, then plays at random with an open team,
and stops at the first violation with an ``AssertionError`` that says what was found, what is expected and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

from openteam.core.world import AbstractWorld
from openteam.testing.reporting import GAMES, QUICK, describe, equal, report, same_structure

RULES = {
    "repeats": "the same key, state and actions gave two different results. Everything random must come from the key: "
    "use jax.random, not numpy.random or random, and change nothing outside",
    "starts": "start returned a state with another `present` than the one it was given. Keep that one",
    "steps": "step changed `present`. Only admit and dismiss may: report a loss through the openness instead",
    "dismisses": "after dismiss, `present` is not what it was without those leaving. Return present & ~leaving",
    "admits": "after admit, `present` is not what it was with those joining. Return present | joining",
    "rewards": "a reward is not finite. Look for divisions by zero and logarithms of it",
    "features": "a feature is not finite. Absent slots need placeholders such as -1, not nan or inf",
    "absent rewards": "an absent slot got a reward. Its reward must be 0: multiply rewards by `present`",
    "absent actions": "another action of an absent slot changed what happened to those present. Ignore actions where "
    "`present` is False",
    "legal": "a slot has no legal action. At least one must be True in every row: let doing nothing always be legal",
    "idle": "dismissing and admitting nobody changed what can be seen. They are called at every step: leave everything "
    "as it is where `leaving` and `joining` are False",
}


def check_world(world: AbstractWorld[Any], slots: Sequence[int] = (2, 5), steps: int = 2000, seed: int = 0) -> None:
    """Raise an ``AssertionError`` at the first rule of ``AbstractWorld`` that ``world`` breaks.

    ``slots`` are the team sizes to check shapes with. The largest one also plays for ``steps`` steps; smaller teams
    occur there, since agents come and go.
    """
    name, widths = type(world).__name__, {}
    for team in slots:
        world.check(team)
        widths[team] = check_shapes(world, team, f"{name} with {team} slots")
    if len(set(widths.values())) > 1:
        raise AssertionError(
            f"{name}: by number of slots, the widths of features (agent, shared) are {widths}. They must not depend on "
            "the team's size, or nothing learned could change teams: one row per slot, and nothing per slot in shared."
        )
    check_play(world, max(slots), steps, seed, f"{name} with {max(slots)} slots")


def check_shapes(world: AbstractWorld[Any], slots: int, where: str) -> tuple[int, int]:
    """Check what every method returns, without running it; return the widths of the features."""
    key, some = jax.random.key(0), jax.ShapeDtypeStruct((slots,), bool)
    actions = jax.ShapeDtypeStruct((slots,), jnp.int32)
    if world.actions < 1:
        raise AssertionError(f"{where}: there are {world.actions} actions; agents need at least one, doing nothing.")

    def trace(method: str, *args: Any) -> Any:
        try:
            return jax.eval_shape(getattr(world, method), *args)
        except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
            advice = "Use jnp.where instead of if, jnp instead of numpy, and masks instead of indices of True."
            raise AssertionError(f"{where}: {method} cannot be compiled. {advice}\n{error}") from error

    def expect(what: str, found: Any, shape: tuple[int | None, ...], kind: Any) -> None:
        fits = len(found.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, found.shape, strict=True))
        if not (fits and jnp.issubdtype(found.dtype, kind)):
            axes = ", ".join("any" if n is None else str(n) for n in shape)
            wanted = f"{np.dtype(kind).name if kind is not jnp.floating else 'float'}[{axes}]"
            raise AssertionError(
                f"{where}: {what} is {describe(found)}; expected {wanted}. Change its shape or cast it."
            )

    state = trace("start", key, some)
    after, reward, over = trace("step", key, state, actions)
    agents, shared = trace("features", state)
    expect("`present` of a state", state.present, (slots,), bool)
    same_structure(f"{where}: step", state, after)
    same_structure(f"{where}: dismiss", state, trace("dismiss", state, some))
    same_structure(f"{where}: admit", state, trace("admit", key, state, some))
    expect("the reward", reward, (slots,), jnp.floating)
    expect("whether the task is over", over, (), bool)
    expect("legal", trace("legal", state), (slots, world.actions), bool)
    expect("the first of the features", agents, (slots, None), jnp.floating)
    expect("the second of the features", shared, (None,), jnp.floating)
    return agents.shape[1], shared.shape[0]


def check_play(world: AbstractWorld[Any], slots: int, steps: int, seed: int, where: str) -> None:
    """Play at random and check every rule in every step."""

    def play(team: Array, keys: Array, random: PyTree[Array]) -> Any:
        starts, kept = jax.vmap(partial(start, world))(keys, team)
        return kept, jax.lax.scan(lambda now, at: jax.vmap(partial(step, world))(starts, now, *at), starts, random)[1]

    kept_at_start, (kept, agents, present) = jax.jit(play, compiler_options=QUICK)(
        *draw(jax.random.key(seed), slots, -(-steps // GAMES))
    )
    report(kept_at_start, RULES, where)
    report(kept, RULES, where)
    absent = np.asarray(agents)[~np.asarray(present)]
    different = (absent != absent[:1]).any(-1)
    if different.any():
        raise AssertionError(
            f"{where}: the features of absent slots vary, such as {absent[0].tolist()} and "
            f"{absent[different][0].tolist()}. They must be one placeholder, or they reveal who is gone: use jnp.where "
            "with `present`."
        )


@partial(jax.jit, static_argnums=(1, 2), compiler_options=QUICK)
def draw(key: Key[Array, ""], slots: int, length: int) -> PyTree[Array]:
    """All random numbers of the games: who is present at first, keys for the start, and what every step needs."""
    k_team, k_start, k_draw, k_play = jax.random.split(key, 4)
    team = (jax.random.uniform(k_team, (GAMES, slots)) < 0.7).at[:, 0].set(True)
    uniform, keys = jax.random.uniform(k_draw, (length, GAMES, 4, slots)), jax.random.split(k_play, (length, GAMES, 3))
    return team, jax.random.split(k_start, GAMES), (uniform, keys)


def start(world: AbstractWorld[Any], key: Key[Array, ""], team: Bool[Array, "slots"]) -> tuple[Any, Any]:
    """A first state, and which rules were kept."""
    state, again = (world.start(jax.random.clone(key), team) for _ in range(2))
    return state, {"repeats": equal(state, again), "starts": (state.present == team).all()}


def step(
    world: AbstractWorld[Any], first: Any, state: Any, uniform: Float[Array, "4 slots"], keys: Key[Array, "3"]
) -> tuple[Any, Any]:
    """One step of a random open team: the next state, which rules were kept, and the features of all slots."""
    k_step, k_admit, k_idle = keys
    u_action, u_other, u_leave, u_join = uniform
    slots = len(state.present)
    actions, others = (jnp.floor(u * world.actions).astype(jnp.int32) for u in (u_action, u_other))
    teammate, nobody = jnp.arange(slots) > 0, jnp.zeros(slots, bool)

    # The compiler merges equal pure computations, so doing everything twice costs almost nothing.
    (after, reward, over), again = (world.step(jax.random.clone(k_step), state, actions) for _ in range(2))
    leaving = after.present & teammate & (u_leave < 0.15)
    dismissed = world.dismiss(after, leaving)
    joining = ~dismissed.present & teammate & (u_join < 0.3)
    opened, reopened = (world.admit(jax.random.clone(k_admit), dismissed, joining) for _ in range(2))
    agents, shared = world.features(opened)

    absent_act = world.step(jax.random.clone(k_step), state, jnp.where(state.present, actions, others))
    idle = world.admit(k_idle, world.dismiss(opened, nobody), nobody)
    kept = {
        "repeats": equal(((after, reward, over), opened), (again, reopened)),
        "steps": (after.present == state.present).all(),
        "dismisses": (dismissed.present == (after.present & ~leaving)).all(),
        "admits": (opened.present == (dismissed.present | joining)).all(),
        "rewards": jnp.isfinite(reward).all(),
        "features": jnp.isfinite(agents).all() & jnp.isfinite(shared).all(),
        "absent rewards": ((reward == 0) | state.present).all(),
        "absent actions": equal(visible(world, *absent_act), visible(world, after, reward, over)),
        "legal": world.legal(opened).any(-1).all(),
        "idle": equal(visible(world, idle), visible(world, opened)),
    }
    following = jax.tree.map(lambda new, old: jnp.where(over, new, old), first, opened)
    return following, (kept, agents, opened.present)


def visible(world: AbstractWorld[Any], state: Any, *outcome: Array) -> PyTree[Array]:
    """Everything that can be observed of those present."""
    agents, shared = world.features(state)
    rows = [agents, world.legal(state), *(each[:, None] for each in outcome[:1])]
    return [jnp.where(state.present[:, None], row, 0) for row in rows], shared, state.present, outcome[1:]
