"""Runs an exported policy with JAX."""

import json
from pathlib import Path

import jax
import numpy as np
from jax import export


class Step:
    """One decision: a dictionary of arrays in, a dictionary of arrays out."""

    def __init__(self, folder):
        contract = json.loads((Path(folder) / "contract.json").read_text(encoding="utf-8"))
        program = export.deserialize(bytearray((Path(folder) / "policy.stablehlo").read_bytes()))
        self.call = jax.jit(program.call)
        self.inputs, self.outputs = ([port["name"] for port in contract[side]] for side in ("inputs", "outputs"))

    def __call__(self, arrays):
        """Outputs by name."""
        results = self.call(*(arrays[name] for name in self.inputs))
        return {name: np.asarray(result) for name, result in zip(self.outputs, results, strict=True)}
