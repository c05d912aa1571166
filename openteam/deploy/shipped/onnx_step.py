"""Runs an exported policy with onnxruntime."""

import json
from pathlib import Path

import numpy as np
import onnxruntime


class Step:
    """One decision: a dictionary of arrays in, a dictionary of arrays out."""

    def __init__(self, folder):
        contract = json.loads((Path(folder) / "contract.json").read_text(encoding="utf-8"))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # a decision is too small to be shared among threads
        self.session = onnxruntime.InferenceSession(str(Path(folder) / "policy.onnx"), options)
        self.outputs = [port["name"] for port in contract["outputs"]]

    def __call__(self, arrays):
        """Outputs by name."""
        results = self.session.run(None, {name: np.asarray(array) for name, array in arrays.items()})
        return dict(zip(self.outputs, results, strict=True))
