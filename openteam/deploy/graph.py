"""A simplified program as data: operations by name between numbered values, with options that JSON can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend import core

from openteam.deploy.flatten import literal
from openteam.deploy.pure_step import PureStep
from openteam.deploy.shipped.numpy_step import OPERATIONS
from openteam.errors import UserError

LARGEST_FOLDED = 4096  # entries of a constant that is computed now instead of in every decision
OPTIONS = {
    "broadcast_in_dim": ("shape", "broadcast_dimensions"), "reshape": ("new_sizes",), "transpose": ("permutation",),
    "concatenate": ("dimension",), "slice": ("start_indices", "limit_indices", "strides"),
    "reduce_sum": ("axes",), "reduce_max": ("axes",), "reduce_min": ("axes",), "argmax": ("axes",),
    "cumsum": ("axis", "reverse"), "convert_element_type": ("new_dtype",), "sort": ("dimension", "num_keys"),
}  # fmt: skip
"""What an operation must know besides its inputs."""


@dataclass(frozen=True)
class Equation:
    """An operation: which values go in, which come out."""

    name: str
    inputs: list[int]
    outputs: list[int]
    options: dict[str, Any]


@dataclass(frozen=True)
class Graph:
    """Values are numbers. Equations are in an order in which they can be computed."""

    inputs: list[int]
    outputs: list[int]
    constants: dict[int, np.ndarray]
    equations: list[Equation]
    shapes: dict[int, tuple[tuple[int, ...], str]]

    def pruned(self) -> Graph:
        """The same without what no output needs."""
        needed, kept = set(self.outputs), []
        for equation in reversed(self.equations):
            if needed.intersection(equation.outputs):
                needed.update(equation.inputs)
                kept.append(equation)
        constants = {place: array for place, array in self.constants.items() if place in needed}
        return Graph(self.inputs, self.outputs, constants, kept[::-1], self.shapes)


class Builder:
    """Numbers the values of a program."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.constants: dict[int, np.ndarray] = {}
        self.shapes: dict[int, tuple[tuple[int, ...], str]] = {}
        self.equations: list[Equation] = []

    def number(self, atom: Any) -> int:
        """The number of a value; literals are constants."""
        if isinstance(atom, core.Literal):
            return self.constant(literal(atom))
        if atom not in self.numbers:
            self.numbers[atom] = self.new(tuple(atom.aval.shape), str(atom.aval.dtype))
        return self.numbers[atom]

    def new(self, shape: tuple[int, ...], dtype: str) -> int:
        self.shapes[len(self.shapes)] = (shape, dtype)
        return len(self.shapes) - 1

    def constant(self, array: np.ndarray) -> int:
        place = self.new(array.shape, str(array.dtype))
        self.constants[place] = array
        return place

    def add(self, equation: Any) -> None:
        """One more equation, or its result if that is a small constant."""
        inputs = [self.number(atom) for atom in equation.invars]
        outputs = [self.number(atom) for atom in equation.outvars]
        if equation.primitive.name not in OPERATIONS:
            raise UserError(
                f"This policy cannot be exported: it computes '{equation.primitive.name}', which openteam cannot write "
                f"without JAX. Export it --to stablehlo, which needs JAX to run."
            )
        new = Equation(equation.primitive.name, inputs, outputs, options_of(equation))
        size = max(int(np.prod(self.shapes[place][0])) for place in outputs)
        if size <= LARGEST_FOLDED and all(place in self.constants for place in inputs):
            results = OPERATIONS[new.name]([self.constants[place] for place in inputs], new.options)
            self.constants |= zip(outputs, map(np.asarray, results), strict=True)
        else:
            self.equations.append(new)


def options_of(equation: Any) -> dict[str, Any]:
    """The options of an operation, as JSON has them."""
    if equation.primitive.name == "argmax" and len(equation.params["axes"]) != 1:
        raise UserError("This policy cannot be exported: it takes an argmax over several axes at once.")
    return {name: plain(equation.params[name]) for name in OPTIONS.get(equation.primitive.name, ())}


def plain(value: Any) -> Any:
    """Numbers, words and lists."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    return int(value) if isinstance(value, (int, np.integer)) else str(np.dtype(value))


def graph_of(step: PureStep) -> Graph:
    """A policy's decision as a graph, without what no output needs."""
    program, builder = step.simplified(), Builder()
    inputs = [builder.number(variable) for variable in program.jaxpr.invars]
    for variable, array in zip(program.jaxpr.constvars, program.consts, strict=True):
        builder.constants[builder.number(variable)] = np.asarray(jax.device_get(array))
    for equation in program.jaxpr.eqns:
        builder.add(equation)
    outputs = [builder.number(atom) for atom in program.jaxpr.outvars]
    return Graph(inputs, outputs, builder.constants, builder.equations, builder.shapes).pruned()
