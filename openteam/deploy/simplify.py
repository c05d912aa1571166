"""JAX's operations by simpler ones, so that whatever runs an exported policy needs to know few.

What is left: arithmetic, comparisons, ``select_n``, ``broadcast_in_dim``, ``reshape``, ``transpose``, ``concatenate``,
``slice``, products of matrices, sums and maxima, ``argmax``, ``cumsum``, ``sort``, and two that reach into a vector:
``gather`` of single entries and ``scatter`` of single entries, all of them inside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.lax import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from jaxtyping import Array

from openteam.errors import UserError

ONE_OF_A_VECTOR = GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
INTO_A_VECTOR = ScatterDimensionNumbers(
    update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
)
Tensor = Array | np.ndarray
Rule = Callable[..., Sequence[Any]]


def split(x: Tensor, *, sizes: Sequence[Any], axis: Any) -> list[Any]:
    """Pieces along an axis."""
    ends = np.cumsum(sizes)
    return [lax.slice_in_dim(x, int(end) - size, int(end), axis=axis) for size, end in zip(sizes, ends, strict=True)]


def stack(*xs: Tensor, axis: Any) -> list[Any]:
    """Arrays along a new axis."""
    return [lax.concatenate([lax.expand_dims(x, [axis]) for x in xs], axis)]


def squeeze(x: Tensor, *, dimensions: Sequence[Any]) -> list[Any]:
    """Without axes of length 1."""
    return [lax.reshape(x, [size for axis, size in enumerate(x.shape) if axis not in dimensions])]


def integer_pow(x: Tensor, *, y: Any) -> list[Any]:
    """x^y by products."""
    product = math.prod([x] * (abs(y) - 1), start=x) if y else lax.full_like(x, 1)
    return [product if y >= 0 else lax.full_like(x, 1) / product]


def iota(*, dtype: Any, shape: Sequence[Any], dimension: Any, sharding: Any = None) -> list[Any]:
    """Counting along an axis."""
    del sharding
    line = np.arange(shape[dimension], dtype=dtype)
    return [np.broadcast_to(line.reshape([-1 if axis == dimension else 1 for axis in range(len(shape))]), shape).copy()]


def pad(x: Tensor, value: Tensor, *, padding_config: Sequence[Any]) -> list[Any]:
    """More of ``value`` before and after."""
    for axis, (low, high, inner) in enumerate(padding_config):
        if min(low, high) < 0 or inner:
            raise UserError("This policy cannot be exported: it pads an array by less than nothing, or inside.")
        before, after = ([*x.shape[:axis], size, *x.shape[axis + 1 :]] for size in (low, high))
        x = lax.concatenate([lax.broadcast(value, before), x, lax.broadcast(value, after)], axis)
    return [x]


def reduce_or(x: Tensor, *, axes: Sequence[Any], **_: Any) -> list[Any]:
    """Whether any is true."""
    return [lax.gt(lax.reduce_max(x.astype(np.int32), axes), np.int32(0))]


def reduce_and(x: Tensor, *, axes: Sequence[Any], **_: Any) -> list[Any]:
    """Whether all are true."""
    return [lax.gt(lax.reduce_min(x.astype(np.int32), axes), np.int32(0))]


def log1p(x: Tensor, **_: Any) -> list[Any]:
    """log(1 + x), exact to rounding also for small x: log(y) x / (y - 1) with y = 1 + x as it is rounded."""
    y = x + 1
    rounded = lax.sub(y, lax.full_like(y, 1))
    is_small = lax.eq(rounded, lax.full_like(y, 0))
    safe = lax.select(is_small, lax.full_like(y, 1), rounded)
    return [lax.select(is_small, x, lax.log(y) * (x / safe))]


def erf_inv(x: Tensor) -> list[Any]:
    """The inverse error function by Giles, "Approximating the erfinv function", 2010: in XLA's own polynomials."""
    near = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
            -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
    far = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
           0.00943887047, 1.00167406, 2.83297682)  # fmt: skip
    w = -log1p(-x * x)[0]
    is_near = lax.lt(w, lax.full_like(w, 5))
    w = lax.select(is_near, w - 2.5, lax.sqrt(lax.max(w, lax.full_like(w, 5))) - 3)
    total = lax.full_like(w, 0)
    for low, high in zip(near, far, strict=True):
        total = lax.select(is_near, lax.full_like(w, low), lax.full_like(w, high)) + total * w
    return [total * x]


