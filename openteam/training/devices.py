"""One run on several devices: environments are spread over them, what is learned is on each.

Arrays are placed and the compiler does the rest: it cuts the same program along the environments and sums gradients
across devices. So learners know nothing of it, minibatches and replay samples are drawn as on one device, and the
result is that of one device up to the order of sums. The devices may belong to several processes (``hosts.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.multihost_utils import process_allgather
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
    if jax.process_count() > 1 and devices < found:
        raise UserError(f"--devices {devices}: the {jax.process_count()} processes have {found} devices; use them all.")
    what, number = ("seeds", len(specs)) if len(specs) > 1 else ("environments", envs)
    if number % devices:
        raise UserError(f"{number} {what} cannot be spread evenly over {devices} devices. Choose another number.")
    return jax.make_mesh((devices,), (AXIS,), axis_types=(AxisType.Auto,), devices=jax.devices()[:devices])


def spread(carry: Carry, mesh: Mesh, *, seeds: bool) -> Carry:
    """Place a carry: seeds as a whole where there are several; else environments apart and the learner everywhere."""

    def place(tree: Any, *axes: str) -> Any:
        return placed(tree, NamedSharding(mesh, PartitionSpec(*axes)))

    if seeds:
        return place(carry, AXIS)
    apart = carry.actor, carry.context, carry.returns
    return eqx.tree_at(
        lambda c: (c.train, c.actor, c.context, c.returns),
        carry,
        (place(carry.train), *(place(part, AXIS) for part in apart)),
        is_leaf=lambda leaf: leaf is None,
    )


def placed(tree: Any, sharding: NamedSharding) -> Any:
    """A tree on the devices of a sharding, of which other processes may have some: they hold the same tree."""
    if sharding.is_fully_addressable:
        return jax.device_put(tree, sharding)

    def place(leaf: Any) -> Any:
        whole = np.asarray(leaf)
        return jax.make_array_from_callback(whole.shape, sharding, lambda part: whole[part])

    return jax.tree.map(place, tree)


def gathered(carry: Carry) -> Carry:
    """A carry on one device of this process. If it is spread over several processes, all of them must ask for it."""
    arrays, rest = eqx.partition(carry, eqx.is_array)
    if jax.process_count() > 1:
        arrays = jax.tree.map(jnp.asarray, process_allgather(arrays, tiled=True))
    return eqx.combine(jax.device_put(arrays, jax.local_devices()[0]), rest)
