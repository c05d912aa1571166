"""Does a world keep its contract?

Put ``check_world(MyWorld())`` into a test of your own. It looks at shapes first, then plays at random with a team that
comes and goes, and stops at the first broken promise with an ``AssertionError`` that says what was found, what is
expected and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Key, PyTree

from openteam.core.world import AbstractWorld

GAMES = 16  # played side by side

PROMISES = {
    "repeats": "the same key, state and actions gave two different results. Everything random must come from the key: "
    "use jax.random, not numpy.random or random, and change nothing outside",
    "starts": "start returned a state whose `present` is not the one it was given. Keep what you are given",
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
    """Raise an ``AssertionError`` at the first promise of ``AbstractWorld`` that ``world`` breaks.

    ``slots`` are the team sizes to try, ``steps`` how many steps to play with each.
    """
    name, widths = type(world).__name__, {}
    for team in slots:
        world.check(team)
        widths[team] = check_shapes(world, team, f"{name} with {team} slots")
        check_play(world, team, steps, seed, f"{name} with {team} slots")
    if len(set(widths.values())) > 1:
        raise AssertionError(
            f"{name}: features have the widths (agent, shared) {widths} for these numbers of slots. They must not depend "
            "on the team's size, or nothing learned could change teams: one row a slot, and nothing per slot in shared."
        )


def check_shapes(world: AbstractWorld[Any], slots: int, where: str) -> tuple[int, int]:
    """What every method returns, without running it; the widths of the features."""
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
            raise AssertionError(f"{where}: {what} is {spell(found)}; expected {wanted}. Change its shape or cast it.")

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


def same_structure(who: str, before: PyTree[Any], after: PyTree[Any]) -> None:
    """A state must look the same after every method, or it could not be carried through a compiled loop."""
    if jax.tree.structure(before) != jax.tree.structure(after):
        raise AssertionError(
            f"{who} returned {jax.tree.structure(after)}, but start {jax.tree.structure(before)}. Return the same class "
            "with the same static fields."
        )
    olds, news = jax.tree_util.tree_leaves_with_path(before), jax.tree.leaves(after)
    for (path, old), new in zip(olds, news, strict=True):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            raise AssertionError(
                f"{who} turned state{jax.tree_util.keystr(path)} from {spell(old)} into {spell(new)}. A state keeps its "
                f"shapes and dtypes: cast with .astype({old.dtype}) or mend the shape."
            )


def spell(leaf: Any) -> str:
    return f"{leaf.dtype}[{', '.join(map(str, leaf.shape))}]"


def check_play(world: AbstractWorld[Any], slots: int, steps: int, seed: int, where: str) -> None:
    """Random play; every promise is looked at in every step."""
    k_team, k_start, k_play = jax.random.split(jax.random.key(seed), 3)
    team = (jax.random.uniform(k_team, (GAMES, slots)) < 0.7).at[:, 0].set(True)
    starts, kept = compiled(jax.vmap(partial(opening, world)))(jax.random.split(k_start, GAMES), team)
    report(kept, where)

    def play(starts: PyTree[Array], keys: Key[Array, "time games"]) -> Any:
        def step(states: PyTree[Array], keys: Key[Array, "games"]) -> Any:
            return jax.vmap(partial(turn, world))(starts, states, keys)

        return jax.lax.scan(step, starts, keys)[1]

    kept, agents, present = compiled(play)(starts, jax.random.split(k_play, (-(-steps // GAMES), GAMES)))
    report(kept, where)
    absent = np.asarray(agents)[~np.asarray(present)]
    strange = (absent != absent[:1]).any(-1)
    if strange.any():
        raise AssertionError(
            f"{where}: the features of absent slots vary, such as {absent[0].tolist()} and "
            f"{absent[strange][0].tolist()}. They must be one placeholder, or they tell of who is gone: use jnp.where "
            "with `present`."
        )


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Jitted in a hurry: compiling a short game costs more than playing it."""
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 0})


def report(kept: dict[str, Bool[Array, "*when"]], where: str) -> None:
    """Raise the sentence of the first promise that was not kept."""
    for promise, sentence in PROMISES.items():
        if promise in kept and not kept[promise].all():
            *step, game = np.argwhere(~np.asarray(kept[promise]))[0].tolist()
            when = f"step {step[0]}" if step else "the start"
            raise AssertionError(f"{where}: {sentence}. First seen at {when} of game {game}.")


def opening(world: AbstractWorld[Any], key: Key[Array, ""], team: Bool[Array, "slots"]) -> tuple[Any, Any]:
    """A first state, and which promises were kept."""
    state, again = (world.start(jax.random.clone(key), team) for _ in range(2))
    return state, {"repeats": equal(state, again), "starts": (state.present == team).all()}


def turn(world: AbstractWorld[Any], start: Any, state: Any, key: Key[Array, ""]) -> tuple[Any, Any]:
    """One step of a random open team: the next state, which promises were kept, and what was seen of whom."""
    k_draw, k_step, k_admit, k_idle = jax.random.split(key, 4)
    slots = len(state.present)
    u_action, u_other, u_leave, u_join = jax.random.uniform(k_draw, (4, slots))
    actions, others = (jnp.floor(u * world.actions).astype(jnp.int32) for u in (u_action, u_other))
    teammate, nobody = jnp.arange(slots) > 0, jnp.zeros(slots, bool)

    # Pure programs that are equal become one when compiled, so doing everything twice costs next to nothing.
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
        "absent actions": equal(sight(world, *absent_act), sight(world, after, reward, over)),
        "legal": world.legal(opened).any(-1).all(),
        "idle": equal(sight(world, idle), sight(world, opened)),
    }
    following = jax.tree.map(lambda first, old: jnp.where(over, first, old), start, opened)
    return following, (kept, agents, opened.present)


def sight(world: AbstractWorld[Any], state: Any, *outcome: Array) -> PyTree[Array]:
    """All that can be told from outside, of those present."""
    agents, shared = world.features(state)
    rows = [agents, world.legal(state), *(each[:, None] for each in outcome[:1])]
    return [jnp.where(state.present[:, None], row, 0) for row in rows], shared, state.present, outcome[1:]


def equal(one: PyTree[Array], other: PyTree[Array]) -> Bool[Array, ""]:
    """Whether all numbers agree; not-a-number agrees with itself."""
    same = jax.tree.map(lambda a, b: ((a == b) | ((a != a) & (b != b))).all(), one, other)
    return jnp.stack(jax.tree.leaves(same)).all()
