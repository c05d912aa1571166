"""What one accelerator should give for GPL-Q, predicted from the compiled program: docs/accelerators.md.

python benchmarks/accelerator.py --envs 16 64 1024 8192 --seeds 1 8

Operations and bytes are those of the program as XLA compiled it for a CPU; nothing is run. A GPU's compiler fuses
otherwise, so the number of kernels is a guess of the right size. The machine is given by four public figures.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from openteam import make, make_algorithm
from openteam.compile_cache import QUICKEST_TO_COMPILE
from openteam.core.random import key as make_key
from openteam.rollout.acting import collect
from openteam.rollout.joint_acting import way_of_acting
from openteam.training.loop import one_update, start_carry

NOT_A_KERNEL = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "while", "after-all", "partition-id"}


@dataclass(frozen=True)
class Cost:
    """Of one program, or of a part of it."""

    flops: float
    bytes: float
    kernels: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes + other.bytes, self.kernels + other.kernels)

    def times(self, number: float, kernels: float | None = None) -> Cost:
        """So often one after another; or, with as many kernels as before, that much wider."""
        return Cost(number * self.flops, number * self.bytes, self.kernels * (number if kernels is None else kernels))


@dataclass(frozen=True)
class Machine:
    """An accelerator by its data sheet, and what part of that small float32 programs reach."""

    flops: float = 60e12  # float32, no tensor cores
    bandwidth: float = 3.35e12  # bytes per second
    launch: float = 3e-6  # seconds per kernel
    efficiency: float = 0.5  # of operations and bandwidth

    def seconds(self, cost: Cost) -> dict[str, float]:
        """How long each of three limits alone would take."""
        return {
            "kernels": cost.kernels * self.launch,
            "bytes": cost.bytes / self.bandwidth / self.efficiency,
            "operations": cost.flops / self.flops / self.efficiency,
        }


def cost_of(function: Callable[..., Any], shapes: Any) -> Cost:
    """Of a function of arrays of these shapes. What a loop does is counted once."""
    arrays, rest = eqx.partition(shapes, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def compiled(arrays: Any) -> Any:
        return eqx.filter(function(eqx.combine(arrays, rest)), eqx.is_array)

    lowered: Any = jax.jit(compiled).lower(arrays)
    program = lowered.compile(compiler_options=QUICKEST_TO_COMPILE)
    found = program.cost_analysis()
    return Cost(found["flops"], found["bytes accessed"], kernels_in(program.as_text()))


def kernels_in(text: str) -> int:
    """Instructions of a compiled program that would be launched: its own and, once each, those of its loops' bodies."""
    bodies = {"ENTRY", *re.findall(r"body=%?([\w.-]+)", text)}
    count, counted = 0, False
    for line in text.splitlines():
        if line.endswith("{") and not line.startswith(" "):
            name = re.match(r"(ENTRY)?\s*%?([\w.-]+)", line)
            counted = name is not None and bool({name[1], name[2]} & bodies)
        found = re.match(r"\s+(?:ROOT )?%?[\w.-]+ = .*?\s([a-z][\w-]*)\(", line)
        count += counted and found is not None and found[1] not in NOT_A_KERNEL
    return count


def update_cost(task: Any, learner: Any) -> Cost:
    """Of collecting a chunk and learning from it."""
    carry, keys = eqx.filter_eval_shape(start_carry, task, learner, make_key(0)), jax.random.split(make_key(1))

    def step(carry: Any) -> Any:
        policy = learner.policy(carry.train.model, jnp.zeros(()))
        return collect(task, policy, carry.actor, keys[0], 1, way_of_acting(learner))

    whole = cost_of(lambda carry: one_update(task, learner, carry, keys, jnp.zeros(())), carry)
    return whole + cost_of(step, carry).times(learner.update_every - 1)


def parameters(task: Any, learner: Any) -> int:
    """Learned numbers."""
    model = eqx.filter_eval_shape(start_carry, task, learner, make_key(0)).train.model
    return sum(leaf.size for leaf in jax.tree.leaves(model) if hasattr(leaf, "size"))


def row(envs: int, seeds: int, chunk: int, cost: Cost, machine: Machine) -> str:
    """One line of the table."""
    seconds = machine.seconds(cost.times(seeds, kernels=1))
    limit = max(seconds, key=seconds.__getitem__)
    speed = seeds * chunk / seconds[limit]
    parts = " / ".join(f"{1e3 * value:.2f}" for value in seconds.values())
    return (
        f"| {envs:,} | {seeds} | {cost.flops / chunk / 1e6:.2f} | {cost.bytes / chunk / 1e6:.2f} | {cost.kernels:,.0f} "
        f"| {parts} | {limit} | {speed:,.0f} |"
    )


def main() -> None:
    """Compile and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="lbf-released")
    parser.add_argument("--algorithm", default="gpl-q")
    parser.add_argument("--envs", type=int, nargs="+", default=[16, 64, 1024, 8192])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 8])
    for field in dataclasses.fields(Machine):
        parser.add_argument(f"--{field.name}", type=float, default=field.default)
    flags = parser.parse_args()
    machine = Machine(*(getattr(flags, field.name) for field in dataclasses.fields(Machine)))
    task = make(flags.task)
    learner: Any = make_algorithm(flags.algorithm, task)
    print(f"{flags.algorithm} on {flags.task}: {parameters(task, learner):,} parameters; {machine}\n")
    print(
        "| envs | seeds | MFLOP/step | MB/step | kernels/update | ms: kernels / bytes / operations | limit | steps/s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for envs in flags.envs:
        wide = dataclasses.replace(learner, envs=envs)
        cost = update_cost(task, wide)
        for seeds in flags.seeds:
            print(row(envs, seeds, envs * wide.update_every, cost, machine), flush=True)


if __name__ == "__main__":
    main()
