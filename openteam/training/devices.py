"""One run on several devices: environments are spread over them, what is learned is on each.

Arrays are placed and the compiler does the rest: it cuts the same program along the environments and sums gradients
across devices. So learners know nothing of it, minibatches and replay samples are drawn as on one device, and the
result is that of one device up to the order of sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from openteam.errors import UserError
from openteam.training.loop import Carry
from openteam.training.spec import RunSpec

AXIS = "devices"


def mesh_for(specs: Sequence[RunSpec], devices: int) -> Mesh | None:
    """The devices that these runs are spread over; None for one. Several seeds are spread rather than environments."""
    if devices == 1:
        return None
    found, envs = jax.device_count(), specs[0].learner.envs
    if devices > found:
        raise UserError(f"--devices {devices}: JAX has {found} here ({jax.default_backend()}).")
    what, number = ("seeds", len(specs)) if len(specs) > 1 else ("environments", envs)
    if number % devices:
        raise UserError(f"{number} {what} cannot be spread evenly over {devices} devices. Choose another number.")
    return jax.make_mesh((devices,), (AXIS,), axis_types=(AxisType.Auto,), devices=jax.devices()[:devices])


def spread(carry: Carry, mesh: Mesh, *, seeds: bool) -> Carry:
    """Place a carry: seeds as a whole where there are several; else environments apart and the learner everywhere."""

    def place(tree: Any, *axes: str) -> Any:
        return jax.device_put(tree, NamedSharding(mesh, PartitionSpec(*axes)))

    if seeds:
        return place(carry, AXIS)
    apart = carry.actor, carry.context, carry.returns
    return eqx.tree_at(
        lambda c: (c.train, c.actor, c.context, c.returns),
        carry,
        (place(carry.train), *(place(part, AXIS) for part in apart)),
        is_leaf=lambda leaf: leaf is None,
    )
