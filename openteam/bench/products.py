"""The matrix products of a program, counted in its jaxpr, and the time that they take alone.

A learner's products are what it cannot do without. How much longer its training takes than they do says what is left to
gain, whatever the shapes: narrow layers and gradients over few rows are slow products by themselves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.interpreters.partial_eval import dce_jaxpr

from openteam.bench.timing import seconds_per_call

Dimensions = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


@dataclass(frozen=True)
class Product:
    """One kind of ``dot_general``: what it multiplies, along which axes."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    dimensions: Dimensions
    dtypes: tuple[str, str, str]  # of both and of the result

    @property
    def flops(self) -> int:
        (_, contracted), (_, batch) = self.dimensions
        free = (size for axis, size in enumerate(self.right) if axis not in contracted + batch)
        return 2 * math.prod(self.left) * math.prod(free)

    def __call__(self, left: Any, right: Any) -> Any:
        return jax.lax.dot_general(left, right, self.dimensions, preferred_element_type=self.dtypes[2])


def products_of(function: Callable[..., Any], *args: Any) -> Counter[Product]:
    """How often a function multiplies what, in loops too; what it multiplies in vain is left out, as compilers do."""
    jaxpr = eqx.filter_make_jaxpr(function)(*args)[0].jaxpr
    return products_in(dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[0])


def products_in(jaxpr: Any) -> Counter[Product]:
    """The same of a jaxpr in which nothing is in vain."""
    found: Counter[Product] = Counter()
    for equation in jaxpr.eqns:
        if (product := product_of(equation)) is not None:
            found[product] += 1
        inner = [products_in(part) for part in parts_of(equation)]
        if not any(inner):
            continue
        if equation.primitive.name == "while":
            raise ValueError("Products in a while loop cannot be counted: nobody knows how often it goes round.")
        if equation.primitive.name == "cond":  # one branch is taken: the largest is counted
            inner = [max(inner, key=total_flops)]
        for products in inner:
            found.update({product: count * equation.params.get("length", 1) for product, count in products.items()})
    return found


def product_of(equation: Any) -> Product | None:
    """What an equation multiplies; None if it does something else, counts, or has nothing to do."""
    if equation.primitive.name != "dot_general":
        return None
    left, right, result = arrays = [variable.aval for variable in (*equation.invars, *equation.outvars)]
    if not all(jnp.issubdtype(array.dtype, jnp.floating) and array.size for array in arrays):
        return None
    dtypes = str(left.dtype), str(right.dtype), str(result.dtype)
    return Product(left.shape, right.shape, equation.params["dimension_numbers"], dtypes)


def parts_of(equation: Any) -> Iterator[Any]:
    """The jaxprs that an equation calls."""
    for value in equation.params.values():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            part = getattr(part, "jaxpr", part)
            if hasattr(part, "eqns"):
                yield part


def total_flops(products: Counter[Product]) -> int:
    """Multiplications and additions of all of them."""
    return sum(product.flops * count for product, count in products.items())


def seconds_alone(products: Counter[Product], budget: float) -> float:
    """How long all these products take one after another, each as often as it is counted, and nothing else."""
    operands = [(jnp.ones(p.left, p.dtypes[0]), jnp.ones(p.right, p.dtypes[1])) for p in products]

    @jax.jit
    def multiply(operands: Any) -> Any:
        return [
            repeated(product, count, *pair) for (product, count), pair in zip(products.items(), operands, strict=True)
        ]

    return seconds_per_call(lambda: multiply(operands), budget)


def repeated(product: Product, count: int, left: Any, right: Any) -> Any:
    """One product, ``count`` times. A number of an operand depends on the last result, or it would be done once."""

    def again(_: Any, state: tuple) -> tuple:
        left, result = state
        left = left.at[(0,) * left.ndim].add((1e-9 * result[(0,) * result.ndim]).astype(left.dtype))
        return left, product(left, right)

    blank = jnp.zeros_like(jax.eval_shape(product, left, right))
    return jax.lax.fori_loop(0, count, again, (left, blank))[1]