def dot_general(x: Tensor, y: Tensor, *, dimension_numbers: Any, preferred_element_type: Any, **_: Any) -> list[Any]:
    """A product of matrices, or of equally many of both: what is summed over comes last in x, and before last in y."""
    (over_x, over_y), (batch_x, batch_y) = dimension_numbers
    free_x, free_y = (
        [axis for axis in range(z.ndim) if axis not in (*over, *batch)]
        for z, over, batch in ((x, over_x, batch_x), (y, over_y, batch_y))
    )
    batch, rows, columns = ([z.shape[a] for a in axes] for z, axes in ((x, batch_x), (x, free_x), (y, free_y)))
    inner = math.prod(x.shape[axis] for axis in over_x)
    many = [math.prod(batch)] if batch else []
    x = lax.reshape(lax.transpose(x, [*batch_x, *free_x, *over_x]), [*many, math.prod(rows), inner])
    y = lax.reshape(lax.transpose(y, [*batch_y, *over_y, *free_y]), [*many, inner, math.prod(columns)])
    plain = (((x.ndim - 1,), (y.ndim - 2,)), ((0,), (0,)) if batch else ((), ()))
    product = lax.dot_general(x, y, plain, preferred_element_type=preferred_element_type)
    return [lax.reshape(product, [*batch, *rows, *columns])]


def dynamic_slice(x: Tensor, *starts: Tensor, slice_sizes: Sequence[Any], **_: Any) -> list[Any]:
    """A piece that begins where a number says, moved inside if need be."""
    return [take(x, [within(start, size, n) for start, size, n in zip(starts, slice_sizes, x.shape, strict=True)],
                 slice_sizes)]  # fmt: skip


def take(x: Tensor, starts: Sequence[Any], sizes: Sequence[Any]) -> Array:
    """A piece that begins at these numbers, all of it inside."""
    axes = range(x.ndim)
    numbers = [iota(dtype=np.int32, shape=sizes, dimension=axis)[0] + starts[axis] for axis in axes]
    return one_by_one(x, flat_index(numbers, x.shape))


def gather(
    x: Tensor, indices: Tensor, *, dimension_numbers: Any, slice_sizes: Sequence[Any], mode: Any, **_: Any
) -> Any:
    """Pieces of x that begin at the rows of ``indices``, entry by entry."""
    d = dimension_numbers
    if GatherScatterMode.from_any(mode) not in (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS):
        raise UserError(
            "This policy cannot be exported: it reads entries of an array that may lie outside of it. Index with "
            "x.at[...].get(mode='clip')."
        )
    batch_shape = indices.shape[:-1]
    kept = [a for a in range(x.ndim) if a not in (*d.collapsed_slice_dims, *d.operand_batching_dims)]
    batch_axes = [axis for axis in range(len(batch_shape) + len(kept)) if axis not in d.offset_dims]
    sizes = dict(zip(batch_axes, batch_shape, strict=True))
    sizes |= zip(d.offset_dims, (slice_sizes[axis] for axis in kept), strict=True)
    shape = [int(sizes[axis]) for axis in range(len(sizes))]
    numbers: list[Any] = [np.zeros(shape, np.int32) for _ in x.shape]
    for axis, place in zip(kept, d.offset_dims, strict=True):
        numbers[axis] = iota(dtype=np.int32, shape=shape, dimension=place)[0]
    for axis, place in zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True):
        numbers[axis] = iota(dtype=np.int32, shape=shape, dimension=batch_axes[place])[0]
    for column, axis in enumerate(d.start_index_map):
        start = within(column_of(indices, column), slice_sizes[axis], x.shape[axis])
        numbers[axis] = numbers[axis] + lax.broadcast_in_dim(start, shape, batch_axes)
    return [one_by_one(x, flat_index(numbers, x.shape))]


