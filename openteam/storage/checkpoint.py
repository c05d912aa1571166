"""Trees of arrays on disk: safetensors with a JSON header, written whole or not at all, believed only when intact.

The header holds a digest of the arrays and one of itself, so it can be trusted without reading the arrays.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from openteam.errors import UserError
from openteam.storage.seal import sealed, unsealed
from openteam.storage.writing import Check, unchecked, write_atomic

Tree = TypeVar("Tree")


def save_tree(path: Path, tree: Any, header: dict[str, Any], check: Check = unchecked) -> None:
    """Write all arrays of a tree, and what is needed to understand them."""
    arrays = {name: np.asarray(leaf, order="C") for name, leaf in named_leaves(tree).items()}
    # One entry of metadata only: safetensors would write several in any order, and equal runs make equal files.
    metadata = {"openteam": json.dumps(sealed(header | {"digest": digest(arrays)}))}
    write_atomic(path, save(arrays, metadata), check)


def read_header(path: Path) -> dict[str, Any]:
    """What ``save_tree`` was given, intact; the arrays are not looked at."""
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
    except FileNotFoundError:
        raise UserError(f"There is no checkpoint at {path}.") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(f"{path} is damaged or no checkpoint at all: {error}.") from None
    if "openteam" not in metadata:
        raise UserError(f"{path} is a safetensors file, but openteam did not write it.")
    return unsealed(metadata["openteam"], path)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays under their names, as they were written."""
    header = read_header(path)
    try:
        with safe_open(path, "numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except Exception as error:  # whatever a damaged file makes its reader do
        raise UserError(f"{path} is damaged: {error}.") from None
    if digest(arrays) != header.get("digest"):
        raise UserError(f"{path} is damaged: its numbers do not match its digest. Use another checkpoint.")
    return arrays


def load_tree(path: Path, like: Tree) -> Tree:
    """Read arrays into a tree of the same structure, shapes and types as ``like``."""
    arrays = read_arrays(path)
    expected = named_leaves(like)
    found = {name: (array.shape, str(array.dtype)) for name, array in arrays.items()}
    wanted = {name: (leaf.shape, str(leaf.dtype)) for name, leaf in expected.items()}
    if found != wanted:
        odd = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))[0]
        raise UserError(
            f"{path} does not fit: '{odd}' is {found.get(odd, 'missing')} in the file, {wanted.get(odd, 'absent')} "
            "is expected. It was written by another task, algorithm or version."
        )
    leaves, structure = jax.tree.flatten(like)
    del leaves
    return jax.tree.unflatten(structure, [jnp.asarray(arrays[name]) for name in expected])


def named_leaves(tree: Any) -> dict[str, Any]:
    """Every array under the path that leads to it."""
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def tree_digest(tree: Any) -> str:
    """The digest of a tree's arrays: that of the file they would be written to."""
    return digest({name: np.asarray(leaf) for name, leaf in named_leaves(tree).items()})


def digest(arrays: dict[str, np.ndarray]) -> str:
    """A fingerprint of names, shapes and numbers."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        total.update(f"{name} {array.shape} {array.dtype} ".encode())
        total.update(array.tobytes())
    return total.hexdigest()
