"""Where exports and packed runs can be written, and in which form; known without JAX."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Literal, get_args

from openteam.errors import UserError, check_whole
from openteam.storage.bundle import SUFFIX

Format = Literal["onnx", "stablehlo", "numpy"]
MOST_AGENTS = 100_000


def check_export(to: str, out: Path, agents: int | None) -> None:
    """Raise unless a policy can be written in this form and here."""
    if to not in get_args(Format):
        raise UserError(f"A policy is exported to {', '.join(get_args(Format))}; got '{to}'.")
    if to == "onnx" and importlib.util.find_spec("onnx") is None:
        raise UserError("An export to onnx needs the package onnx. Install it: pip install 'openteam[onnx]'")
    if agents is not None:
        check_whole("agents", agents, 1, MOST_AGENTS)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} already exists and is not empty. Choose another --out.")


def check_pack(out: Path) -> None:
    """Raise unless a packed run can be written here."""
    if not out.name.endswith(SUFFIX):
        raise UserError(f"A packed run's name ends in {SUFFIX}; got '{out.name}'.")
    if out.exists():
        raise UserError(f"{out} already exists. Choose another --out, or delete it.")
    if not out.absolute().parent.is_dir():
        raise UserError(f"Cannot write {out}: there is no folder {out.parent}.")
