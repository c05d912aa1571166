"""One decision as a function of numbers only: what is seen, what is remembered, and uniform numbers for chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jaxtyping import Array, Float

from openteam.core.policy import AbstractPolicy
from openteam.deploy.flatten import Given, Recorded, Secret, Walk, check_no_secret
from openteam.deploy.interface import Interface
from openteam.deploy.simplify import FINAL, RULES
from openteam.deploy.step import Draws, Inputs, Step, draws_of
from openteam.storage.checkpoint import named_leaves

NOISE = "noise"
REASONS = ("action_values", "probabilities")
"""What is exported of a decision's reasons, where the policy has them."""


@dataclass(frozen=True)
class Port:
    """An array that goes in or out."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class PureStep:
    """A policy's decision in teams of up to ``slots``, its parameters built in.

    Goes in: what is seen (``Inputs``), memory, and ``noise`` if there is a draw. Comes out: the action, its reasons,
    and memory under the same names.
    """

    def __init__(self, policy: AbstractPolicy, interface: Interface, slots: int):
        step, seen = Step(policy), example(interface, slots)
        self.slots = slots
        self.start = {f"memory{name}": np.asarray(leaf) for name, leaf in named_leaves(policy.start(slots)).items()}

        def decide(memory: tuple, draws: Draws, inputs: Inputs) -> tuple:
            decision = step.shape.decide(step.parameters, memory, draws, inputs)
            why = {name: getattr(decision.explanation, name) for name in REASONS}
            told = {name: numbers for name, numbers in why.items() if numbers is not None}
            return decision.action, told, tuple(jax.tree.leaves(decision.memory))

        memory = tuple(self.start.values())
        self._program, results = jax.make_jaxpr(decide, return_shape=True)(memory, draws_of(0), seen)
        names = ["action", *results[1], *self.start]
        self.outputs = [port(name, leaf) for name, leaf in zip(names, jax.tree.leaves(results), strict=True)]
        ports = [port(name, leaf) for name, leaf in (seen._asdict() | self.start).items()]
        draws = self._count()
        self.inputs = [*ports, Port(NOISE, (draws,), "float32")] if draws else ports

    def _count(self) -> int:
        """How many numbers a decision draws."""
        counter = Given(None)
        unknown = [Secret("data")] * len(self._program.jaxpr.invars)
        jax.eval_shape(lambda: bool(Walk(counter)(self._program, unknown)))
        return counter.taken

    def _keyless(self, arrays: Sequence[Any], walk: Walk) -> list[Any]:
        """The outputs, from what is seen and remembered, without a look at a key."""
        seen, memory = arrays[: len(Inputs._fields)], arrays[len(Inputs._fields) :]
        results = walk(self._program, [*memory, Secret("a key"), Secret("a key"), *seen])
        check_no_secret(results)
        return results

    def __call__(self, *arrays: Any, rules: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
        """Outputs in the order of ``outputs``, from arrays in the order of ``inputs``."""
        size = len(Inputs._fields) + len(self.start)
        noise = arrays[size] if len(arrays) > size else jnp.zeros(0)
        return tuple(self._keyless(arrays[:size], Walk(Given(noise), rules or {})))

    def noise(self, draws: Draws) -> Float[Array, "draws"]:
        """The numbers that an ``Agent`` with this randomness draws for its decision."""
        recorded = Recorded()
        unknown = [Secret("data")]
        Walk(recorded)(self._program, [*unknown * len(self.start), *draws, *unknown * len(Inputs._fields)])
        return jnp.concatenate([numbers.reshape(-1) for numbers in recorded.drawn] or [jnp.zeros(0)])

    @property
    def structs(self) -> list[jax.ShapeDtypeStruct]:
        return structs(self.inputs)

    def simplified(self) -> core.ClosedJaxpr:
        """The program in few kinds of operations, without keys, calls and loops."""
        traced = jax.make_jaxpr(lambda *arrays: self(*arrays, rules=RULES))(*self.structs)
        # What the rules themselves and unrolled loops brought in is simple but for calls and shapes.
        left = {name: rule for name, rule in RULES.items() if name not in FINAL}
        return jax.make_jaxpr(lambda *arrays: Walk(Given(None), left)(traced, arrays))(*self.structs)


def structs(ports: Sequence[Port]) -> list[jax.ShapeDtypeStruct]:
    """Shapes and types, for tracing."""
    return [jax.ShapeDtypeStruct(port.shape, port.dtype) for port in ports]


def example(interface: Interface, slots: int) -> Inputs:
    """The learner alone, at the start of an episode."""
    spec, first = interface.spec, np.arange(slots) == 0
    agents, shared = np.tile(interface.absent_row, (slots, 1)), np.zeros(spec.shared_features, np.float32)
    return Inputs(agents, shared, first, np.ones(spec.actions, bool), np.array(True), first, np.array(-1, np.int32))


def port(name: str, leaf: Any) -> Port:
    """The port for such an array."""
    return Port(name, tuple(leaf.shape), str(leaf.dtype))
