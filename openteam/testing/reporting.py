"""What conformance suites share: comparing, describing, and saying which rule was broken and when."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PyTree

GAMES = 16  # played in parallel
QUICK = {"xla_backend_optimization_level": 0}  # compiling a short game costs more than playing it


def same_structure(who: str, before: PyTree[Any], after: PyTree[Any]) -> None:
    """Check that a state keeps its structure, shapes and dtypes: a compiled loop has to carry it."""
    old_tree, new_tree = jax.tree.structure(before), jax.tree.structure(after)
    if old_tree != new_tree:
        raise AssertionError(
            f"{who} returned {new_tree}, but start returned {old_tree}. Return the same class with equal static fields."
        )
    for (path, old), new in zip(jax.tree_util.tree_leaves_with_path(before), jax.tree.leaves(after), strict=True):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            raise AssertionError(
                f"{who} turned state{jax.tree_util.keystr(path)} from {describe(old)} into {describe(new)}. A state "
                f"keeps its shapes and dtypes: cast with .astype({old.dtype}) or correct the shape."
            )


def describe(leaf: Any) -> str:
    """A dtype and a shape, as in float32[3, 2]."""
    return f"{leaf.dtype}[{', '.join(map(str, leaf.shape))}]"


def report(kept: dict[str, Bool[Array, "*when"]], rules: dict[str, str], where: str) -> None:
    """Raise the message of the first rule that was broken. The last axis is that of games, one before it of steps."""
    for rule, message in rules.items():
        broken = np.argwhere(~np.asarray(kept.get(rule, True)))
        if len(broken):
            *step, game = broken[0].tolist()
            when = f"step {step[0]}" if step else "the start"
            raise AssertionError(f"{where}: {message}. First seen at {when} of game {game}.")


def equal(one: PyTree[Array], other: PyTree[Array]) -> Bool[Array, ""]:
    """Whether all numbers agree; floats up to rounding, since one formula may be compiled in two ways."""

    def same(a: Array, b: Array) -> Bool[Array, ""]:
        floats = jnp.issubdtype(a.dtype, jnp.floating)
        return (jnp.isclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True) if floats else a == b).all()

    return jnp.stack(jax.tree.leaves(jax.tree.map(same, one, other))).all()
