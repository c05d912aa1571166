"""``contract.json``: all that a program without openteam must know of an exported policy."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from openteam.core.layout import Entry
from openteam.deploy.interface import Interface
from openteam.deploy.pure_step import NOISE, Port, PureStep

MEANINGS = {
    "agents": "x: a row of features per slot, row 0 the learner's own; the row of an empty slot has every 'absent'",
    "shared": "u: the features that are about nobody in particular",
    "visible": "somebody is seen in this slot",
    "legal": "this action has an effect; a policy may ignore it",
    "starts": "the first step of an episode: nothing is remembered",
    "new": "somebody is seen in this slot who is not whom the agent last saw there; slot 0 at the start only",
    "previous_action": "the learner's own; -1 at the start",
    NOISE: "independent uniform numbers in [0, 1), new ones for every step",
    "action": "the number of the action, see 'actions'",
    "action_values": "the value of each action",
    "probabilities": "the probability with which each action is chosen",
}
UNITS = (
    "Those of the world that the policy was trained in, unscaled; 'none' for flags, counts and levels, null if unknown."
)


def contract_of(step: PureStep, interface: Interface, kind: str, source: Mapping[str, Any]) -> dict[str, Any]:
    """Features, actions, arrays in and out, and where the policy comes from."""
    layout, noise = interface.layout, next((port.shape[0] for port in step.inputs if port.name == NOISE), 0)
    shared = layout.shared if layout else ()
    unnamed = [unknown(f"feature {number}", None) for number in range(interface.spec.shared_features)]
    return {
        "format": kind,
        "task": interface.task,
        "agents": step.slots,
        "keeps_unseen": interface.keeps_unseen,
        "actions": list(interface.actions),
        "features": {
            "units": UNITS,
            "note": layout.note if layout else "",
            "agents": agent_entries(interface),
            "shared": [entry_of(entry) for entry in shared] or unnamed,
        },
        "noise": noise,
        "inputs": [port_of(port) for port in step.inputs],
        "outputs": [port_of(port) for port in step.outputs],
        "memory": {"start": "start.npz", "arrays": list(step.start)},
        "source": dict(source),
        "versions": {name: version(name) for name in ("openteam", "jax", "numpy")},
    }


def agent_entries(interface: Interface) -> list[dict[str, Any]]:
    """What stands in an agent's row."""
    if interface.layout is None:
        return [unknown(f"feature {number}", absent) for number, absent in enumerate(interface.absent)]
    return [entry_of(entry) for entry in interface.layout.agents]


def entry_of(entry: Entry) -> dict[str, Any]:
    """One number of a row."""
    return {"name": entry.meaning, "low": entry.low, "high": entry.high, "absent": entry.absent,
            "unit": entry.unit}  # fmt: skip


def unknown(name: str, absent: float | None) -> dict[str, Any]:
    """A number that the world does not speak of."""
    return {"name": name, "low": None, "high": None, "absent": absent, "unit": None}


def port_of(port: Port) -> dict[str, Any]:
    """An array that goes in or out."""
    meaning = MEANINGS.get(port.name, "memory: give back what the last step returned under this name")
    return {"name": port.name, "shape": list(port.shape), "dtype": port.dtype, "meaning": meaning}


def digests(files: Mapping[str, bytes], names: Sequence[str]) -> dict[str, str]:
    """A SHA-256 for each of some files."""
    return {name: hashlib.sha256(files[name]).hexdigest() for name in names}
