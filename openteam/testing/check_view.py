"""A conformance test for views.

Put ``check_view(MyView(), MyWorld())`` into a test of your own: a view is a view of some world. It cannot find out
whether a number that is shown depends on one that is hidden; `tests/test_non_interference.py` shows how to.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from openteam.core.types import Observation
from openteam.core.view import AbstractView, viewer_first
from openteam.core.world import AbstractWorld
from openteam.testing.reporting import GAMES, QUICK, describe, equal, report

RULES = {
    "self": "an agent that is there does not see itself. Row 0 is the viewer's own and visible: viewer_first of "
    "core.view puts it there",
    "absent": "somebody is visible who is not there. Mask it with `present`",
    "legal": "`legal` are not the viewer's legal actions. Hide what others do, not what the viewer can: "
    "world.legal(state)[viewer]",
    "finite": "a number that is shown is not finite. Rows that are not visible need placeholders such as -1",
    "repeats": "the same key and state gave two different observations. Noise must come from the key",
}


def check_view(view: AbstractView, world: AbstractWorld[Any], slots: int = 4, steps: int = 400, seed: int = 0) -> None:
    """Raise an ``AssertionError`` at the first rule of ``AbstractView`` that ``view`` breaks in a world."""
    where = f"{type(view).__name__} of {type(world).__name__}"
    world.check(slots)
    check_shapes(view, world, slots, where)
    k_start, k_play = jax.random.split(jax.random.key(seed))
    play = jax.jit(partial(play_all, view, world, slots), compiler_options=QUICK)
    keys = jax.random.split(k_play, (-(-steps // GAMES), GAMES, 4 + slots))
    kept, rows, visible = play(jax.random.split(k_start, (GAMES, 2)), keys)
    report(kept, RULES, where)
    hidden = np.asarray(rows)[~np.asarray(visible)]
    different = (hidden != hidden[:1]).any(-1)
    if different.any():
        raise AssertionError(
            f"{where}: rows that are not visible vary, such as {hidden[0].tolist()} and "
            f"{hidden[different][0].tolist()}. They must be one placeholder, or they tell of what is hidden."
        )


def check_shapes(view: AbstractView, world: AbstractWorld[Any], slots: int, where: str) -> None:
    """Check what is returned, without running it."""
    state = jax.eval_shape(world.start, jax.random.key(0), jax.ShapeDtypeStruct((slots,), bool))
    viewer = jax.ShapeDtypeStruct((), jnp.int32)
    obs = jax.eval_shape(lambda key, state, viewer: view(key, world, state, viewer), jax.random.key(0), state, viewer)
    if not isinstance(obs, Observation):
        raise AssertionError(f"{where}: it returned a {type(obs).__name__}; expected an Observation.")
    expected = {
        "agents": (obs.agents, (slots, None), jnp.floating), "shared": (obs.shared, (None,), jnp.floating),
        "visible": (obs.visible, (slots,), jnp.bool_), "legal": (obs.legal, (world.actions,), jnp.bool_),
    }  # fmt: skip
    for what, (found, shape, kind) in expected.items():
        same = len(found.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, found.shape, strict=True))
        if not (same and jnp.issubdtype(found.dtype, kind)):
            axes = ", ".join("any" if n is None else str(n) for n in shape)
            wanted = f"{'float' if kind is jnp.floating else 'bool'}[{axes}]"
            raise AssertionError(f"{where}: `{what}` is {describe(found)}; expected {wanted}.")


def play_all(
    view: AbstractView,
    world: AbstractWorld[Any],
    slots: int,
    first_keys: Key[Array, "games 2"],
    keys: Key[Array, "time games keys"],
) -> Any:
    """Games at random, seen by everybody; which rules were kept, and all rows."""

    def begin(keys: Array) -> Any:
        return world.start(keys[1], (jax.random.uniform(keys[0], (slots,)) < 0.7).at[0].set(True))

    step = jax.vmap(partial(go_on, view, world))
    return jax.lax.scan(lambda state, keys: step(state, keys), jax.vmap(begin)(first_keys), keys)[1]


def go_on(view: AbstractView, world: AbstractWorld[Any], state: Any, keys: Key[Array, "keys"]) -> tuple[Any, Any]:
    """Everybody looks, then acts at random; teammates come and go."""
    k_act, k_step, k_open, k_admit = keys[:4]
    slots = len(state.present)
    kept, rows, visible = jax.vmap(lambda viewer, k: look(view, world, state, viewer, k))(jnp.arange(slots), keys[4:])
    after, _, _ = world.step(k_step, state, jax.random.randint(k_act, (slots,), 0, world.actions))
    change = (jax.random.uniform(k_open, (slots,)) < 0.2).at[0].set(False)
    dismissed = world.dismiss(after, change & after.present)
    after = world.admit(k_admit, dismissed, change & ~after.present)
    return after, ({rule: each.all() for rule, each in kept.items()}, rows, visible)


def look(view: AbstractView, world: AbstractWorld[Any], state: Any, viewer: Array, key: Key[Array, ""]) -> Any:
    """One look of one agent; of one who is absent nothing is demanded."""
    obs, again = (view(jax.random.clone(key), world, state, viewer) for _ in range(2))
    here, present = state.present[viewer], viewer_first(state.present, viewer)
    kept = {
        "self": obs.visible[0],
        "absent": ~(obs.visible & ~present).any(),
        "legal": (obs.legal == world.legal(state)[viewer]).all(),
        "finite": jnp.isfinite(obs.agents).all() & jnp.isfinite(obs.shared).all(),
        "repeats": equal(obs, again),
    }
    return {rule: one | ~here for rule, one in kept.items()}, obs.agents, obs.visible | ~here