def scatter(x: Tensor, indices: Tensor, updates: Tensor, *, dimension_numbers: Any, mode: Any, **_: Any) -> list[Any]:
    """``updates`` in x, whole slices that begin at the rows of ``indices``; what would not fit is left out."""
    d = dimension_numbers
    inserted = (*d.inserted_window_dims, *d.operand_batching_dims)
    window = [axis for axis in range(x.ndim) if axis not in inserted]
    batch_axes = [axis for axis in range(updates.ndim) if axis not in d.update_window_dims]
    sizes = dict(zip(window, (updates.shape[axis] for axis in d.update_window_dims), strict=True))
    numbers: list[Any] = [np.zeros(updates.shape, np.int32) for _ in x.shape]
    for axis, place in zip(window, d.update_window_dims, strict=True):
        numbers[axis] = iota(dtype=np.int32, shape=updates.shape, dimension=place)[0]
    for axis, place in zip(d.operand_batching_dims, d.scatter_indices_batching_dims, strict=True):
        numbers[axis] = iota(dtype=np.int32, shape=updates.shape, dimension=batch_axes[place])[0]
    inside: Any = np.ones(updates.shape, bool)
    for column, axis in enumerate(d.scatter_dims_to_operand_dims):
        start, last = column_of(indices, column), x.shape[axis] - sizes.get(axis, 1)
        if GatherScatterMode.from_any(mode) == GatherScatterMode.CLIP:
            start = lax.clamp(np.int32(0), start, np.int32(last))
        start = lax.broadcast_in_dim(start, updates.shape, batch_axes)
        inside = inside & lax.ge(start, lax.full_like(start, 0)) & lax.le(start, lax.full_like(start, last))
        numbers[axis] = numbers[axis] + start
    # One entry more than there is room for: whatever is left out goes there.
    outside = lax.full(updates.shape, x.size, np.int32)
    place = lax.select(inside, flat_index(numbers, x.shape), outside)
    room = lax.concatenate([lax.reshape(x, [x.size]), lax.full([1], 0, x.dtype)], 0)
    rows, values = lax.reshape(place, [place.size, 1]), lax.reshape(updates, [place.size])
    mixed = lax.scatter(room, rows, values, INTO_A_VECTOR, mode=GatherScatterMode.PROMISE_IN_BOUNDS)
    return [lax.reshape(lax.slice_in_dim(mixed, 0, x.size), x.shape)]


def column_of(indices: Tensor, column: int) -> Array:
    """One number of every row."""
    last = indices.ndim - 1
    part = lax.slice_in_dim(indices, column, column + 1, axis=last)
    return lax.reshape(part, indices.shape[:-1]).astype(np.int32)


def within(start: Any, size: Any, length: int) -> Array:
    """The nearest start from which ``size`` entries of ``length`` are there."""
    start = lax.convert_element_type(start, np.int32)
    return lax.max(lax.min(start, lax.full_like(start, length - size)), lax.full_like(start, 0))


def flat_index(numbers: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The places of entries in an array that is one long vector."""
    steps = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    parts = [number * np.int32(step) for number, step in zip(numbers, steps, strict=True)]
    return sum(parts[1:], start=parts[0]) if parts else np.zeros((), np.int32)


def one_by_one(x: Tensor, places: Tensor) -> Array:
    """Single entries of an array that is one long vector."""
    rows, shape = jax.numpy.reshape(places, (-1, 1)), places.shape
    vector = lax.reshape(x, [x.size])
    found = lax.gather(vector, rows, ONE_OF_A_VECTOR, (1,), mode=GatherScatterMode.PROMISE_IN_BOUNDS)
    return lax.reshape(found, shape)


def select_n(which: Tensor, *cases: Tensor) -> list[Any]:
    """The second case where true; a single truth value for all is spread out."""
    if which.ndim == 0 and cases[0].ndim:
        which = lax.broadcast_in_dim(which, cases[0].shape, ())
    return [lax.select_n(which, *cases)]


RULES: dict[str, Rule] = {
    "split": split, "stack": stack, "squeeze": squeeze, "integer_pow": integer_pow, "iota": iota, "pad": pad,
    "reduce_or": reduce_or, "reduce_and": reduce_and, "log1p": log1p, "erf_inv": erf_inv, "dot_general": dot_general,
    "dynamic_slice": dynamic_slice, "gather": gather, "scatter": scatter, "select_n": select_n,
    "expand_dims": lambda x, *, dimensions: [lax.expand_dims(x, dimensions)],
    "square": lambda x: [x * x],
    "le_to": lambda x, y: [lax.le(x, y)],
    "lt_to": lambda x, y: [lax.lt(x, y)],
    "stop_gradient": lambda x: [x],
    "copy": lambda x: [x],
    "optimization_barrier": lambda *xs: xs,
    "clamp": lambda low, x, high: [lax.min(lax.max(x, low + lax.full_like(x, 0)), high + lax.full_like(x, 0))],
}  # fmt: skip
"""Operations that are written in others, by name."""

FINAL = ("gather", "scatter", "dot_general", "select_n")
"""Those that are written in a simple case of themselves, and must not be written so again."""
