"""A traced function without keys: the random numbers that it would draw become an input.

Random keys, and how numbers are made of them, are JAX's own. What a policy does with numbers between 0 and 1 is plain
arithmetic that anything can run. So a program is walked through equation by equation: calls of other programs and loops
are written out, and where ``jax.random.uniform`` is called, the next given numbers are taken instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jaxtyping import Array, Float

from openteam.errors import UserError

CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}
LONGEST_LOOP = 64  # written out, so that nothing needs to know loops


class Secret:
    """Stands for what a walk does not look at: a key, and all that is made of one by other means than ``uniform``."""

    def __init__(self, origin: str):
        self.origin = origin


class Given:
    """Uniform numbers that are given: one after the other, as a program asks for them. None only counts."""

    def __init__(self, numbers: Float[Array, "draws"] | None):
        self.numbers = numbers
        self.taken = 0

    def __call__(self, key: Any, shape: tuple[int, ...]) -> Array | Secret:
        del key
        start, self.taken = self.taken, self.taken + math.prod(shape)
        return Secret("a number") if self.numbers is None else self.numbers[start : self.taken].reshape(shape)


class Recorded:
    """Uniform numbers of the keys themselves, kept in the order in which ``Given`` would give them out."""

    def __init__(self) -> None:
        self.drawn: list[Array] = []

    def __call__(self, key: Any, shape: tuple[int, ...]) -> Secret:
        rest = shape[key.ndim :]
        many = jax.vmap(lambda one: jax.random.uniform(one, rest))
        self.drawn.append(many(key) if key.ndim else jax.random.uniform(key, rest))
        return Secret("a number")


@dataclass(frozen=True)
class Walk:
    """How a program is walked through: where uniform numbers come from, and operations that are written in others."""

    draw: Callable[[Any, tuple[int, ...]], Array | Secret]
    rules: Mapping[str, Callable[..., Sequence[Any]]] = field(default_factory=dict)

    def __call__(self, program: core.ClosedJaxpr, arguments: Sequence[Any]) -> list[Any]:
        """The results of a program."""
        values: dict[Any, Any] = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
        values |= zip(program.jaxpr.invars, arguments, strict=True)

        def value(atom: Any) -> Any:
            return literal(atom) if isinstance(atom, core.Literal) else values[atom]

        for equation in program.jaxpr.eqns:
            results = self.perform(equation, [value(atom) for atom in equation.invars])
            values |= zip(equation.outvars, results, strict=True)
        return [value(atom) for atom in program.jaxpr.outvars]

    def perform(self, equation: Any, inputs: list[Any]) -> Sequence[Any]:
        """The results of one equation."""
        name, parameters = equation.primitive.name, equation.params
        if name in CALLS and parameters.get("name") == "_uniform":
            key, low, high = inputs
            uniform = self.draw(key, equation.outvars[0].aval.shape)
            return [uniform if isinstance(uniform, Secret) else jnp.maximum(low, uniform * (high - low) + low)]
        if name in CALLS and parameters.get("name") == "sorted_floats" and not isinstance(inputs[0], Secret):
            return [jax.lax.sort(inputs[0], dimension=sorted_axis(parameters["jaxpr"]))]
        if name in CALLS:
            return self(closed(parameters[CALLS[name]]), inputs)
        if name == "scan" and parameters["length"] <= LONGEST_LOOP:
            return self.unroll(parameters, inputs)
        secret = next((item for item in inputs if isinstance(item, Secret)), None)
        if secret is not None:
            return [Secret(name if name == "random_bits" else secret.origin)] * len(equation.outvars)
        if name in self.rules:
            return self.rules[name](*inputs, **parameters)
        results = equation.primitive.bind(*inputs, **parameters)
        return results if equation.primitive.multiple_results else [results]

    def unroll(self, parameters: dict[str, Any], inputs: list[Any]) -> list[Any]:
        """A ``scan`` as its steps, one after the other."""
        first, last = parameters["num_consts"], parameters["num_consts"] + parameters["num_carry"]
        constants, carry, sequences = inputs[:first], inputs[first:last], inputs[last:]
        steps = range(parameters["length"])
        rows = []
        for step in reversed(steps) if parameters["reverse"] else steps:
            now = [row_of(sequence, step) for sequence in sequences]
            results = self(parameters["jaxpr"], [*constants, *carry, *now])
            carry, row = results[: len(carry)], results[len(carry) :]
            rows.append(row)
        rows = rows[::-1] if parameters["reverse"] else rows
        return [*carry, *(stacked(column) for column in zip(*rows, strict=True))]


def sorted_axis(program: core.ClosedJaxpr) -> int:
    """Along which axis a program sorts."""
    (axis,) = (each.params["dimension"] for each in program.jaxpr.eqns if each.primitive.name == "sort")
    return axis


def literal(atom: Any) -> np.ndarray:
    """A number that stands in a program."""
    return np.asarray(atom.val, atom.aval.dtype)


def row_of(sequence: Any, step: int) -> Any:
    """What a loop's step is given."""
    return sequence if isinstance(sequence, Secret) else jax.lax.index_in_dim(sequence, step, keepdims=False)


def stacked(column: Sequence[Any]) -> Any:
    """What the steps of a loop gave, as one array."""
    secret = next((item for item in column if isinstance(item, Secret)), None)
    return jnp.stack(column) if secret is None else secret


def closed(program: Any) -> core.ClosedJaxpr:
    """A program with its constants, of which it may have none."""
    return program if isinstance(program, core.ClosedJaxpr) else core.ClosedJaxpr(program, ())


def check_no_secret(results: Sequence[Any]) -> None:
    """Raise if a result depends on a key in a way that cannot be replaced."""
    for item in results:
        if isinstance(item, Secret):
            raise UserError(
                f"This policy cannot be exported: it draws random numbers by '{item.origin}'. Policies that draw with "
                "jax.random.uniform, normal, gumbel or categorical can."
            )
