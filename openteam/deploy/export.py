"""A policy as files that run without openteam: ONNX, StableHLO, or plain numpy."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import export as jax_export

from openteam.deploy import shipped
from openteam.deploy.contract import contract_of, digests
from openteam.deploy.graph import Graph, graph_of
from openteam.deploy.onnx_graph import to_onnx
from openteam.deploy.opening import open_run
from openteam.deploy.pure_step import PureStep
from openteam.deploy.targets import check_export
from openteam.storage.checkpoint import read_header
from openteam.storage.creation import staged
from openteam.storage.seal import sealed

SHIPPED = Path(shipped.__file__).parent
PLATFORMS = ("cpu", "cuda", "tpu")


def as_onnx(step: PureStep) -> dict[str, bytes]:
    """A model of the operations that all runtimes of ONNX know."""
    return {"policy.onnx": to_onnx(graph_of(step), step.inputs, step.outputs)}


def as_stablehlo(step: PureStep) -> dict[str, bytes]:
    """A program of JAX's, for several kinds of processors."""
    exported = jax_export.export(jax.jit(step.__call__), platforms=PLATFORMS)(*step.structs)
    return {"policy.stablehlo": bytes(exported.serialize())}


def as_numpy(step: PureStep) -> dict[str, bytes]:
    """Operations as JSON, and their constants."""
    return numpy_files(graph_of(step), step)


def numpy_files(graph: Graph, step: PureStep) -> dict[str, bytes]:
    """What ``shipped/numpy_step.py`` reads."""
    content = {
        "inputs": {port.name: place for port, place in zip(step.inputs, graph.inputs, strict=True)},
        "outputs": {port.name: place for port, place in zip(step.outputs, graph.outputs, strict=True)},
        "equations": [[one.name, one.inputs, one.outputs, one.options] for one in graph.equations],
    }
    constants = {str(place): array for place, array in graph.constants.items()}
    return {"graph.json": json.dumps(content).encode(), "numbers.npz": npz(constants)}


FORMATS: dict[str, Callable[[PureStep], dict[str, bytes]]] = {
    "onnx": as_onnx, "stablehlo": as_stablehlo, "numpy": as_numpy,
}  # fmt: skip


def export(run: os.PathLike[str] | str, to: str, out: Path | str, agents: int | None = None) -> dict[str, Any]:
    """Write one decision of a run's policy for teams of up to ``agents``; what ``contract.json`` says of it.

    By default there is room for the largest team of the task. The folder holds the policy, ``contract.json``, its
    memory at the start, and a program that runs it.
    """
    check_export(to, Path(out), agents)
    with open_run(run) as opened:
        largest = opened.interface.spec.max_agents or opened.interface.slots
        step = PureStep(opened.policy, opened.interface, largest if agents is None else agents)
        header = read_header(opened.checkpoint)
        source = {"task": header["task"], "step": header["step"], "learner": header["learner"]["class"],
                  "digest": header["digest"]}  # fmt: skip
        contract = contract_of(step, opened.interface, to, source)
    files = FORMATS[to](step) | {"start.npz": npz(step.start)}
    contract = sealed(contract | {"files": digests(files, list(files))})
    files["contract.json"] = (json.dumps(contract, indent=1) + "\n").encode()
    files |= {"run.py": (SHIPPED / "run.py").read_bytes(), "step.py": (SHIPPED / f"{to}_step.py").read_bytes()}
    with staged(Path(out)) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
    return contract


def npz(arrays: dict[str, np.ndarray]) -> bytes:
    """Arrays as numpy writes them."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()
